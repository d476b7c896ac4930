"""The workers of a dask cluster: joblib's backend for dask, which here also ends when the cluster does."""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from typing import Any

from distributed import Client, KilledWorker
from joblib._dask import DaskDistributedBackend
from joblib.parallel import BatchedCalls

from budgetrun.base.errors import InputError, say
from budgetrun.runner.job import failure

# The time that a dask scheduler has to answer.
DASK_TIMEOUT = "6s"
# The seconds without any dask worker after which the user is told, and after which the sweep gives up.
DASK_TOLD, DASK_GIVEN_UP = 10, 300
_ADDRESS = re.compile(r"((tcp|tls|ucx|ws|wss)://)?[^/\s]+:\d{1,5}")


class DaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """joblib's backend for dask, which also reports jobs that kill their workers, and lost clusters."""

    def __init__(self, client: Any, address: str) -> None:
        super().__init__(client=client)
        self._address = address
        self._submitted: dict[Future[Any], BatchedCalls] = {}
        self._ended = threading.Event()

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return 2, because joblib would run the jobs of a single worker in this process; dask counts its workers."""
        return 2

    def start_call(self) -> None:
        super().start_call()
        self._submitted, self._ended = {}, threading.Event()
        threading.Thread(target=self._watch, args=(self._ended,), daemon=True).start()

    def stop_call(self) -> None:
        self._ended.set()
        super().stop_call()

    def submit(self, func: BatchedCalls, callback: Callable[[Any], object]) -> Future[Any]:
        future: Future[Any] = super().submit(func, callback)
        self._submitted[future] = func
        # joblib calls back for results, but not for errors.
        future.add_done_callback(lambda ended: callback(ended) if ended.exception() else None)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return the outcome of a job; a failed one if it kills its workers."""
        if isinstance(out, Future):
            error = out.exception()
            if not isinstance(error, KilledWorker):
                raise error or CancelledError
            (job, _) = self._submitted[out].items[0][1]
            return [failure(job, ["the dask workers that ran its job died"] * len(job.runs))]
        try:
            return super().retrieve_result_callback(out)
        except CancelledError:
            raise InputError(
                f"--scheduler {self._address}: the dask scheduler has stopped; finished runs are kept; "
                f"start it again, then repeat the command"
            ) from None

    def _watch(self, ended: threading.Event) -> None:
        """Tell the user if there are no workers, and give up after some time."""
        patience = DASK_TOLD
        while not ended.wait(patience):
            if self._n_workers():
                patience = DASK_TOLD
            elif patience == DASK_TOLD:
                patience = DASK_GIVEN_UP
                say(f"the dask scheduler {self._address} has no workers; waiting {DASK_GIVEN_UP} s for one")
            else:
                error = InputError(
                    f"--scheduler {self._address}: no dask worker for {DASK_GIVEN_UP} s; finished runs are kept; "
                    f"start workers with: dask worker {self._address}"
                )
                next(future for future in self._submitted if not future.done()).set_exception(error)
                return

    def _n_workers(self) -> int:
        with suppress(OSError, TimeoutError):
            return len(self.client.sync(self.client.scheduler.ncores, callback_timeout=DASK_TOLD))
        return 0


@contextmanager
def connected(address: str) -> Iterator[DaskBackend]:
    """Connect to the scheduler with an address.

    Raises InputError: it is not an address, or no scheduler answers.
    """
    if not _ADDRESS.fullmatch(address):
        raise InputError(f"--scheduler {address}: not an address; give one such as tcp://host:8786")
    # Its own reports would repeat the sentences below.
    for part in ("client", "batched"):
        logging.getLogger(f"distributed.{part}").setLevel(logging.CRITICAL)
    connect: Callable[..., Any] = Client
    try:
        client = connect(address, timeout=DASK_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no dask scheduler answers ({error})") from None
    except TypeError:
        raise InputError(
            f"--scheduler {address}: tls needs certificates; name them in dask's configuration, distributed.comm.tls"
        ) from None
    with client:
        yield DaskBackend(client, address)
