"""Threads, processes, forks and Ctrl-C: nothing hangs, nothing is lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import tvix

from conftest import Start

unix = pytest.mark.skipif(os.name != "posix", reason="signals and fork are those of Unix")


def test_two_processes_share_a_folder_and_the_second_takes_over(home: Path, start: Start) -> None:
    other = start(
        """
        import sys, tvix
        with tvix.open(sys.argv[1], source="other") as t:
            t.memory.add("told by the other process")
            print("open", flush=True)
            sys.stdin.readline()
        print("closed", flush=True)
        """,
        home,
    )
    assert other.stdout and other.stdin
    assert other.stdout.readline() == "open\n"
    with tvix.open(home) as t:
        assert t.search("what did the other process tell?")[0].record.source == "other"
        document = t.wiki.add("Here", "# Here").document
        assert [entry.status for entry in t.memory.add_many(["one", "two"])] == ["stored"] * 2
        with pytest.raises(tvix.InvalidInput):
            t.memory.add("x", metadata={"event_time": "soon"})
        other.stdin.write("\n")
        other.stdin.close()
        assert other.stdout.readline() == "closed\n"
        assert t.memory.add("after the other has gone").status == "stored"
        assert t.wiki.get(document.id) == document
        assert len(t.memory.recent()) == 4


def test_a_store_that_is_not_closed_is_let_go_at_the_end(home: Path, start: Start) -> None:
    program = """
        import sys, tvix
        t = tvix.open(sys.argv[1])
        t.memory.add(sys.argv[2])
        """
    for text in ("one", "two"):
        process = start(program, home, text)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    with tvix.open(home) as t:
        assert len(t.memory.recent()) == 2


def test_a_store_that_is_dropped_can_be_opened_again(home: Path) -> None:
    for number in range(5):
        t = tvix.open()
        t.memory.add(f"memory {number}")
        del t
    with tvix.open() as t:
        assert len(t.memory.recent()) == 5


@unix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_the_child_is_told_to_open_the_store_again(home: Path, start: Start) -> None:
    process = start(
        """
        import os, sys, warnings, tvix
        warnings.simplefilter("ignore")
        t = tvix.open(sys.argv[1])
        t.memory.add("before the fork")
        child = os.fork()
        if child == 0:
            for call in (lambda: t.search("fork"), lambda: t.memory.add("x"), t.close):
                try:
                    call()
                except tvix.Conflict as error:
                    print("told:", "tvix.open again" in str(error), flush=True)
            with tvix.open(sys.argv[1]) as own:
                own.memory.add("by the child")
                print("found:", len(own.search("fork")) > 0, flush=True)
            sys.exit(7)
        _, status = os.waitpid(child, 0)
        print("child:", os.waitstatus_to_exitcode(status))
        print("stored:", len(t.memory.recent()))
        t.close()
        """,
        home,
    )
    output, errors = process.communicate(timeout=60)
    lines = ["told: True"] * 3 + ["found: True", "child: 7", "stored: 2"]
    assert (output.splitlines(), errors) == (lines, "")


@unix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_outlives_its_parent_keeps_nobody_out(home: Path, start: Start) -> None:
    process = start(
        """
        import os, sys, warnings, tvix
        warnings.simplefilter("ignore")
        t = tvix.open(sys.argv[1])
        t.memory.add("before the fork")
        if os.fork() == 0:
            sys.stdout.close()
            sys.stdin.readline()
            os._exit(0)
        print("forked", flush=True)
        t.close()
        """,
        home,
    )
    assert process.stdout and process.stdin
    assert process.stdout.readline() == "forked\n"
    assert process.wait(timeout=60) == 0
    with tvix.open(home) as t:
        assert t.memory.add("while the child still runs").status == "stored"
    process.stdin.close()


@unix
def test_ctrl_c_in_a_long_import_leaves_a_consistent_store(home: Path, start: Start) -> None:
    process = start(
        """
        import sys, tvix
        with tvix.open(sys.argv[1]) as t:
            print("begun", flush=True)
            try:
                t.memory.add_many(f"memory {number}" for number in range(200_000))
            except KeyboardInterrupt:
                print("interrupted", t.memory.add("after that").status, flush=True)
        """,
        home,
    )
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    with tvix.open(home) as t:
        deadline = time.monotonic() + 60
        while not len(t.memory.recent(limit=1)) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert (output, errors) == ("interrupted stored\n", "")
        stored = list(t.memory.iterate(page_size=1_000))
        assert 1 < len(stored) < 200_000
        numbers = {int(m.content.split()[1]) for m in stored if m.content.startswith("memory")}
        assert numbers == set(range(len(numbers))), "whole groups from the beginning"
        last = f"memory {max(numbers)}"
        assert any(hit.record.content == last for hit in t.search(f'"{last}"'))
        # What was stored is found to be stored when the import is run again.
        again = t.memory.add_many(["memory 0", last, "memory 199999"])
        assert [entry.status for entry in again] == ["duplicate", "duplicate", "stored"]


def test_a_call_that_waits_lets_other_threads_run(home: Path) -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    with tvix.open() as t:
        thread = threading.Thread(target=count)
        thread.start()
        before = ticks
        t.memory.add_many([f"memory {number}" for number in range(2_000)])
        during = ticks - before
        done.set()
        thread.join()
    assert during > 3


def test_threads_share_a_store(store: tvix.Tvix) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                store.memory.add(f"thread {number} turn {turn}")
                store.search(f"thread {number}", limit=3)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(list(store.memory.iterate())) == 160


def resident() -> int:
    """Resident memory, in KiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_calls_leave_no_memory_behind(store: tvix.Tvix) -> None:
    """`TVIX_TEST_CALLS=100000` asks for the long form."""
    calls = int(os.environ.get("TVIX_TEST_CALLS", "1000"))
    store.memory.add_many([f"memory number {number} of bread" for number in range(50)])
    memory = store.memory.recent()[0]

    def turn() -> None:
        for hit in store.search("bread", limit=10):
            repr(hit)
        store.memory.get(memory.id)
        store.call("search_memory", {"query": "number 7", "limit": 3})
        try:
            store.memory.add(" ", metadata={"k": [1, 2]})
        except tvix.InvalidInput:
            pass

    for _ in range(200):
        turn()
    before = resident()
    for _ in range(calls // 4):
        turn()
    assert resident() - before < 8 * 1024
