"""A LangGraph store on Tvix: what a graph remembers is kept in one folder and found by meaning.

    pip install -r examples/python/requirements-langgraph.txt
    python examples/python/langgraph_store.py [FOLDER]

An item is a wiki document: its namespace is the Project, its key the title, its value the content, as JSON.
Namespaces that differ only in case are one, as Projects are. `ttl` and `index` are not supported.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import tvix
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

# Keeps the items apart from documents that people and agents write. Labels hold no period.
ROOT = "langgraph"
# How many hits of each namespace are looked at before `filter` is applied.
DEPTH = 200

COMPARISONS = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def project_of(namespace: tuple[str, ...]) -> str:
    return ".".join((ROOT, *namespace))


def namespace_of(project: str) -> tuple[str, ...]:
    return tuple(project.split(".")[1:])


def item_of(document: tvix.WikiRecord, score: float | None = None) -> SearchItem:
    return SearchItem(
        namespace=namespace_of(document.project),
        key=document.metadata["key"],
        value=json.loads(document.content),
        created_at=document.created_at,
        updated_at=document.updated_at,
        score=score,
    )


def passes(value: dict[str, Any], wanted: dict[str, Any] | None) -> bool:
    for field, condition in (wanted or {}).items():
        tests = condition if isinstance(condition, dict) else {"$eq": condition}
        if field not in value or not all(COMPARISONS[o](value[field], b) for o, b in tests.items()):
            return False
    return True


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if condition.match_type == "prefix":
        labels = namespace[: len(path)]
    else:
        labels = namespace[len(namespace) - len(path) :]
    return len(namespace) >= len(path) and all(b in ("*", a) for a, b in zip(labels, path))


class TvixStore(BaseStore):
    """Long-term memory of a graph: pass it to `compile(store=…)`."""

    def __init__(self, store: tvix.Tvix) -> None:
        self.tvix = store

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._perform(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _perform(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            document = self._find(op.namespace, op.key)
            return Item(**_fields(item_of(document))) if document else None
        if isinstance(op, PutOp):
            return self._put(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise TypeError(f"unknown operation {op!r}")

    def _find(self, namespace: tuple[str, ...], key: str) -> tvix.WikiRecord | None:
        """By the title, which is quick; then by looking at each, for keys that no word is in."""
        project = project_of(namespace)
        hits = self.tvix.search(key[:1_000], kind="wiki", project=project)
        documents: Iterator[Any] = (hit.record for hit in hits)
        for found in (documents, self.tvix.wiki.iterate(project=project)):
            for document in found:
                if document.metadata.get("key") == key:
                    return document
        return None

    def _put(self, op: PutOp) -> None:
        document = self._find(op.namespace, op.key)
        if op.value is None:
            if document:
                self.tvix.wiki.delete(document.id)
            return
        content = json.dumps(op.value, ensure_ascii=False, indent=1)
        if document:
            self.tvix.wiki.update(document.id, content=content)
        else:
            project = project_of(op.namespace)
            self.tvix.wiki.add(op.key, content, project=project, metadata={"key": op.key})

    def _namespaces(self) -> list[tuple[str, ...]]:
        names = [project.name for project in self.tvix.projects.wiki()]
        return [namespace_of(name) for name in names if name.split(".")[0] == ROOT]

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Scores are on one scale for every search, so those of several Projects can be merged."""
        found: list[SearchItem] = []
        for namespace in self._namespaces():
            if namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix):
                hits = self.tvix.search(
                    op.query or "", kind="wiki", project=project_of(namespace), limit=DEPTH
                )
                found += [item_of(hit.record, hit.score) for hit in hits]  # type: ignore[arg-type]
        found = [item for item in found if passes(item.value, op.filter)]
        found.sort(key=lambda item: (item.score or 0.0, item.updated_at), reverse=True)
        return found[op.offset : op.offset + op.limit]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        listed = {
            namespace[: op.max_depth]
            for namespace in self._namespaces()
            if all(matches(namespace, condition) for condition in conditions)
        }
        return sorted(listed)[op.offset : op.offset + op.limit]


def _fields(item: SearchItem) -> dict[str, Any]:
    names = ("value", "key", "namespace", "created_at", "updated_at")
    return {name: getattr(item, name) for name in names}


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    with tvix.open(folder, source="LangGraph") as t:
        store = TvixStore(t)
        store.put(("users", "robin"), "food", {"text": "Is allergic to peanuts"})
        store.put(("users", "robin"), "style", {"text": "Prefers short answers"})
        for item in store.search(("users",), query="any food allergies?", limit=1):
            print(item.namespace, item.key, item.value)


if __name__ == "__main__":
    main()
