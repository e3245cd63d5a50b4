"""Every public name says what it is, and what its examples show is what happens."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tvix
import tvix.aio
import tvix.types
from tvix import _errors

from conftest import REPOSITORY


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """The public names of `module` and those of its classes."""
    yield module.__name__, module
    for name in module.__all__:
        thing = getattr(module, name)
        if name.startswith("__") or not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing) and not issubclass(thing, (Exception, dict)):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}", value


MODULES = [tvix, tvix.aio, tvix.types, _errors]
NAMES = {name: thing for module in MODULES for name, thing in public(module)}
EXAMPLES = {
    name: found
    for name, thing in NAMES.items()
    if (found := doctest.DocTestParser().get_examples(inspect.getdoc(thing) or ""))
}


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert len(inspect.getdoc(NAMES[name]) or "") >= 10


def test_every_method_of_a_store_and_every_class_has_an_example() -> None:
    def needs_one(name: str, thing: Any) -> bool:
        if name.startswith(("tvix.aio.", "tvix.types.")) and name.count(".") > 2:
            return False
        alone = {"tvix.MemoryPages", "tvix.WikiPages"}
        blocks = inspect.isroutine(thing) or inspect.isclass(thing)
        return blocks and name not in alone and not name.startswith("tvix.types.")

    lacking = [n for n, thing in NAMES.items() if needs_one(n, thing) and n not in EXAMPLES]
    assert lacking == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_show_what_happens(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    test = doctest.DocTest(EXAMPLES[name], {}, name, None, None, inspect.getdoc(NAMES[name]))
    failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed
    assert failures == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", ["README.md", "tvix-py/README.md"])
def test_the_examples_of_a_readme_run(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (REPOSITORY / Path(path)).read_text()
    programs = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert programs
    for program in programs:
        exec(compile(program, path, "exec"), {})
    assert "Is allergic to peanuts" in capsys.readouterr().out
