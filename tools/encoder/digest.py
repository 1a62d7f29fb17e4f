"""Writes digests of the token ids of the turns of LoCoMo by the reference tokenizer, for the tests
of internal/encoder. The data itself must not be shipped; digests do not reveal it.

usage: digest.py MODEL_DIR LOCOMO_JSON OUTPUT_DIR

Each digest is the SHA-256 of the ids of a session's turns in order, each turn followed by 0xffff,
as little-endian uint16.
"""

import hashlib
import json
import pathlib
import re
import struct
import sys

from tokenizers import Tokenizer


def main():
    model_dir, data, output = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    tokenizer = Tokenizer.from_file(model_dir + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    digests = {}
    with open(data, encoding="utf-8") as f:
        samples = json.load(f)
    for sample in samples:
        for name, turns in sample["conversation"].items():
            if not re.fullmatch(r"session_\d+", name):
                continue
            digest = hashlib.sha256()
            for turn in turns:
                ids = tokenizer.encode(turn["text"]).ids + [0xFFFF]
                digest.update(struct.pack(f"<{len(ids)}H", *ids))
            digests[f"{sample['sample_id']}/{name}"] = digest.hexdigest()
    with open(output / "locomo.json", "w", encoding="utf-8") as f:
        json.dump(digests, f, indent=0, sort_keys=True)
        f.write("\n")


main()
