"""Both encoders in PyTorch: the frozen layers below, and the layers above with an adapter."""

import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
ENCODER = HERE.parent.parent / "internal" / "encoder"
sys.path.insert(1, str(HERE.parent / "encoder"))

DIM, HEADS, INNER, TOKEN_DIM = 384, 12, 1536, 64


class MiniLM:
    """all-MiniLM-L6-v2, as published."""

    name, key, layers, trained, file, projection = "minilm", "minilm", 6, 3, "model.safetensors", "projection.bin"

    def __init__(self, folder):
        self.data = np.memmap(pathlib.Path(folder) / self.file, np.uint8, "r")
        size = int(self.data[:8].view("<u8")[0])
        self.header, self.start = json.loads(self.data[8 : 8 + size].tobytes()), 8 + size

    def tensor(self, name):
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        raw = self.data[self.start + begin : self.start + end].tobytes()
        return torch.from_numpy(np.frombuffer(raw, "<f4").reshape(entry["shape"]).copy())

    def embeddings(self):
        t = lambda n: self.tensor("embeddings." + n)
        return t("word_embeddings.weight"), t("position_embeddings.weight") + t("token_type_embeddings.weight")[0], (t("LayerNorm.weight"), t("LayerNorm.bias"))

    def layer(self, i):
        t = lambda n: (self.tensor(f"encoder.layer.{i}.{n}.weight"), self.tensor(f"encoder.layer.{i}.{n}.bias"))
        return {
            "q": t("attention.self.query"), "k": t("attention.self.key"), "v": t("attention.self.value"), "o": t("attention.output.dense"),
            "up": t("intermediate.dense"), "down": t("output.dense"), "norm1": t("attention.output.LayerNorm"), "norm2": t("output.LayerNorm"),
        }


class E5:
    """multilingual-e5-small in four bits, as published; its output is turned into the space of MiniLM."""

    name, key, layers, trained, file, projection = "e5", "e5", 12, 4, "e5-small-q4.bin", "projection_turned_e5.bin"

    def __init__(self, folder):
        import e5  # tools/encoder/e5.py

        self.model = e5.Model(pathlib.Path(folder) / self.file)

    def tensor(self, name, *shape):
        return torch.from_numpy(np.array(self.model.tensor(name, *shape), "<f4"))

    def embeddings(self):
        position = self.tensor("emb.pos", -1, DIM) + self.tensor("emb.type", 2, DIM)[0]
        return self.tensor("emb.word", -1, DIM), position, (self.tensor("emb.ln.w", DIM), self.tensor("emb.ln.b", DIM))

    def layer(self, i):
        t = lambda n, *shape: (self.tensor(f"l{i}.{n}.w", *shape), self.tensor(f"l{i}.{n}.b", shape[0]))
        return {
            "q": t("q", DIM, DIM), "k": t("k", DIM, DIM), "v": t("v", DIM, DIM), "o": t("ao", DIM, DIM),
            "up": t("fi", INNER, DIM), "down": t("fo", DIM, INNER), "norm1": t("aln", DIM), "norm2": t("oln", DIM),
        }


ENCODERS = {"minilm": MiniLM, "e5": E5}
SLOTS = ("q", "k", "v", "o", "up", "down")  # in the order of an adapter's file


def attend(q, k, v, mask):
    """Attention of padded texts; mask is true where there is a piece."""
    b, n, _ = q.shape
    split = lambda x: x.view(b, n, HEADS, DIM // HEADS).transpose(1, 2)
    score = split(q) @ split(k).transpose(-1, -2) / math.sqrt(DIM / HEADS)
    out = F.softmax(score.masked_fill(~mask[:, None, None, :], -1e4), -1) @ split(v)
    return out.transpose(1, 2).reshape(b, n, DIM)


def block(x, mask, linear, norm):
    """One layer: linear(name, x) and norm(name, x) apply what the layer has under a name."""
    x = norm("norm1", x + linear("o", attend(linear("q", x), linear("k", x), linear("v", x), mask)))
    return norm("norm2", x + linear("down", F.gelu(linear("up", x))))


class Lower:
    """The layers that stay as they are."""

    def __init__(self, source):
        self.word, self.position, self.norm = source.embeddings()
        self.layers = [source.layer(i) for i in range(source.layers - source.trained)]

    @torch.inference_mode()
    def __call__(self, ids, mask):
        x = F.layer_norm(self.word[ids] + self.position[: ids.shape[1]], (DIM,), *self.norm, eps=1e-12)
        for l in self.layers:
            x = block(x, mask, lambda n, x: F.linear(x, *l[n]), lambda n, x: F.layer_norm(x, (DIM,), *l[n], eps=1e-12))
        return x


class Layer(nn.Module):
    """A layer with a low-rank adapter on each of its matrices."""

    def __init__(self, weights, rank, scale, dropout):
        super().__init__()
        self.scale, self.dropout = scale, dropout
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for name, (w, b) in weights.items():
            self.register_buffer("w_" + name, w)
            self.register_buffer("b_" + name, b)
            if w.dim() == 2:
                self.down[name] = nn.Parameter(torch.randn(rank, w.shape[1]) / math.sqrt(w.shape[1]))
                self.up[name] = nn.Parameter(torch.zeros(w.shape[0], rank))

    def linear(self, name, x):
        w, b = getattr(self, "w_" + name), getattr(self, "b_" + name)
        low = F.dropout(F.linear(x, self.down[name]), self.dropout, self.training) * self.scale
        return F.linear(x, w, b) + F.linear(low, self.up[name])

    def norm(self, name, x):
        return F.layer_norm(x.float(), (DIM,), getattr(self, "w_" + name), getattr(self, "b_" + name), eps=1e-12)

    def forward(self, x, mask):
        return block(x, mask, self.linear, self.norm)


class Upper(nn.Module):
    """The layers that are trained, and what makes a vector and codes of their output."""

    def __init__(self, source, rank=16, scale=2.0, dropout=0.1):
        super().__init__()
        first = source.layers - source.trained
        self.first, self.rank, self.scale = first, rank, scale
        self.layers = nn.ModuleList(Layer(source.layer(i), rank, scale, dropout) for i in range(first, source.layers))
        numbers = lambda name, dtype="<f4": torch.from_numpy(np.fromfile(ENCODER / name, dtype).astype("<f4"))
        self.projection = nn.Parameter(numbers(source.projection).view(DIM, TOKEN_DIM).clone())
        if source.name == "e5":
            self.register_buffer("centers", numbers("center_other_e5.bin").view(2, DIM))
            self.register_buffer("turn", numbers("turn_e5.bin", "<f2").view(DIM, DIM))
        else:
            self.centers = self.turn = None

    def forward(self, x, mask, query):
        """Vectors, and a code for each piece. query says which of the texts ask."""
        for layer in self.layers:
            x = layer(x, mask)
        kept = mask[..., None].float()
        v = F.normalize((x * kept).sum(1) / kept.sum(1), dim=-1)
        if self.turn is not None:
            v = F.normalize(v - torch.where(query[:, None], self.centers[0], self.centers[1]), dim=-1) @ self.turn
        return F.normalize(v, dim=-1), F.normalize((x @ self.projection.to(x.dtype)).float(), dim=-1)

    def committed(self, name):
        """Takes the numbers of the adapter that is committed (export.py writes them)."""
        numbers = np.fromfile(ENCODER / f"adapter_{name}.bin", "<f2", offset=16).astype("<f4")
        with torch.no_grad():
            for layer in self.layers:
                for slot in SLOTS:
                    numbers = take(layer.down[slot], numbers)
                    numbers = take(layer.up[slot], numbers)
                    layer.up[slot].div_(layer.scale)
            take(self.projection, numbers)

    def halve(self):
        """Rounds the frozen matrices, for training."""
        for layer in self.layers:
            for name, w in list(layer.named_buffers()):
                if "norm" not in name:
                    setattr(layer, name, w.bfloat16())
        return self


def take(p, numbers):
    """Sets a parameter to the first of the numbers, and returns the rest."""
    p.copy_(torch.from_numpy(numbers[: p.numel()].copy()).view(p.shape))
    return numbers[p.numel() :]
