#!/usr/bin/env python3
"""Trains the first layers of the encoder for English to judge pairs of a question and a turn, and says what that changes.

    pairs.py --texts texts.ndjson --encoder WEIGHTS --work FOLDER --measures FILE,… [--layers 3] [--share 1] [--steps 800]

Measures are what `eval measure --signals ""` writes: the first 30 hits of each question, with their scores. README.md says more.
"""

import argparse
import json
import math
import pathlib
import random
from time import process_time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from model import DIM, ENCODERS, Layer

QUESTION, BEFORE, TURN = 40, 20, 72  # pieces that are read of each
CANDIDATES, PER_STEP = 8, 4  # of a question in training; questions of a step
WEIGHTS = [0, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5]


class Question:
    """A question with the gateway's first hits as pairs of texts."""

    def __init__(self, m, c, query, turns):
        self.set, self.conversation, self.part = c["set"], c["id"], c["part"]
        self.name = self.set + (" " + m["category"] if self.set == "corpus" else "") + (", dialogue" if m["dialogue"] else "")
        place = {t: i for i, t in enumerate(c["ids"])}
        self.query, self.ends = query[1:-1][:QUESTION], (query[0], query[-1])
        self.hits, self.golds = [], len(m["gold"])
        for n in m["notes"]:
            at = place[n["turn"]]
            before = turns[at - 1][1:-1][:BEFORE] if at else []
            self.hits.append((before, turns[at][1:-1][:TURN]))
        self.score = np.array([n["score"] for n in m["notes"]], "f4")
        self.gold = np.array([n["turn"] in m["gold"] for n in m["notes"]], "f4")
        self.values = [n["values"] for n in m["notes"]]

    def pair(self, i):
        """The pieces of a pair, and how many of them are the question's and how many end with the turn before."""
        begin, end = self.ends
        before, turn = self.hits[i]
        head = [begin, *self.query, end]
        return head + before + [end] + turn + [end], len(head), len(head) + len(before) + 1

    def recall(self, scores, k=10):
        return self.gold[np.argsort(-scores, kind="stable")[:k]].sum() / self.golds


def read(args):
    """The questions in English, by set."""
    conversations = {}
    with open(args.texts, encoding="utf-8") as f:
        for line in f:
            c = json.loads(line)
            if sum(t["english"] for t in c["turns"]) > 0.9 * len(c["turns"]):
                conversations[c["set"], c["id"]] = c
    out = []
    for file in args.measures.split(","):
        with open(file, encoding="utf-8") as f:
            for line in f:
                m = json.loads(line)
                c = conversations.get((m["track"].removeprefix("talk-"), m["conversation"]))
                if c is None or not m["notes"]:
                    continue
                if "read" not in c:
                    c["read"] = {q["text"]: q["minilm"]["ids"] for q in c["queries"] if q["english"]}, [t["minilm"]["ids"] for t in c["turns"]]
                queries, turns = c["read"]
                if m["text"] in queries and m["category"] != "word for word":
                    out.append(Question(m, c, queries[m["text"]], turns))
    return out


def scale(learn, questions):
    """Multiplies scores so that they are logits: by what makes the evidence that is learned from likeliest."""
    usable = [q for q in learn if 0 < q.gold.sum() < len(q.gold)]
    loss = lambda a: sum(-(F.log_softmax(torch.from_numpy(a * q.score), -1).numpy() * q.gold).sum() / q.gold.sum() for q in usable)
    best = min(range(2, 60, 2), key=loss)
    print(f"a score counts {best} times: loss {loss(best) / len(usable):.3f}", flush=True)
    for q in questions:
        q.score *= best


def split(questions):
    """What is learned from, what chooses (each fourth conversation of it), and what only measures."""
    learn, choose, held = [], [], []
    names = sorted({(q.set, q.conversation) for q in questions if q.part == "train"})
    fourth = {n for s in {s for s, _ in names} for n in [x for x in names if x[0] == s][3::4]}
    for q in questions:
        (held if q.part != "train" else choose if (q.set, q.conversation) in fourth else learn).append(q)
    return learn, choose, held


class Judge(nn.Module):
    """The first layers with an adapter of their own, and a linear head over the means of both texts."""

    def __init__(self, source, layers, rank=16):
        super().__init__()
        word, position, norm = source.embeddings()
        kinds = source.tensor("embeddings.token_type_embeddings.weight")
        self.word, self.position, self.kind, self.norm = word, position, kinds[1] - kinds[0], norm
        self.layers = nn.ModuleList(Layer(source.layer(i), rank, 2.0, 0.1) for i in range(layers))
        for layer in self.layers:
            for name, w in list(layer.named_buffers()):
                if "norm" not in name:
                    setattr(layer, name, w.bfloat16())
        self.head = nn.Linear(4 * DIM, 1, bias=False)
        nn.init.zeros_(self.head.weight)
        self.near = nn.Parameter(torch.tensor(0.0))  # weight of the cosine of both
        self.prior = nn.Parameter(torch.tensor(1.0))  # weight of the gateway's score

    def forward(self, pairs):
        longest = max(len(ids) for ids, _, _ in pairs)
        ids, part = torch.zeros(len(pairs), longest, dtype=torch.long), torch.zeros(len(pairs), longest, dtype=torch.long)
        for i, (p, query, before) in enumerate(pairs):
            ids[i, : len(p)] = torch.tensor(p)
            part[i, :query], part[i, query:before], part[i, before : len(p)] = 1, 2, 3
        x = self.word[ids] + self.position[:longest] + (part > 1)[..., None] * self.kind
        x = F.layer_norm(x, (DIM,), *self.norm, eps=1e-12)
        for layer in self.layers:
            x = layer(x, part > 0)
        mean = lambda n: (x * (part == n)[..., None]).sum(1) / (part == n).sum(1, keepdim=True)
        q, t = mean(1), mean(3)
        features = torch.cat([x[:, 0], q, t, q * t], -1)
        return self.head(features)[:, 0].float() + self.near * F.cosine_similarity(q, t).float() * 10

    def judge(self, q, batch=15):
        """The score of each hit of a question."""
        pairs = [q.pair(i) for i in range(len(q.hits))]
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
        out = np.zeros(len(pairs), "f4")
        for at in range(0, len(order), batch):
            part = order[at : at + batch]
            out[part] = self([pairs[i] for i in part]).numpy()
        return out


def chosen(q, rng):
    """Candidates that a question is learned from: the evidence, and of the others rather the first ones."""
    gold, rest = [i for i, g in enumerate(q.gold) if g], [i for i, g in enumerate(q.gold) if not g]
    rng.shuffle(gold)
    gold = gold[: CANDIDATES // 2]
    rest.sort(key=lambda i: -(rng.random() ** (1 + i / 10)))
    return gold + rest[: CANDIDATES - len(gold)]


def train(judge, questions, args, path):
    usable = [q for q in questions if 0 < q.gold.sum() < len(q.gold)]
    rng = random.Random(args.seed)
    order = [q for _ in range(math.ceil(args.steps * PER_STEP / len(usable))) for q in rng.sample(usable, len(usable))]
    learned = dict(judge.named_parameters())
    adapter, heads = ([p for n, p in learned.items() if n.startswith("layers.") == which] for which in (True, False))
    optimizer = torch.optim.AdamW([{"params": adapter, "lr": args.rate}, {"params": heads, "lr": args.rate * 3}], weight_decay=0.01)
    warm = max(1, args.steps // 15)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / warm, max(0.0, (args.steps - s) / (args.steps - warm))))
    print(f"{args.layers} layers: {len(usable)} questions to learn from with {sum(len(q.hits) for q in usable)} pairs, {args.steps} steps", flush=True)
    first, losses = 0, []
    if path.exists():
        first, state, optimized, scheduled, losses = torch.load(path)
        judge.load_state_dict(state, strict=False)
        optimizer.load_state_dict(optimized)
        schedule.load_state_dict(scheduled)
    judge.train()
    for step in range(first + 1, args.steps + 1):
        part = [(q, chosen(q, random.Random(step * 10 + i))) for i, q in enumerate(order[(step - 1) * PER_STEP : step * PER_STEP])]
        with torch.autocast("cpu", torch.bfloat16):
            said = judge([q.pair(i) for q, pick in part for i in pick]).split([len(pick) for _, pick in part])
        loss = 0.0
        for (q, pick), s in zip(part, said):
            prior, gold = torch.from_numpy(q.score[pick]), torch.from_numpy(q.gold[pick])
            of = lambda s: -(F.log_softmax(s, -1) * gold).sum() / gold.sum()
            loss = loss + of(judge.prior * prior + s) / len(part)
            losses.append((of(judge.prior * prior + s).item(), of(prior).item()))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(adapter + heads, 1.0)
        optimizer.step()
        schedule.step()
        if step % 25 == 0 or step == args.steps:
            torch.save((step, learned, optimizer.state_dict(), schedule.state_dict(), losses), path)
            pair, score = np.mean(losses[-100 * PER_STEP :], 0)
            print(f"step {step}: loss {pair:.3f}, by the gateway's score alone {score:.3f}; {process_time():.0f} s of CPU", flush=True)
    judge.eval()
    print(f"weight of the score {judge.prior.item():.2f}, of the cosine {judge.near.item():.2f}", flush=True)


def by_set(questions):
    out = {}
    for q in questions:
        out.setdefault(q.name, []).append(q)
    return dict(sorted(out.items()))


def table(name, choose, held, extra):
    """What is found when a multiple of extra is added to the score. The multiple is chosen by each set of what chooses alike."""
    with_it = lambda qs, w: np.array([q.recall(q.score + w * extra(q)) for q in qs])
    w = max(WEIGHTS, key=lambda w: (np.mean([with_it(qs, w).mean() for qs in by_set(choose).values()]).round(5), -w))
    print(f"\n{name}, weight {w}\n| | questions | gateway | with it | difference, 95 % | at its own best weight | all of the 30 |\n|---|---|---|---|---|---|---|")
    rng, means = np.random.default_rng(1), []
    for part, qs in [*(("chooses: " + n, x) for n, x in by_set(choose).items()), *by_set(held).items()]:
        before, after = with_it(qs, 0), with_it(qs, w)
        d = after - before
        low, high = np.percentile(d[rng.integers(0, len(d), (2000, len(d)))].mean(1), [2.5, 97.5])
        best, all_of = max(with_it(qs, v).mean() for v in WEIGHTS), np.mean([q.gold.sum() / q.golds for q in qs])
        print(f"| {part} | {len(qs)} | {before.mean():.3f} | {after.mean():.3f} | {d.mean():+.3f} ({low:+.3f} to {high:+.3f}) | {best:.3f} | {all_of:.3f} |")
        if not part.startswith("chooses"):
            means.append(d.mean())
    print(f"mean of what is held {np.mean(means):+.4f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    for name in ("texts", "encoder", "work", "measures"):
        p.add_argument("--" + name, type=str if name == "measures" else pathlib.Path, required=True)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--share", type=float, default=1.0, help="of the questions that are learned from")
    p.add_argument("--steps", type=int, default=800)
    p.add_argument("--rate", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--most", type=int, default=250, help="questions of a set that are measured")
    args = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    questions = read(args)
    learn, choose, held = split(questions)
    scale(learn, questions)
    rng = random.Random(args.seed)
    thin = lambda part: [q for qs in by_set(part).values() for q in rng.sample(qs, min(args.most, len(qs)))]
    choose, held = thin(choose), thin(held)
    for name in ("vector", "late"):
        of = lambda q: np.array([v.get(name, 0.0) for v in q.values], "f4")
        table("control: " + name, choose, held, lambda q: (of(q) - of(q).mean()) / (of(q).std() + 1e-6))
    random.Random(args.seed).shuffle(learn)
    judge = Judge(ENCODERS["minilm"](args.encoder), args.layers)
    train(judge, learn[: int(len(learn) * args.share)], args, args.work / f"judge_{args.layers}_{args.share}_{args.seed}.pt")
    said = {}
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for q in choose + held:
            said[id(q)] = judge.judge(q)
    table("pairs", choose, held, lambda q: said[id(q)] / max(judge.prior.item(), 0.1))


if __name__ == "__main__":
    main()
