"""Fleets: a classifier per key, all in one memory of limited size."""

import math
import time
from collections.abc import Iterable
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

import budgetrun
from budgetrun.base.errors import InputError, counted, out_of_range
from budgetrun.base.limits import parse_bytes
from budgetrun.base.params import Count, Seed
from budgetrun.base.registry import parameters
from budgetrun.estimators.arguments import check_choice, check_value, kernel_of
from budgetrun.estimators.base import alone
from budgetrun.fleet import SharedMemory, make, registry
from budgetrun.fleet.loops import LINK
from budgetrun.fleet.memory import (
    BYTES,
    FLOOR,
    LIMIT,
    SEEN,
    SIZE,
    WEIGHT,
    M,
    Q,
    bytes_of,
    flat,
    learner_bytes,
    longest,
    most_learners,
    packed,
    play_batch,
    play_one,
    play_stream,
    score_batch,
    score_one,
    stored,
)
from budgetrun.kernels import compiling, squares
from budgetrun.kernels.arithmetic import END, TILE
from budgetrun.kernels.kinds import DENSE_FEATURES, Matrix, is_fine
from budgetrun.state import save_state

# Rows that are played at a time, and the most entries that can be numbered.
_ROWS, _MOST = 65536, 2**31 - 1
_NUMBERS = "fiub"
_KEYS = {int, str}
_WRONG_LABEL = "a label must be -1 or +1, or a bool, got {}"


class Fleet:
    """A classifier of two classes per key, for example per customer or sensor, all in one memory of limited size.

    Each is a self-tuned Forgetron. When the memory is full, a policy names the key that gives up an example; no key
    goes below its floor. A key exists from its first example on.

    Parameters
    ----------
    memory : int or str
        Bytes of everything that grows with keys and examples, such as 200_000_000 or ``"200MB"``.
    kernel, gamma, sigma, degree, coef0
        The kernel, as for the other classifiers, but gamma is never found from the data: None is 1. The mistake bounds
        need k(x, x) <= 1.
    floor : int, >= 0
        The examples that no other key can take from a key; with ``policy="equal_split"``, the most that it holds. The
        mistake bound of a key is that of a Forgetron with this budget. The memory has room for the floors of all keys,
        also if all of these examples are as long as the longest so far, if they are sparse.
    policy : str
        Who gives up an example: "equal_split", "harmless", "least_damage", "mistakes", "oldest", "random",
        "square_root", "sum_bound" or "younger_half"; see docs/fleet.md.
    greedy : bool
        Remove an example that does no harm, if there is one, instead of the oldest.
    shared_rows : bool
        All keys see the same examples, each with labels of its own; an example is stored once. See `partial_fit`.
    dtype : {"float32", "float64", "bits", "sparse"}
        In which examples are stored; bits are for features that are zeros and ones, and sparse examples take eight
        bytes for each value that is not 0, a float32, in blocks of seven. Everything is computed in float64.
    seed : int, >= 0
        Of the policy ``random``.

    Notes
    -----
    O(n d) per example, for n examples of its key, and O(log m) for m keys per mistake. A fleet is used by one thread
    at a time. Section 9 of Dekel, Shalev-Shwartz & Singer (2008) asks for many learners in one memory; with one key,
    this is their self-tuned Forgetron (Fig. 3).

    Examples
    --------
    >>> from budgetrun import Fleet
    >>> fleet = Fleet(memory="1MB", gamma=0.5)
    >>> fleet.learn_one("sensor 7", [0.0, 1.0], -1)
    0.0
    >>> fleet.predict_one("sensor 7", [0.0, 1.0])
    -1.0
    """

    def __init__(
        self,
        memory: int | str,
        *,
        kernel: Literal["gaussian", "linear", "polynomial"] = "gaussian",
        gamma: float | None = None,
        sigma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        floor: int = 4,
        policy: str = "square_root",
        greedy: bool = False,
        shared_rows: bool = False,
        dtype: Literal["float32", "float64", "bits", "sparse"] = "float32",
        seed: int = 0,
    ) -> None:
        self.memory = int(parse_bytes(memory) if isinstance(memory, str) else memory)
        check_value("memory", self.memory, Count)
        check_value("floor", floor, Seed)
        check_value("seed", seed, Seed)
        check_choice("kernel", kernel, ("gaussian", "linear", "polynomial"))
        check_choice("policy", policy, registry())
        check_choice("dtype", dtype, ("float32", "float64", "bits", "sparse"))
        given: dict[str, Any] = {"gamma": gamma, "sigma": sigma, "degree": degree, "coef0": coef0}
        self._kernel = kernel_of(given | {"kernel": kernel, "products": None})
        wanted = parameters(type(self._kernel))
        self._of_kernel = {"kernel": kernel} | {name: value for name, value in given.items() if name in wanted}
        self.floor, self.policy, self.greedy, self.dtype, self.shared_rows = floor, policy, greedy, dtype, shared_rows
        self._policy = make(policy, seed)
        self._stored_as, _ = stored(0, dtype)
        self._memory: SharedMemory | None = None
        self._numbers: dict[int | str, int] = {}
        # Numbers of keys that were deleted; and the bytes of learners besides their entries.
        self._free: list[int] = []
        self._charged = 0
        self._calls: Any = None
        # The features of examples that need no other check than that they are finite; -1 for none.
        self._width = -1
        # The features of the longest example so far, or its values that are not 0 if examples are sparse.
        self._longest = 0

    # -- learning --------------------------------------------------------------------------------------------------

    @alone
    def learn_one(self, key: int | str, x: Any, y: int) -> float:
        """Learn an example of a key, which may be new.

        Parameters
        ----------
        key : int or str
        x : array_like, shape (d,), or sparse, shape (1, d)
        y : int or bool
            +1 or True, or -1 or False.

        Returns
        -------
        float
            f(x) of the key before it learned: its sign is the predicted class; 0 for a new key.

        Raises InputError: the floor of a new key does not fit into the memory, or those of all after a long example.
        Raises ValueError: the example or the label is not valid.
        """
        if self.shared_rows:
            raise ValueError("with shared_rows, all keys learn together: use partial_fit")
        row, label, charges = self._row(x), 1 if y == 1 else -1, [0]
        if label < 0 and y != -1 and not isinstance(y, bool | np.bool_):
            raise ValueError(_WRONG_LABEL.format(repr(y)))
        number: Any = self._find(key)
        most = len(row) // 2 - 1 if self.dtype == "sparse" else 0
        if number is None or most > self._longest:
            names, d = [] if number is not None else _plain([key]), np.shape(x)[-1]
            charges = self._create(names, d, most if self.dtype == "sparse" else d) or charges
            number = self._find(key)
        calls = self._calls or self._compiled()
        try:
            if calls is not None:
                return calls[1](calls[0], number, charges[0], row, label)
            began = time.thread_time()
            self._begun.counts[LIMIT] -= charges[0]
            with np.errstate(over="ignore"):
                score = self._begun.play(number, row, label)
            compiling.border(time.thread_time() - began)
            return score
        except FloatingPointError as error:
            raise self._out_of_range(error) from error

    @alone
    def predict_one(self, key: int | str, x: Any) -> float:
        """Return f(x) of a key for an example, as in `learn_one`: its sign is the class; 0 for an unknown key."""
        number, row = self._find(key), self._row(x)
        if number is None:
            return 0.0
        calls = self._calls or self._compiled()
        try:
            if calls is not None:
                return calls[2](calls[0], number, row)
            return self._begun.score(number, row)
        except FloatingPointError as error:
            raise self._out_of_range(error) from error

    @alone
    def partial_fit(self, keys: Iterable[Any], X: Any, Y: Any) -> np.ndarray:
        """Learn examples in their order, as `learn_one` does, but faster.

        Parameters
        ----------
        keys : array_like of int or str, shape (n,)
            With ``shared_rows``, all keys that have labels, shape (m,); those of the first call are all there are.
        X : array_like or sparse, shape (n, d)
        Y : array_like, shape (n,), of -1 and +1, or bool
            With ``shared_rows``, shape (n, m), and 0 where a key does not learn from an example.

        Returns
        -------
        ndarray of float64, of the shape of Y
            f(x) of each example's key before it learned.

        Raises InputError: the floors of new keys, or of all after a long example, do not fit; nothing was learned.
        Raises ValueError: examples or labels are not valid; nothing was learned.
        """
        names, rows, labels = _plain(keys), self._rows(X), np.asarray(Y)
        n, d = rows.shape[0], np.shape(X)[-1]
        if not self.shared_rows and len(names) != n:
            raise ValueError(f"each row has a key, got {len(names)} keys and {n} rows")
        shape = (n, len(names)) if self.shared_rows else (n,)
        if labels.shape != shape:
            raise ValueError(f"{len(names)} keys and {n} rows need labels of shape {shape}, got {labels.shape}")
        labels = np.where(labels, 1, -1) if labels.dtype.kind == "b" else labels
        allowed = (-1, 0, 1) if self.shared_rows else (-1, 1)
        if len(wrong := labels[~np.isin(labels, allowed)]):
            raise ValueError(_WRONG_LABEL.format(wrong[0]))
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        numbers, charges = self._find_all(names), np.zeros(len(names), dtype=np.int64)
        new: dict[Any, int] = {}
        for t in np.flatnonzero(numbers < 0).tolist():
            new.setdefault(names[t], t)
        most = d if isinstance(rows, np.ndarray) else longest(rows)
        if new or most > self._longest:
            charges[list(new.values())] = self._create(list(new), d, most)
            numbers = self._find_all(names)
        if not len(numbers):
            return np.zeros(shape)
        if not self.shared_rows:
            scores = np.zeros(n)
            self._play(play_batch, _ROWS, rows, numbers, charges, labels, scores)
            return scores
        self._begun.counts[LIMIT] -= charges.sum()
        every = np.zeros((n, len(self._begun.ints)), dtype=np.int64)
        every[:, numbers] = labels
        scores = np.zeros(every.shape)
        self._play(play_stream, TILE, rows, every, scores)
        return scores[:, numbers]

    def _play(self, play: Any, n_at_once: int, rows: Matrix, *others: np.ndarray) -> None:
        """Play the rows of arrays part by part, in compiled code as soon as that is ready."""
        n_rows, (X, ends) = rows.shape[0], flat(rows)
        for start in range(0, n_rows, n_at_once):
            part, began = [array[start : start + n_at_once] for array in (ends, *others)], time.thread_time()
            try:
                with np.errstate(over="ignore"):
                    compiling.call(play, self._begun, X, *part)
            except FloatingPointError as error:
                raise self._out_of_range(error) from error
            seconds, n = time.thread_time() - began, len(part[0])
            compiling.border(seconds, seconds * (n_rows - start - n) / n)

    # -- keys ------------------------------------------------------------------------------------------------------

    @alone
    def predict(self, keys: Iterable[Any], X: Any) -> np.ndarray:
        """Return f(x) for each pair of a key and a row, shape (n,); see `predict_one`."""
        names, rows = _plain(keys), self._rows(X)
        if len(names) != rows.shape[0]:
            raise ValueError(f"each row needs a key, got {len(names)} keys and {rows.shape[0]} rows")
        scores = np.zeros(len(names))
        if self._memory is not None:
            numbers = self._find_all(names)
            try:
                compiling.call(score_batch, self._memory, *flat(rows), numbers, scores)
            except FloatingPointError as error:
                raise self._out_of_range(error) from error
        return scores

    @alone
    def delete(self, key: int | str) -> None:
        """Forget a key and all that it holds.

        Raises KeyError: there is no such key.
        """
        (name,) = _plain([key])
        number = self._numbers.pop(name)
        self._begun.forget(number)
        self._free.append(number)
        charge = learner_bytes(name, self._policy)
        self._charged -= charge
        self._begun.counts[LIMIT] += charge

    def export(self, key: int | str) -> Any:
        """Return the classifier of a key, a `Forgetron` of the classes -1 and +1 that predicts the same alone.

        Its budget is what the key holds now, or the floor if that is more. It can be saved, loaded and trained further.

        Raises KeyError: there is no such key.
        """
        number, memory = self._numbers[_plain([key])[0]], self._begun
        slots = memory.slots_of(number)
        rows: Any = memory.examples(slots)
        model: Any = budgetrun.Forgetron(
            budget=max(len(slots), self.floor, 1),
            variant="greedy" if self.greedy else "self_tuned",
            **self._of_kernel,
        )
        # A first round sets the features and classes, and is forgotten.
        model.partial_fit(rows[:1] if len(slots) else np.zeros((1, memory.n_features)), [1], classes=[-1, 1])
        model._begin()
        (member,), pool = model._group.members, model._group.pool
        f = member.hypothesis
        for start in range(0, len(slots), TILE):
            weights = memory.cells[slots[start : start + TILE], WEIGHT]
            pool.admit(rows[start : start + TILE])
            f.begin_block()
            for t, weight in enumerate(weights):
                if t == f.tile_end:
                    f.begin_tile()
                f.at(t, True)
                f.add(float(weight))
            f.end_block()
            pool.release(f.held)
        f.mistakes = f.updates = int(memory.longs[number, M])
        pool.seen = int(memory.longs[number, SEEN])
        member.learner.Q = float(memory.ones[number, Q])
        return model

    def __contains__(self, key: Any) -> bool:
        return key in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> list[int | str]:
        """The keys, in the order of their creation."""
        return list(self._numbers)

    def facts(self) -> dict[str, np.ndarray]:
        """Return, for each of `keys`: ``rounds``, ``mistakes``, and ``held``, the examples that it holds now."""
        numbers = np.fromiter(self._numbers.values(), dtype=np.int64, count=len(self))
        if self._memory is None:
            return {name: np.zeros(0, dtype=np.int64) for name in ("rounds", "mistakes", "held")}
        longs = self._memory.longs
        return {"rounds": longs[numbers, SEEN], "mistakes": longs[numbers, M], "held": self._memory.ints[numbers, SIZE]}

    @property
    def memory_used(self) -> int:
        """Bytes of the keys, the learners, and the entries and rows that are held now."""
        return self._charged + (0 if self._memory is None else int(self._memory.counts[BYTES]))

    def example_bytes(self, n_features: int) -> int:
        """Return the bytes of an example that one key holds; if it is sparse, give only values that are not 0."""
        return sum(bytes_of(self._policy, n_features, self.dtype, self.shared_rows))

    def room_for(self, keys: Iterable[int | str], n_features: int) -> int:
        """Return how many of these new keys, in their order, have room for their floors, as `example_bytes` counts."""
        floor = self.floor * self.example_bytes(max(n_features, self._longest))
        needed = np.cumsum([learner_bytes(key, self._policy) + floor for key in keys])
        return int(np.searchsorted(needed, self.memory - self._charged - len(self) * floor, side="right"))

    # -- files -----------------------------------------------------------------------------------------------------

    @alone
    def save(self, path: str | Path) -> None:
        """Save the fleet to one file, without pickle: `budgetrun.load` loads it, to continue with the same bits.

        Raises CannotWriteError: the file cannot be written.
        """
        save_state(path, self)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("_calls", "_numbers")}
        texts = [str(key).encode("utf-8", "surrogatepass") for key in self._numbers]
        return state | {
            "_free": np.array(self._free, dtype=np.int64),
            "_texts": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "_lengths": np.array([len(text) for text in texts], dtype=np.int64),
            "_are_text": np.array([type(key) is str for key in self._numbers], dtype=bool),
            "_order": np.fromiter(self._numbers.values(), dtype=np.int64, count=len(self)),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        data, ends = state.pop("_texts").tobytes(), np.cumsum(state.pop("_lengths")).tolist()
        texts = [data[start:end].decode("utf-8", "surrogatepass") for start, end in zip([0, *ends], ends, strict=False)]
        are_text, order = state.pop("_are_text").tolist(), state.pop("_order").tolist()
        keys = [text if is_text else int(text) for text, is_text in zip(texts, are_text, strict=True)]
        self.__dict__.update({"_longest": 0} | state)
        self._numbers, self._free, self._calls = dict(zip(keys, order, strict=True)), state["_free"].tolist(), None

    def check(self) -> None:
        """Refuse what no fleet has and a file may say: other attributes or types, keys that are learners elsewhere."""
        names = ("floor", "policy", "greedy", "shared_rows", "dtype")
        made = Fleet(self.memory, **{name: getattr(self, name) for name in names}, **self._of_kernel)
        made._memory = self._memory
        found, wanted = ({name: type(value) for name, value in vars(one).items()} for one in (self, made))
        kernels = self._kernel, self._kernel if self._memory is None else self._memory.kernel
        if found != wanted or any(vars(kernel) != vars(made._kernel) for kernel in kernels):
            raise ValueError("its parts are not those of a fleet")
        most = 0 if self._memory is None else len(self._memory.prices)
        if not all(0 <= number < most for number in (*self._numbers.values(), *self._free)):
            raise ValueError("it names learners that are not there")
        if self._memory is None or not (memory := self._memory).sparse:
            fits = self.memory_used <= self.memory
        else:
            # Else it might hold more later on, and compiled code would write beyond the arrays.
            charged = sum(learner_bytes(key, self._policy) for key in self._numbers)
            floors = memory.ints[:, FLOOR].sum() * self.example_bytes(self._longest)
            n_blocks = len(memory.blocks())
            fits = charged == self._charged == self.memory - memory.counts[LIMIT] and charged + floors <= self.memory
            fits &= LINK // 2 * (n_blocks - 1) < max(self._longest, 1)
        if not fits:
            raise ValueError("it holds more than its memory")

    # -- within ----------------------------------------------------------------------------------------------------

    @property
    def _begun(self) -> SharedMemory:
        assert self._memory is not None
        return self._memory

    def _begin(self, n_features: int, n_keys: int) -> None:
        sparse = self.dtype == "sparse"
        own = self.example_bytes(0 if sparse else n_features)
        most = n_keys if self.shared_rows else most_learners(self.memory, self.floor * own)
        try:
            if self.memory // own > _MOST:
                raise MemoryError
            self._memory = SharedMemory(
                self._kernel,
                self._policy,
                n_features=n_features,
                dtype=self.dtype,
                limit=self.memory,
                most_learners=most,
                shares=self.shared_rows or sparse,
                greedy=self.greedy,
            )
        except MemoryError:
            raise InputError(f"memory: {self.memory:,} bytes are more than can be had here; give less") from None
        self._width = n_features if self._kernel.of_distance and self.dtype in ("float32", "float64") else -1

    def _create(self, keys: list[Any], n_features: int, most: int) -> list[int]:
        """Create keys, if their floors fit; return what is to be taken from the limit for each.

        ``most`` is of the examples that come what `_longest` is of all; if that is more, all floors must still fit.
        """
        charges = [learner_bytes(key, self._policy) for key in keys]
        if self.shared_rows and self._memory is not None and keys:
            raise ValueError(f"with shared_rows, the keys are those of the first call, and {keys[0]!r} is new")
        most = max(most, self._longest)
        floor = self.floor * self.example_bytes(most)
        need, free = sum(charges) + len(keys) * floor, self.memory - self._charged - len(self) * floor
        if need > free:
            least = f"the least memory that would do is {self.memory + need - free:,}"
            examples = counted(self.floor, "example")
            if free < 0:
                raise InputError(
                    f"memory: floors of {examples} for {counted(len(self), 'key')} would take {self.memory - free:,} "
                    f"bytes if examples had {most:,} values, and the memory is {self.memory:,}; {least}"
                )
            raise InputError(
                f"memory: {counted(len(keys), 'new key')} with a floor of {examples} would take {need:,} bytes, and "
                f"beside the floors of {counted(len(self), 'key')} only {free:,} of {self.memory:,} bytes are free; "
                f"{least}"
            )
        self._longest = most
        if self._memory is None:
            self._begin(n_features, len(keys))
        for key in keys:
            number = self._free.pop() if self._free else len(self)
            self._numbers[key] = number
            self._begun.ints[number, FLOOR] = self.floor
        self._charged += sum(charges)
        return charges

    def _find(self, key: Any) -> int | None:
        return self._numbers.get(key if type(key) in _KEYS else _plain([key])[0])

    def _find_all(self, names: list[Any]) -> np.ndarray:
        """Return the numbers of keys; -1 for those that are new."""
        return np.fromiter(map(self._numbers.get, names, repeat(-1)), dtype=np.int64, count=len(names))

    def _row(self, x: Any) -> np.ndarray:
        row = np.asarray(x)
        if row.ndim != 1 or self.dtype == "sparse":
            rows = x if sp.issparse(x) else row[None]
            if rows.ndim != 2 or rows.shape[0] != 1:
                raise ValueError(f"an example must have the shape (d,), got {np.shape(x)}")
            return flat(self._rows(rows))[0]
        as_stored = row.dtype == self._stored_as and row.flags.c_contiguous and len(row) == self._width
        # Most examples are found to be finite quickly.
        return row if as_stored and math.isfinite(row.dot(row)) else self._stored(row)

    def _rows(self, X: Any) -> Any:
        rows: Any = X if sp.issparse(X) else np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(f"X must have the shape (n, d), got {rows.shape}")
        if sp.issparse(rows):
            rows = rows.tocsr()
            # scipy looks at indices only when it has to.
            rows.check_format(full_check=True)
        return self._stored(rows.toarray() if sp.issparse(rows) and self.dtype != "sparse" else rows)

    def _stored(self, rows: Any) -> Any:
        if rows.dtype.kind not in _NUMBERS:
            raise ValueError(f"examples must be numbers, got the dtype {rows.dtype}")
        if self._memory is not None and rows.shape[-1] != self._memory.n_features:
            raise ValueError(f"examples have {self._memory.n_features} features, got {rows.shape[-1]}")
        if self.dtype == "bits":
            return packed(rows)
        with np.errstate(over="ignore"):
            if self.dtype == "sparse":
                if rows.shape[1] > END:
                    raise ValueError(f"sparse examples have at most {END:,} features, got {rows.shape[1]:,}")
                rows = sp.csr_array(rows, dtype=np.float64, copy=True)
                rows.sum_duplicates()
                rows = rows.astype(np.float32)
                rows.eliminate_zeros()
            elif rows.dtype != self._stored_as or not rows.flags.c_contiguous:
                rows = np.ascontiguousarray(rows, dtype=self.dtype)
        if not np.isfinite(rows.data if self.dtype == "sparse" else rows).all():
            raise ValueError(f"examples must be finite numbers, in the range of {rows.dtype}")
        kernel = self._kernel
        if not kernel.of_distance or (self.dtype == "sparse" and rows.shape[1] > DENSE_FEATURES):
            with np.errstate(over="ignore"):
                s = squares(rows if rows.ndim == 2 else rows[None])
                fits = (
                    is_fine(kernel, s.max(initial=0.0)) if kernel.of_distance else np.isfinite(kernel.diagonal(s)).all()
                )
            if not fits:
                raise ValueError(f"examples are too large for the kernel {kernel}: scale them")
        return rows

    def _compiled(self) -> Any:
        """Return the memory as compiled code keeps it, and what learns and scores one example; None if not ready."""
        if self._calls is None and compiling.on():
            memory, row = self._begun, compiling.kind_of(np.zeros(0, dtype=self._stored_as))
            state = compiling.kept(memory)
            keep = compiling.ready(compiling.KEEP, compiling.kind_of(memory))
            learn = compiling.entry(play_one, state, "<i8", "<i8", row, "<i8")
            score = compiling.entry(score_one, state, "<i8", row)
            if keep and learn and score:
                self._calls = keep(compiling.prepared(memory)), learn, score
        return self._calls

    def _out_of_range(self, error: FloatingPointError) -> Exception:
        """Return the sentence which says that scores are out of range; what was learned before stays."""
        self._begun.counts[LIMIT] = self.memory - self._charged
        return out_of_range(error, "an example")


def _plain(keys: Iterable[Any]) -> list[Any]:
    """Return keys as Python's numbers and text."""
    names = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    if set(map(type, names)) <= _KEYS:
        return names
    plain = [name.item() if isinstance(name, np.integer | np.str_) else name for name in names]
    for name in plain:
        if type(name) not in _KEYS:
            raise ValueError(f"a key must be a whole number or text, got {name!r}")
    return plain
