"""Tvix for asyncio: the surface of `tvix`, with coroutines in place of methods that wait.

>>> import asyncio, tvix.aio
>>> async def main():
...     async with await tvix.aio.open() as t:
...         await t.memory.add("Is allergic to peanuts")
...         return (await t.search("any food allergies?"))[0].record.content
>>> asyncio.run(main())
'Is allergic to peanuts'

Arguments, answers and errors are those of the method of the same name in `tvix`. Cancelling a call ends
the waiting: a write that has begun goes on by itself, one that has not begun does not happen.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ._lifecycle import remember
from ._tvix import Tvix as BlockingTvix
from ._tvix import open as open_blocking

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Unpack

    from . import (
        Added,
        Answer,
        DocumentAdded,
        DocumentUpdated,
        Embedder,
        Error,
        MemoryPage,
        MemoryRecord,
        Moved,
        Profile,
        ProjectSummary,
        Reply,
        WikiPage,
        WikiRecord,
    )
    from .types import Criteria, DocumentEdit, Format, Kind, NewMemory, Time

__all__ = ["Memory", "ProfileFile", "Projects", "Tvix", "Wiki", "open"]


class Memory:
    """The memories of a folder: `tvix.Memory` for asyncio.

    >>> import asyncio, tvix.aio
    >>> async def main():
    ...     async with await tvix.aio.open() as t:
    ...         await t.memory.add_many(["one", "two", "three"])
    ...         return sorted([memory.content async for memory in t.memory.iterate(page_size=2)])
    >>> asyncio.run(main())
    ['one', 'three', 'two']
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def add(
        self,
        content: str,
        *,
        project: str | None = None,
        event_time: Time | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str | None = None,
    ) -> Added:
        """Stores a memory: `tvix.Memory.add`."""
        return await self._inner.add(
            content, project=project, event_time=event_time, metadata=metadata, source=source
        )

    async def add_many(self, memories: Iterable[str | NewMemory]) -> list[Added | Error]:
        """Stores many memories with few syncs: `tvix.Memory.add_many`."""
        return await self._inner.add_many(memories)

    async def recent(
        self, *, limit: int = 20, offset: int = 0, **criteria: Unpack[Criteria]
    ) -> MemoryPage:
        """The most recent memories: `tvix.Memory.recent`."""
        return await self._inner.recent(limit=limit, offset=offset, **criteria)

    async def iterate(
        self, *, page_size: int = 100, **criteria: Unpack[Criteria]
    ) -> AsyncIterator[MemoryRecord]:
        """Iterates over all memories, the most recent first: `tvix.Memory.iterate`."""
        async for memory in _pages(self.recent, page_size, criteria):
            yield memory

    async def get(self, id: str) -> MemoryRecord:
        """The memory with this id: `tvix.Memory.get`."""
        return await self._inner.get(id)

    async def move(self, id: str, project: str | None) -> MemoryRecord:
        """Moves a memory to another project, or out of any: `tvix.Memory.move`."""
        return await self._inner.move(id, project)

    async def delete(self, id: str) -> MemoryRecord:
        """Removes a memory for good: `tvix.Memory.delete`."""
        return await self._inner.delete(id)


class Wiki:
    """The wiki of a folder: `tvix.Wiki` for asyncio.

    >>> import asyncio, tvix.aio
    >>> async def main():
    ...     async with await tvix.aio.open() as t:
    ...         added = await t.wiki.add("Rye", "# Rye", project="Bakery")
    ...         return (await t.wiki.get(added.document.id)).project
    >>> asyncio.run(main())
    'Bakery'
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def add(
        self,
        title: str,
        content: str,
        *,
        project: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> DocumentAdded:
        """Stores a document: `tvix.Wiki.add`."""
        return await self._inner.add(title, content, project=project, metadata=metadata)

    async def update(self, id: str, **changes: Unpack[DocumentEdit]) -> DocumentUpdated:
        """Edits a document: `tvix.Wiki.update`."""
        return await self._inner.update(id, **changes)

    async def recent(
        self, *, limit: int = 20, offset: int = 0, **criteria: Unpack[Criteria]
    ) -> WikiPage:
        """The documents that were last edited: `tvix.Wiki.recent`."""
        return await self._inner.recent(limit=limit, offset=offset, **criteria)

    async def iterate(
        self, *, page_size: int = 100, **criteria: Unpack[Criteria]
    ) -> AsyncIterator[WikiRecord]:
        """Iterates over all documents, the last edited first: `tvix.Wiki.iterate`."""
        async for document in _pages(self.recent, page_size, criteria):
            yield document

    async def get(self, id: str) -> WikiRecord:
        """The document with this id: `tvix.Wiki.get`."""
        return await self._inner.get(id)

    async def delete(self, id: str) -> WikiRecord:
        """Removes a document for good: `tvix.Wiki.delete`."""
        return await self._inner.delete(id)


class Projects:
    """The projects of a folder: `tvix.Projects` for asyncio.

    >>> import asyncio, tvix.aio
    >>> async def main():
    ...     async with await tvix.aio.open() as t:
    ...         await t.memory.add("Rye with caraway", project="Bakery")
    ...         return await t.projects.memory()
    >>> asyncio.run(main())
    [ProjectSummary(name='bakery', count=1)]
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def memory(self) -> list[ProjectSummary]:
        """The projects of memories: `tvix.Projects.memory`."""
        return await self._inner.memory()

    async def wiki(self) -> list[ProjectSummary]:
        """The Projects of the wiki: `tvix.Projects.wiki`."""
        return await self._inner.wiki()

    async def move_memories(self, from_project: str, to_project: str) -> Moved:
        """Files all memories of one project under another: `tvix.Projects.move_memories`."""
        return await self._inner.move_memories(from_project, to_project)

    async def move_documents(self, from_project: str, to_project: str) -> Moved:
        """Files all documents of one Project under another: `tvix.Projects.move_documents`."""
        return await self._inner.move_documents(from_project, to_project)


class ProfileFile:
    """The profile of a folder: `tvix.ProfileFile` for asyncio.

    >>> import asyncio, tvix.aio
    >>> async def main():
    ...     async with await tvix.aio.open() as t:
    ...         await t.profile.set("timezone", "Europe/Lisbon")
    ...         return (await t.profile.get()).timezone
    >>> asyncio.run(main())
    'Europe/Lisbon'
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def get(self) -> Profile:
        """The profile as it is now: `tvix.ProfileFile.get`."""
        return await self._inner.get()

    async def set(self, key: str, value: str | Iterable[str]) -> Profile:
        """Sets one key: `tvix.ProfileFile.set`."""
        return await self._inner.set(key, value)


class Tvix:
    """An open data folder: `tvix.Tvix` for asyncio. `tvix.aio.open` makes one.

    >>> import asyncio, tvix.aio
    >>> async def main():
    ...     async with await tvix.aio.open() as t:
    ...         reply = await t.call("add_memory", {"content": "Is allergic to peanuts"})
    ...         return reply.structured["status"]
    >>> asyncio.run(main())
    'stored'
    """

    def __init__(self, inner: BlockingTvix) -> None:
        self._inner: Any = inner
        self._memory = Memory(inner.memory)
        self._wiki = Wiki(inner.wiki)
        self._projects = Projects(inner.projects)
        self._profile = ProfileFile(inner.profile)

    @property
    def memory(self) -> Memory:
        """The memories: what is known of the user."""
        return self._memory

    @property
    def wiki(self) -> Wiki:
        """The wiki: reference documents."""
        return self._wiki

    @property
    def projects(self) -> Projects:
        """The projects of both."""
        return self._projects

    @property
    def profile(self) -> ProfileFile:
        """The user's profile."""
        return self._profile

    @property
    def path(self) -> Path:
        """The data folder."""
        return self._inner.path

    async def search(
        self,
        query: str,
        *,
        kind: Kind = "memory",
        limit: int = 10,
        offset: int = 0,
        **criteria: Unpack[Criteria],
    ) -> Answer:
        """Finds what answers a question: `tvix.Tvix.search`."""
        return await self._inner.search(query, kind=kind, limit=limit, offset=offset, **criteria)

    async def tools(self, format: Format = "openai") -> list[dict[str, Any]]:
        """The definitions of the tools: `tvix.Tvix.tools`."""
        return await self._inner.tools(format)

    async def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Reply:
        """Calls a tool as a model does: `tvix.Tvix.call`."""
        return await self._inner.call(name, arguments)

    async def resource(self, uri: str) -> dict[str, Any]:
        """Reads a resource: `tvix.Tvix.resource`."""
        return await self._inner.resource(uri)

    def instructions(self) -> str:
        """What a model should know before its first call: `tvix.Tvix.instructions`."""
        return self._inner.instructions()

    async def close(self) -> None:
        """Finishes what is in flight and lets go of the folder: `tvix.Tvix.close`."""
        await self._inner.close()

    async def __aenter__(self) -> Tvix:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._inner)


async def open(
    path: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    project: str | None = None,
    toolsets: Sequence[str] | None = None,
    embedder: Embedder | None = None,
) -> Tvix:
    """Opens a data folder: `tvix.open`. Use the result in an `async with` statement, or await `close`.

    >>> import asyncio, tvix.aio
    >>> async def main():
    ...     t = await tvix.aio.open()
    ...     await t.close()
    >>> asyncio.run(main())
    """
    inner = await asyncio.to_thread(
        open_blocking,
        path,
        source=source,
        project=project,
        toolsets=toolsets,
        embedder=embedder,
        awaitable=True,
    )
    remember(inner)
    return Tvix(inner)


async def _pages(read: Any, page_size: int, criteria: Any) -> AsyncIterator[Any]:
    offset = 0
    while True:
        page = await read(limit=page_size, offset=offset, **criteria)
        for record in page:
            yield record
        offset += len(page)
        if not page.has_more:
            return
