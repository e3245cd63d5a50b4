"""Distil the teacher into a static model.

usage: distil.py WORK OUT.tvs [--words 6000] [--epochs 8] ...

1. Vocabulary: the teacher's word pieces that can occur, and the commonest words of the texts that it splits.
2. Start: one teacher vector per piece, PCA to 256 columns, each row weighted by a/(a+p) of its share p (SIF).
3. Rotation of the start into the PCA space of the teacher's text vectors.
4. Regression of the teacher's text vectors by Adam: 1 - cosine, plus the KL divergence of the similarities within a
   batch. A tenth of the texts is kept apart (quality.py measures on it).
5. One i8 row and one f32 scale per piece.

WORK/stages/ holds the rows after steps 2 and 4. The teacher's vectors of the vocabulary are kept, too.
"""
import argparse
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from static_model import Bags, file_size, save, save_stage, unit
from teacher import CLS, SEP, SHARD, Teacher, read_texts, shard_path

COLUMNS, MAX_BYTES, SIF = 256, 9_500_000, 1e-3


def held_out(work):
    """(texts, teacher vectors, mask of the kept-apart tenth) of the shards that exist, without a gap."""
    rows, parts = read_texts(work), []
    while shard_path(work, len(parts)).exists():
        parts.append(np.load(shard_path(work, len(parts))).astype(np.float32))
    vectors = np.concatenate(parts)
    texts = [r["text"] for r in rows[:len(vectors)]]
    assert len(texts) == len(vectors) and len(vectors) > len(parts[0]) * (len(parts) - 1)
    return texts, vectors, np.arange(len(texts)) % 10 == 0


def components(x, columns):
    """The mean of the rows and their first principal directions."""
    values, directions = np.linalg.eigh(np.cov((x - x.mean(0)).T))
    return x.mean(0), directions[:, np.argsort(-values)[:columns]].astype(np.float32)


def teacher_space(vectors, columns, train):
    """The teacher's vectors, centred, cut to the first principal directions of the training part, unit length."""
    mean, directions = components(unit(vectors[train]), columns)
    return unit((unit(vectors) - mean) @ directions)


def reachable(piece):
    """Can the piece occur? Not the special ones, and no CJK character inside a word: these stand alone."""
    if piece.startswith("[") and piece.endswith("]") and len(piece) > 1:
        return False
    return not (piece.startswith("##") and len(piece) > 2 and "CJK" in unicodedata.name(piece[2], ""))


def split_words(tokenizer, texts):
    """Words of the texts that the teacher splits, the commonest first."""
    counts = Counter()
    for text in texts:
        text = tokenizer.normalizer.normalize_str(text)
        counts.update(w for w, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text) if 4 <= len(w) <= 24 and w.isalpha())
    known = tokenizer.get_vocab()
    return [w for w, n in counts.most_common() if n >= 3 and w.isascii() and w not in known]


def vocabulary(teacher, texts, words):
    """(pieces, the ids that the teacher reads for each), as many words as asked and as fit the file."""
    known = teacher.tokenizer.get_vocab()
    pieces = [p for p, _ in sorted(known.items(), key=lambda item: item[1]) if reachable(p)]
    ids = [[CLS, known[p], SEP] for p in pieces]
    for word in split_words(teacher.tokenizer, texts)[:words]:
        if file_size(pieces + [word], COLUMNS) > MAX_BYTES:
            break
        pieces.append(word)
        ids.append(teacher.tokenizer.encode(word).ids)
    return pieces, ids


def piece_vectors(work, words):
    """(pieces, teacher vectors), from WORK/vocabulary-WORDS.npz if a run left it there."""
    path = work / f"vocabulary-{words}.npz"
    if not path.exists():
        teacher = Teacher(work)
        pieces, ids = vocabulary(teacher, [r["text"] for r in read_texts(work)], words)
        np.savez(path, pieces="\n".join(pieces), vectors=teacher.embed_ids(ids))
    kept = np.load(path)
    return str(kept["pieces"]).split("\n"), kept["vectors"]


def shares(bags, pieces):
    """Share of each piece in running text: counts in the texts, mixed with a Zipf prior on the teacher's order."""
    counts = np.asarray(bags.sum(0)).ravel()
    prior = 1 / (np.arange(len(pieces)) + 1000.)
    return .8 * counts / counts.sum() + .2 * prior / prior.sum()


def start(bags, pieces, vectors):
    """PCA of the piece vectors, weighted so that frequent pieces count less."""
    mean, directions = components(vectors, COLUMNS)
    rows = (vectors - mean) @ directions * (SIF / (SIF + shares(bags, pieces)))[:, None]
    return (rows * .14 / rows.std()).astype(np.float32)


def rotation(student, teacher):
    left, _, right = np.linalg.svd(student.T @ teacher)
    return left @ right


class RowAdam:
    """Adam that touches only the rows of a batch."""

    def __init__(self, rows):
        self.rows = rows.copy()
        self.first, self.second = np.zeros_like(rows), np.zeros_like(rows)
        self.steps = np.zeros(len(rows), np.int32)

    def step(self, used, gradient, rate):
        self.steps[used] += 1
        t = self.steps[used][:, None]
        first = self.first[used] = .9 * self.first[used] + .1 * gradient
        second = self.second[used] = .99 * self.second[used] + .01 * gradient * gradient
        change = first / (1 - .9 ** t) / (np.sqrt(second / (1 - .99 ** t)) + 1e-8)
        self.rows[used] -= (rate * change).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def gradient(bags, teacher, rows, temperature, weight):
    """Of mean(1 - cosine) + weight * KL(similarities of the teacher || of the student), over one batch."""
    sums = bags @ rows
    length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    student = sums / length
    mine, theirs = student @ student.T / temperature, teacher @ teacher.T / temperature
    np.fill_diagonal(mine, -1e4)
    np.fill_diagonal(theirs, -1e4)
    off = (softmax(mine) - softmax(theirs)) / len(teacher)
    to_student = weight * (off @ student + off.T @ student) - teacher / len(teacher)
    return bags.T @ ((to_student - (to_student * student).sum(1, keepdims=True) * student) / length)


def regress(rows, bags, teacher, args):
    """Rows that give the teacher's vectors of the texts."""
    sizes = np.maximum(np.asarray(bags.sum(1)).ravel(), 1)
    bags = (sp.diags(1 / sizes).astype(np.float32) @ bags).tocsr()
    adam, rng, done = RowAdam(rows), np.random.default_rng(0), 0
    per_epoch = bags.shape[0] // args.batch
    for _ in range(args.epochs):
        order = rng.permutation(bags.shape[0])[:per_epoch * args.batch]
        for batch in order.reshape(per_epoch, args.batch):
            part = bags[batch]
            used = np.unique(part.indices)
            rate = args.rate * .5 * (1 + np.cos(np.pi * done / (args.epochs * per_epoch)))
            adam.step(used, gradient(part[:, used], teacher[batch], adam.rows[used], args.temperature, args.kl), rate)
            done += 1
    return adam.rows


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=6000, help="whole words to add")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--temperature", type=float, default=.06)
    parser.add_argument("--kl", type=float, default=1.)
    return parser.parse_args()


def main():
    args = options()
    texts, vectors, kept = held_out(args.work)
    teacher = teacher_space(vectors, COLUMNS, ~kept)
    pieces, of_pieces = piece_vectors(args.work, args.words)
    bags = Bags(pieces)(texts)[~kept]
    rows = start(bags, pieces, of_pieces)
    stages = args.work / "stages"
    stages.mkdir(exist_ok=True)
    save_stage(stages / f"{args.out.stem}-1-start.npz", pieces, rows)
    rows = (rows @ rotation(unit(bags @ rows), teacher[~kept])).astype(np.float32)
    rows = regress(rows, bags, teacher[~kept], args)
    save_stage(stages / f"{args.out.stem}-2-regression.npz", pieces, rows)
    save(args.out, pieces, rows)
    print(len(texts), "texts,", len(pieces), "rows,", args.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
