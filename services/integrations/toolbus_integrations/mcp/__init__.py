"""
MCP: tools that a server offers, called over connections that are kept.

    effect.py       from work to an outcome, for tools of type `mcp`
    describing.py   what a server says of a tool, when one is defined; what it says of all of them
    targets.py      a server as it is spoken to: settings with the secrets in their places
    connections.py  which connections there are: one per tenant, server and generation of its secrets
    connection.py   one connection, entered and left by the one task that owns it
    session.py      what a server is told of us, and what a call brings along to one that had asked
    dialing.py      http or stdio
    network.py      streamable HTTP past the egress guard, and what is known of each request
    body.py         the body of an answer: how much of it, and whether it was whole
    stdio.py        a server as a process of ours: exactly the commands that the operator listed
    saying.py       what such a server writes for people
    exchange.py     one call on a connection: whether it was sent, and what came back

A request that has left is never sent a second time: when the connection dies before the answer, the outcome is unknown.
"""
