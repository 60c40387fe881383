"""What can go wrong in a run."""


class BenchError(RuntimeError):
    """A contender could not do its part; its figures are missing, and the bench fails."""
