"""The static model: a matrix with one row per word piece. A text is the sum of its rows, scaled to unit length.

File (TVS1, little endian): "TVS1" | u32 rows | u32 columns | u32 bytes of the vocabulary | vocabulary, UTF-8, pieces
separated by one line feed | f32 scale of each row | i8 rows. Row = scale * i8 values.
"""
import struct
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

UNKNOWN = "[UNK]"


def unit(x):
    """Rows of unit length; a row of zeros stays zero."""
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9)


class Bags:
    """Turns texts into a sparse matrix: how often each piece of the vocabulary occurs in each text."""

    def __init__(self, pieces):
        self.size = len(pieces)
        ids = {piece: i for i, piece in enumerate(pieces)} | {UNKNOWN: self.size}
        self.tokenizer = Tokenizer(models.WordPiece(ids, unk_token=UNKNOWN, max_input_chars_per_word=100))
        self.tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def ids(self, texts):
        """Row numbers of each text; words that have no pieces are left out."""
        return [[i for i in e.ids if i != self.size] for e in self.tokenizer.encode_batch(list(texts))]

    def __call__(self, texts):
        ids = self.ids(texts)
        ends = np.cumsum([0] + [len(row) for row in ids])
        columns = np.fromiter((i for row in ids for i in row), np.int32, ends[-1])
        bags = sp.csr_matrix((np.ones(ends[-1], np.float32), columns, ends), (len(ids), self.size))
        bags.sum_duplicates()
        return bags


def quantise(rows):
    """(i8 rows, f32 scales)"""
    scales = np.abs(rows).max(1) / 127
    scales[scales == 0] = 1
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def file_size(pieces, columns):
    return 16 + len("\n".join(pieces).encode()) + len(pieces) * (4 + columns)


def save(path, pieces, rows):
    values, scales = quantise(rows)
    text = "\n".join(pieces).encode()
    with open(path, "wb") as out:
        out.write(b"TVS1" + struct.pack("<3I", *values.shape, len(text)) + text)
        out.write(scales.astype("<f4").tobytes() + values.tobytes())


def load(path):
    """(pieces, f32 rows) of a .tvs file, or of a .npz file that holds a stage before quantisation."""
    if Path(path).suffix == ".npz":
        stage = np.load(path)
        return str(stage["pieces"]).split("\n"), stage["rows"]
    data = Path(path).read_bytes()
    rows, columns, length = struct.unpack_from("<3I", data, 4)
    assert data[:4] == b"TVS1" and len(data) == 16 + length + rows * (4 + columns)
    pieces = data[16:16 + length].decode().split("\n")
    scales = np.frombuffer(data, "<f4", rows, 16 + length)
    values = np.frombuffer(data, np.int8, rows * columns, 16 + length + 4 * rows).reshape(rows, columns)
    return pieces, values.astype(np.float32) * scales[:, None]


def save_stage(path, pieces, rows):
    np.savez(path, pieces="\n".join(pieces), rows=rows)
