#!/usr/bin/env python3
"""The official Python SDK creates, finds, updates and deletes through the server, in every era.

    crud.py 'path/to/tvix-mcp-stdio --data FOLDER'

Needs the packages mcp 2.3 and anyio. Prints a line a check and `N passed, M failed`.
"""
import shlex
import sys

import anyio
from mcp import Client, StdioServerParameters

results = []


def check(name, passed, detail=""):
    results.append(passed)
    print(("ok   " if passed else "FAIL ") + name + ("" if passed else f": {detail}"))


async def life(mode, command):
    async with Client(StdioServerParameters(command=command[0], args=command[1:]), mode=mode) as client:
        async def call(tool, **arguments):
            answer = await client.call_tool(tool, arguments)
            check(f"{mode} {tool}", not answer.is_error, answer.content)
            return answer.structured_content or {}

        memory = await call("add_memory", content=f"The {mode} client waters the plants on Mondays", project="Client Test")
        found = await call("search_memory", query=f"watering plants {mode}", project="client-test", limit=1)
        check(f"{mode} finds the memory", found["results"][0]["episode"]["id"] == memory["id"], found)
        doc = (await call("add_wiki", title=f"Plants of {mode}", content="Ficus, fern.", project="Green"))["doc_id"]
        await call("update_wiki", doc_id=doc, content="Ficus, fern, cactus.", project="")
        found = await call("search_wiki", query="cactus", project="Basic")
        check(f"{mode} finds the edit", [hit["doc_id"] for hit in found["results"]] == [doc], found)
        await call("delete_wiki", doc_id=doc)
        gone = await call("search_wiki", query=doc)
        check(f"{mode} no longer finds it", gone["results"] == [], gone)
        again = await client.call_tool("delete_wiki", {"doc_id": doc})
        check(f"{mode} is told that it is gone", again.is_error and "not found" in again.content[0].text, again)


def main():
    command = shlex.split(sys.argv[1])
    for mode in ("legacy", "auto", "2026-07-28"):
        try:
            anyio.run(life, mode, command)
        except Exception as error:
            check(f"{mode} session", False, repr(error))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


main()
