"""Collect the teacher texts: WORK/texts.jsonl, one {"src", "kind", "text"} a line.

usage: texts.py WORK

`kind` is "short" (a turn, a gloss, a sentence, a few words) or "paragraph" (neighbouring turns, a gloss with its
relatives, a passage of documentation). The first part holds both kinds in random order. The second holds paragraphs
only, which cost the teacher most, so that its pass may stop there. No text of any test set is read.
"""
import gzip
import html
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

SHORT_CHARS, PARAGRAPH_WORDS = 110, (60, 100)
# source: how many short texts and paragraphs at most in the first part, and how many paragraphs in the second
CAPS = {
    "chitchat": (54000, 1500, 2000),
    "wordnet": (33000, 1500, 2000),
    "documentation": (9500, 2500, 4000),
    "dictionaries": (2000, 500, 500),
}
DOCS = {  # package: paths below its folder that are read
    "python3.11-doc": "usr/share/doc/python3.11/html/**/*.html", "rust-doc": "usr/share/doc/rust-doc/html/**/*.html",
    "sqlite3-doc": "usr/share/doc/**/*.html", "postgresql-doc-15": "usr/share/doc/**/*.html",
    "python-django-doc": "usr/share/doc/**/*.html", "python-astropy-doc": "usr/share/doc/**/*.html",
    "python-skbio-doc": "usr/share/doc/**/*.html", "python-nipype-doc": "usr/share/doc/**/*.html",
    "python-dipy-doc": "usr/share/doc/**/*.html", "python-nibabel-doc": "usr/share/doc/**/*.html",
    "python-statsmodels-doc": "usr/share/doc/**/*.html", "python-pandas-doc": "usr/share/doc/**/*.html",
}
# Source listings, generated hardware intrinsics, and a book whose prose is CC-BY-SA
SKIPPED = re.compile(r"/(src|_modules|arch|core_arch|licenses|embedded-book)/")
PAGES = 700  # pages read of one documentation package


def clean(text):
    return re.sub(r"\s+", " ", text).strip()


def shorten(text):
    """The text, or as many of its first words as SHORT_CHARS holds."""
    return text if len(text) <= SHORT_CHARS else text[:SHORT_CHARS].rsplit(" ", 1)[0]


def readable(text):
    """Is it English-looking text rather than code, a table or a rule?"""
    letters = sum(c.isalpha() or c == " " for c in text)
    return letters >= .8 * len(text) and any(c.isalpha() for c in text)


def pack(pieces):
    """Join neighbouring pieces into paragraphs of PARAGRAPH_WORDS words."""
    words = []
    for piece in pieces:
        words += piece.split()
        if len(words) >= PARAGRAPH_WORDS[0]:
            yield " ".join(words[:PARAGRAPH_WORDS[1]])
            words = []


def chitchat(work, rnd):
    """Turns, pairs of turns and windows of turns of human conversations."""
    path = next((work / "chitchat").rglob("dataset.json"))
    for conversation in json.loads(path.read_text(encoding="utf-8")).values():
        turns = [clean(" ".join(m["text"] for m in turn)) for turn in conversation["messages"]]
        for turn in turns:
            yield "short", turn
        for a, b in zip(turns[::6], turns[1::6]):
            yield "short", a + " " + b
        for text in pack(turns):
            yield "paragraph", text


def synsets(work):
    """{(part of speech, offset): (lemmas, gloss, examples, hypernyms)} of WordNet."""
    found = {}
    for name, tag in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        path = work / "debian/wordnet-base/usr/share/wordnet" / f"data.{name}"
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(" ") or "|" not in line:
                continue
            fields, gloss = line.split("|", 1)
            part = fields.split()
            lemmas = [part[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(part[3], 16))]
            gloss, *examples = gloss.strip().split('; "')
            hypernyms = [(t, o) for o, t in re.findall(r"@i? (\d{8}) ([nv])", fields)]
            found[tag, part[0]] = (lemmas, gloss, [e.strip().strip('"') for e in examples], hypernyms)
    return found


def wordnet(work, rnd):
    """Glosses with their lemmas, examples, lemma lists, and paragraphs of a synset with its hypernyms and kinds."""
    table = synsets(work)
    kinds = {}
    for key, (_, _, _, hypernyms) in table.items():
        for upper in hypernyms:
            kinds.setdefault(upper, []).append(key)
    for key, (lemmas, gloss, examples, hypernyms) in table.items():
        yield "short", f"{', '.join(lemmas[:3])}: {gloss}"
        if rnd.random() < .6:
            yield from (("short", e) for e in examples)
        if len(lemmas) > 1 and rnd.random() < .15:
            yield "short", ", ".join(lemmas)
        near = [k for k in hypernyms if k in table] + rnd.sample(kinds.get(key, []), min(5, len(kinds.get(key, []))))
        lines = [f"{', '.join(table[k][0])}: {'. '.join([table[k][1]] + table[k][2])}." for k in [key] + near]
        for text in list(pack(lines))[:1]:
            yield "paragraph", text


def blocks(page):
    """The readable paragraphs of one HTML page."""
    for body in re.findall(r"<(?:p|dd)\b[^>]*>(.*?)</(?:p|dd)>", page, re.S):
        text = clean(html.unescape(re.sub(r"<[^>]+>", " ", body))).replace(" ,", ",").replace(" .", ".")
        if len(text.split()) >= 4 and readable(text):
            yield text


def documentation(work, rnd):
    """First sentences and passages of software and science documentation."""
    for package, pattern in DOCS.items():
        pages = [p for p in sorted((work / "debian" / package).glob(pattern)) if not SKIPPED.search(str(p))]
        for path in rnd.sample(pages, min(PAGES, len(pages))):
            found = list(blocks(path.read_text(encoding="utf-8", errors="replace")[:400_000]))
            for text in found:
                yield "short", re.split(r"(?<=[.?!:]) ", text)[0]
            for text in pack(found):
                yield "paragraph", text


def dictionaries(work, rnd):
    """Entries of the Jargon File, the Devil's Dictionary and a table of the elements (all public domain)."""
    for name, border in (("jargon", r"\n(?=\S)"), ("devil", r"\n\n(?=\S)"), ("elements", r"\n\n(?=\S)")):
        path = work / f"debian/dict-{name}/usr/share/dictd/{name}.dict.dz"
        text = gzip.open(path, "rt", encoding="utf-8", errors="replace").read()
        entries = [clean(e) for e in re.split(border, text)]
        for entry in entries:
            entry = re.sub(r"[{}\\]", "", entry)
            yield "short", " ".join(entry.split()[:35])
            for passage in pack([entry]):
                yield "paragraph", passage


def texts_of(source, work, rnd, seen):
    """{kind: readable texts that were not seen yet, in random order}"""
    groups = {"short": [], "paragraph": []}
    for kind, text in source(work, rnd):
        text = shorten(clean(text)) if kind == "short" else clean(text)
        if len(text.split()) >= (1 if source is wordnet else 4) and text.lower() not in seen and readable(text):
            seen.add(text.lower())
            groups[kind].append({"src": source.__name__, "kind": kind, "text": text})
    for rows in groups.values():
        rnd.shuffle(rows)
    return groups


def collect(work):
    """The first part, then the second."""
    rnd, first, second, seen = random.Random(7), [], [], set()
    for source in (chitchat, wordnet, documentation, dictionaries):
        groups = texts_of(source, work, rnd, seen)
        short, paragraphs, more = CAPS[source.__name__]
        first += groups["short"][:short] + groups["paragraph"][:paragraphs]
        second += groups["paragraph"][paragraphs:paragraphs + more]
    rnd.shuffle(first)
    rnd.shuffle(second)
    return first + second


def main():
    work = Path(sys.argv[1])
    rows = collect(work)
    with open(work / "texts.jsonl", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    print(len(rows), dict(Counter((r["src"], r["kind"]) for r in rows)))


if __name__ == "__main__":
    main()
