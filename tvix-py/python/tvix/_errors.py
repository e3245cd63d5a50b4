"""Exceptions: one for each kind of error that the engine knows."""

from __future__ import annotations

__all__ = [
    "BackendError",
    "Conflict",
    "Corrupt",
    "Error",
    "InvalidInput",
    "NotFound",
    "QuotaExceeded",
]


class Error(Exception):
    """What every error of Tvix is. Its text says what was wrong and what to send instead.

    field: the argument at fault, or what was being done; None when there is none.
    reason: what was wrong, without the field.
    identifier: the id or name that was not found; None for other errors.

    >>> import tvix
    >>> try:
    ...     tvix.tools("mcp")
    ... except tvix.Error as error:
    ...     print(error.field, "-", error.reason)
    format - got "mcp", send one of openai, openai-responses, anthropic, gemini
    """

    field: str | None
    reason: str
    identifier: str | None

    def __init__(
        self,
        message: str = "",
        *,
        field: str | None = None,
        reason: str = "",
        identifier: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.reason = reason
        self.identifier = identifier


class InvalidInput(Error, ValueError):
    """An argument is outside of its limits or of the wrong kind; nothing was changed.

    >>> import tvix
    >>> with tvix.open() as t:
    ...     t.search("rye", limit=0)
    Traceback (most recent call last):
    tvix.InvalidInput: limit: got 0, send 1-1000
    """


class NotFound(Error, LookupError):
    """No record, project, tool or resource is known by this id or name.

    >>> import tvix
    >>> with tvix.open() as t:
    ...     t.call("forget_everything")
    Traceback (most recent call last):
    tvix.NotFound: tool not found: forget_everything
    """


class QuotaExceeded(Error):
    """A configured limit on the number of records is reached; nothing was stored.

    >>> import tvix
    >>> issubclass(tvix.QuotaExceeded, tvix.Error)
    True
    """


class Conflict(Error):
    """The record or folder is in a state that does not allow the call.

    >>> import tvix
    >>> t = tvix.open()
    >>> t.close()
    >>> t.search("rye")
    Traceback (most recent call last):
    tvix.Conflict: this handle was closed
    """


class BackendError(Error):
    """Storage, index or model failed; the same call may succeed later.

    >>> import tvix
    >>> issubclass(tvix.BackendError, tvix.Error)
    True
    """


class Corrupt(Error):
    """Data on disk is not what was written; trying again does not help.

    >>> import tvix
    >>> issubclass(tvix.Corrupt, tvix.Error)
    True
    """


# People see the public name in tracebacks and may pickle an exception by it.
for _name in __all__:
    globals()[_name].__module__ = "tvix"
