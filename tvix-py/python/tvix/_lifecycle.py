"""Open stores at the end of a process, and in its children."""

from __future__ import annotations

import atexit
import os
import sys
import weakref

from ._tvix import Tvix

_open: weakref.WeakSet[Tvix] = weakref.WeakSet()


def remember(store: Tvix) -> None:
    """Lets go of `store` in order when the process ends, unless it is gone by then."""
    _open.add(store)


@atexit.register
def _close_all() -> None:
    for store in list(_open):
        store.__exit__(None, None, None)


def _forget() -> None:
    """Closes what a child inherited of its parent's stores, none of which it can use.

    A lock on a file is shared by all processes that hold the open file: a child that lives longer than
    its parent would keep the folder locked, and nobody would answer for it. The threads that used these
    files are not there in a child.
    """
    folders = {os.path.realpath(store.path) + os.sep for store in _open}
    _open.clear()
    if not folders or not sys.platform.startswith("linux"):
        return
    for name in os.listdir("/proc/self/fd"):
        try:
            if any(os.readlink(f"/proc/self/fd/{name}").startswith(folder) for folder in folders):
                os.close(int(name))
        except OSError:
            # The one by which the list was read is gone.
            continue


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
