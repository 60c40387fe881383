"""The library, compiled when it is asked for and kept by the hash of its source."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
FLAGS = ("-std=gnu11", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE")


class ShimNotBuilt(Exception):
    """The compiler refused, or is not there; the message holds what it said."""


def compiler() -> str | None:
    """The C compiler of this machine: what CC says, else cc."""
    return shutil.which(os.environ.get("CC", "cc"))


def library(build_folder: Path) -> Path:
    """
    The compiled library below `build_folder`; compiled only if this source was not yet.

    Any number of processes may ask at once. The file may be read by every user, the folders above it are the caller's.

    Raises:
        ShimNotBuilt: there is no compiler, or it refused.
    """
    sources = sorted(FOLDER.glob("*.c"))
    texts = [path.read_bytes() for path in (*sources, *sorted(FOLDER.glob("*.h")))]
    digest = hashlib.sha256(b"\0".join((*texts, " ".join(FLAGS).encode()))).hexdigest()
    built = build_folder / f"chaos-{digest[:16]}.so"
    if not built.exists():
        build_folder.mkdir(parents=True, exist_ok=True)
        _compile(sources, built)
    return built


def _compile(sources: list[Path], built: Path) -> None:
    cc = compiler()
    if cc is None:
        raise ShimNotBuilt("no C compiler (cc) here")
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        fresh = Path(folder) / built.name
        command = [cc, *FLAGS, "-o", str(fresh), *map(str, sources), "-ldl", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ShimNotBuilt(done.stderr)
        fresh.chmod(0o755)
        fresh.replace(built)
