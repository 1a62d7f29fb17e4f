"""Prints the number of answers by operation and status, from the file that hooks.py wrote.

Usage: report.py [--missed] FILE OPERATION-THAT-NEED-NOT-SUCCEED... It exits with 1 when another operation of
the contract never answered with a 2xx: it was tested only superficially. With --missed it only prints these.
"""

import argparse
import collections


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("file")
    parser.add_argument("excused", nargs="*")
    arguments = parser.parse_args()

    calls = collections.defaultdict(collections.Counter)
    with open(arguments.file, encoding="utf-8") as f:
        for line in f:
            status, label = line.rstrip("\n").split(" ", 1)
            calls[label].update([] if status == "operation" else [status])
    missed = [label for label, c in sorted(calls.items()) if label not in arguments.excused and not good(c)]
    if arguments.missed:
        print(*missed, sep="\n", end="\n" if missed else "")
        return

    print("fuzz: answers by operation")
    for label in sorted(calls, key=lambda label: label.split(" ")[::-1]):
        others = " ".join(f"{s}:{n}" for s, n in sorted(calls[label].items()) if not s.startswith("2"))
        print(f"{good(calls[label]):6d} x 2xx  {label}  {others}")
    total = sum(sum(c.values()) for c in calls.values())
    print(f"fuzz: {total} requests, {len(calls) - len(missed)} of {len(calls)} operations succeeded at least once, or need not")
    raise SystemExit("".join(f"fuzz: {label} never succeeded\n" for label in missed) or 0)


def good(answers):
    """Counts the answers that were a success."""
    return sum(n for status, n in answers.items() if status.startswith("2"))


if __name__ == "__main__":
    main()
