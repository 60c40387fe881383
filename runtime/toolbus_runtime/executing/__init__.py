"""
What every executor does alike: from a delivery of work to the outcome that the dispatcher records.

`Executor` is the whole way; an executor service gives it an `Effect`, which knows how one kind of tool is run.
"""
