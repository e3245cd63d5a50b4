"""The tools from Python: the repository's cases, and the shapes that model vendors take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tvix
from tvix import _tvix

from conftest import REPOSITORY

CASES = REPOSITORY / "tvix-core" / "tests" / "cases"
MILLIS = 1_800_000_000_000


@pytest.fixture(scope="session")
def rust_answers() -> list[dict[str, Any]]:
    answers = getattr(_tvix, "rust_answers", None)
    if answers is None:
        pytest.skip("this build has no feature `testing`")
    return json.loads(answers(CASES, MILLIS))


def test_every_case_is_answered_as_through_rust(
    rust_answers: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert len(rust_answers) == len(list(CASES.glob("*.json"))) >= 13
    try:
        for case in rust_answers:
            with tvix.open(tmp_path / case["name"]) as t:
                _tvix.seed(MILLIS)  # type: ignore[attr-defined]
                for step, call in enumerate(case["calls"]):
                    same = (case["name"], step)
                    assert answer(t, call["tool"], call["args"]) == (
                        call["text"],
                        call["structured"],
                        call["error"],
                    ), same
    finally:
        _tvix.seed(None)  # type: ignore[attr-defined]


def answer(t: tvix.Tvix, tool: str, arguments: Any) -> tuple[str, Any, Any]:
    try:
        reply = t.call(tool, arguments)
    except tvix.Error as error:
        kinds = {"InvalidInput": "invalid_input", "NotFound": "not_found", "Conflict": "conflict"}
        report = {
            "kind": kinds[type(error).__name__],
            "field": error.field,
            "reason": error.reason,
            "identifier": error.identifier,
        }
        told = {name: value for name, value in report.items() if value is not None}
        return str(error), None, told
    return reply.text, reply.structured, None


NAMES = [
    "add_memory",
    "search_memory",
    "get_current_date",
    "add_wiki",
    "search_wiki",
    "update_wiki",
    "delete_wiki",
]


def test_definitions_have_the_shape_of_each_interface() -> None:
    chat = tvix.tools()
    assert [tool["function"]["name"] for tool in chat] == NAMES
    assert all(tool["type"] == "function" and set(tool) == {"type", "function"} for tool in chat)
    responses = tvix.tools("openai-responses")
    assert [tool["name"] for tool in responses] == NAMES
    assert all(set(t) == {"type", "name", "description", "parameters"} for t in responses)
    anthropic = tvix.tools("anthropic")
    assert [tool["name"] for tool in anthropic] == NAMES
    assert all(tool["input_schema"]["type"] == "object" for tool in anthropic)
    (gemini,) = tvix.tools("gemini")
    assert [tool["name"] for tool in gemini["function_declarations"]] == NAMES


def test_the_tools_of_a_store_name_its_projects_and_keep_to_its_toolsets(home: Path) -> None:
    with tvix.open(toolsets=["wiki"]) as t:
        assert [tool["name"] for tool in t.tools("anthropic")] == NAMES[3:]
        with pytest.raises(tvix.NotFound, match="add_memory"):
            t.call("add_memory", {"content": "x"})
        t.memory.add("one", project="acme-rewrite")
    with tvix.open(project="Home") as t:
        assert "acme-rewrite" in t.tools("anthropic")[0]["description"]
        assert t.call("add_memory", {"content": "two"}).structured["project"] == "home"
        assert "search_memory" in t.instructions()


def test_a_call_takes_what_interfaces_hand_over(store: tvix.Tvix) -> None:
    stored = store.call("add_memory", '{"content": "Likes rye"}')
    assert str(stored) == stored.text and stored.structured["status"] == "stored"
    assert store.call("get_current_date").structured["timezone"] == "UTC"
    assert store.call("get_current_date", "").structured["timezone"] == "UTC"
    with pytest.raises(tvix.InvalidInput):
        store.call("add_memory", "{")
    with pytest.raises(tvix.InvalidInput):
        store.call("add_memory", {"content": object()})
