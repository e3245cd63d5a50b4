"""The command line: `tvix`, or `python -m tvix`. Without a command it serves MCP on stdin and stdout."""

from __future__ import annotations

import signal
import sys

from ._tvix import run


def main() -> int:
    """Runs the command line with the arguments of this process and returns its exit code.

    0 is good, 1 failed, 2 wrong usage.
    """
    # Python's handler only takes a note, which nobody would read while the command runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["tvix", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
