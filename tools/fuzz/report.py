"""Prints the number of answers by operation and status, from the file that hooks.py wrote.

Usage: report.py FILE OPERATION-THAT-NEED-NOT-SUCCEED... It exits with 1 when another operation of
the contract never answered with a 2xx: it was tested only superficially.
"""

import collections
import sys


def main():
    calls = collections.defaultdict(collections.Counter)
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            status, label = line.rstrip("\n").split(" ", 1)
            calls[label].update([] if status == "operation" else [status])
    excused = set(sys.argv[2:])
    print("fuzz: answers by operation")
    shallow = []
    for label in sorted(calls, key=lambda label: label.split(" ")[::-1]):
        good = sum(n for status, n in calls[label].items() if status.startswith("2"))
        others = " ".join(f"{s}:{n}" for s, n in sorted(calls[label].items()) if not s.startswith("2"))
        print(f"{good:6d} x 2xx  {label}  {others}")
        if not good and label not in excused:
            shallow.append(label)
    total = sum(sum(c.values()) for c in calls.values())
    print(f"fuzz: {total} requests, {len(calls) - len(shallow)} of {len(calls)} operations succeeded at least once, or need not")
    for label in shallow:
        print(f"fuzz: {label} never succeeded", file=sys.stderr)
    sys.exit(1 if shallow else 0)


if __name__ == "__main__":
    main()
