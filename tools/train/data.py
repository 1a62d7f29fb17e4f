"""Conversations as tools/train/texts writes them, and the cached output of the frozen layers."""

import hashlib
import json
import os
import pathlib
import random
import time

import numpy as np
import torch

from model import DIM

TOKENS = 160  # what is read of a text


class Text:
    """A text as one encoder reads it."""

    __slots__ = ("ids", "terms", "key", "query")

    def __init__(self, pieces, query, limit=TOKENS):
        ids = pieces["ids"]
        if len(ids) > limit:
            ids = ids[: limit - 1] + ids[-1:]
        self.ids, self.query = ids, query
        self.terms = [t for t in pieces["terms"] if t < len(ids) - 1]
        self.key = hashlib.sha1(np.array(ids, "<i4").tobytes()).digest()


class Query:
    def __init__(self, q):
        self.text = {k: Text(q[k], True) for k in ("minilm", "e5")}
        self.english, self.kind = q["english"], q["kind"]
        self.gold, self.before, self.near = q["gold"], q["before"], q["near"]


class Conversation:
    def __init__(self, c):
        self.set, self.id, self.part, self.writer = c["set"], c["id"], c["part"], c["writer"]
        self.turns = [{k: Text(t[k], False) for k in ("minilm", "e5")} for t in c["turns"]]
        self.english_turns = [t["english"] for t in c["turns"]]
        self.queries = [Query(q) for q in c["queries"]]
        self.english = sum(self.english_turns) > 0.9 * len(self.turns)
        if self.part == "train":
            self.keep(random.Random(self.id))

    def keep(self, rng, most=500):
        """Bounds the turns of a long conversation that are read: the evidence, what is near it, what words find, some others."""
        if len(self.turns) <= most:
            self.usable = list(range(len(self.turns)))
            return
        kept = {t for q in self.queries for g in q.gold for t in range(g - 2, g + 3)} | {t for q in self.queries for t in q.near[:6]}
        kept &= set(range(len(self.turns)))
        rest = [t for t in range(len(self.turns)) if t not in kept]
        kept |= set(rng.sample(rest, min(len(rest), max(100, most - len(kept)))))
        self.usable = sorted(kept)


def read(path):
    files, out = {}, []
    with open(path, encoding="utf-8") as f:
        for line in f:
            c = json.loads(line)
            files.update(c.get("files", {}))
            if c["queries"]:
                out.append(Conversation(c))
    return out, files


class States:
    """What the frozen layers make of texts, kept in a file as 16-bit numbers: each text is computed once."""

    def __init__(self, folder, source, lower):
        self.path = pathlib.Path(folder) / f"states_{source.name}_{source.layers - source.trained}.f16"
        self.index_path = self.path.with_suffix(".json")
        self.lower, self.index, self.rows = lower, {}, 0
        if self.index_path.exists():
            known = json.loads(self.index_path.read_text())
            whole = self.path.stat().st_size // (2 * DIM)
            self.index = {bytes.fromhex(k): tuple(v) for k, v in known.items() if sum(v) <= whole}
            self.rows = max((at + n for at, n in self.index.values()), default=0)
        self.map()

    def map(self):
        if self.rows:
            self.data = np.memmap(self.path, "<f2", "r", shape=(self.rows, DIM))

    def compute(self, texts, batch_pieces=4096, save_each=300):
        wanted = {t.key: t for t in texts if t.key not in self.index}
        todo = sorted(wanted.values(), key=lambda t: len(t.ids))
        if not todo:
            return
        total, done, began = sum(len(t.ids) for t in todo), 0, time.time()
        print(f"{len(todo)} texts with {total} pieces through the frozen layers", flush=True)
        with open(self.path, "r+b" if self.path.exists() else "wb") as f:
            f.truncate(self.rows * DIM * 2)
            f.seek(0, os.SEEK_END)
            count = at_text = 0
            while at_text < len(todo):
                part = []
                while at_text < len(todo) and (len(part) + 1) * len(todo[at_text].ids) <= max(batch_pieces, len(todo[at_text].ids)):
                    part.append(todo[at_text])
                    at_text += 1
                ids, mask = padded(part)
                with torch.autocast("cpu", torch.bfloat16):
                    x = self.lower(ids, mask).half().numpy()
                for i, t in enumerate(part):
                    f.write(x[i, : len(t.ids)].tobytes())
                    self.index[t.key] = (self.rows, len(t.ids))
                    self.rows += len(t.ids)
                    done += len(t.ids)
                count += 1
                if count % save_each == 0 or at_text == len(todo):
                    f.flush()
                    self.save()
                    print(f"  {done / total:.0%} after {time.time() - began:.0f} s", flush=True)
        self.map()

    def save(self):
        temporary = self.index_path.with_suffix(".new")
        temporary.write_text(json.dumps({k.hex(): v for k, v in self.index.items()}))
        temporary.replace(self.index_path)

    def batch(self, texts):
        """The states of texts, padded, and where there are pieces."""
        longest = max(len(t.ids) for t in texts)
        x = np.zeros((len(texts), longest, DIM), "<f2")
        mask = torch.zeros(len(texts), longest, dtype=torch.bool)
        for i, t in enumerate(texts):
            at, n = self.index[t.key]
            x[i, :n] = self.data[at : at + n]
            mask[i, :n] = True
        return torch.from_numpy(x).float(), mask


def padded(texts):
    longest = max(len(t.ids) for t in texts)
    ids, mask = torch.zeros(len(texts), longest, dtype=torch.long), torch.zeros(len(texts), longest, dtype=torch.bool)
    for i, t in enumerate(texts):
        ids[i, : len(t.ids)] = torch.tensor(t.ids)
        mask[i, : len(t.ids)] = True
    return ids, mask
