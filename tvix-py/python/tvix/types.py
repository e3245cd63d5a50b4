"""Types of arguments, for annotations of your own.

>>> from tvix.types import Criteria
>>> this_year: Criteria = {"project": "bakery", "date_from": "2026-01-01"}
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Union

__all__ = ["Criteria", "DocumentEdit", "Format", "Kind", "NewMemory", "Time"]

Time = Union[datetime.datetime, datetime.date, str]
"""A `datetime` with a time zone, a `date` for a whole day, or ISO 8601 text."""

Kind = Literal["memory", "wiki"]
"""What a search looks for."""

Format = Literal["openai", "openai-responses", "anthropic", "gemini"]
"""The API that definitions of tools are for."""


class Criteria(TypedDict, total=False):
    """What a list or search is confined to; see `tvix.Tvix.search`."""

    project: str | None
    sources: str | Iterable[str] | None
    date_from: Time | None
    date_to: Time | None
    timezone: str | None


class DocumentEdit(TypedDict, total=False):
    """What an edit changes; see `tvix.Wiki.update`."""

    title: str
    content: str
    project: str | None


class _Content(TypedDict):
    content: str


class NewMemory(_Content, total=False):
    """A memory to be stored; see `tvix.Memory.add`."""

    project: str | None
    event_time: Time | None
    metadata: Mapping[str, Any] | None
    source: str | None
