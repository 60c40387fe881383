"""What the base install may import."""

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]
SERVER_PACKAGES = frozenset(
    """
    aiohttp aiosqlite alembic asyncpg fastapi fast_depends faststream httptools jsonschema_rs nats
    orjson prometheus_client pydantic_settings sqlalchemy starlette structlog uuid_utils uvicorn uvloop
    toolbus_runtime toolbus_dispatcher toolbus_api_caller
    """.split()  # noqa: SIM905 - a list of so many names is read best as words
)
BLOCKER = """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in BLOCKED:
                raise ModuleNotFoundError(f"blocked: {name}", name=name)

    sys.meta_path.insert(0, Blocker())
"""


def python(code: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter in which some packages cannot be imported."""
    text = f"BLOCKED = {set(blocked)!r}\n" + textwrap.dedent(BLOCKER) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)


def test_client_and_command_line_work_without_the_server_extra() -> None:
    """Every module of the base part can be imported where nothing of the server is installed."""
    code = """
        import pkgutil
        from importlib import import_module
        import toolbus.client, toolbus.cli, toolbus.definitions, toolbus.options, toolbus.version

        for package in (toolbus.client, toolbus.cli):
            for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                import_module(found.name)
        from toolbus import *
    """
    done = python(code, *SERVER_PACKAGES)
    assert done.returncode == 0, done.stderr


def test_commands_of_the_server_name_the_missing_extra() -> None:
    """Without it each says what to install, with exit code 69."""
    code = """
        from toolbus.cli.app import run
        for command in ("up", "serve dispatcher", "migrate", "demo", "bus declare", "doctor --settings"):
            print(run(command.split()))
    """
    done = python(code, *SERVER_PACKAGES)
    assert done.stdout.split() == ["69"] * 6
    assert done.stderr.count('pip install "toolbus[server]"') == 6


def test_the_command_line_starts_without_what_it_does_not_need_yet() -> None:
    """Neither the HTTP client, nor the models, nor drawing is loaded to parse a command."""
    code = """
        import sys
        import toolbus.cli
        late = {"httpx", "pydantic", "rich", "yaml", "toolbus.client", "toolbus_contracts.calls"}
        sys.exit(", ".join(late & sys.modules.keys()) or 0)
    """
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_the_client_does_not_load_the_command_line() -> None:
    """A program that only calls tools pays for that alone."""
    code = """
        import sys
        from toolbus import Client
        sys.exit(", ".join({"typer", "yaml", "toolbus.cli"} & sys.modules.keys()) or 0)
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
