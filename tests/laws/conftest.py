"""How Hypothesis runs: the same examples in CI each time, and no deadline, since speed is no law."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=50,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("mutation", deadline=None, max_examples=10, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")
