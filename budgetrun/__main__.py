"""The ``budgetrun`` command as a process: how it ends, even on signals and closed pipes."""

import os
import signal
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    os.write(2, b"interrupted\n")
    os._exit(130)


_SIGNALS = tuple(n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) != signal.SIG_IGN)
# Until a command begins: an import that is interrupted by an exception fails in many ways.
for _number in _SIGNALS:
    signal.signal(_number, _leave)

import gc  # noqa: E402
import io  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
from typing import Any, NoReturn, TextIO  # noqa: E402

# The seconds from the end of a command's work to that of its process.
EXIT_SECONDS = 5


class _Output(io.FileIO):
    """Standard output or error that may be closed or full: what cannot be written is dropped, and the work goes on."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            self.error = error
            return len(data)


def main() -> NoReturn:
    """Run the command and end this process with its exit code, at most `EXIT_SECONDS` after its work is done."""
    # Imports leave little to collect, and with Python's threshold a tenth of a short run is spent on looking for it.
    gc.set_threshold(10_000)
    _fill_standard_files()
    output = _Output(1, "wb", closefd=False)
    sys.stdout, sys.stderr = _text(output, sys.stdout), _text(_Output(2, "wb", closefd=False), sys.stderr)
    code: Any = 1
    try:
        from budgetrun.cli import main as command
        from budgetrun.runner import interrupts

        for number in _SIGNALS:
            signal.signal(number, lambda *args: None if interrupts.raised() else _leave(*args))
        sys.unraisablehook = interrupts.resend
        command(prog_name="budgetrun")
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        sys.stdout.flush()
        # A reader that has seen enough is not an error.
        if output.error is not None and not isinstance(output.error, BrokenPipeError):
            print(f"the output could not be written ({output.error.strerror})", file=sys.stderr)
            code = code or 1
        # Python remembers an interrupt within generated code, as of a dataclass, and would end as if it had killed it.
        exec("")
        # Threads that still run, as those of a lost dask cluster, must not keep the process.
        watchdog = threading.Timer(EXIT_SECONDS, os._exit, [code])
        watchdog.daemon = True
        watchdog.start()
        # Without this, Python looks through all objects once more, which takes a fifth of a second after a report.
        gc.freeze()
    sys.exit(code)


def _fill_standard_files() -> None:
    """Open standard files that are closed: another file would take their place, and receive what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _text(output: _Output, replaced: TextIO | None) -> io.TextIOWrapper:
    # A closed file has been replaced by None.
    encoding, errors = (replaced.encoding, replaced.errors) if replaced else (None, None)
    at_once = output.fileno() == 2 or output.isatty()
    return io.TextIOWrapper(io.BufferedWriter(output), encoding, errors, line_buffering=at_once)


if __name__ == "__main__":
    main()
