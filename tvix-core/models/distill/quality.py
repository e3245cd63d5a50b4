"""Measure models: agreement with the teacher on kept-apart texts, and retrieval with the vectors alone.

usage: quality.py WORK MODEL... [--sets FOLDER]

MODEL is a .tvs file or a stage (.npz) of distil.py. FOLDER holds retrieval sets, one folder each, with corpus.jsonl
{id, text, title, scope, meta}, queries.jsonl {id, text, scope} and qrels.tsv (query, document, grade).
Columns: cosine to the teacher (after the best rotation), rank correlation of pair similarities, share of the
teacher's 10 nearest texts among the model's 10, then nDCG@10 of each set.
"""
import argparse
import json
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from distil import held_out, teacher_space
from static_model import Bags, load, unit

SETS = ["scifact", "nfcorpus_pp", "cranfield", "cisi", "xquad_en", "locomo"]


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def document_text(row):
    """A document as the engine embeds it: chat turns with date and speaker, others with their title."""
    meta = row.get("meta") or {}
    if meta.get("speaker"):
        return f"[{meta['date']}] {meta['speaker']}: {row['text']}"
    return f"{row['title']}. {row['text']}" if row.get("title") else row["text"]


def read_grades(path):
    grades = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")
        grades.setdefault(query, {})[document] = float(grade)
    return grades


def ndcg(ranked, grades, depth=10):
    discount = 1 / np.log2(np.arange(depth) + 2)
    gained = np.array([grades.get(d, 0) for d in ranked[:depth]])
    best = np.array(sorted(grades.values(), reverse=True)[:depth])
    return (gained * discount[:len(gained)]).sum() / (best * discount[:len(best)]).sum()


def retrieval(embed, folder):
    """Mean nDCG@10 over the queries that have a relevant document; a query sees the documents of its scope."""
    corpus, grades = read_lines(folder / "corpus.jsonl"), read_grades(folder / "qrels.tsv")
    queries = [q for q in read_lines(folder / "queries.jsonl") if q["id"] in grades]
    ids, scopes = np.array([d["id"] for d in corpus]), np.array([d.get("scope") or "" for d in corpus])
    similar = embed([q["text"] for q in queries]) @ embed([document_text(d) for d in corpus]).T
    scores = []
    for query, row in zip(queries, similar):
        seen = np.flatnonzero(scopes == query["scope"]) if query.get("scope") else np.arange(len(ids))
        top = seen[np.argsort(-row[seen], kind="stable")[:10]]
        scores.append(ndcg(list(ids[top]), grades[query["id"]]))
    return float(np.mean(scores))


def neighbours(vectors, count=10):
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -2)
    return np.argpartition(-similar, count, axis=1)[:, :count]


def agreement(student, teacher, sample=4000, seed=0):
    """(cosine after the best rotation, rank correlation of pair similarities, shared nearest neighbours)"""
    left, _, right = np.linalg.svd(student.T @ teacher)
    cosine = float((student @ (left @ right) * teacher).sum(1).mean())
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, len(teacher), (2, 200_000))
    correlation = spearmanr((student[a] * student[b]).sum(1), (teacher[a] * teacher[b]).sum(1)).statistic
    few = rng.permutation(len(teacher))[:sample]
    mine, theirs = neighbours(student[few]), neighbours(teacher[few])
    shared = np.mean([len(set(m) & set(t)) / 10 for m, t in zip(mine, theirs)])
    return cosine, float(correlation), float(shared)


def measure(path, texts, teacher, sets):
    pieces, rows = load(path)
    bags = Bags(pieces)

    def embed(batch):
        return unit(bags(batch) @ rows)
    return [*agreement(embed(texts), teacher), *(retrieval(embed, folder) for folder in sets)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--sets", type=Path)
    args = parser.parse_args()
    texts, vectors, kept = held_out(args.work)
    teacher = teacher_space(vectors, 256, ~kept)[kept]
    texts = [t for t, k in zip(texts, kept) if k]
    sets = [args.sets / name for name in SETS if args.sets and (args.sets / name).exists()]
    print("| model | cos | rank corr. | shared 10-NN |" + "".join(f" {s.name} |" for s in sets))
    print("|---|" + "---|" * (3 + len(sets)))
    for path in args.models:
        numbers = measure(path, texts, teacher, sets)
        print(f"| {path.stem} |" + "".join(f" {n:.4f} |" for n in numbers), flush=True)


if __name__ == "__main__":
    main()
