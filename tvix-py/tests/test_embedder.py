"""A model of one's own: it is asked for vectors, and search goes on without it when it fails."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import tvix

WORDS = ["bread", "rye", "gateway", "timeout", "travel"]
MEANINGS = {"loaf": "bread", "cereal": "rye", "router": "gateway", "slow": "timeout"}


def embed(texts: list[str]) -> list[list[float]]:
    """Counts a few words and what means the same."""
    assert isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    vectors = []
    for text in texts:
        words = [MEANINGS.get(word, word) for word in text.lower().split()]
        vectors.append([words.count(word) + 0.001 for word in WORDS])
    return vectors


class Array:
    """What has `tolist`, as an array of NumPy has."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def tolist(self) -> list[list[float]]:
        return self.rows


def settled(t: tvix.Tvix, query: str) -> tvix.Answer:
    """The answer once everything is embedded."""
    for _ in range(500):
        answer = t.search(query)
        if answer.by_meaning and not answer.notices:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not embedded after ten seconds: {answer}")


@pytest.mark.parametrize("answer", [lambda rows: rows, Array, lambda rows: [*map(Array, rows)]])
def test_a_function_finds_by_meaning_what_shares_no_word(home: Path, answer) -> None:
    model = tvix.Embedder(lambda texts: answer(embed(texts)), name="words-1")
    with tvix.open(embedder=model) as t:
        t.memory.add("bought rye bread")
        t.memory.add("gateway timeout")
        assert settled(t, "cereal loaf")[0].record.content == "bought rye bread"


def test_queries_may_have_a_function_of_their_own(home: Path) -> None:
    asked: list[str] = []

    def embed_query(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return embed(texts)

    with tvix.open(embedder=tvix.Embedder(embed, name="w", embed_query=embed_query)) as t:
        t.memory.add("bought rye bread")
        settled(t, "cereal loaf")
    assert "cereal loaf" in asked and "bought rye bread" not in asked


@pytest.mark.parametrize(
    "broken",
    [
        lambda texts: 1 / 0,
        lambda texts: None,
        lambda texts: [["x"] for _ in texts],
        lambda texts: [],
        lambda texts: [[float("nan")] for _ in texts],
        lambda texts: [[1.0] * (index + 1) for index, _ in enumerate(texts)] + [[1.0]],
    ],
)
def test_a_model_that_fails_costs_meaning_and_nothing_else(home: Path, broken) -> None:
    with tvix.open(embedder=tvix.Embedder(broken, name="broken")) as t:
        t.memory.add("bought rye bread")
        answer = t.search("rye")
        assert [hit.record.content for hit in answer] == ["bought rye bread"]
        assert not answer.by_meaning and "by word" in answer.notices[0]


def test_an_embedder_that_calls_the_store_is_told_not_to(home: Path) -> None:
    told: list[str] = []

    def nested(texts: list[str]) -> list[list[float]]:
        try:
            opened[0].search("rye")
        except tvix.Conflict as error:
            told.append(str(error))
        return embed(texts)

    opened: list[tvix.Tvix] = []
    with tvix.open(embedder=tvix.Embedder(nested, name="nested")) as t:
        opened.append(t)
        t.memory.add("bought rye bread")
        settled(t, "cereal")
    assert told and "embedder" in told[0]


def test_what_is_no_embedder_is_refused(home: Path) -> None:
    for make in (
        lambda: tvix.Embedder("words", name="w"),  # type: ignore[arg-type]
        lambda: tvix.Embedder(embed, name=" "),
        lambda: tvix.Embedder(embed, name="w", dense=2),
        lambda: tvix.Embedder(embed, name="w", unrelated=float("nan")),
    ):
        with pytest.raises(tvix.InvalidInput):
            make()
    with pytest.raises(TypeError):
        tvix.open(embedder=embed)  # type: ignore[arg-type]
