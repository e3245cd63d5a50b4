"""A chat loop with memory: the model is handed Tvix's tools and calls them by name.

The model here is a script, so that the example runs offline; a real one is a request in its place. It needs
nothing but `tvix`.

    python examples/python/chat.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import tvix

TURNS_MAX = 8


class ScriptedModel:
    """Answers as a model would that was handed `tools` and `instructions`."""

    def __init__(self, instructions: str, tools: list[dict[str, Any]]) -> None:
        self.instructions = instructions
        self.known = {tool["name"] for tool in tools}

    def answer(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The next message: a text, or a call of a tool."""
        last = messages[-1]
        if last["role"] == "tool":
            return self.text(last["content"])
        if "allergic" in last["content"]:
            return self.call("add_memory", {"content": "Is allergic to peanuts"})
        if last["content"].endswith("?"):
            return self.call("search_memory", {"query": last["content"], "limit": 3})
        return self.text("Good.")

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert name in self.known, f"was not offered {name}"
        return {"role": "assistant", "call": {"name": name, "arguments": arguments}}

    def text(self, content: str) -> dict[str, Any]:
        return {"role": "assistant", "content": content}


def reply(t: tvix.Tvix, model: ScriptedModel, messages: list[dict[str, Any]]) -> str:
    """Lets the model call tools until it answers in words."""
    for _ in range(TURNS_MAX):
        answer = model.answer(messages)
        messages.append(answer)
        if "call" not in answer:
            return answer["content"]
        try:
            told = t.call(answer["call"]["name"], answer["call"]["arguments"]).text
        except tvix.Error as error:
            # Its text says what to send instead, so the model may try again.
            told = str(error)
        messages.append({"role": "tool", "content": told})
    return "I could not finish that."


def converse(t: tvix.Tvix, lines: list[str]) -> list[str]:
    """One conversation; the next one knows nothing of its messages, only what is stored."""
    model = ScriptedModel(t.instructions(), t.tools("anthropic"))
    messages: list[dict[str, Any]] = []
    answers = []
    for line in lines:
        messages.append({"role": "user", "content": line})
        answers.append(reply(t, model, messages))
    return answers


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    with tvix.open(folder, source="Chat example") as t:
        for lines in (["By the way, I'm allergic to peanuts."], ["Do I have any food allergies?"]):
            for line, answer in zip(lines, converse(t, lines), strict=True):
                print(f"> {line}\n{answer}\n")


if __name__ == "__main__":
    main()
