"""The examples do what they say. One that needs a package that is not here is skipped aloud."""

from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tvix

from conftest import REPOSITORY

EXAMPLES = REPOSITORY / "examples" / "python"


def test_a_conversation_knows_what_was_said_in_an_earlier_one(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "chat.py"), str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (shown.returncode, shown.stderr) == (0, "")
    asked, answered = shown.stdout.split("> Do I have any food allergies?")
    assert "Saved memory" in asked and "peanuts" in answered


@pytest.fixture
def graph_store(store: tvix.Tvix) -> Any:
    pytest.importorskip("langgraph", reason="langgraph is not installed: its example is not tested")
    return runpy.run_path(str(EXAMPLES / "langgraph_store.py"))["TvixStore"](store)


def test_a_graph_store_keeps_finds_and_forgets(graph_store: Any, store: tvix.Tvix) -> None:
    store.wiki.add("Not the graph's", "# Not the graph's")
    graph_store.put(("users", "robin"), "food", {"text": "Is allergic to peanuts", "n": 1})
    graph_store.put(("users", "robin"), "§", {"text": "a key without a word", "n": 2})
    graph_store.put(("users", "kim"), "food", {"text": "Likes rye", "n": 3})
    graph_store.put(("teams",), "food", {"text": "Fridays", "n": 4})
    assert graph_store.get(("users", "robin"), "§").value["n"] == 2
    assert graph_store.get(("users", "robin"), "drink") is None
    graph_store.put(("users", "kim"), "food", {"text": "Likes spelt", "n": 3})
    first = graph_store.search(("users",), query="any food allergies?")[0]
    assert (first.namespace, first.key) == (("users", "robin"), "food")
    assert first.score is not None
    some = graph_store.search(("users",), filter={"n": {"$gt": 1}}, limit=10)
    assert sorted(item.value["n"] for item in some) == [2, 3]
    everything = [("teams",), ("users", "kim"), ("users", "robin")]
    assert graph_store.list_namespaces() == everything
    assert graph_store.list_namespaces(prefix=("users",)) == everything[1:]
    assert graph_store.list_namespaces(suffix=("robin",)) == everything[2:]
    assert graph_store.list_namespaces(max_depth=1) == [("teams",), ("users",)]
    graph_store.delete(("users", "kim"), "food")
    assert graph_store.get(("users", "kim"), "food") is None
    assert asyncio.run(graph_store.aget(("teams",), "food")).value["n"] == 4
