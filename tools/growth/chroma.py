"""Measures Chroma in this process with the vectors of a file, and prints one JSON object.

Usage: chroma.py DIRECTORY NOTES DIMENSIONS QUERIES CALLS SIZE[,SIZE...]
DIRECTORY holds notes.txt (a note a line), notes.f32 and queries.f32 (vectors).
"""

import json
import sys
import time
from pathlib import Path

import chromadb
import numpy


def median(times):
    return sorted(times)[len(times) // 2] * 1000


def main():
    directory, notes, dimensions, queries, calls = Path(sys.argv[1]), *map(int, sys.argv[2:6])
    sizes = [int(size) for size in sys.argv[6].split(",")]
    text = (directory / "notes.txt").read_text().splitlines()
    vectors = numpy.fromfile(directory / "notes.f32", dtype="float32").reshape(notes, dimensions)
    asked = numpy.fromfile(directory / "queries.f32", dtype="float32").reshape(queries, dimensions)
    client = chromadb.PersistentClient(path=str(directory / "chroma"), settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("growth", metadata={"hnsw:space": "cosine"})

    def add(first, last):
        collection.add(ids=[str(i) for i in range(first, last)], embeddings=vectors[first:last], documents=text[first:last])

    figures, have = [], 0
    for size in sizes:
        start, began = time.perf_counter(), have
        while have < size - calls:
            last = min(have + 1000, size - calls)
            add(have, last)
            have = last
        if have > began:
            figures.append({"what": "bulk", "notes": have, "value": (have - began) / (time.perf_counter() - start), "unit": "notes/s"})
        times = []
        while have < size:
            start = time.perf_counter()
            add(have, have + 1)
            times.append(time.perf_counter() - start)
            have += 1
        figures.append({"what": "durable add", "notes": size, "p50_ms": median(times)})
        times = []
        for i in range(calls):
            query = asked[i % queries : i % queries + 1]
            start = time.perf_counter()
            collection.query(query_embeddings=query, n_results=10)
            times.append(time.perf_counter() - start)
        figures.append({"what": "search by meaning, query embedded before", "notes": size, "p50_ms": median(times)})
        print(f"chroma: {size} notes", file=sys.stderr)
    print(json.dumps({"version": chromadb.__version__, "figures": figures}))


main()
