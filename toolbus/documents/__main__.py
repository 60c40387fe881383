"""`python -m toolbus.documents docs`: write every generated document below this folder."""

import sys
from pathlib import Path

from toolbus.documents import write

if __name__ == "__main__":
    sys.stderr.write(f"{len(write(Path(sys.argv[1])))} documents written\n")
