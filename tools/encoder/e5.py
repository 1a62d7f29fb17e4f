#!/usr/bin/env python3
"""A second implementation of multilingual-e5-small, for the tests of internal/encoder.

    e5.py golden MODEL OUT_DIR     writes golden_e5.json: ids by the "tokenizers" library,
                                   vectors by numpy in float64
    e5.py project MODEL OUT TEXT…  fits the projection of token vectors, as
                                   fit_projection.py does for the other model
    e5.py center MODEL OUT TEXT…   writes the mean of the vectors of the sentences, read
                                   as queries and as passages

MODEL is e5-small-q4.bin as published: weights of four bits, which both
implementations expand to floats. TEXT has one sentence a line. Needs numpy and
tokenizers. Never use text of the evaluation data to fit the projection.
"""

import base64
import json
import pathlib
import struct
import sys
import unicodedata

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

DIM, LAYERS, HEADS, MAX_TOKENS, TOKEN_DIM = 384, 12, 12, 512, 64

TEXTS = [
    "The keys are in the blue bowl by the door.",
    "I moved to Lisbon last spring, and I still miss my old bakery.",
    "ok",
    "HELLO WORLD",
    "I'm allergic to peanuts, but almonds are fine.",
    "Price: $1,299.99 (was $1,499) - 13% off",
    "Meet me at https://example.org/cafe?table=4#window or mail jo@example.org",
    "antidisestablishmentarianism and floccinaucinihilipilification",
    "Mx. O'Brien-Łukasiewicz met Dr. Nguyễn at the Café Müller.",
    "Two  spaces,\ttabs\tand\r\nline ends   everywhere ",
    "Der Zug nach Köln fährt um halb acht von Gleis drei.",
    "¿Dónde está la biblioteca más cercana?",
    "Yarın sabah İstanbul'a uçuyorum, IĞDIR'a değil.",
    "Завтра утром мы едем на дачу к бабушке.",
    "Αύριο θα πάμε στη θάλασσα με τους φίλους μας.",
    "我們明天早上去爬山。",
    "我喜欢喝绿茶,不喜欢咖啡。",
    "用户:我对花生过敏,下周五下午三点要去看牙医。",
    "明日の朝、京都へ行きます。カメラを忘れないで!",
    "내일 아침에 부산으로 출발해요.",
    "मुझे चाय बहुत पसंद है।",
    "ฉันชอบกินข้าวผัด",
    "غدا نسافر إلى القاهرة بالقطار.",
    "שלום, מה שלומך היום?",
    "Mixed 中文 and English, с русским и עברית.",
    "",
    " \t\n ",
    "full width ＡＢＣ １２３ and ﬁ ligature ①",
    "😀😃🎉🎂 Happy birthday 🎂",
    "豈更車賈 compatibility 𠀀𠀁 beyond",
    ("The harbour was full of small boats, and every one had a name. ", 60),
    ("港口里停满了小船,每一艘都有名字。", 60),
]

# The token vectors are kept for this text.
WITH_HIDDEN = "我們明天早上去爬山。"


class Model:
    """The file of the model."""

    def __init__(self, path):
        self.data = data = pathlib.Path(path).read_bytes()
        assert data[:4] == b"E5S1"
        at = 4 + 4 + 7 * 4 + 4 + 4
        n, self.begin, self.end, _, self.unknown = struct.unpack_from("<5i", data, at)
        (length,) = struct.unpack_from("<Q", data, at + 20)
        at += 28
        offsets = np.frombuffer(data, "<u4", n + 1, at)
        at += 4 * (n + 1)
        scores = np.frombuffer(data, "<f4", n, at)
        at += 4 * n
        pieces = data[at : at + length]
        at += length
        self.vocab = [
            (pieces[offsets[i] : offsets[i + 1]].decode(), float(scores[i])) for i in range(n)
        ]
        count, size = struct.unpack_from("<iI", data, at)
        at += 8
        self.replace, p = {}, at
        for _ in range(count):
            c, k = struct.unpack_from("<IB", data, p)
            self.replace[c] = "".join(map(chr, struct.unpack_from(f"<{k}I", data, p + 5)))
            p += 5 + 4 * k
        at += size
        (entries,) = struct.unpack_from("<i", data, at)
        at += 4
        self.entries = {}
        for _ in range(entries):
            (k,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + k].decode()
            kind, count, offset, size = struct.unpack_from("<BIQQ", data, at + 2 + k)
            at += 2 + k + 21
            self.entries[name] = (kind, count, offset, size)
        # Pieces of the frame are found in no text.
        vocab = [(p if s != 0 else f"\0{p}", s) for p, s in self.vocab]
        vocab[self.unknown] = ("<unk>", 0.0)
        self.tokenizer = Tokenizer(models.Unigram(vocab, unk_id=self.unknown))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(split=False)]
        )

    def tensor(self, name, *shape):
        kind, count, offset, size = self.entries[name]
        if kind == 0:
            return np.frombuffer(self.data, "<f4", count, offset).astype(float).reshape(shape)
        raw = np.frombuffer(self.data, np.uint8, size, offset).reshape(-1, 18)
        scale = raw[:, :2].copy().view("<f2").astype(float)
        low, high = (raw[:, 2:] & 15).astype(float) - 8, (raw[:, 2:] >> 4).astype(float) - 8
        return (np.concatenate([low, high], axis=1) * scale).reshape(shape)

    def ids(self, text):
        """The ids of a text, without frame and prefix, and whether it was cut."""
        return self.tokenizer.encode("".join(self.replace.get(ord(c), c) for c in text)).ids

    def frame(self, text, kind):
        prefix = self.ids(kind + ":")
        ids = [self.begin, *prefix, *self.ids(text)]
        cut = len(ids) > MAX_TOKENS - 1
        return [*ids[: MAX_TOKENS - 1], self.end], len(prefix) + 1, cut

    def load(self):
        self.word = self.tensor("emb.word", -1, DIM).astype(np.float32)
        self.layers = []
        for i in range(LAYERS):
            t = lambda name, *shape: self.tensor(f"l{i}.{name}", *shape)
            self.layers.append(
                {n: (t(n + ".w", o, k), t(n + ".b", o)) for n, o, k in [("q", DIM, DIM), ("k", DIM, DIM), ("v", DIM, DIM), ("ao", DIM, DIM), ("fi", 4 * DIM, DIM), ("fo", DIM, 4 * DIM)]}
                | {n: (t(n + ".w", DIM), t(n + ".b", DIM)) for n in ("aln", "oln")}
            )
        return self

    def hidden(self, ids):
        """The last layer, a row for each id."""
        x = self.word[ids].astype(float) + self.tensor("emb.pos", -1, DIM)[: len(ids)]
        x = norm(x + self.tensor("emb.type", 2, DIM)[0], self.tensor("emb.ln.w", DIM), self.tensor("emb.ln.b", DIM))
        for l in self.layers:
            q, k, v = ((x @ l[n][0].T + l[n][1]).reshape(len(ids), HEADS, -1).swapaxes(0, 1) for n in "qkv")
            score = q @ k.swapaxes(1, 2) / np.sqrt(DIM / HEADS)
            share = np.exp(score - score.max(-1, keepdims=True))
            share /= share.sum(-1, keepdims=True)
            context = (share @ v).swapaxes(0, 1).reshape(len(ids), DIM)
            x = norm(x + context @ l["ao"][0].T + l["ao"][1], *l["aln"])
            up = gelu(x @ l["fi"][0].T + l["fi"][1])
            x = norm(x + up @ l["fo"][0].T + l["fo"][1], *l["oln"])
        return x


def norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * weight + bias


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(__import__("math").erf)(x / np.sqrt(2)))


def golden(model, out):
    cases = []
    for entry in TEXTS:
        part, times = entry if isinstance(entry, tuple) else (entry, 1)
        for kind in ("query", "passage") if times == 1 and len(cases) < 8 else ("passage",):
            ids, skip, cut = model.frame(part * times, kind)
            hidden = model.hidden(ids)
            vector = hidden.mean(0)
            case = {
                "text": part, "query": kind == "query", "ids": ids, "skip": skip, "truncated": cut,
                "vector": packed(vector / np.linalg.norm(vector)),
            }
            if times > 1:
                case["times"] = times
            if part == WITH_HIDDEN:
                case["hidden"] = packed(hidden)
            cases.append(case)
    text = "[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n"
    (pathlib.Path(out) / "golden_e5.json").write_text(text, encoding="utf-8")


def packed(x):
    return base64.b64encode(np.ascontiguousarray(x, "<f4").tobytes()).decode()


def project(model, out, *texts):
    found = []
    for path in texts:
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            if not line.strip():
                continue
            ids, skip, _ = model.frame(line.strip(), "passage")
            for row, i in list(zip(model.hidden(ids), ids))[skip:-1]:
                if any(unicodedata.category(c)[0] in "LN" for c in model.vocab[i][0]):
                    found.append(row / np.linalg.norm(row))
    vectors = np.array(found)
    _, basis = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    basis = basis[:, ::-1][:, :TOKEN_DIM]
    basis = basis * np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(TOKEN_DIM)])
    pathlib.Path(out).write_bytes(np.ascontiguousarray(basis, dtype="<f4").tobytes())
    kept = ((vectors @ basis) ** 2).sum() / len(vectors)
    print(f"{len(vectors)} tokens, {kept:.3f} of their squared length kept")


def center(model, out, *texts):
    lines = [l.strip() for path in texts for l in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if l.strip()]
    means = []
    for kind in ("query", "passage"):
        vectors = []
        for line in lines:
            v = model.hidden(model.frame(line, kind)[0]).mean(0)
            vectors.append(v / np.linalg.norm(v))
        means.append(np.mean(vectors, axis=0))
        print(f"{kind}: {len(lines)} sentences, length of the mean {np.linalg.norm(means[-1]):.3f}")
    pathlib.Path(out).write_bytes(np.ascontiguousarray(means, dtype="<f4").tobytes())


def main():
    commands = {"golden": golden, "project": project, "center": center}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    model = Model(sys.argv[2]).load()
    commands[sys.argv[1]](model, *sys.argv[3:])


if __name__ == "__main__":
    main()
