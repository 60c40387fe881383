"""The score of `make mutation` as one figure: mutants that a test noticed, out of a hundred. Fails below the bar."""

import json
import sys
from pathlib import Path

BAR = 85.0
NOTICED = ("killed", "timeout", "segfault", "suspicious")


def main(path: str) -> int:
    """Read what mutmut counted and print the score; mutants that were not run do not count."""
    counts: dict[str, int] = json.loads(Path(path).read_text())
    noticed = sum(counts[name] for name in NOTICED)
    tried = noticed + counts["survived"] + counts["no_tests"]
    score = 100.0 * noticed / tried
    print(f"mutation score {score:.1f} % ({noticed} of {tried} mutants noticed)")
    return 0 if score >= BAR else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
