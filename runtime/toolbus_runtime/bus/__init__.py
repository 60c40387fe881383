"""
The bus: one connection, one pull loop, one place where an exception becomes an answer to NATS.

Raw nats-py is used in this package only. Read `connection.py` first, then `pull.py`.
"""
