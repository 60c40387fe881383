"""
The approvals service holds calls that stand still for somebody, costs nothing meanwhile, and forgets none.

It owns the categories wait, grant and delegation; it reads those of calls, tools and keys. The dispatcher tells
it by events that a call stands still, and reads from its events how a wait was closed. `desk.py` takes what
people, clients and clocks say; `core/` decides; the leader among its replicas also runs reactions, projections
and sweeper (`leading.py`).
"""
