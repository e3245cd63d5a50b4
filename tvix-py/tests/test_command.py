"""The command line and the MCP server, as clients start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import tvix


def run(*arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tvix", *arguments]
    return subprocess.run(command, input=input, capture_output=True, text=True, timeout=60)


def test_commands_work_beside_an_open_store(home: Path) -> None:
    with tvix.open(home) as t:
        memory = t.memory.add("Likes rye", project="bakery").memory
        listed = json.loads(run("--json", "memory", "list").stdout)
        assert [entry["id"] for entry in listed["memories"]] == [memory.id]
        assert run("profile", "set", "role", "baker").returncode == 0
        assert t.profile.get().role == "baker"


def test_exit_codes_tell_usage_from_failure(home: Path) -> None:
    assert run("version").returncode == 0
    failed = run("memory", "show", "rye")
    assert failed.returncode == 1 and "id: got" in failed.stderr
    wrong = run("forget")
    assert wrong.returncode == 2 and "Usage: tvix" in wrong.stderr


def test_the_console_script_is_the_same_program(home: Path) -> None:
    (script,) = entry_points(group="console_scripts", name="tvix")
    assert script.value == "tvix.__main__:main"
    program = Path(sys.executable).with_name("tvix.exe" if os.name == "nt" else "tvix")
    if not program.exists():
        pytest.skip("the package is not installed into this environment")
    shown = subprocess.run([program, "version"], capture_output=True, text=True, timeout=60)
    assert tvix.__version__ in shown.stdout


def test_a_client_speaks_mcp_with_it(home: Path) -> None:
    messages = [
        {
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "cursor-vscode", "version": "1"},
            },
        },
        {
            "method": "tools/call",
            "params": {"name": "add_memory", "arguments": {"content": "Likes rye"}},
        },
    ]
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, **m}) for n, m in enumerate(messages)]
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    lines.insert(1, ready)
    served = run(input="\n".join(lines) + "\n")
    assert (served.returncode, served.stderr) == (0, "")
    answers = [json.loads(line) for line in served.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [0, 1]
    assert answers[1]["result"]["structuredContent"]["source"] == "Cursor"
    with tvix.open(home) as t:
        assert t.search("rye")[0].record.content == "Likes rye"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal of Unix")
def test_ctrl_c_ends_a_server(home: Path) -> None:
    import signal

    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-m", "tvix"], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdin and process.stdout
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    line = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()
    assert "serverInfo" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
