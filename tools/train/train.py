#!/usr/bin/env python3
"""Trains a low-rank adapter of an encoder on conversations, and says what it finds.

    train.py minilm --texts texts.ndjson --encoder WEIGHTS --work FOLDER [--steps 1000] [--seed 1] [--without SET,…]
    train.py e5     … the same, in the space of the first: that of FOLDER, or the committed one
    train.py measure minilm|e5 …   only measures what is trained

Texts are what tools/train/texts writes, WEIGHTS is the folder with the published weights, FOLDER keeps what is computed once, the
state of a run that was interrupted, and the result; one run at a time. README.md beside this file says more.
"""

import argparse
import fcntl
import hashlib
import json
import pathlib
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

from data import TOKENS, States, read
from model import ENCODERS, Lower, Upper

TEMPERATURE = 0.05
QUERIES, DOCUMENTS, PIECES = 24, 128, 5000  # of a step, at most
KINDS = {"fact": 0.35, "word for word": 0.3}  # how likely a query is taken; others 1
SETS = {"corpus": 1.0, "realmem": 6.0, "vehicle": 2.0}  # how much more likely a conversation is taken
# How much of what was learned is kept, between the published numbers and the trained ones: half has nearly all of the gain on
# talk and loses nothing on other texts (M. Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022).
KEPT = 0.5
ENGLISH_EACH = 3  # one English dialogue in so many is also learned by the encoder for other languages
SAVE_EACH = 50


class Tower:
    """An encoder with its cached states."""

    def __init__(self, name, encoder, work, rank=16):
        source = ENCODERS[name](encoder)
        self.name = name
        self.states = States(work, source, Lower(source))
        self.upper = Upper(source, rank).halve()

    def encode(self, texts, pieces=6000):
        """Vectors, codes of index terms (padded), and where there are codes."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i].ids))
        vectors, codes = [], []
        at = 0
        while at < len(order):
            part = []
            while at < len(order) and (not part or (len(part) + 1) * len(texts[order[at]].ids) <= pieces // 4):
                part.append(order[at])
                at += 1
            chosen = [texts[i] for i in part]
            x, mask = self.states.batch(chosen)
            v, c = self.upper(x, mask, torch.tensor([t.query for t in chosen]))
            vectors.append(v)
            codes += [c[j, t.terms or [0]] for j, t in enumerate(chosen)]
        back = torch.empty(len(order), dtype=torch.long)
        back[order] = torch.arange(len(order))
        codes = [codes[i] for i in back]
        there = torch.zeros(len(codes), max(len(c) for c in codes), dtype=torch.bool)
        for i, t in enumerate(texts):
            there[i, : len(t.terms)] = True
        return torch.cat(vectors)[back], torch.nn.utils.rnn.pad_sequence(codes, batch_first=True), there


def late(qc, qm, dc, dm):
    """The mean, over the terms of each query, of the best match in each document."""
    s = torch.einsum("qad,nbd->qnab", qc, dc)
    s = s.masked_fill(~dm[None, :, None, :], -1.0).amax(-1)
    s = s.masked_fill(~qm[:, None, :], 0.0).sum(-1)
    return s / qm.sum(-1).clamp(min=1)[:, None]


def loss_of(scores, gold, allowed):
    """Cross-entropy; of several right documents the mean."""
    logp = F.log_softmax((scores / TEMPERATURE).masked_fill(~allowed, -1e9), -1)
    return -((logp * gold).sum(-1) / gold.sum(-1)).mean()


def sample(c, rng):
    """Queries of a conversation and its documents: the evidence, turns beside it, what words find, others."""
    pool = [q for q in c.queries if q.english or not c.english]
    order = sorted(pool, key=lambda q: -rng.random() ** (1 / KINDS.get(q.kind, 1.0)))
    queries, docs = [], set()
    for q in order:
        if len(queries) == QUERIES:
            break
        new = set(q.gold)
        if len(docs | new) > DOCUMENTS - 20:
            continue
        docs |= new
        queries.append(q)
    wanted = []
    for q in queries:
        wanted += [g + o for g in q.gold for o in (-2, -1, 1, 2)]
        wanted += rng.sample(q.near[:12], min(6, len(q.near[:12])))
    rng.shuffle(wanted)
    rest = list(c.usable)
    rng.shuffle(rest)
    usable = set(c.usable)
    pieces = sum(len(c.turns[t]["minilm"].ids) for t in docs)
    for t in wanted[: DOCUMENTS * 2 // 3] + rest:
        if len(docs) >= DOCUMENTS or pieces >= PIECES:
            break
        if t in usable and t not in docs:
            docs.add(t)
            pieces += len(c.turns[t]["minilm"].ids)
    return queries, sorted(docs)


class Trainer:
    def __init__(self, args, conversations):
        self.args, self.rng = args, random.Random(args.seed)
        torch.manual_seed(args.seed)
        self.tower = Tower(args.name, args.encoder, args.work)
        self.other = None
        if args.name == "e5":
            self.other = Tower("minilm", args.encoder, args.work)
            first = args.work / "adapter_minilm.pt"
            if first.exists():
                load(self.other.upper, first)
            else:
                self.other.upper.committed("minilm")
            self.other.upper.eval()
        self.conversations = conversations

    def learned(self):
        without = set(filter(None, self.args.without.split(",")))
        ok = [c for c in self.conversations if c.part == "train" and c.set not in without and c.writer not in without]
        if not self.other:
            return [c for c in ok if c.english]
        # The second encoder reads no English in use. Some teaches it where the first one puts things.
        english = [c for c in ok if c.english and c.set == "corpus"]
        return [c for c in ok if not c.english] + english[:: ENGLISH_EACH]

    def compute(self, conversations):
        own, others = [], []
        for c in conversations:
            usable = c.usable if c.part == "train" else range(len(c.turns))
            for i in usable:
                self.assign(c.turns[i], c.english_turns[i], c.english and c.part == "train", own, others)
            for q in c.queries:
                self.assign(q.text, q.english, c.english and c.part == "train", own, others)
        self.tower.states.compute(own)
        if self.other:
            self.other.states.compute(others)

    def assign(self, text, english, both, own, others):
        """Which of the encoders reads a text: as in the product; those of English talk are read by both where they teach."""
        if not self.other or not english or both:
            own.append(text[self.tower.name])
        if self.other and (english or both):
            others.append(text["minilm"])

    def encode(self, texts, english, by=None):
        """Each text by its encoder."""
        if not self.other:
            return self.tower.encode([t["minilm"] for t in texts])
        first = [i for i, e in enumerate(english) if (e if by is None else by == "minilm")]
        second = [i for i in range(len(texts)) if i not in set(first)]
        parts = []
        if first:
            with torch.no_grad():
                parts.append(self.other.encode([texts[i]["minilm"] for i in first]))
        if second:
            parts.append(self.tower.encode([texts[i]["e5"] for i in second]))
        back = torch.empty(len(texts), dtype=torch.long)
        back[first + second] = torch.arange(len(texts))
        longest = max(p[1].shape[1] for p in parts)
        pad = lambda p: F.pad(p[1], (0, 0, 0, longest - p[1].shape[1]))
        masks = [F.pad(p[2], (0, longest - p[2].shape[1])) for p in parts]
        return torch.cat([p[0] for p in parts])[back], torch.cat([pad(p) for p in parts])[back], torch.cat(masks)[back]

    def loss(self, c):
        queries, docs = sample(c, self.rng)
        ask = answer = None
        if self.other and c.english:  # one side at least by the encoder that is trained
            ask, answer = self.rng.choice([("e5", "minilm"), ("minilm", "e5"), ("e5", "e5")])
        qv, qc, qm = self.encode([q.text for q in queries], [q.english for q in queries], ask)
        dv, dc, dm = self.encode([c.turns[i] for i in docs], [c.english_turns[i] for i in docs], answer)
        place = {t: i for i, t in enumerate(docs)}
        gold = torch.zeros(len(queries), len(docs))
        allowed = torch.zeros(len(queries), len(docs), dtype=torch.bool)
        for i, q in enumerate(queries):
            gold[i, [place[g] for g in q.gold]] = 1
            allowed[i] = torch.tensor([t < q.before for t in docs])
        asked = qm.any(-1)
        by_late = late(qc, qm, dc, dm)[asked]
        return loss_of(qv.float() @ dv.float().T, gold, allowed), loss_of(by_late.float(), gold[asked], allowed[asked])

    def train(self):
        args, upper = self.args, self.tower.upper
        learned = self.learned()
        print(f"{args.name}: {len(learned)} conversations, {sum(len(c.queries) for c in learned)} queries", flush=True)
        self.compute(learned)
        published = upper.projection.detach().clone()
        weight = [SETS.get(c.set, 1.0) * min(1.0, len(c.queries) / QUERIES) for c in learned]
        if self.other:  # what the encoder reads in use comes more often
            weight = [w * (1.0 if not c.english else 0.25) for w, c in zip(weight, learned)]
        adapter = [p for l in upper.layers for p in (*l.down.values(), *l.up.values())]
        optimizer = torch.optim.AdamW(
            [{"params": adapter, "lr": args.rate}, {"params": [upper.projection], "lr": args.rate / 2}], weight_decay=0.01
        )
        warm = max(1, args.steps // 15)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / warm, max(0.0, (args.steps - s) / (args.steps - warm))))
        state = args.work / f"run_{args.name}.pt"
        step = 0
        if state.exists():
            saved = torch.load(state, weights_only=False)
            if saved["settings"] == settings(args):
                restore(upper, saved["adapter"])
                optimizer.load_state_dict(saved["optimizer"])
                schedule.load_state_dict(saved["schedule"])
                self.rng.setstate(saved["rng"])
                torch.set_rng_state(saved["torch"])
                step = saved["step"]
                print(f"continues at step {step}", flush=True)
        began, first, means = time.time(), step, [0.0, 0.0]
        upper.train()
        while step < args.steps:
            c = self.rng.choices(learned, weight)[0]
            with torch.autocast("cpu", torch.bfloat16):
                by_vector, by_late = self.loss(c)
            loss = by_vector + by_late
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(adapter + [upper.projection], 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            fade = 0.98 if step > first + 1 else 0.0
            means = [fade * m + (1 - fade) * l.item() for m, l in zip(means, (by_vector, by_late))]
            if step % 10 == 0:
                left = (time.time() - began) / (step - first) * (args.steps - step)
                print(f"step {step} of {args.steps}: loss {means[0]:.3f} by vector, {means[1]:.3f} late; {left / 60:.0f} min left", flush=True)
            if step % SAVE_EACH == 0 or step == args.steps:
                temporary = state.with_suffix(".new")
                torch.save({
                    "settings": settings(args), "adapter": trained(upper), "optimizer": optimizer.state_dict(), "step": step,
                    "schedule": schedule.state_dict(), "rng": self.rng.getstate(), "torch": torch.get_rng_state(),
                }, temporary)
                temporary.replace(state)
        torch.save(kept(trained(upper), published, KEPT), args.work / f"adapter_{args.name}{args.suffix}.pt")

    @torch.inference_mode()
    def measure(self):
        """recall@10 by cosine and by late interaction, of held conversations by set."""
        self.tower.upper.eval()
        held = [c for c in self.conversations if c.part == "held" and (self.other or c.english)]
        if self.other:
            held = [c for c in held if not c.english or any(not q.english for q in c.queries)]
        held = held if not self.args.sets else [c for c in held if c.set in self.args.sets.split(",")]
        self.compute(held)
        found = {}
        for c in held:
            # Of English talk the second encoder is asked in other languages alone.
            queries = [q for q in c.queries if q.kind != "fact" and (not (q.english and c.english) if self.other else q.english)]
            if not queries:
                continue
            with torch.autocast("cpu", torch.bfloat16):
                qv, qc, qm = self.encode([q.text for q in queries], [q.english for q in queries])
                dv, dc, dm = self.encode(c.turns, c.english_turns)
            cosine = qv.float() @ dv.float().T
            for i, q in enumerate(queries):
                later = torch.arange(len(c.turns)) >= q.before
                by_late = late(qc[i : i + 1], qm[i : i + 1], dc, dm)[0].float()
                row = []
                for s in (cosine[i], by_late):
                    top = s.masked_fill(later, -9).topk(min(10, len(s))).indices.tolist()
                    row.append(len(set(top) & set(q.gold)) / len(q.gold))
                name = c.set if c.set != "corpus" else f"corpus, {q.kind}" + ("" if c.english else ", other languages")
                if self.other and c.english or c.set == "corpus" and not c.english and q.english:
                    name += ", asked in another language"
                found.setdefault(name, []).append(row)
        return {k: [len(v), *np.round(np.mean(v, 0), 3).tolist()] for k, v in sorted(found.items())}


def trained(upper):
    return {n: p.detach().clone() for n, p in upper.named_parameters()}


def kept(numbers, published, share):
    """The adapter between nothing and all that was learned; published is the projection that it began with."""
    out = {n: p * share if ".up." in n else p for n, p in numbers.items()}
    out["projection"] = published + share * (numbers["projection"] - published)
    return out


def restore(upper, numbers):
    with torch.no_grad():
        for n, p in upper.named_parameters():
            p.copy_(numbers[n])


def load(upper, path):
    restore(upper, torch.load(path, weights_only=True))


def settings(args):
    of = {k: getattr(args, k) for k in ("name", "steps", "seed", "rate", "without")}
    with open(args.texts, "rb") as f:
        of["texts"] = hashlib.file_digest(f, "sha256").hexdigest()
    return of | {"queries": QUERIES, "documents": DOCUMENTS, "pieces": PIECES, "tokens": TOKENS, "temperature": TEMPERATURE, "kept": KEPT}


def table(before, after):
    print("| recall@10 by cosine, late interaction | questions | as published | adapter |\n|---|---|---|---|")
    for name in after:
        b, a = before.get(name, [0, 0, 0]), after[name]
        print(f"| {name} | {a[0]} | {b[1]:.3f}, {b[2]:.3f} | {a[1]:.3f}, {a[2]:.3f} |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("name", choices=[*ENCODERS, "measure"])
    p.add_argument("of", nargs="?", choices=list(ENCODERS))
    p.add_argument("--texts", type=pathlib.Path, required=True)
    p.add_argument("--encoder", type=pathlib.Path, required=True)
    p.add_argument("--work", type=pathlib.Path, required=True)
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--rate", type=float, default=3e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--without", default="", help="sets and writers that are not learned from")
    p.add_argument("--suffix", default="", help="of the result, for a run that is only compared")
    p.add_argument("--sets", default="", help="sets that are measured; all")
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    lock = open(args.work / "lock", "w")  # held until the end
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        p.error(f"another run uses {args.work}")
    only = args.name == "measure"
    if only:
        args.name = args.of
    conversations, _ = read(args.texts)
    trainer = Trainer(args, conversations)
    if not only:
        trainer.train()
    before_path = args.work / f"measured_{args.name}.json"
    result = args.work / f"adapter_{args.name}{args.suffix}.pt"
    load(trainer.tower.upper, result)
    after = trainer.measure()
    (args.work / f"measured_{args.name}{args.suffix}_adapter.json").write_text(json.dumps(after, indent=1))
    if not before_path.exists():
        fresh = Trainer(args, conversations)
        if fresh.other:
            fresh.other = Tower("minilm", args.encoder, args.work)
        before_path.write_text(json.dumps(fresh.measure(), indent=1))
    table(json.loads(before_path.read_text()), after)


if __name__ == "__main__":
    main()
