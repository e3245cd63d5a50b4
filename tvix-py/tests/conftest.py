"""What the tests share: a fresh folder for each, and programs that run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tvix

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder that `tvix.open()` takes, and no setting from outside."""
    for name in list(os.environ):
        if name.startswith("TVIX_") and not name.startswith("TVIX_TEST"):
            monkeypatch.delenv(name)
    folder = tmp_path / "data"
    monkeypatch.setenv("TVIX_HOME", str(folder))
    return folder


@pytest.fixture
def store(home: Path) -> Iterator[tvix.Tvix]:
    with tvix.open() as t:
        yield t


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python program; whatever still runs at the end of the test is ended."""
    running: list[subprocess.Popen[str]] = []

    def begin(program: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
