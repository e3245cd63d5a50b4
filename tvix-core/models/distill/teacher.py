"""Run the teacher over the texts: WORK/teacher-vectors/00000.npy ..., 2,000 texts a shard.

usage: teacher.py WORK [--processes 2] [--shards N]

The encoder is built as an ONNX graph from the safetensors weights (no torch) and its weight matrices are quantised to
u8 per channel (cosine to f32 about .99). Shards that exist are skipped, so a stopped run goes on where it was; a shard
is written under another name first. --shards stops after the first N shards: the texts are in random order.
"""
import argparse
import json
import multiprocessing as mp
import os
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from fetch import teacher_folder

SHARD, MAX_TOKENS, BATCH_TOKENS = 2000, 160, 512
LAYERS, HEADS, HIDDEN, EPS = 6, 12, 384, 1e-12
CLS, SEP = 101, 102


class Graph:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants, self.count = weights, [], {}, 0

    def constant(self, name, array):
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def ints(self, *values):
        return self.constant("i" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, value):
        return self.constant(f"f{value}", np.array(value, np.float32))

    def node(self, op, *inputs, **attributes):
        self.count += 1
        out = f"t{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def linear(self, x, name):
        weight = self.constant(name + ".w", self.weights[name + ".weight"].T)
        return self.node("Add", self.node("MatMul", x, weight), self.constant(name + ".b", self.weights[name + ".bias"]))

    def norm(self, x, name):
        return self.node("LayerNormalization", x, self.constant(name + ".w", self.weights[name + ".weight"]),
                         self.constant(name + ".b", self.weights[name + ".bias"]), axis=-1, epsilon=EPS)


def embeddings(g):
    """Word + position + type embeddings, normalised."""
    w = g.weights
    words = g.node("Gather", g.constant("word", w["embeddings.word_embeddings.weight"]), "input_ids", axis=0)
    length = g.node("Slice", g.node("Shape", "input_ids"), g.ints(1), g.ints(2))
    positions = g.node("Slice", g.constant("position", w["embeddings.position_embeddings.weight"]),
                       g.ints(0), length, g.ints(0))
    kind = g.constant("kind", w["embeddings.token_type_embeddings.weight"][:1].reshape(1, 1, -1))
    return g.norm(g.node("Add", g.node("Add", words, positions), kind), "embeddings.LayerNorm")


def attention(g, x, bias, name):
    """Multi-head self-attention; `bias` is 0 for tokens and very negative for padding."""
    def heads(part, perm):
        split = g.node("Reshape", g.linear(x, f"{name}.self.{part}"), g.ints(0, 0, HEADS, HIDDEN // HEADS))
        return g.node("Transpose", split, perm=perm)
    scores = g.node("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
    scores = g.node("Mul", scores, g.number(float((HIDDEN // HEADS) ** -.5)))
    shares = g.node("Softmax", g.node("Add", scores, bias), axis=-1)
    mixed = g.node("Transpose", g.node("MatMul", shares, heads("value", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    mixed = g.linear(g.node("Reshape", mixed, g.ints(0, 0, HIDDEN)), f"{name}.output.dense")
    return g.norm(g.node("Add", mixed, x), f"{name}.output.LayerNorm")


def feed_forward(g, x, name):
    h = g.linear(x, f"{name}.intermediate.dense")
    gate = g.node("Add", g.node("Erf", g.node("Div", h, g.number(float(2 ** .5)))), g.number(1.))
    h = g.node("Mul", g.node("Mul", h, gate), g.number(.5))
    return g.norm(g.node("Add", g.linear(h, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")


def build(weights_path, out):
    """Write the encoder with mean pooling and unit length as an ONNX file."""
    weights = {k.removeprefix("bert."): v for k, v in load_file(weights_path).items()}
    g = Graph(weights)
    mask = g.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    bias = g.node("Mul", g.node("Sub", g.node("Unsqueeze", mask, g.ints(1, 2)), g.number(1.)), g.number(1e4))
    x = embeddings(g)
    for layer in range(LAYERS):
        x = attention(g, x, bias, f"encoder.layer.{layer}.attention")
        x = feed_forward(g, x, f"encoder.layer.{layer}")
    total = g.node("ReduceSum", g.node("Mul", x, g.node("Unsqueeze", mask, g.ints(-1))), g.ints(1), keepdims=0)
    length = g.node("ReduceL2", total, g.ints(1), keepdims=1)
    g.nodes.append(helper.make_node("Div", [total, length], ["sentence_embedding"]))
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"]) for n in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["b", HIDDEN])
    graph = helper.make_graph(g.nodes, "bert", inputs, [output], list(g.constants.values()))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), out)


class Teacher:
    """Unit vectors of texts, in batches of about one length."""

    def __init__(self, work, threads=1):
        folder = teacher_folder(work)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = ort.InferenceSession(str(graph_path(work)), options, providers=["CPUExecutionProvider"])

    def run(self, ids):
        shape = len(ids), max(map(len, ids))
        tokens, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for i, row in enumerate(ids):
            tokens[i, :len(row)], mask[i, :len(row)] = row, 1
        return self.session.run(None, {"input_ids": tokens, "attention_mask": mask})[0]

    def embed_ids(self, ids):
        out = np.zeros((len(ids), HIDDEN), np.float32)
        order, start = sorted(range(len(ids)), key=lambda i: len(ids[i])), 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * len(ids[order[end]]) <= BATCH_TOKENS:
                end += 1
            batch = order[start:end]
            out[batch] = self.run([ids[i] for i in batch])
            start = end
        return out

    def __call__(self, texts):
        return self.embed_ids([e.ids for e in self.tokenizer.encode_batch(list(texts))])


def graph_path(work):
    """The quantised graph; built on first use."""
    out = work / "teacher.u8.onnx"
    if not out.exists():
        full, part = work / "teacher.f32.onnx", work / "teacher.part.onnx"
        build(teacher_folder(work) / "model.safetensors", full)
        quantize_dynamic(full, part, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QUInt8)
        os.replace(part, out)
    return out


def read_texts(work):
    with open(work / "texts.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def shard_path(work, number):
    return work / "teacher-vectors" / f"{number:05}.npy"


def save_shard(path, vectors):
    part = path.with_suffix(".part.npy")
    np.save(part, vectors.astype(np.float16))
    os.replace(part, path)


def embed_shards(work, numbers):
    teacher, rows = Teacher(work), read_texts(work)
    for number in iter(numbers.get, None):
        begun = time.time()
        texts = [r["text"] for r in rows[number * SHARD:(number + 1) * SHARD]]
        save_shard(shard_path(work, number), teacher(texts))
        print(f"shard {number}: {len(texts) / (time.time() - begun):.0f} texts/s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shards", type=int)
    args = parser.parse_args()
    (args.work / "teacher-vectors").mkdir(exist_ok=True)
    graph_path(args.work)
    shards = -(-len(read_texts(args.work)) // SHARD)
    numbers = mp.Queue()
    for number in range(min(shards, args.shards or shards)):
        if not shard_path(args.work, number).exists():
            numbers.put(number)
    workers = [mp.Process(target=embed_shards, args=(args.work, numbers)) for _ in range(args.processes)]
    for worker in workers:
        numbers.put(None)
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
