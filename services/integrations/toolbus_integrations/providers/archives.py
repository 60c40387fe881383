"""Archives of repositories, repacked: within bounds, and without the folder that everything lies in."""

import io
import zipfile
import zlib
from typing import Final

MAX_FILES: Final = 5000
MAX_BYTES: Final = 50 * 1024 * 1024  # unpacked


def without_top_folder(archive: bytes, *, must_hold: str) -> bytes:
    """
    A zip archive of the same files, their names without their first folder.

    Raises:
        ValueError: it is no zip archive, is larger than the bounds unpacked, or does not hold that file.
    """
    packed = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as found, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
            files = [entry for entry in found.infolist() if not entry.is_dir()]
            if len(files) > MAX_FILES or sum(entry.file_size for entry in files) > MAX_BYTES:
                raise ValueError(f"more than {MAX_FILES} files or {MAX_BYTES} bytes")
            names = {entry.filename: entry.filename.partition("/")[2] for entry in files}
            if must_hold not in names.values():
                raise ValueError(f"there is no {must_hold} in its topmost folder")
            for entry in files:
                if name := names[entry.filename]:
                    made.writestr(name, _content(found, entry))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"not a zip archive that can be read: {error}") from error
    return packed.getvalue()


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The file's content, of which no more is unpacked than it says it has."""
    with archive.open(entry) as file:
        return file.read(entry.file_size)
