"""Compares the processor time of internal/encoder with that of onnxruntime in one run, with the same
weights and the same text, alone and in a batch of 32. The two take turns, so that other work on
the machine slows both alike. It prints the median of each.

usage: compare.py MODEL_DIR [ROUNDS]

Run it in the root of the repository. It needs torch and transformers (to write the graph),
tokenizers and onnxruntime.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils
from transformers import AutoModel

# The text of BenchmarkEncode.
SENTENCE = "the garden was quiet and the rain had " * 2 + "stopped before they came home again , we ate ."
BATCH = 32


class Hidden(torch.nn.Module):
    """The last layer, with positional arguments, which the exporter needs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, kinds):
        return self.model(input_ids=ids, attention_mask=mask, token_type_ids=kinds, return_dict=False)[0]


def export(model_dir, path):
    # The exporter uses another package to look for functions of onnxscript. This graph has none.
    onnx_proto_utils._add_onnxscript_fn = lambda graph, _: graph
    model = AutoModel.from_pretrained(model_dir, attn_implementation="eager", dtype=torch.float32).eval()
    example = torch.tensor([[101, 7592, 2088, 102], [101, 1037, 102, 0]])
    inputs = (example, (example != 0).long(), torch.zeros_like(example))
    names = ["ids", "mask", "kinds"]
    axes = {name: {0: "batch", 1: "length"} for name in [*names, "hidden"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Hidden(model).eval(), inputs, path, input_names=names, output_names=["hidden"],
            dynamic_axes=axes, opset_version=14, dynamo=False,
        )


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def measure(runner, ids, seconds=1.0):
    """Returns the median milliseconds of processor time for one text."""
    inputs = {"ids": ids, "mask": np.ones_like(ids), "kinds": np.zeros_like(ids)}
    times, end = [], time.monotonic() + seconds
    runner.run(None, inputs)
    while time.monotonic() < end or len(times) < 3:
        before = time.process_time()
        runner.run(None, inputs)
        times.append((time.process_time() - before) * 1e3 / len(ids))
    return statistics.median(times)


def ours(binary, kernel, texts):
    """Returns the milliseconds of processor time for one text, and the peak of memory in MB."""
    out = subprocess.run(
        [binary, "-test.run=^$", f"-test.bench=^BenchmarkEncode$/^{kernel}$/^texts={texts}$", "-test.benchtime=1s"],
        check=True, capture_output=True, text=True, cwd="internal/encoder",
    ).stdout
    resident = re.search(r"([\d.]+) resident-MB", out)
    return float(re.search(r"([\d.]+) cpu-ms/text", out)[1]), float(resident[1]) if resident else 0.0


def main():
    model_dir, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    tokenizer = Tokenizer.from_file(model_dir + "/tokenizer.json")
    tokenizer.no_padding()
    ids = tokenizer.encode(SENTENCE).ids
    with tempfile.TemporaryDirectory() as folder:
        graph, binary = os.path.join(folder, "model.onnx"), os.path.join(folder, "encoder.test")
        export(model_dir, graph)
        subprocess.run(["go", "test", "-c", "-o", binary, "./internal/encoder"], check=True)
        theirs = {"onnxruntime, 1 thread": session(graph, 1), "onnxruntime, default": session(graph, 0)}
        flags = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
        kernel = "avx2" if re.search(r"\bavx2\b", flags) else "generic"
        print(f"{len(ids)} pieces, {os.cpu_count()} processors, onnxruntime {onnxruntime.__version__}; CPU ms a text")
        peak = 0.0
        for texts in (1, BATCH):
            batch = np.array([ids] * texts, dtype=np.int64)
            times = {}
            for _ in range(rounds):
                for name, runner in theirs.items():
                    times.setdefault(name, []).append(measure(runner, batch))
                spent, resident = ours(binary, kernel, texts)
                times.setdefault(kernel, []).append(spent)
                peak = max(peak, resident)
            base = statistics.median(times["onnxruntime, 1 thread"])
            for name, values in times.items():
                median = statistics.median(values)
                print(f"{texts:3d} texts  {name:22s} {median:7.2f}  ({min(values):.2f} to {max(values):.2f})  {median / base:.2f} x")
        print(f"resident memory of the Go process: {peak:.0f} MB at most")


main()
