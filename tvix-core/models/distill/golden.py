"""Write texts with their pieces and the first components of their vectors, for the tests of other readers.

usage: golden.py MODEL.tvs OUT.json
"""
import json
import sys

import numpy as np

from static_model import Bags, load, unit

TEXTS = [
    "My sister moved to Lisbon last spring and works as a nurse.",
    "I'd rather meet at the Café Zürich, naïve as that sounds.",
    "DATABASE Backups RUN Nightly",
    "Wait... really?! (yes): e-mail me at a_b@example.org; it's 50% off -- \"today\" only!",
    "Invoice 20417 of 3 March 2024 is for 1,299.50 EUR.",
    "Happy birthday! \U0001F389 see you at 7",
    "我喜欢编程 and tea",
    "ᚠᚢᚦ runes and Ελληνικά",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "haha thats hilarious, dont you think",
    "supercalifragilistic" * 6,
    "",
]


def main():
    model, out = sys.argv[1:3]
    pieces, rows = load(model)
    bags = Bags(pieces)
    vectors = unit((bags(TEXTS) @ rows).astype(np.float32))
    cases = [{"text": text, "pieces": [pieces[i] for i in ids], "vector": [round(float(x), 6) for x in vector[:8]]}
             for text, ids, vector in zip(TEXTS, bags.ids(TEXTS), vectors)]
    with open(out, "w", encoding="utf-8") as file:
        json.dump(cases, file, ensure_ascii=False, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
