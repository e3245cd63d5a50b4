"""The same surface for asyncio: coroutines, answered by the same engine, that can be cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest
import tvix
import tvix.aio

PAIRS = [
    (tvix.Memory, tvix.aio.Memory),
    (tvix.Wiki, tvix.aio.Wiki),
    (tvix.Projects, tvix.aio.Projects),
    (tvix.ProfileFile, tvix.aio.ProfileFile),
    (tvix.Tvix, tvix.aio.Tvix),
]


def shape(method: Any) -> list[Any]:
    parameters = list(inspect.signature(method).parameters.values())
    return [(p.name, p.kind, p.default) for p in parameters if p.name != "self"]


@pytest.mark.parametrize(("blocking", "awaiting"), PAIRS)
def test_both_surfaces_have_the_same_methods_and_parameters(blocking, awaiting) -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(blocking) == public(awaiting)
    for name in public(blocking):
        method, coroutine = getattr(blocking, name), getattr(awaiting, name)
        if isinstance(coroutine, property):
            continue
        assert shape(method) == shape(coroutine), name
        waits = inspect.iscoroutinefunction(coroutine) or inspect.isasyncgenfunction(coroutine)
        assert waits == (name != "instructions"), name


def test_everything_can_be_awaited() -> None:
    async def main() -> None:
        async with await tvix.aio.open() as t:
            added = await t.memory.add("Likes rye", project="bakery")
            assert (await t.memory.get(added.memory.id)).content == "Likes rye"
            assert (await t.search("rye"))[0].record == added.memory
            assert len(await t.memory.recent(project="bakery")) == 1
            assert (await t.memory.move(added.memory.id, None)).project is None
            assert [memory.id async for memory in t.memory.iterate()] == [added.memory.id]
            stored = await t.memory.add_many(["one", "two"])
            assert [entry.status for entry in stored] == ["stored", "stored"]
            document = (await t.wiki.add("Rye", "# Rye")).document
            assert (await t.wiki.update(document.id, project="Bakery")).moved
            assert [found.id async for found in t.wiki.iterate()] == [document.id]
            assert (await t.projects.wiki())[0].name == "Bakery"
            assert (await t.profile.set("role", "baker")).role == "baker"
            assert (await t.resource("tvix://profile"))["role"] == "baker"
            assert len(await t.tools("anthropic")) == 7
            reply = await t.call("search_memory", '{"query": "rye"}')
            assert "Likes rye" in reply.text
            with pytest.raises(tvix.NotFound):
                await t.wiki.get(added.memory.id)
            with pytest.raises(tvix.InvalidInput):
                await t.search("x", limit=0)
        with pytest.raises(tvix.Conflict, match="closed"):
            await t.search("rye")

    asyncio.run(main())


def test_many_calls_run_at_the_same_time_as_tasks() -> None:
    async def main() -> int:
        async with await tvix.aio.open() as t:
            adds = [asyncio.create_task(t.memory.add(f"memory {n}")) for n in range(200)]
            await asyncio.gather(*adds)
            return len([memory async for memory in t.memory.iterate()])

    assert asyncio.run(main()) == 200


def test_a_cancelled_call_is_cancelled_and_the_store_goes_on() -> None:
    async def main() -> None:
        async with await tvix.aio.open() as t:
            texts = [f"memory {number}" for number in range(3_000)]
            task = asyncio.create_task(t.memory.add_many(texts))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(TimeoutError if hasattr(asyncio, "timeout") else asyncio.TimeoutError):
                await asyncio.wait_for(t.memory.add_many([f"other {n}" for n in range(3_000)]), 0.02)
            assert (await t.memory.add("after that")).status == "stored"
            stored = [memory.content async for memory in t.memory.iterate(page_size=1_000)]
            assert len(stored) == len(set(stored)) < 6_001

    asyncio.run(main())


def test_a_loop_that_is_gone_takes_no_store_with_it() -> None:
    async def begin(t: tvix.aio.Tvix) -> None:
        asyncio.ensure_future(t.memory.add("left behind"))
        await asyncio.sleep(0)

    t = asyncio.run(tvix.aio.open())
    asyncio.run(begin(t))
    asyncio.run(t.memory.add("in another loop"))
    asyncio.run(t.close())


def test_an_awaitable_store_serves_loops_in_several_threads() -> None:
    t = asyncio.run(tvix.aio.open())
    found: list[int] = []

    def work(number: int) -> None:
        async def main() -> None:
            await t.memory.add(f"thread {number}")
            found.append(len(await t.memory.recent()))

        asyncio.run(main())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(found) == 8
    asyncio.run(t.close())
