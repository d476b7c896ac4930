"""Running a job, and the worker process of the backend `local`, which runs the calls that it receives.

Started by `budgetrun.runner.backends`: ``python -m budgetrun.runner.worker FILE_DESCRIPTOR PARENT``.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection

from budgetrun.config import kinds
from budgetrun.runner import job as job_module
from budgetrun.runner.job import Outcome, Settings, run_and_store
from budgetrun.runner.plan import Job


def run_job(job: Job, settings: Settings) -> Outcome:
    """Run a job, store its rows and curves in the results folder, and return the rows."""
    if name := job.runs[0].spec.kind:
        measure = kinds.find(name).measure
    else:
        from budgetrun.runner.online import measure
    return run_and_store(job, settings, measure)


def attempt(job: Job, settings: Settings) -> Outcome | Exception:
    """Run a job; return the error if it cannot be run or stored, because joblib drops all jobs if one raises."""
    try:
        return run_job(job, settings)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return error


def main(connection: Connection, parent: int) -> None:
    """Call functions for the process with the id ``parent`` until it closes the connection or has ended."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    job_module.tell = partial(_tell, connection)
    # The sweep has closed the connection, or was killed.
    with suppress(EOFError, OSError):
        while True:
            calls = connection.recv()
            try:
                results: object = [function(*args, **kwargs) for function, args, kwargs in calls]
            except Exception as error:
                results = error
            connection.send(results)


def _tell(connection: Connection, share: float) -> None:
    with suppress(OSError):
        connection.send(share)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])), int(sys.argv[2]))
