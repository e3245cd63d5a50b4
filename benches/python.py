"""What Python adds to the engine, measured beside the same calls from Rust, in one process and one run.

It needs a release build with the feature `testing`, which holds the Rust side:

    pip install maturin
    maturin build --manifest-path tvix-py/Cargo.toml --release --features testing --out target/wheels
    pip install --force-reinstall target/wheels/tvix-*.whl
    python benches/python.py
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable

import tvix
from tvix import _tvix

MEMORIES = 10_000
# Few enough that what Python adds is not lost in the search itself.
SEARCHED = 100
SEARCHES = 2_000
THREADS = 8


def texts(count: int, seed: int) -> list[str]:
    """Sentences of made-up words, rare and frequent ones, with a number that makes each unique."""
    draw = random.Random(seed)
    syllables = "ba ke li mo nu ra se ti vo du fa ge hi jo ku la me ni po ru sa te wi zo".split()
    words = ["".join(draw.choices(syllables, k=2 + n % 2)) for n in range(600)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [f"{' '.join(draw.choices(words, weights, k=25))} n{n}" for n in range(count)]


def queries(memories: list[str]) -> list[str]:
    draw = random.Random(7)
    return [" ".join(draw.choice(memories).split()[:3]) for _ in range(SEARCHES)]


def microseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began) / 1_000


def search(t: tvix.Tvix, query: str) -> None:
    """What a program does with an answer: it reads the texts and scores."""
    for hit in t.search(query, limit=10):
        _ = hit.record.content, hit.score


def overhead(t: tvix.Tvix, asked: list[str]) -> None:
    """Ten searches from Rust and ten from Python in turn, in processor time of this thread, on which both
    run: what else the machine does is not counted.
    """
    python: list[float] = []
    rust: list[float] = []
    for query in asked[: SEARCHES // 10]:
        began = time.thread_time_ns()
        _tvix.rust_searches(t, [query] * 10)
        between = time.thread_time_ns()
        for _ in range(10):
            search(t, query)
        rust.append((between - began) / 10_000)
        python.append((time.thread_time_ns() - between) / 10_000)
    p50 = statistics.median(python), statistics.median(rust)
    pairs = statistics.median(a - b for a, b in zip(python, rust, strict=True))
    print(f"search, ten results, p50: Python {p50[0]:.1f} us, Rust {p50[1]:.1f} us: {p50[0] - p50[1]:+.1f}")
    print(f"the same, p50 of the differences: {pairs:+.1f} us")


def scaling(t: tvix.Tvix, asked: list[str]) -> None:
    def per_second(threads: int) -> float:
        parts = [asked[number::threads] for number in range(threads)]
        work = [
            threading.Thread(target=lambda part=part: [search(t, query) for query in part])
            for part in parts
        ]
        began = time.perf_counter()
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        return len(asked) / (time.perf_counter() - began)

    one, many = (max(per_second(threads) for _ in range(3)) for threads in (1, THREADS))
    print(f"searches a second: 1 thread {one:.0f}, {THREADS} threads {many:.0f}: x {many / one:.2f}")


def adds(memories: list[str]) -> None:
    times: dict[str, list[float]] = {"Python": [], "Rust": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder, tvix.open(folder) as t:
            times["Rust"].append(_tvix.rust_adds(t, memories))
        with tempfile.TemporaryDirectory() as folder, tvix.open(folder) as t:
            times["Python"].append(microseconds(lambda: t.memory.add_many(memories)) / 1e6)
    python, rust = (min(times[name]) for name in ("Python", "Rust"))
    print(f"add_many of {len(memories)}: Python {python:.2f} s, Rust {rust:.2f} s: x {python / rust:.2f}")


def main() -> None:
    if not hasattr(_tvix, "rust_searches"):
        raise SystemExit("this build has no feature `testing`; see the head of this file")
    print(f"python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    memories = texts(MEMORIES, 1)
    with tempfile.TemporaryDirectory() as folder, tvix.open(folder) as t:
        t.memory.add_many(memories[:SEARCHED])
        asked = queries(memories[:SEARCHED])
        overhead(t, asked)
        scaling(t, asked)
    adds(memories)


if __name__ == "__main__":
    main()
