"""One memory for many learners: a Forgetron per key, whose entries share a limit of bytes."""

import math
import sys
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from budgetrun.base.problem import UNSURE
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.engine.play import NOT_FINITE
from budgetrun.fleet.loops import BLOCK, LINK, add_at, scale_at, sum_at, touch, values_at
from budgetrun.fleet.policies.base import Policy
from budgetrun.kernels import Kernel
from budgetrun.kernels.arithmetic import END
from budgetrun.kernels.compiling import Compilable
from budgetrun.kernels.kinds import DENSE_FEATURES, Matrix
from budgetrun.kernels.sums import copy, put, taken
from budgetrun.learners.forgetron import ALLOWED, damage, gentlest_shrinking, largest_competitor, loss_by_shrinking

# The rounding error of a damage Psi.
_ROUNDING = 1e-9
# The columns of an entry: of its cells, and of these as 32-bit integers. With rows of its own, the row follows.
WEIGHT, OWN, AFTER, ROW = 0, 1, 4, 5
# The columns of a learner: as 32-bit integers, as 64-bit integers, and as floats.
FIRST, LAST, SIZE, FLOOR, FEWEST, FRESH = range(6)
M, SEEN = 3, 4
Q, SHRINKING, NORM = 5, 6, 7
# The places of `SharedMemory.counts`.
LIMIT, BYTES, ENTRIES, MISTAKES, FEWEST_OF_ALL, NEW_SLOT, FREE_SLOT, NEW_ROW, FREE_ROW, TOUCHED = range(10)
# The bytes of a learner: 64 in `ones`, 8 in `prices`, 8 in the tree, 60 in a dict; Python's memory comes in steps.
_LEARNER, _STEP = 64 + 8 + 8 + 60, 16
# The arguments, of which a memory is made again.
_GIVEN = ("kernel", "policy", "most", "n_features", "dtype", "shares", "greedy", "entry_bytes", "row_bytes")
# Rounds whose learners are loaded into the caches together.
_AHEAD = 16


class SharedMemory(Compilable):
    """Learners 0, 1, ... and their entries, in one set of arrays.

    An entry is a row that a learner holds, with a weight. Rows are stored once per entry, or, if learners share them,
    once for all. In a round, all learners that play it predict, those that erred insert an entry, and then the policy
    names learners whose entries are removed, until the memory holds its limit. A learner keeps its floor.

    Parameters:
    kernel : Kernel
        A function of ||a - b||^2 or of <a, b>, with k(x, x) <= 1 for the mistake bounds.
    dtype : "float32", "float64", "bits" or "sparse"
        Of the stored rows, and of the examples that are given; bits are zeros and ones, packed as `packed` does, and
        sparse rows pairs of a column and a value, as `flat` makes them. Everything else is computed in float64.
    limit : int
        Bytes of all entries and rows. Whoever admits a learner subtracts what it takes beside its entries.
    shares : bool
        Rows are stored apart from entries, because learners play the same ones, each with labels of its own, or because
        they are sparse.
    greedy : bool
        Remove an entry that does no harm, if there is one, instead of the oldest.
    entry_bytes, row_bytes : int or None
        The sizes of an entry and of a row, or of a block of a sparse one; None for those of the arrays.

    Attributes:
    cells : ndarray, shape (entries, ...)
        By entry: y sigma; the part of f(x_i) that is due to the entry itself and younger ones (greedy: all of f(x_i));
        the next younger entry of the same learner; and its row, or the place of that. All of an entry is in one place,
        because the time of a round is that of finding it in a large memory.
    ones : ndarray, shape (most_learners, 8)
        By learner: its oldest and its youngest entry, n, b, the fewest entries before a removal that shrank (0 for
        none), whether the youngest is of this round; M; its rounds; Q; the sum of log(1 / Phi), for U of the floor;
        ||f||^2.
    of_younger : ndarray, shape (most_learners,)
        By learner, if the policy asks for it: the mistakes that the younger half of its entries would have made alone.
    prices, tree : ndarray
        What the policy compares, and a tournament over the learners that are above their floors.

    Notes: The arrays have room for all that the limit allows. The system gives them memory when it is written.

    References: Dekel, Shalev-Shwartz & Singer (2008), section 9, asks for this; phi: eqs. (42)-(44), with a reserve of
    15/32 for each entry above the floor.
    """

    def __init__(
        self,
        kernel: Kernel,
        policy: Policy,
        *,
        n_features: int,
        dtype: str,
        limit: int,
        most_learners: int,
        shares: bool = False,
        greedy: bool = False,
        entry_bytes: int | None = None,
        row_bytes: int | None = None,
    ) -> None:
        self.kernel, self.policy, self.shares, self.greedy = kernel, policy, shares, greedy or policy.greedy
        self.dtype, self.most = dtype, (limit, most_learners)
        self.sparse = dtype == "sparse"
        # As for other learners, distances are then sums of products.
        self.by_products = self.sparse and kernel.of_distance and n_features > DENSE_FEATURES
        sizes = bytes_of(policy, 1 if self.sparse else n_features, dtype, shares)
        self.entry_bytes = sizes[0] if entry_bytes is None else entry_bytes
        self.row_bytes = sizes[1] if row_bytes is None else row_bytes
        more = most_learners if shares else 1
        n_rows = limit // max(1, self.row_bytes if shares else self.entry_bytes + self.row_bytes) + more
        n_rows += n_features // (LINK // 2) if self.sparse else 0
        n = n_rows
        if shares:
            # A learner holds a row once at most.
            n = n_rows * more if self.entry_bytes == 0 else min(limit // self.entry_bytes + more, n_rows * more)
        stored_as, self.width = stored(n_features, dtype)
        # Where rows begin.
        self.at = 0 if shares else (4 * AFTER + 4 + stored_as.itemsize - 1) // stored_as.itemsize
        self.n_features = n_features
        self.cells = _aligned(n, 3 if shares else -(-(self.at + self.width) * stored_as.itemsize // 8))
        self.rows = self.cells.view(stored_as)
        if shares:
            shape = n_rows, self.width
            self.rows = _aligned(n_rows, 8).view(stored_as) if self.sparse else np.zeros(shape, dtype=stored_as)
        # The entries of a shared row, 0 for a later block; if it is free, the next free row, negative.
        self.holders = np.zeros(n_rows if shares else 0, dtype=np.int32)
        # The mistakes of all when an entry, or the last entry of a row, was inserted.
        self.born = np.zeros((n_rows if policy.by_row else n) if policy.by_age else 0, dtype=np.int64)
        self.ones, self.prices = _aligned(most_learners, 8), np.zeros(most_learners)
        self.of_younger = np.zeros(most_learners if policy.by_halves else 0, dtype=np.int64)
        self.links = self.cells.view(np.int32)
        self.ints, self.longs = self.ones.view(np.int32), self.ones.view(np.int64)
        self.tree = np.zeros(2 << max(most_learners - 1, 1).bit_length(), dtype=np.int32)
        self.counts = np.zeros(10, dtype=np.int64)
        self.counts[LIMIT] = limit

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the room that is not used."""
        state = {name: getattr(self, name) for name in _GIVEN}
        for name, used in self._used().items():
            state[name] = getattr(self, name)[:used].copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = {name: state[name] for name in _GIVEN if name not in ("kernel", "policy", "most")}
        limit, most = state["most"]
        SharedMemory.__init__(self, state["kernel"], state["policy"], limit=limit, most_learners=most, **given)
        for name in self._used():
            getattr(self, name)[: len(state[name])] = state[name]
        self._check()

    def _check(self) -> None:
        """Refuse places outside the arrays, which a file may name and compiled code does not notice."""
        counts, ints = self.counts, self.ints
        slots, places = int(counts[NEW_SLOT]), int(counts[NEW_ROW])
        links = self.links[:slots]
        numbers: list[tuple[np.ndarray, int]] = [
            (counts[[NEW_SLOT, FREE_SLOT]], len(self.cells)),
            (counts[[NEW_ROW, FREE_ROW]], len(self.rows)),
            (ints[ints[:, SIZE] > 0][:, [FIRST, LAST]], max(slots - 1, 0)),
            (ints[:, SIZE], len(self.cells)),
            (links[:, AFTER], min(slots, len(self.cells) - 1)),
        ]
        if self.shares:
            numbers += [(links[:, ROW], max(places - 1, 0)), (np.maximum(-self.holders, 0), places)]
        if any(found.size and (found.min() < 0 or found.max() > most) for found, most in numbers):
            raise ValueError("it names entries that are not there")
        held, blocks = self._held(), np.concatenate(self.blocks())
        free = _free(int(counts[FREE_SLOT]), links[:, AFTER])
        n_bytes = len(held) * self.entry_bytes + len(blocks if self.shares else held) * self.row_bytes
        pairs: list[tuple[Any, Any]] = [(counts[[BYTES, ENTRIES]], [n_bytes, len(held)])]
        pairs.append((np.sort([*held, *free]), np.arange(slots)))
        if self.shares:
            pairs.append((np.bincount(links[held, ROW], minlength=places), np.maximum(self.holders[:places], 0)))
        if self.sparse:
            free = _free(int(counts[FREE_ROW]), -self.holders)
            pairs.append((np.sort([*blocks, *free]), np.arange(places)))
        if counts[LIMIT] > self.most[0] or not all(np.array_equal(found, right) for found, right in pairs):
            raise ValueError("its counts are not those of its entries")
        if self.policy.by_halves and (self.of_younger < (self.longs[:, M] > 0)).any():
            raise ValueError("a learner has mistakes, and the younger half of its entries none")
        if not self.policy.fits(self):
            raise ValueError("it names learners that are not there")

    def _held(self) -> np.ndarray:
        """Return the entries of all learners."""
        j = np.flatnonzero(self.ints[:, SIZE])
        slots, found, n = self.ints[j, FIRST], [np.zeros(0, dtype=np.int64)], 1
        while len(j) and len(found) <= len(self.cells):
            found.append(slots)
            goes_on = self.ints[j, SIZE] > n
            if (slots != self.ints[j, LAST])[~goes_on].any():
                raise ValueError("it names entries that are not there")
            j, slots, n = j[goes_on], self.links[slots[goes_on], AFTER], n + 1
        return np.concatenate(found)

    def blocks(self) -> list[np.ndarray]:
        """Return the first blocks of the rows that are stored apart, the second ones, and so on; a dense row is one."""
        places = int(self.counts[NEW_ROW])
        blocks = np.flatnonzero(self.holders[:places] > 0)
        found = [blocks]
        while self.sparse and len(blocks) and sum(map(len, found)) <= places:
            columns = self.rows[blocks, : LINK + 1 : 2]
            links = columns[:, -1]
            blocks = ~links[links < 0]
            if columns[:, :-1].min() < 0 or (links[links >= 0] != END).any() or (blocks >= places).any():
                raise ValueError("it names entries that are not there")
            found += [blocks] if len(blocks) else []
        return found

    def _used(self) -> dict[str, int]:
        """Return how much of each array is used."""
        slots, places = int(self.counts[NEW_SLOT]), int(self.counts[NEW_ROW])
        learners = int(np.flatnonzero(self.longs.any(axis=1))[-1:].sum()) + 1
        found = {"cells": slots, "ones": learners, "prices": learners, "tree": len(self.tree), "counts": 10}
        if self.policy.by_halves:
            found["of_younger"] = learners
        found["born"] = min(places if self.shares and self.policy.by_row else slots, len(self.born))
        return found | ({"holders": places, "rows": places} if self.shares else {})

    # -- rounds ----------------------------------------------------------------------------------------------------

    def score(self, j: int, x: np.ndarray) -> float:
        """Return f_j(x) for an example as rows are stored."""
        slots = self.slots_of(j)
        return self._sum(slots, self._values(self.places(slots), x))

    def play(self, j: int, x: np.ndarray, y: int) -> float:
        """Play a round of one learner, with rows of its own; return f_j(x) before it."""
        slots = self.slots_of(j)
        values = self._values(self.places(slots), x)
        score = self._sum(slots, values)
        self.longs[j, SEEN] += 1
        self._note_younger(j, y, slots, values)
        if y * score <= 0:
            slot = self._take_slot()
            if self.shares:
                self._hold(slot, self._stored(x))
            else:
                self.row(slot)[:] = x
                self.counts[BYTES] += self.row_bytes
            self._add(j, slot, y, score, slots, values)
            self.refresh(j)
        self.relieve()
        if self.ints[j, FRESH]:
            self._settle(j)
        return score

    def play_all(self, x: np.ndarray, labels: np.ndarray, out: np.ndarray) -> None:
        """Play a round of learners that share rows; those whose label is 0 do not play. ``out`` gets their scores."""
        values, m, place = np.empty(self.counts[NEW_ROW]), len(labels), -1
        rows = np.flatnonzero(self.holders[: len(values)] > 0)
        put(self._values(rows, x), rows, values)
        for j in range(m):
            out[j] = 0.0
            if labels[j]:
                self.longs[j, SEEN] += 1
                slots = self.slots_of(j)
                own = taken(values, self.places(slots))
                out[j] = self._sum(slots, own)
                self._note_younger(j, labels[j], slots, own)
        for j in range(m):
            if labels[j] and labels[j] * out[j] <= 0:
                if place < 0:
                    place = self._stored(x)
                slots = self.slots_of(j)
                slot = self._take_slot()
                self._hold(slot, place)
                self._add(j, slot, labels[j], out[j], slots, taken(values, self.places(slots)))
        for i in np.flatnonzero(self.ints[:m, FRESH]):
            self.refresh(int(i))
        self.relieve()
        for i in np.flatnonzero(self.ints[:m, FRESH]):
            self._settle(int(i))

    def _note_younger(self, j: int, y: int, slots: np.ndarray, values: np.ndarray) -> None:
        """Count a mistake of the younger half of a learner's entries."""
        half = len(slots) // 2
        if self.policy.by_halves and y * self._sum(slots[half:], values[half:]) <= 0:
            self.of_younger[j] += 1
            self.refresh(j)

    def _settle(self, j: int) -> None:
        """End the round of a learner that erred: from now on, its youngest entry may go, too."""
        self.ints[j, FRESH] = 0
        if self.policy.greedy:
            self.refresh(j)

    def relieve(self) -> None:
        """Remove entries until the memory holds its limit."""
        while self.tree[1] != 0 and self.policy.is_over(self):
            self.policy.relieve(self)

    def remove(self, j: int) -> None:
        """Shrink learner ``j`` as much as the removal of its oldest entry, or a harmless one, requires; remove that."""
        r, before = self.oldest(j), -1
        if self.greedy:
            r, before = self.least_harmful(j)
        sigma, mu = self.weight_and_margin(r)
        phi = self.phi(j, sigma, mu)
        self.ones[j, Q] += damage(phi * sigma, phi * mu)
        if phi < 1:
            self._shrink(j, phi, r)
        weight, square = self.cells[r, WEIGHT], self.square(r)
        self.ones[j, NORM] += weight * (weight * square - 2 * self.cells[r, OWN])
        if self.greedy:
            slots = self.slots_of(j)
            values = self._values(self.places(slots), self.row(r))
            add_at(self.cells, slots, OWN, -weight, values)
        if before < 0:
            self.ints[j, FIRST] = self.links[r, AFTER]
        else:
            self.links[before, AFTER] = self.links[r, AFTER]
            if r == self.ints[j, LAST]:
                self.ints[j, LAST] = before
        self.ints[j, SIZE] -= 1
        self._free_slot(r)
        self.refresh(j)

    def forget(self, j: int) -> None:
        """Remove all entries of a learner, and what is known of it."""
        for slot in self.slots_of(j):
            self._free_slot(slot)
        self.ones[j] = 0.0
        if self.policy.by_halves:
            self.of_younger[j] = 0
        self.refresh(j)

    # -- read by policies ------------------------------------------------------------------------------------------

    def is_full(self) -> bool:
        return bool(self.counts[BYTES] > self.counts[LIMIT])

    def size(self, j: int) -> int:
        """Return n, the entries of a learner."""
        return int(self.ints[j, SIZE])

    def mistakes(self, j: int) -> int:
        """Return M, the mistakes of a learner."""
        return int(self.longs[j, M])

    def oldest(self, j: int) -> int:
        return int(self.ints[j, FIRST])

    def birth(self, slot: int) -> int:
        """Return the mistakes of all at the insertion of an entry, or, if ages are those of rows, of the row's last."""
        return int(self.born[self.place(slot) if self.policy.by_row else slot])

    def payers(self) -> np.ndarray:
        """Return the learners above their floors."""
        return np.flatnonzero(self.ints[:, SIZE] > self.ints[:, FLOOR])

    def weight_and_margin(self, r: int) -> tuple[float, float]:
        """Return sigma and mu = y f(x) of an entry; mu of the oldest only, unless greedy."""
        weight, own = self.cells[r, WEIGHT], self.cells[r, OWN]
        return abs(weight), own if weight > 0 else -own

    def is_harmless(self, Psi: float) -> bool:
        """Return whether the damage of a removal is within the slack that every removal has."""
        return Psi <= ALLOWED + _ROUNDING

    def least_harmful(self, j: int) -> tuple[int, int]:
        """Return the entry that does least damage, if that is harmless, else the oldest; and the one before it, or -1.

        The entry of this round stays if there are others.
        """
        slots = self.slots_of(j)
        n = len(slots) - int(self.ints[j, FRESH])
        Psi = np.full(max(n, 1), math.inf)
        for i in range(n):
            Psi[i] = damage(*self.weight_and_margin(slots[i]))
        i = first_smallest(Psi, np.full(len(Psi), _ROUNDING))
        if i == 0 or not self.is_harmless(Psi[i]):
            return slots[0], -1
        return slots[i], slots[i - 1]

    def phi(self, j: int, sigma: float, mu: float) -> float:
        """Return the largest phi in (0, 1] that learner ``j`` may shrink by; it will hold one entry less."""
        above = max(0, self.ints[j, SIZE] - 1 - self.ints[j, FLOOR])
        return gentlest_shrinking(sigma, mu, self.ones[j, Q], self.longs[j, M] - above)

    def U(self, j: int) -> float:
        """Return U of the learner's floor, or of 1."""
        return largest_competitor(max(self.ints[j, FLOOR], 1))

    def freed(self, j: int) -> int:
        """Return the bytes that the removal of the learner's oldest entry frees."""
        r = self.oldest(j)
        if self.shares and self.holders[self.place(r)] > 1:
            return self.entry_bytes
        return self.entry_bytes + self.row_bytes * self._n_blocks(self.place(r))

    # -- the policy's choice ---------------------------------------------------------------------------------------

    def refresh(self, j: int) -> None:
        """Tell the policy that a learner has changed."""
        self.policy.refresh(self, j, self.ints[j, SIZE] > self.ints[j, FLOOR])

    # -- entries ---------------------------------------------------------------------------------------------------

    def slots_of(self, j: int) -> np.ndarray:
        """Return the entries of a learner, the oldest first."""
        slots, slot = np.empty(self.ints[j, SIZE], dtype=np.int64), self.ints[j, FIRST]
        for i in range(len(slots)):
            slots[i] = slot
            slot = self.links[slot, AFTER]
        return slots

    def place(self, slot: int) -> int:
        return int(self.links[slot, ROW]) if self.shares else slot

    def places(self, slots: np.ndarray) -> np.ndarray:
        if not self.shares:
            return slots
        found = np.empty_like(slots)
        for i in range(len(slots)):
            found[i] = self.links[slots[i], ROW]
        return found

    def row(self, slot: int) -> np.ndarray:
        """Return the row of an entry as it is stored, or as it was given if it is sparse."""
        place = self.place(slot)
        if not self.sparse:
            return self.rows[place, self.at : self.at + self.width]
        row = np.empty(LINK * self._n_blocks(place), self.rows.dtype)
        for start in range(0, len(row), LINK):
            copy(self.rows[place, :LINK], row[start:])
            place = self._next(place)
        return row

    def examples(self, slots: np.ndarray) -> Matrix:
        """Return the rows of entries as floats."""
        rows, shape = [self.row(slot) for slot in slots], (len(slots), self.n_features)
        if self.sparse:
            pairs = np.concatenate([np.zeros(0, dtype=np.int32), *rows]).reshape(-1, 2)
            given, of = pairs[:, 0] < END, np.repeat(np.arange(len(rows)), [len(row) // 2 for row in rows])
            values = pairs[given, 1].view(np.float32).astype(np.float64)
            return csr_array((values, (of[given], pairs[given, 0])), shape=shape)
        packed = np.array(rows, dtype=self.rows.dtype).reshape(len(slots), self.width)
        if self.dtype == "bits":
            packed = np.unpackbits(packed, axis=1, count=self.n_features)
        return packed.astype(np.float64)

    def square(self, slot: int) -> float:
        """Return k(x, x) of an entry."""
        kernel = self.kernel
        if kernel.of_distance:
            formula = kernel.formula
            return float(formula(0.0, *kernel.numbers))
        return float(self._values(np.array([self.place(slot)]), self.row(slot))[0])

    def _values(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        return values_at(self.kernel, self.rows, self.at, places, x, self.by_products)

    def _sum(self, slots: np.ndarray, values: np.ndarray) -> float:
        """Return a score; 0 if its terms cancel except for rounding."""
        total, absolute = sum_at(self.cells, slots, values)
        if not math.isfinite(total):
            raise FloatingPointError(NOT_FINITE)
        return total if abs(total) > UNSURE * absolute else 0.0

    def _add(self, j: int, slot: int, y: int, score: float, slots: np.ndarray, values: np.ndarray) -> None:
        """Give learner ``j`` an entry, whose kernel values with the others are known."""
        square = self.square(slot)
        add_at(self.cells, slots, OWN, float(y), values)
        self.cells[slot, WEIGHT], self.cells[slot, OWN] = y, y * square + (score if self.greedy else 0.0)
        self.ones[j, NORM] += y * (2 * score + y * square)
        if self.ints[j, SIZE]:
            self.links[self.ints[j, LAST], AFTER] = slot
        else:
            self.ints[j, FIRST] = slot
        self.ints[j, LAST] = slot
        self.ints[j, SIZE] += 1
        self.longs[j, M] += 1
        self.ints[j, FRESH] = 1
        self.counts[MISTAKES] += 1
        if self.policy.by_age:
            self.born[self.place(slot) if self.policy.by_row else slot] = self.counts[MISTAKES]

    def _shrink(self, j: int, phi: float, r: int) -> None:
        """f_j *= phi, before the removal of entry ``r``."""
        self.ones[j, SHRINKING] += loss_by_shrinking(math.sqrt(max(self.ones[j, NORM], 0.0)), phi, self.U(j))
        slots, n = self.slots_of(j), int(self.ints[j, SIZE])
        self.ints[j, FEWEST] = min(n, self.ints[j, FEWEST]) if self.ints[j, FEWEST] else n
        if self.policy.by_age:
            since = self.counts[MISTAKES] - self.birth(r) + 1
            self.counts[FEWEST_OF_ALL] = min(since, self.counts[FEWEST_OF_ALL]) if self.counts[FEWEST_OF_ALL] else since
        scale_at(self.cells, slots, phi)
        self.ones[j, NORM] *= phi * phi

    def _take_slot(self) -> int:
        counts = self.counts
        counts[ENTRIES] += 1
        counts[BYTES] += self.entry_bytes
        slot = int(counts[FREE_SLOT]) - 1
        if slot >= 0:
            counts[FREE_SLOT] = self.links[slot, AFTER]
            return slot
        counts[NEW_SLOT] += 1
        return int(counts[NEW_SLOT]) - 1

    def _free_slot(self, slot: int) -> None:
        counts = self.counts
        counts[ENTRIES] -= 1
        counts[BYTES] -= self.entry_bytes
        self.links[slot, AFTER] = counts[FREE_SLOT]
        counts[FREE_SLOT] = slot + 1
        if not self.shares:
            counts[BYTES] -= self.row_bytes
            return
        place = self.place(slot)
        self.holders[place] -= 1
        if self.holders[place] == 0:
            while place >= 0:
                after = self._next(place)
                counts[BYTES] -= self.row_bytes
                self.holders[place] = -counts[FREE_ROW]
                counts[FREE_ROW] = place + 1
                place = after
        elif self.holders[place] == 1:
            # If this is the oldest entry of the learner that has the row alone now, its removal would free the row.
            for j in range(len(self.ints)):
                if self.ints[j, SIZE] and self.links[self.ints[j, FIRST], ROW] == place:
                    self.refresh(j)

    def _take_row(self) -> int:
        """Take the place of a row, or of a block of a sparse one."""
        counts = self.counts
        counts[BYTES] += self.row_bytes
        place = int(counts[FREE_ROW]) - 1
        if place >= 0:
            counts[FREE_ROW] = -self.holders[place]
            self.holders[place] = 0
            return place
        counts[NEW_ROW] += 1
        return int(counts[NEW_ROW]) - 1

    def _stored(self, x: np.ndarray) -> int:
        """Store a row apart from entries; return its place."""
        first = place = self._take_row()
        if not self.sparse:
            copy(x, self.rows[place])
            return first
        for start in range(0, max(len(x) - 2, 1), LINK):
            if start:
                after = self._take_row()
                self.rows[place, LINK] = ~after
                place = after
            self.rows[place, :] = END
            copy(x[start : min(start + LINK, len(x) - 2)], self.rows[place])
        return first

    def _hold(self, slot: int, place: int) -> None:
        """Give an entry a row that is stored."""
        self.links[slot, ROW] = place
        self.holders[place] += 1

    def _next(self, place: int) -> int:
        """Return the next block of a sparse row, -1 for none."""
        link = int(self.rows[place, LINK]) if self.sparse else 0
        return ~link if link < 0 else -1

    def _n_blocks(self, place: int) -> int:
        n = 0
        while place >= 0:
            place = self._next(place)
            n += 1
        return n


def stored(n_features: int, dtype: str) -> tuple[np.dtype[Any], int]:
    """Return the dtype and the width of a row, or of a block of a sparse one, as it is stored."""
    if dtype == "sparse":
        return np.dtype(np.int32), BLOCK
    return (np.dtype(np.uint8), -(-n_features // 8)) if dtype == "bits" else (np.dtype(dtype), n_features)


def packed(rows: np.ndarray) -> np.ndarray:
    """Return rows of zeros and ones, shape (..., d), with eight features in a byte; a ValueError for other numbers."""
    if not np.isin(rows, (0, 1)).all():
        raise ValueError("with dtype='bits', examples must be zeros and ones")
    return np.packbits(rows.astype(bool), axis=-1)


def flat(rows: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return rows one after the other, in one array, and where each begins and ends, shape (n, 2).

    Those of a CSR matrix of float32 are sparse: pairs of a column and a value, as the bits of that, in the order of the
    columns, and END.
    """
    if isinstance(rows, np.ndarray):
        data, ends = rows.reshape(-1), rows.shape[1] * np.arange(len(rows) + 1)
    else:
        ends = 2 * (rows.indptr + np.arange(len(rows.indptr)))
        data, columns = np.full(ends[-1], END, dtype=np.int32), 2 * np.arange(rows.nnz)
        columns += 2 * np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        data[columns], data[columns + 1] = rows.indices, rows.data.view(np.int32)
    return data, np.column_stack([ends[:-1], ends[1:]])


def longest(rows: Matrix) -> int:
    """Return the features of rows, or the most values in one of them that are not 0, if they are sparse."""
    return rows.shape[1] if isinstance(rows, np.ndarray) else int(np.diff(rows.indptr).max(initial=0))


def bytes_of(policy: Policy, n_values: int, dtype: str, shares: bool) -> tuple[int, int]:
    """Return the bytes of an entry, without its row, and of a row; only its values that are not 0 count if sparse."""
    stored_as, width = stored(n_values, dtype)
    row, blocks = width * stored_as.itemsize, max(1, -(-n_values // (LINK // 2))) if dtype == "sparse" else 1
    shares = shares or dtype == "sparse"
    # An entry with its row fills whole words of 8 bytes.
    together = 24 if shares else -(-(20 + row) // 8) * 8 if stored_as.itemsize < 8 else 24 + row
    age, by_row = 8 * policy.by_age, policy.by_row
    return together - (0 if shares else row) + age * (not by_row), blocks * (row + 4 * shares + age * by_row)


def learner_bytes(key: int | str, policy: Policy) -> int:
    """Return the bytes of a learner besides its entries: in the arrays, in a dict of the keys, and of its key."""
    return _LEARNER + 8 * policy.by_halves + -(-sys.getsizeof(key) // _STEP) * _STEP


def most_learners(limit: int, floor_bytes: int) -> int:
    """Return the most learners that a limit of bytes allows."""
    return max(1, limit // (_LEARNER + 2 * _STEP + floor_bytes))


def _free(number: int, after: np.ndarray) -> list[int]:
    """Return the places in a list of free ones, where they are numbered from 1."""
    found: dict[int, None] = {}
    while number:
        if number - 1 in found:
            raise ValueError("its counts are not those of its entries")
        found[number - 1] = None
        number = int(after[number - 1])
    return list(found)


def _aligned(n: int, width: int) -> np.ndarray:
    """Return zeros of shape (n, width) that begin at a multiple of 64 bytes, as the caches do."""
    cells = np.zeros(n * width + 8)
    start = -cells.ctypes.data % 64 // 8
    return cells[start : start + n * width].reshape(n, width)


def play_batch(
    memory: Any, X: np.ndarray, ends: np.ndarray, learners: np.ndarray, charges: np.ndarray, y: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Play rounds of one learner each, in their order; ``charges`` are bytes taken from the limit before each.

    Here and below, ``X`` and ``ends`` are examples as `flat` returns them.
    """
    for t in range(len(y)):
        if t % _AHEAD == 0:
            touch(memory, learners[t : t + _AHEAD])
        memory.counts[LIMIT] -= charges[t]
        out[t] = memory.play(learners[t], X[ends[t, 0] : ends[t, 1]], y[t])


def play_one(kept: Any, j: int, charge: int, x: np.ndarray, y: int) -> float:
    """Play a round of one learner, as `play_batch` does; ``kept`` is the memory as compiled code keeps it."""
    kept.inside.counts[LIMIT] -= charge
    return float(kept.inside.play(j, x, y))


def score_one(kept: Any, j: int, x: np.ndarray) -> float:
    return float(kept.inside.score(j, x))


def play_stream(memory: Any, X: np.ndarray, ends: np.ndarray, Y: np.ndarray, out: np.ndarray) -> None:
    """Play rounds of learners that share rows; ``Y``, shape (b, m), has 0 for those that do not play."""
    for t in range(len(Y)):
        memory.play_all(X[ends[t, 0] : ends[t, 1]], Y[t], out[t])


def score_batch(memory: Any, X: np.ndarray, ends: np.ndarray, learners: np.ndarray, out: np.ndarray) -> None:
    """Compute f_j(x) for pairs of a learner and an example; 0 for a learner of -1."""
    for t in range(len(learners)):
        out[t] = memory.score(learners[t], X[ends[t, 0] : ends[t, 1]]) if learners[t] >= 0 else 0.0
