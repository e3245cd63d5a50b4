"""Times: `datetime` in and out, and none that could mean two moments."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
import tvix

UTC = dt.timezone.utc


def test_a_moment_comes_back_as_the_same_moment(store: tvix.Tvix) -> None:
    for number, moment in enumerate(
        [
            dt.datetime(2026, 3, 9, 10, 0, 0, 123_000, tzinfo=UTC),
            dt.datetime(2026, 3, 9, 10, 0, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
            dt.datetime(2026, 7, 1, 12, 0, tzinfo=ZoneInfo("America/New_York")),
            dt.datetime(1, 1, 1, tzinfo=UTC),
            dt.datetime(9999, 12, 30, 21, 59, 59, 999_000, tzinfo=UTC),
        ]
    ):
        told = store.memory.add(f"event {number}", event_time=moment).memory.event_time
        assert told == moment
        assert isinstance(told, dt.datetime) and told.tzinfo is UTC


def test_a_day_stays_a_day(store: tvix.Tvix) -> None:
    memory = store.memory.add("moved", event_time=dt.date(2026, 3, 2)).memory
    assert memory.event_time == dt.date(2026, 3, 2)
    assert not isinstance(memory.event_time, dt.datetime)
    assert memory.metadata == {"event_time": "2026-03-02"}


def test_the_time_of_storing_is_now_in_utc(store: tvix.Tvix) -> None:
    before = dt.datetime.now(UTC) - dt.timedelta(seconds=1)
    captured = store.memory.add("now").memory.captured_at
    assert before <= captured <= dt.datetime.now(UTC) + dt.timedelta(seconds=1)
    assert captured.microsecond % 1000 == 0


@pytest.mark.parametrize("field", ["event_time", "date_from", "date_to"])
def test_a_datetime_without_a_zone_is_refused_with_a_hint(store: tvix.Tvix, field: str) -> None:
    naive = dt.datetime(2026, 3, 9, 10, 0)
    with pytest.raises(tvix.InvalidInput, match="timezone.utc") as raised:
        if field == "event_time":
            store.memory.add("x", event_time=naive)
        else:
            store.search("x", **{field: naive})
    assert raised.value.field == field


def test_two_event_times_are_one_too_many(store: tvix.Tvix) -> None:
    with pytest.raises(tvix.InvalidInput) as raised:
        store.memory.add("x", event_time="2026-03-01", metadata={"event_time": "2026-03-02"})
    assert raised.value.field == "event_time"


def test_bounds_are_inclusive_and_days_are_whole_in_their_zone(store: tvix.Tvix) -> None:
    night = dt.datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    store.memory.add("late at night", event_time=night)
    day, next_day = dt.date(2026, 3, 1), dt.date(2026, 3, 2)
    assert len(store.search("", date_from=day, date_to=day)) == 1
    assert len(store.search("", date_from=next_day)) == 0
    assert len(store.search("", date_from=next_day, timezone="Asia/Tokyo")) == 1
    assert len(store.memory.recent(date_from=night, date_to=night)) == 1
    store.profile.set("timezone", "Asia/Tokyo")
    assert len(store.search("night", date_from="2026-03-02", date_to="2026-03-02")) == 1


def test_what_python_has_no_date_for_is_drawn_to_its_ends(store: tvix.Tvix) -> None:
    long_ago = store.memory.add("an eclipse", event_time="-000584-05-28T12:00:00Z").memory
    assert long_ago.event_time == dt.datetime.min.replace(tzinfo=UTC)
    day = store.memory.add("another", event_time="-000584-05-28").memory
    assert day.event_time == dt.date.min
