"""
The dispatcher takes commands, decides what they mean, and records it.

It owns the categories call, execution, tool and key. HTTP, bus and ask meet in one batcher
(`intake.py`); `core/` decides; the leader among its replicas also runs relay, projections,
reactions and sweeper (`leading.py`).
"""
