"""The environment of the peers: `.venv-bench` from its lock, and Restate's server beside it when npm is there."""

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-bench.lock"
VENV = ROOT / ".venv-bench"
PYTHON = VENV / "bin" / "python"
NODE = VENV / "restate_server"
NODE_LOCK = ROOT / "bench" / "restate_server"
STAMP = VENV / "installed"


def prepare() -> None:
    """Install what the locks name, unless it is installed already."""
    wanted = hashlib.sha256(LOCK.read_bytes() + (NODE_LOCK / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise FileNotFoundError("uv is needed to install the peers' environment")
    _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(VENV)])
    _run([uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(PYTHON), str(LOCK)])
    if shutil.which("npm") is not None:
        NODE.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NODE_LOCK / name, NODE / name)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", str(NODE)])
    STAMP.write_text(wanted)


def restate_server() -> Path | None:
    """Restate's server program for this machine, if it is installed."""
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "")
    package = f"@restatedev/restate-server-{platform.system().lower()}-{machine}"
    program = NODE / "node_modules" / package / "bin" / "restate-server"
    return program if program.is_file() else None


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, cwd=ROOT)
