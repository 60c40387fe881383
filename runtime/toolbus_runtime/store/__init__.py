"""
The event store: the port, its adapters (SQLite, PostgreSQL, memory) and the history of its schema.

`port.py` says what is promised, `admission.py` decides what an append becomes, `database.py` opens a store by url.
"""
