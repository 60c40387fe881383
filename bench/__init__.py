"""
Benchmarks: this system, the raw limit, and two peers on one job, in interleaved runs.

The job: accept a call, make one HTTP GET at the target in a durable step, record the result.
Speed is never a test; what is checked are the counts (nothing lost, nothing doubled).
"""
