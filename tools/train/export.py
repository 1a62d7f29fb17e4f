#!/usr/bin/env python3
"""Writes trained adapters as the gateway reads them, vectors that its tests compare with, and the card.

    export.py --texts texts.ndjson --encoder WEIGHTS --work FOLDER [--out internal/encoder]

The numbers are rounded to 16 bits first; the vectors are those of the rounded numbers, computed in 32 bits. What is there of adapters
that FOLDER has not stays: that of the other encoder, and those of older releases, which no training writes.
"""

import argparse
import base64
import hashlib
import json
import pathlib

import numpy as np
import torch

import train
from data import Text, padded, read
from model import ENCODER, ENCODERS, SLOTS, Lower, Upper

LEARNED = ("realmem", "vehicle")  # what the files of published data begin with that may be learned from
GOLDEN = 6  # texts for each encoder, of the corpus


def rounded(upper):
    """The adapter's file, whose numbers the encoder then has."""
    numbers = []
    with torch.no_grad():
        for layer in upper.layers:
            for slot in SLOTS:
                down, up = layer.down[slot], layer.up[slot]
                up.mul_(upper.scale)
                for p in (down, up):
                    p.copy_(p.half().float())
                    numbers.append(p.numpy().astype("<f2").ravel())
            layer.scale = 1.0
        upper.projection.copy_(upper.projection.half().float())
    numbers.append(upper.projection.detach().numpy().astype("<f2").ravel())
    head = b"SBA1" + np.array([upper.first, len(upper.layers), upper.rank], "<u4").tobytes()
    return head + np.concatenate(numbers).tobytes()


def golden(name, lower, upper, lines):
    """What both make of some texts."""
    out = []
    for line in lines:
        for query in (False, True):
            text = Text(line[name], query, 10**6)
            ids, mask = padded([text])
            with torch.inference_mode():
                v, codes = upper(lower(ids, mask), mask, torch.tensor([query]))
            code = (codes[0, text.terms] * 127).round().to(torch.int8).numpy()
            out.append({"model": name, "text": line["text"], "query": query, "ids": text.ids, "terms": text.terms, "vector": packed(v[0].numpy().astype("<f4")), "codes": packed(code)})
            if name == "minilm":
                break  # reads both alike
    return out


def packed(x):
    return base64.b64encode(x.tobytes()).decode()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--texts", type=pathlib.Path, required=True)
    p.add_argument("--encoder", type=pathlib.Path, required=True)
    p.add_argument("--work", type=pathlib.Path, required=True)
    p.add_argument("--out", type=pathlib.Path, default=ENCODER)
    args = p.parse_args()
    torch.set_num_threads(1)
    _, files = read(args.texts)
    lines = {"minilm": [], "e5": []}
    languages = set()
    with open(args.texts, encoding="utf-8") as f:
        for line in f:
            c = json.loads(line)
            turn = c["turns"][0]
            short = len(turn["e5"]["ids"]) < 60 and c["set"] == "corpus"
            name = "minilm" if turn["english"] else "e5"
            begin = c["id"].rsplit("-", 1)[0]
            if short and len(lines[name]) < GOLDEN and begin not in languages:
                languages.add(begin)
                lines[name].append(turn)
    corpus = digest(pathlib.Path(train.__file__).parent.parent.parent / "corpus" / "dialogues")
    learned = {k: v for k, v in files.items() if k.startswith(LEARNED)}
    golden_path, card_path = args.out / "testdata" / "golden_adapters.json", args.out / "adapters.json"
    cases = {}
    for case in json.loads(golden_path.read_text()):
        cases.setdefault(case["model"], []).append(case)
    card = {
        "learned from, SHA-256": {"corpus/dialogues": corpus, **learned},
        "only measured, SHA-256": {k: v for k, v in files.items() if k not in learned},
        "adapters": json.loads(card_path.read_text())["adapters"],
    }
    for name in ENCODERS:
        path = args.work / f"run_{name}.pt"
        if not path.exists():
            continue
        source = ENCODERS[name](args.encoder)
        lower, upper = Lower(source), Upper(source).eval()
        train.load(upper, args.work / f"adapter_{name}.pt")
        file = rounded(upper)
        (args.out / f"adapter_{name}.bin").write_bytes(file)
        if name == "e5":  # queries of e5 begin otherwise
            cases[name] = golden_e5(lower, upper, lines["e5"], args.texts)
        else:
            cases[name] = golden(name, lower, upper, lines[name])
        card["adapters"][name] = {
            "file": f"adapter_{name}.bin", "sha256": hashlib.sha256(file).hexdigest(), "bytes": len(file),
            "layers": [upper.first, upper.first + len(upper.layers)], "rank": upper.rank,
            "settings": {k: v for k, v in torch.load(path, weights_only=False)["settings"].items() if k != "name"},
            "recall@10 of held data, [questions, cosine, late interaction]": {
                "as published": measured(args.work / f"measured_{name}.json"),
                "adapter": measured(args.work / f"measured_{name}_adapter.json"),
            },
        }
    rows = [json.dumps(c, ensure_ascii=True) for of in cases.values() for c in of]
    golden_path.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    card_path.write_text(json.dumps(card, indent="\t", ensure_ascii=False) + "\n")


def golden_e5(lower, upper, lines, texts):
    """Also some queries, which begin otherwise."""
    out = [c for c in golden("e5", lower, upper, lines) if not c["query"]]
    with open(texts, encoding="utf-8") as f:
        for line in f:
            c = json.loads(line)
            asked = [q for q in c["queries"] if not q["english"]]
            if asked:
                return out + [c for c in golden("e5", lower, upper, asked[:3]) if c["query"]]
    return out


def measured(path):
    return json.loads(path.read_text()) if path.exists() else None


def digest(folder):
    sum = hashlib.sha256()
    for path in sorted(folder.glob("*.jsonl")):
        sum.update(path.read_bytes())
    return sum.hexdigest()


if __name__ == "__main__":
    main()
