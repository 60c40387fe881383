"""
The language that every part of Toolbus shares: commands, events, values and the pure functions on them.

Nothing in here does any input or output. Read `calls/` first, then `tools/`; `subjects/` names
everything on the bus, `errors.py` every code a user may meet.
"""
