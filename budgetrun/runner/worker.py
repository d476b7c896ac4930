"""A worker process of a sweep: runs the jobs that come over its connection, until the sweep closes it or has ended.

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

from budgetrun.runner import job as job_module
from budgetrun.runner.backends import run_job


def main(connection: Connection, parent: int) -> None:
    """Run jobs for the process with the id ``parent``, and send what comes of each: an outcome or an error."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    job_module.tell = partial(_tell, connection)
    while True:
        try:
            job, settings = connection.recv()
        # The sweep has closed the connection, or was killed.
        except (EOFError, OSError):
            return
        result: object
        try:
            result = run_job(job, settings)
        except Exception as error:
            error.add_note(traceback.format_exc())
            result = error
        try:
            connection.send(result)
        except OSError:
            return


def _tell(connection: Connection, share: float) -> None:
    with suppress(OSError):
        connection.send(share)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])), int(sys.argv[2]))
