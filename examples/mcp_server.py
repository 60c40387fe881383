"""An MCP server with two tools, over streamable HTTP on loopback: `python examples/mcp_server.py [PORT]`."""

import sys

from mcp.server import MCPServer

server = MCPServer("notes", version="1.0", log_level="WARNING")
notes: list[str] = []


@server.tool()
def add_note(text: str) -> int:
    """Keep a note, and tell how many there are."""
    notes.append(text)
    return len(notes)


@server.tool()
def find_notes(word: str) -> list[str]:
    """Find the notes that hold a word."""
    return [note for note in notes if word in note]


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8701)
