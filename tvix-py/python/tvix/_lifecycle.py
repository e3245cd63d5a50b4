"""Stores that are open when the process ends are let go of in order."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any

from ._tvix import Tvix

_open: weakref.WeakSet[Tvix] = weakref.WeakSet()
_process = os.getpid()


def remember(store: Tvix) -> None:
    """Closes `store` at the end of the process, unless it is gone by then."""
    global _process
    if _process != os.getpid():
        # A child has its own list: what it inherited is not its own to close.
        _open.clear()
        _process = os.getpid()
    _open.add(store)


@atexit.register
def _close_all(*_: Any) -> None:
    if _process == os.getpid():
        for store in list(_open):
            store.__exit__(None, None, None)
