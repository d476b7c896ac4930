"""Files: where the package's own are, the state of its sources, and writing.

Every file that is written appears whole or not at all, a failure is one sentence, and no cell is executed.
"""

import errno
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, TextIO

from budgetrun.base.errors import CannotWriteError

PACKAGE = Path(__file__).resolve().parents[1]
PARQUET = ".parquet", ".pq"
# Failures of writing that the user can resolve.
CANNOT_WRITE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOENT}
    | {errno.ESTALE, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
)


def own_files(name: str) -> dict[str, Path]:
    """Return the YAML files in one of budgetrun's own folders, sorted, by their names without the suffix."""
    return {path.stem: path for path in sorted(own_folder(name).glob("*.yaml"))}


def own_folder(name: str) -> Path:
    """Return the folder ``configs`` or ``datasets`` that belongs to this copy of budgetrun.

    Raises FileNotFoundError: the installation carries no such folder.
    """
    for parent in (PACKAGE, PACKAGE.parent):
        candidate = parent / name
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"budgetrun's own folder {name!r} is missing from {PACKAGE}")


def checkout() -> Path | None:
    """Return the top of the source checkout this code runs from, or None for an installed wheel."""
    top = PACKAGE.parent
    return top if (top / "pyproject.toml").is_file() and (top / "datasets").is_dir() else None


@cache
def source_digest(*rooms: str) -> str:
    """Return a hash of the source files of some subpackages, or of all; this process reads them once.

    A sweep and its workers compare the hashes of all files: a worker that starts after one was edited may run different
    code. Editing any module stops the sweep, even one that its runs do not execute.
    """
    import hashlib  # `budgetrun --help` does without

    found = hashlib.sha256()
    for room in rooms or ("",):
        for path in sorted(PACKAGE.joinpath(room).rglob("*.py")):
            found.update(f"{path.relative_to(PACKAGE).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def is_url(source: str) -> bool:
    """Return whether a source is a URL; one in the form of a path has lost a slash."""
    return re.match(r"\w{2,}:/", source) is not None


def is_file(path: Path) -> bool:
    """Return whether something that may be read is at a path: anything but a folder, and no error of any kind."""
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def write(path: Path, content: str | bytes | memoryview) -> None:
    """Replace a file: whatever happens, it has its old content or the new one, and that outlasts a power cut.

    Its folder exists. A link under this name is replaced, never followed. Text is written as UTF-8.

    Raises CannotWriteError: the disk is full, the folder is gone, permission is missing, ...; the old content is still
    there, or if only the last step failed the new one.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with _replaced(path) as file:
        file.write(data)


@contextmanager
def growing(path: Path) -> Iterator[TextIO]:
    """Open a text file that is written bit by bit, and replaces the one at ``path`` if all of it could be written.

    Raises CannotWriteError: as in `write`.
    """
    with _replaced(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.detach()


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces the one at ``path`` when all of it is on the disk."""
    # Processes that were killed leave such files behind; their id tells whose they are.
    temporary = path.with_name(f".{os.urandom(8).hex()}.{os.getpid()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with explained(path):
        try:
            with open(os.open(temporary, flags, 0o666), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they do not exist.

    Raises CannotWriteError: it cannot be made, or something else has its name.
    """
    with explained(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise what fails while a file or folder is written, made or removed as a `CannotWriteError` that names it."""
    try:
        yield
    except CannotWriteError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotWriteError(f"{path}: cannot be written ({reason})", reason) from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems, for example over a network, do not offer it for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
