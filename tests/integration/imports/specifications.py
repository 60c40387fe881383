"""
`python -m tests.integration.imports.specifications`: fetch large public OpenAPI documents into `build/specs`.

Vendors publish them in packages; each is pinned by version and hash, and nothing of a package is run.
"""

import base64
import hashlib
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.source import ROOT

FOLDER: Final = ROOT / "build" / "specs"
PYTHON: Final = ROOT / ".venv-specs" / "bin" / "python"  # has a validator of requests that is not ours


@dataclass(frozen=True)
class Specification:
    """An OpenAPI document in an npm package, and the address that its servers have."""

    name: str
    package: str
    version: str
    member: str
    sha512: str
    server: str | None = None  # for a document that does not name one

    @property
    def path(self) -> Path:
        """Where it lies once it is fetched."""
        return FOLDER / f"{self.name}-{self.version}{Path(self.member).suffix}"


ALL: Final = (
    Specification(
        "github",  # OpenAPI 3.0, JSON, 13 MB
        "@octokit/openapi",
        "23.0.2",
        "package/generated/api.github.com.json",
        "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
    ),
    Specification(
        "figma",  # OpenAPI 3.1, YAML
        "@figma/rest-api-spec",
        "0.43.0",
        "package/openapi/openapi.yaml",
        "sbFm28WM8MsawyLSYO9Ddne+8xytWU5D7oCOOWyzRvLpd9InFHihC37dQBVJVzAVyT7HpwYtU4wlm+ALogC38g==",
    ),
    Specification(
        "blockfrost",  # OpenAPI 3.0, YAML, a key in a header
        "@blockfrost/openapi",
        "0.1.93",
        "package/openapi.yaml",
        "gC0NOZk+9MSa5aK846gbcU12VqbZwzVpZmgO6314e9ExJo9g3QsMmniplewOhI5fJQVHR0A7lgCVqk/pbK1iKA==",
    ),
    Specification(
        "directus",  # OpenAPI 3.0, JSON, lists in one parameter, forms with files
        "@directus/specs",
        "15.2.0",
        "package/dist/openapi.json",
        "JauzDjbFbeoZ9AceWh/pbG/U2R2/5V8jP7Ldp/bpSPbsDu392uXEUQGTfWkowLqgRXtjmGHP5vIZoUJpjqaFPw==",
        "https://directus.example",
    ),
    Specification(
        "rclone",  # OpenAPI 3.1, JSON, objects in a query
        "rclone-openapi",
        "1.75.0",
        "package/openapi.json",
        "qkuPnhiFFS0cu5jAcG3TXWKZrkw54KYFCDPL5PDFY5Q3CZcooP4EXuMmcoQKWpmglohk12b65OW31QDVadsjRw==",
    ),
)


def fetch(specification: Specification) -> None:
    """Put one document in its place, unless it is there."""
    if specification.path.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{specification.package}@{specification.version}"
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", folder, wanted], check=True)
        archive = next(Path(folder).glob("*.tgz"))
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != specification.sha512:
            raise SystemExit(f"{wanted} has another hash than it had: {found}")
        with tarfile.open(archive) as package:
            member = package.extractfile(specification.member)
            if member is None:
                raise SystemExit(f"{wanted} does not hold {specification.member}")
            FOLDER.mkdir(parents=True, exist_ok=True)
            specification.path.write_bytes(member.read())


if __name__ == "__main__":
    for one in ALL:
        fetch(one)
        print(f"{one.path.relative_to(ROOT)}: {one.path.stat().st_size // 1024} KiB")
