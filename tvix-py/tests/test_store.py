"""A store from Python: what goes in comes out, and what cannot go in is refused by name."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import tvix


def test_without_a_path_the_folder_is_that_of_the_environment(home: Path) -> None:
    with tvix.open() as t:
        assert t.path == home
        assert repr(t) == f"Tvix(path={str(home)!r})"


def test_a_memory_comes_back_as_it_was_told(store: tvix.Tvix) -> None:
    fields = {"who": {"name": "Robin", "age": 41}, "tags": ["a", None, 1.5, True], "ü": "字"}
    added = store.memory.add(" Likes rye ", project="The Bakery", metadata=fields, source="notes")
    assert added.status == "stored"
    assert added.notices == []
    memory = added.memory
    assert (memory.content, memory.project, memory.source) == ("Likes rye", "the-bakery", "notes")
    assert memory.metadata == fields
    assert store.memory.get(memory.id.upper()) == memory
    assert store.memory.move(memory.id, None).project is None
    assert store.memory.delete(memory.id).content == "Likes rye"
    with pytest.raises(tvix.NotFound, match=memory.id):
        store.memory.get(memory.id)


def test_results_cannot_be_changed_and_show_what_they_are(store: tvix.Tvix) -> None:
    memory = store.memory.add("x" * 200, project="bakery").memory
    with pytest.raises(AttributeError):
        memory.content = "y"  # type: ignore[misc]
    memory.metadata["x"] = 1
    assert memory.metadata == {}
    shown = repr(memory)
    assert shown.startswith(f"MemoryRecord(id='{memory.id}', content='xxx") and len(shown) < 300
    assert "project='bakery', source='Library', captured_at=datetime.datetime(" in shown


def test_the_source_of_a_store_is_written_on_what_it_stores(home: Path) -> None:
    with tvix.open(source="claude-code") as t:
        assert t.memory.add("one").memory.source == "Claude Code"
        assert t.wiki.add("one", "# one").document.source == "Claude Code"
        t.call("add_memory", {"content": "two"})
        assert {memory.source for memory in t.memory.recent()} == {"Claude Code"}


def test_a_document_lives_and_is_found(store: tvix.Tvix) -> None:
    document = store.wiki.add("Rye", "# Rye\n\ncaraway", project="Bakery", metadata={"a": 1}).document
    assert (document.title, document.project, document.metadata) == ("Rye", "Bakery", {"a": 1})
    hit = store.search("caraway", kind="wiki", project="bakery")[0]
    assert hit.record == document and hit.score is not None and hit.passage in document.content
    assert not store.wiki.update(document.id).changed
    edited = store.wiki.update(document.id, title="Rye bread", project=None)
    assert (edited.changed, edited.moved, edited.document.project) == (True, True, "Basic")
    assert edited.document.updated_at > edited.document.created_at
    assert [found.title for found in store.wiki.recent(project="Basic")] == ["Rye bread"]
    store.wiki.delete(document.id)
    assert list(store.wiki.iterate()) == []


def test_pages_are_sequences_and_iteration_crosses_them(store: tvix.Tvix) -> None:
    store.memory.add_many([f"memory {number}" for number in range(25)])
    page = store.memory.recent(limit=10, offset=20)
    assert len(page) == 5 and not page.has_more
    assert page[-1] == page[4] == list(page)[4]
    with pytest.raises(IndexError):
        page[5]
    met = [memory.id for memory in store.memory.iterate(page_size=7)]
    assert len(met) == len(set(met)) == 25
    assert store.memory.recent(limit=24).has_more


def test_many_memories_are_answered_one_by_one(store: tvix.Tvix) -> None:
    results = store.memory.add_many(
        [
            "one",
            {"content": "two", "project": "P", "metadata": {"k": 1}, "event_time": "2026-03-01"},
            "ONE",
            {"content": "  "},
            {"content": "three", "project": "x" * 61},
            {"content": "token AKIAIOSFODNN7EXAMPLE is ours"},
        ]
    )
    kinds = [r.status if isinstance(r, tvix.Added) else type(r).__name__ for r in results]
    assert kinds == ["stored", "stored", "duplicate", *["InvalidInput"] * 3]
    refused = results[4]
    assert isinstance(refused, tvix.InvalidInput) and refused.field == "project"
    assert len(store.memory.recent()) == 2
    for wrong in ([1], [{"text": "one"}], [{"project": "p"}], 7):
        with pytest.raises(TypeError):
            store.memory.add_many(wrong)  # type: ignore[arg-type]


def test_a_search_is_filtered_and_paged_and_says_what_it_used(store: tvix.Tvix) -> None:
    store.memory.add("Rye with caraway", project="bakery")
    store.memory.add("Rye without caraway", project="kitchen", source="Slack")
    assert [hit.record.project for hit in store.search("rye", project="Bakery")] == ["bakery"]
    assert [hit.record.project for hit in store.search("rye", sources="slack")] == ["kitchen"]
    assert len(store.search("rye", sources=["Slack", "Library"])) == 2
    first, second = store.search("rye", limit=1), store.search("rye", limit=1, offset=1)
    assert first.has_more and not second.has_more and first[0] != second[0]
    assert first.by_meaning and not first.by_id and first.notices == []
    whole = store.search(first[0].record.id)
    assert whole.by_id and whole[0].score is None
    unknown = store.search("rye", project="acme")
    assert len(unknown) == 0 and "known: " in unknown.notices[0]


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("content", lambda t: t.memory.add("x" * 50_001)),
        ("project", lambda t: t.memory.add("x", project="x" * 61)),
        ("metadata", lambda t: t.memory.add("x", metadata={"k": "x" * 17_000})),
        ("metadata", lambda t: t.memory.add("x", metadata={"k": float("nan")})),
        ("metadata", lambda t: t.memory.add("x", metadata={"k": object()})),
        ("metadata", lambda t: t.memory.add("x", metadata=["x"])),
        ("metadata", lambda t: t.memory.add("x", metadata=deep())),
        ("title", lambda t: t.wiki.add(" ", "x")),
        ("id", lambda t: t.wiki.get("rye")),
        ("query", lambda t: t.search("x" * 1_001)),
        ("kind", lambda t: t.search("x", kind="note")),
        ("limit", lambda t: t.memory.recent(limit=1_001)),
        ("offset", lambda t: t.memory.recent(offset=-1)),
        ("timezone", lambda t: t.search("x", date_from="2026-03-01", timezone="Mars/Olympus")),
        ("date_from", lambda t: t.search("x", date_from="2026-03-02", date_to="2026-03-01")),
        ("date_to", lambda t: t.search("x", date_to=7)),
        ("format", lambda t: t.tools("mcp")),
        ("limit", lambda t: t.call("search_memory", {"query": "", "limit": 31})),
        ("key", lambda t: t.profile.set("age", "7")),
        ("interests", lambda t: t.profile.set("interests", ["a, b"])),
    ],
)
def test_wrong_input_is_a_value_error_that_names_its_field(store, field, call) -> None:
    with pytest.raises(tvix.InvalidInput) as raised:
        call(store)
    error = raised.value
    assert isinstance(error, ValueError)
    assert error.field == field and error.reason and str(error).startswith(f"{field}: ")
    assert len(store.memory.recent()) == 0


def deep() -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(100_000):
        value = {"k": value}
    return value


def test_numbers_of_any_size_are_no_trap(store: tvix.Tvix) -> None:
    for limit in (2**63, -(2**63) - 1):
        with pytest.raises((OverflowError, tvix.InvalidInput)):
            store.memory.recent(limit=limit)


def test_errors_say_what_is_missing_or_in_the_way(home: Path) -> None:
    with tvix.open() as t:
        unknown = "01980b6f-23a7-7c11-8a55-0123456789ab"
        with pytest.raises(LookupError) as raised:
            t.memory.delete(unknown)
        assert isinstance(raised.value, tvix.NotFound) and raised.value.identifier == unknown
        with pytest.raises(tvix.NotFound):
            t.resource("tvix://everything")
        first = t.memory.add("the same", project="a").memory
        t.memory.add("the same", project="b")
        with pytest.raises(tvix.Conflict, match="already holds"):
            t.memory.move(first.id, "b")
    with pytest.raises(tvix.Conflict, match="closed"):
        t.search("x")
    t.close()
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), str(again)) == (tvix.NotFound, str(raised.value))
    assert again.identifier == unknown
    for kind in (tvix.QuotaExceeded, tvix.BackendError, tvix.Corrupt):
        assert issubclass(kind, tvix.Error)


def test_the_quota_and_a_broken_configuration_are_told(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("wiki_quota = 1\n")
    with tvix.open() as t:
        t.wiki.add("one", "# one")
        with pytest.raises(tvix.QuotaExceeded, match="wiki_quota"):
            t.wiki.add("two", "# two")
    (home / "config.toml").write_text("colour = 1\n")
    with pytest.raises(tvix.InvalidInput, match="colour"):
        tvix.open()
    (home / "config.toml").unlink()
    (home / "store" / "tvix.redb").write_bytes(b"not a database")
    with pytest.raises((tvix.Corrupt, tvix.BackendError)):
        tvix.open()


def test_the_profile_is_shared_with_whoever_edits_its_file(store: tvix.Tvix, home: Path) -> None:
    assert store.profile.get().display_name == ""
    store.profile.set("interests", ["bread", "salt"])
    (home / "profile.toml").write_text((home / "profile.toml").read_text() + 'role = "baker"\n')
    profile = store.profile.get()
    assert (profile.interests, profile.role) == (["bread", "salt"], "baker")
    assert store.resource("tvix://profile")["role"] == "baker"
    (home / "profile.toml").write_text("role = \n")
    with pytest.raises(tvix.InvalidInput, match="line 1"):
        store.profile.get()


def test_projects_are_listed_and_merged(store: tvix.Tvix) -> None:
    store.memory.add("one", project="baking")
    store.memory.add("two", project="bakery")
    store.memory.add("two", project="baking")
    moved = store.projects.move_memories("Baking", "Bakery")
    assert (moved.moved, moved.kept) == (1, 1)
    assert {(p.name, p.count) for p in store.projects.memory()} == {("bakery", 2), ("baking", 1)}
