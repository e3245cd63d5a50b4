"""What a type checker must understand; never run. Checked by pyright and mypy."""

from __future__ import annotations

import datetime

import tvix
import tvix.aio
from tvix.types import Criteria


def blocking(t: tvix.Tvix) -> list[str]:
    criteria: Criteria = {"project": "bakery", "date_from": datetime.date(2026, 3, 1)}
    found: list[str] = []
    for hit in t.search("rye", kind="memory", limit=3, **criteria):
        score: float | None = hit.score
        found.append(f"{hit.record.content} {score}")
    for memory in t.memory.iterate(sources=["Slack"]):
        when: datetime.datetime | datetime.date | None = memory.event_time
        found.append(f"{memory.id} {when}")
    for entry in t.memory.add_many(["one", {"content": "two", "project": "p"}]):
        found.append(entry.reason if isinstance(entry, tvix.Error) else entry.memory.id)
    moved: bool = t.wiki.update("id", title="Rye", project=None).moved
    return [*found, str(moved), t.memory.recent()[0].content]


async def awaiting() -> str:
    async with await tvix.aio.open(embedder=tvix.Embedder(vectors, name="v")) as t:
        first = (await t.search("rye", project="bakery"))[0]
        async for document in t.wiki.iterate():
            return document.title
        return first.record.content


def vectors(texts: list[str]) -> list[list[float]]:
    return [[float(len(text))] for text in texts]
