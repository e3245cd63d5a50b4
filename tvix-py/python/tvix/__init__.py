"""Memory and a wiki for AI agents, in one folder on this machine, offline.

>>> import tvix
>>> with tvix.open() as t:
...     _ = t.memory.add("Is allergic to peanuts")
...     print(t.search("any food allergies?")[0].record.content)
Is allergic to peanuts

`tvix.open` returns a `Tvix`, which has the memories (`.memory`), the wiki (`.wiki`), their `.projects`,
the user's `.profile`, the search over all of it (`.search`), and the tools that models call (`.tools`,
`.call`). Any number of processes may have the same folder open. `tvix.aio` is the same for asyncio.

A method blocks until its answer is there, without holding the GIL, and can be interrupted by Ctrl-C.
Times are `datetime` with a time zone. Every error is a `tvix.Error` with `field` and `reason`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._errors import BackendError, Conflict, Corrupt, Error, InvalidInput, NotFound, QuotaExceeded
from ._lifecycle import remember
from ._tvix import (
    Added,
    Answer,
    DocumentAdded,
    DocumentUpdated,
    Embedder,
    Hit,
    Memory,
    MemoryPage,
    MemoryPages,
    MemoryRecord,
    Moved,
    Profile,
    ProfileFile,
    Projects,
    ProjectSummary,
    Related,
    Reply,
    Tvix,
    Wiki,
    WikiPage,
    WikiPages,
    WikiRecord,
    __version__,
    tools,
)
from ._tvix import open as _open

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = [
    "Added",
    "Answer",
    "BackendError",
    "Conflict",
    "Corrupt",
    "DocumentAdded",
    "DocumentUpdated",
    "Embedder",
    "Error",
    "Hit",
    "InvalidInput",
    "Memory",
    "MemoryPage",
    "MemoryPages",
    "MemoryRecord",
    "Moved",
    "NotFound",
    "Profile",
    "ProfileFile",
    "ProjectSummary",
    "Projects",
    "QuotaExceeded",
    "Related",
    "Reply",
    "Tvix",
    "Wiki",
    "WikiPage",
    "WikiPages",
    "WikiRecord",
    "__version__",
    "open",
    "tools",
]


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    project: str | None = None,
    toolsets: Sequence[str] | None = None,
    embedder: Embedder | None = None,
) -> Tvix:
    """Opens a data folder, making it if it is not there, together with any other process that has it open.

    path: the folder; else the one that `TVIX_HOME` names, else the platform's data directory for `tvix`.
    source: what is written on what is stored here, such as the name of your agent; else `"Library"`.
    project: the project of memories that the tool `add_memory` is given none for.
    toolsets: which tools are offered, exactly: `"memory"`, `"wiki"`; else as configured.
    embedder: an `Embedder` in place of the configured model; in use while this process owns the folder.

    `config.toml` in the folder and the `TVIX_…` variables count as for the command line. Use the result
    in a `with` statement, or call `close`. Raises `InvalidInput` when a setting is wrong, `Conflict` when
    another version has the folder open or wrote it, `Corrupt` or `BackendError` when the store cannot be
    opened.

    >>> import tvix
    >>> t = tvix.open()
    >>> t.memory.add("Prefers short answers").status
    'stored'
    >>> t.close()
    """
    store = _open(
        path, source=source, project=project, toolsets=toolsets, embedder=embedder
    )
    remember(store)
    return store
