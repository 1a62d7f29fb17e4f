#!/usr/bin/env python3
"""Fit the projection of token vectors for late interaction.

    fit_projection.py MODEL TEXT OUT

MODEL is a folder with the encoder in the transformers layout (config.json,
model.safetensors, tokenizer.json). TEXT is a folder (its .txt files, in the
order of their names) or one file, with one sentence per line. OUT receives 384 x 64
numbers, float32 little endian, row by row: a token vector of unit length times
this matrix is its projection.

The columns are the 64 leading eigenvectors of the second moment of the
last-layer token vectors of content words, each scaled to unit length first.
Stop words, punctuation, [CLS] and [SEP] are left out. The mean is not
subtracted, so that the projection is one matrix product and the inner product
of two projected tokens approximates their cosine.

The sentences are everyday talk, written for this purpose. Never use text of the
evaluation data here: the projection would be fitted to the data that it is
measured on.
"""

import pathlib
import sys

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

DIM = 64
MAX_TOKENS = 256

# The stop words of the English analyzer.
STOP = frozenset(
    """a an the and or but if then so of in on at to from for with by about as into over after before is are
    was were be been being am do does did done doing have has had having i me my mine we us our ours you your
    yours he him his she her hers it its they them their theirs this that these those there here what which
    who whom whose when where why how not no nor can could will would shall should may might must just very
    too also than s t d ll m re ve""".split()
)


def lines(text: pathlib.Path) -> list[str]:
    """The sentences of a file, or of a folder's .txt files in name order."""
    files = sorted(text.glob("*.txt")) if text.is_dir() else [text]
    found = [line.strip() for f in files for line in f.read_text(encoding="utf-8").splitlines()]
    return [line for line in found if line]


def token_vectors(folder: str, texts: list[str]) -> np.ndarray:
    """The unit-length token vectors, n x 384, of the content words of texts."""
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    model = AutoModel.from_pretrained(folder).eval()
    found = []
    for text in texts:
        enc = tokenizer.encode(text)
        words: dict[int, list[int]] = {}
        for word, (start, end) in zip(enc.word_ids, enc.offsets):
            if word is not None:
                span = words.setdefault(word, [start, end])
                span[1] = max(span[1], end)
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([enc.ids])).last_hidden_state[0].double().numpy()
        for row, word in zip(hidden, enc.word_ids):
            if word is None:
                continue
            start, end = words[word]
            piece = text[start:end].lower()
            if piece in STOP or not any(c.isalnum() for c in piece):
                continue
            found.append(row / np.linalg.norm(row))
    return np.array(found)


def fit(vectors: np.ndarray) -> np.ndarray:
    """The 384 x 64 projection: orthonormal columns, each with a positive largest entry."""
    _, basis = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    basis = basis[:, ::-1][:, :DIM]
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(DIM)]
    return basis * np.sign(largest)


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, text, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    # One thread adds in a fixed order, which makes the file reproducible.
    torch.set_num_threads(1)
    texts = lines(text)
    vectors = token_vectors(folder, texts)
    projection = fit(vectors)
    out.write_bytes(np.ascontiguousarray(projection, dtype="<f4").tobytes())
    kept = ((vectors @ projection) ** 2).sum() / len(vectors)
    print(f"{len(texts)} sentences, {len(vectors)} tokens, {kept:.3f} of their squared length kept")


if __name__ == "__main__":
    main()
