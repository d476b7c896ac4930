"""Examples as kernels read them: bits, small integers, floats or sparse rows, and blocks of kernel values with them.

Inner products of bits and integers are exact. Sums over floats are in the order of the features. So a kernel value
depends on its two examples only, bit by bit: not on the size of a block, the machine or the library for linear algebra.
Rows of whole numbers have the same kernel values as bits, integers or floats. (Only values of sparse rows with very
many features come from products of scipy, and those of floats from BLAS if the kernel asks for that.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from budgetrun.kernels import compiling
from budgetrun.kernels.arithmetic import TILE, scaled
from budgetrun.kernels.sums import sum_of_rows

# The largest error of a kernel value that is accepted from products by a library.
_COARSEST = 1e-10
# Examples in a block of kernel values with all stored ones.
_TOGETHER = 16 * TILE


class Formula(Protocol):
    """Interface of kernels for blocks; see `budgetrun.kernels.Kernel`."""

    of_distance: ClassVar[bool]
    products: Any

    @property
    def numbers(self) -> tuple[float, ...]: ...

    def formula(self, s: Any, *numbers: Any) -> Any: ...


class Encoded(NamedTuple):
    """Examples in the representation of a kind.

    Attributes:
    rows : ndarray or csr_array, shape (n, ...)
    squares : ndarray of float64, shape (n,)
        ||x||^2.
    factors : ndarray of float64, shape (n,)
    tasks : ndarray of int, shape (n,), or (0,) if the kernel has none
    """

    rows: Any
    squares: np.ndarray
    factors: np.ndarray
    tasks: np.ndarray = np.zeros(0, dtype=np.intp)


class Needed(NamedTuple):
    """Of some slots, those whose values a tile needs: the first of them, a number of them for each tile."""

    slots: np.ndarray
    counts: np.ndarray


class Kind(ABC):
    """Storage for examples of one kind, by slot.

    Attributes:
    n_features : int, >= 0
    scaled : ndarray of float64, shape (2, capacity)
        The squares of the stored examples, and their factors.
    """

    name: ClassVar[str]

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.scaled = np.ones((2, 0))

    @abstractmethod
    def encode(self, X: Rows) -> Encoded | None:
        """Return examples, shape (n, d), in this representation; None if it cannot hold them exactly."""

    def put(self, slots: np.ndarray, examples: Encoded) -> None:
        """Store examples in slots."""
        self.scaled[0, slots], self.scaled[1, slots] = examples.squares, examples.factors

    def resize(self, capacity: int) -> None:
        """Make room for examples in slots below ``capacity``."""
        self.scaled = enlarged(self.scaled, 2, capacity)

    @abstractmethod
    def fill(self, kernel: Formula, examples: Encoded, out: np.ndarray, needed: Needed | None = None) -> None:
        """Compute the kernel values of tiles * rounds examples with all slots; ``out``: (tiles, slots, rounds).

        Values that are not ``needed`` may be left as they are; by default, all are.
        """

    @abstractmethod
    def rows(self, slots: np.ndarray) -> Any:
        """Return the rows of examples in slots, as in `Encoded`."""

    @abstractmethod
    def given(self, slots: np.ndarray) -> Rows:
        """Return the examples in slots, shape (len(slots), n_features); whole numbers with their factors."""

    def examples(self, slots: np.ndarray) -> Matrix:
        """Return the examples in slots as floats, shape (len(slots), n_features)."""
        return floats(self.given(slots))

    def encoded(self, slots: np.ndarray) -> Encoded:
        """Return examples in slots in this representation."""
        return Encoded(self.rows(slots), *self.scaled[:, slots])

    def taken(self, slots: np.ndarray) -> Kind:
        """Return storage of the same kind with these examples alone, in this order."""
        return filled(type(self)(self.n_features), self.encoded(slots))

    def widened(self, X: Rows) -> tuple[Kind, Encoded]:
        """Return the stored examples in a kind that can also hold others, and the others encoded for it."""
        kind, examples = kind_of(X, wider_than=type(self))
        own = kind.encode(self.given(np.arange(self.scaled.shape[1])))
        assert own is not None
        return filled(kind, own), examples

    def values(self, kernel: Formula, examples: Encoded, same: bool = False) -> np.ndarray:
        """Return the kernel values of all stored examples with others, shape (capacity, n).

        If these are the ``same``, in the same order, about half of the values are computed.
        """
        n, b = self.scaled.shape[1], len(examples.squares)
        values = np.empty((n, b))
        same, whole = same and kernel.products != "blas" and self.name != "sparse", b - b % TILE
        # Those after the last whole tile come first.
        order = np.roll(np.arange(n), n - whole)
        # The bits of a library's products may depend on how many there are.
        together = TILE if kernel.products == "blas" else _TOGETHER
        for start, end in pairwise([*range(0, whole, together), whole, b]):
            width = min(TILE, end - start)
            if width:
                out = np.empty(((end - start) // width, n, width))
                counts = b - whole + (start < whole) * np.arange(start + TILE, end + TILE, TILE)
                needed = Needed(order, counts) if same else None
                self.fill(kernel, Encoded(*(part[start:end] for part in examples)), out, needed)
                values[:, start:end].reshape(n, len(out), width)[:] = out.transpose(1, 0, 2)
        if same:
            for end in range(TILE, whole, TILE):
                values[end:whole, end - TILE : end] = values[end - TILE : end, end:whole].T
            values[:whole, whole:] = values[whole:, :whole].T
        return values

    def between(self, kernel: Formula, B: Rows) -> np.ndarray:
        """Return the kernel values of all stored examples with others, shape (capacity, n)."""
        examples = self.encode(B)
        kind, examples = self.widened(B) if examples is None else (self, examples)
        return kind.values(kernel, examples)


class _ByRow(Kind):
    """Storage in an array, one row per slot."""

    stored: np.ndarray

    def put(self, slots: np.ndarray, examples: Encoded) -> None:
        super().put(slots, examples)
        self.stored[slots] = examples.rows

    def resize(self, capacity: int) -> None:
        super().resize(capacity)
        self.stored = enlarged(self.stored, capacity, self.stored.shape[1])

    def rows(self, slots: np.ndarray) -> np.ndarray:
        return self.stored[slots]


class Bits(_ByRow):
    """Rows of zeros and ones, packed into words of 64 bits, each row times a factor."""

    name = "bits"

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.stored = np.zeros((0, -(-n_features // 64)), dtype=np.uint64)
        # The one factor and the one square that all rows have; None before the first row, nan for several.
        self.factor: float | None = None
        self._square: float | None = None
        self._table: tuple[Any, np.ndarray] | None = None

    def encode(self, X: Rows) -> Encoded | None:
        if _is_wide(X):
            return None
        words = np.zeros((X.shape[0], self.stored.shape[1]), dtype=np.uint64)
        if not _pack(dense(stored(X)), words):
            return None
        factors = X.factors if isinstance(X, IntegerRows) else np.ones(X.shape[0])
        ones = np.bitwise_count(words).sum(axis=1, dtype=np.float64)
        return Encoded(words, ones * (factors * factors), factors)

    def put(self, slots: np.ndarray, examples: Encoded) -> None:
        super().put(slots, examples)
        self.factor = _common(self.factor, examples.factors)
        self._square = _common(self._square, examples.squares)

    def fill(self, kernel: Formula, examples: Encoded, out: np.ndarray, needed: Needed | None = None) -> None:
        words = np.ascontiguousarray(examples.rows.T)
        factor = _common(self.factor, examples.factors)
        square = _common(self._square, examples.squares)
        assert factor is not None
        assert square is not None
        if factor == 1 or (factor == factor and (square == square or not kernel.of_distance)):
            table = self.by_count(kernel, factor, square)

            def looked_up(some: slice) -> np.ndarray:
                return table.take(self._counts(words, kernel.of_distance, some))

            _fill(out, needed, looked_up, "fill_by_table", self.stored, words, table, kernel.of_distance)
            return

        def products(some: slice) -> np.ndarray:
            return self._counts(words, False, some).astype(np.float64)

        _fill_scaled(out, needed, products, "fill_bits", (self.stored, words), kernel, self.scaled, examples)

    def by_count(self, kernel: Formula, factor: float, square: float) -> np.ndarray:
        """Return the kernel's values by the number of bits that differ, or that are 1 in both rows."""
        # Without factors, only the counts matter; nan differs from itself.
        key = (kernel, factor, 0.0 if factor == 1 else square)
        if self._table is None or self._table[0] != key:
            counts = np.arange(64 * self.stored.shape[1] + 1, dtype=np.float64)
            if kernel.of_distance:
                # Rows of one factor and one square have the same number of ones.
                n_ones = 0.0 if factor == 1 else round(square / factor**2)
                s = counts if factor == 1 else scaled(True, n_ones - counts / 2, square, square, factor, factor)
            else:
                s = scaled(False, counts, square, square, factor, factor)
            self._table = key, kernel.formula(s, *kernel.numbers)
        return self._table[1]

    def _counts(self, words: np.ndarray, differing: bool, some: slice) -> np.ndarray:
        operation = np.bitwise_xor if differing else np.bitwise_and
        stored = self.stored[some]
        # Rows of more than 8192 features are sparse.
        counts = np.zeros((len(stored), words.shape[1]), dtype=np.min_scalar_type(64 * len(words)))
        for own, given in zip(stored.T, words, strict=True):
            counts += np.bitwise_count(operation.outer(own, given))
        return counts

    def given(self, slots: np.ndarray) -> IntegerRows:
        bits = np.unpackbits(self.stored[slots].view(np.uint8), axis=1, count=self.n_features, bitorder="little")
        return IntegerRows(bits, self.scaled[1, slots])


class Integers(_ByRow):
    """Rows of integers of 16 bits, each row times a factor."""

    name = "integers"

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.stored = np.zeros((0, n_features + n_features % 2), dtype=np.int16)

    def encode(self, X: Rows) -> Encoded | None:
        if _is_wide(X):
            return None
        given, factors = dense(stored(X)), np.ones(X.shape[0])
        if isinstance(X, IntegerRows):
            given, factors = given.astype(np.int16, copy=False), X.factors
        # The absolute value of the least int16 is none.
        if not ((given >= -MOST_WHOLE) & (given <= MOST_WHOLE) & (np.rint(given) == given)).all():
            return None
        integers = np.zeros((X.shape[0], self.stored.shape[1]), dtype=np.int16)
        integers[:, : X.shape[1]] = given
        squares = whole_squares(integers)
        if squares.max(initial=0.0) >= MOST_SQUARES:
            return None
        return Encoded(integers, squares * (factors * factors), factors)

    def fill(self, kernel: Formula, examples: Encoded, out: np.ndarray, needed: Needed | None = None) -> None:
        rows = examples.rows
        tiles, _, width = out.shape
        paired = np.empty((0, 0, TILE, 2), dtype=np.int16)
        if width == TILE:
            pairs = rows.view(np.int32).reshape(tiles, TILE, rows.shape[1] // 2).transpose(0, 2, 1)
            paired = np.ascontiguousarray(pairs).view(np.int16).reshape(*pairs.shape, 2)
        right = cache(lambda: rows.T.astype(np.float64))

        def products(some: slice) -> np.ndarray:
            # All partial sums are whole numbers below 2^53, so that their order does not matter.
            return self.stored[some].astype(np.float64) @ right()

        given = self.stored, rows, paired
        _fill_scaled(out, needed, products, "fill_integers", given, kernel, self.scaled, examples)

    def given(self, slots: np.ndarray) -> IntegerRows:
        return IntegerRows(self.stored[slots, : self.n_features], self.scaled[1, slots])


class Floats(Kind):
    """Rows of float64, stored by feature."""

    name = "floats"

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.stored = np.zeros((n_features, 0))

    def encode(self, X: Rows) -> Encoded | None:
        if _is_wide(X):
            return None
        rows = np.ascontiguousarray(dense(X), dtype=np.float64)
        return Encoded(rows, squares(rows), np.ones(len(rows)))

    def put(self, slots: np.ndarray, examples: Encoded) -> None:
        super().put(slots, examples)
        self.stored[:, slots] = examples.rows.T

    def resize(self, capacity: int) -> None:
        super().resize(capacity)
        self.stored = enlarged(self.stored, self.n_features, capacity)

    def fill(self, kernel: Formula, examples: Encoded, out: np.ndarray, needed: Needed | None = None) -> None:
        used, columns = out.shape[1], np.ascontiguousarray(examples.rows.T)
        if kernel.products == "blas":
            products = self.stored[:, :used].T @ columns
            _fill_from(products, kernel, self.scaled, examples, out, "leave out products: blas")
            return

        def values(some: slice) -> np.ndarray:
            left = self.stored[:, some]
            sums, terms = np.zeros((2, left.shape[1], columns.shape[1]))
            for stored, given in zip(left[:, :, None], columns, strict=True):
                if kernel.of_distance:
                    np.square(np.subtract(stored, given, out=terms), out=terms)
                else:
                    np.multiply(stored, given, out=terms)
                sums += terms
            return kernel.formula(sums, *kernel.numbers)

        with np.errstate(over="ignore", invalid="ignore"):
            _fill(out, needed, values, "fill_floats", self.stored, columns, kernel)

    def rows(self, slots: np.ndarray) -> np.ndarray:
        return self.stored[:, slots].T.copy()

    given = rows


class Sparse(Kind):
    """Sparse rows of float64 with very many features; their products are scipy's."""

    name = "sparse"

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self._rows = sp.csr_array((0, n_features))

    def encode(self, X: Rows) -> Encoded | None:
        rows = sp.csr_array(floats(X), dtype=np.float64)
        return Encoded(rows, squares(rows), np.ones(rows.shape[0]))

    def put(self, slots: np.ndarray, examples: Encoded) -> None:
        super().put(slots, examples)
        source = np.arange(self._rows.shape[0])
        source[slots] = len(source) + np.arange(len(slots))
        self._rows = sp.vstack([self._rows, examples.rows], format="csr")[source]

    def resize(self, capacity: int) -> None:
        super().resize(capacity)
        more = sp.csr_array((capacity - self._rows.shape[0], self.n_features))
        self._rows = sp.vstack([self._rows, more], format="csr")

    def fill(self, kernel: Formula, examples: Encoded, out: np.ndarray, needed: Needed | None = None) -> None:
        products = (self._rows[: out.shape[1]] @ examples.rows.T.tocsr()).toarray()
        _fill_from(products, kernel, self.scaled, examples, out, "give them as a dense table")

    def rows(self, slots: np.ndarray) -> sp.csr_array:
        return self._rows[slots]

    given = rows


# From the tightest to the widest.
KINDS: tuple[type[Kind], ...] = (Bits, Integers, Floats, Sparse)


def kind_of(X: Rows, wider_than: type[Kind] | None = None) -> tuple[Kind, Encoded]:
    """Choose the most compact storage that holds these examples; return it, empty, and the encoded examples."""
    for cls in KINDS if wider_than is None else KINDS[KINDS.index(wider_than) + 1 :]:
        kind = cls(X.shape[1])
        examples = kind.encode(X)
        if examples is not None:
            return kind, examples
    raise AssertionError("the widest kind holds any examples")


def squares(X: Rows) -> np.ndarray:
    """Return ||x||^2 for each row of ``X``, shape (n,), float64; summed in the order of the features."""
    if isinstance(X, IntegerRows):
        return whole_squares(X.integers) * (X.factors * X.factors)
    with np.errstate(over="ignore"):
        if isinstance(X, np.ndarray):
            total = np.zeros(len(X))
            # By rows that fit into the cache.
            for start in range(0, len(X), 256):
                terms = np.square(X[start : start + 256].T, dtype=np.float64, order="C")
                total[start : start + 256] = sum_of_rows(terms)
            return total
        square = sp.csr_array((np.square(X.data.astype(np.float64)), X.indices, X.indptr), shape=X.shape)
        return np.asarray(square @ np.ones(X.shape[1]))


def filled(kind: Kind, examples: Encoded) -> Kind:
    """Put examples into the first slots of a kind, and return it."""
    n = len(examples.squares)
    kind.resize(n)
    kind.put(np.arange(n), examples)
    return kind


def _fill_from(
    products: np.ndarray, kernel: Formula, left: np.ndarray, right: Encoded, out: np.ndarray, remedy: str
) -> None:
    """Compute kernel values from inner products with rounding errors, shape (slots, tiles * rounds)."""
    largest = max(left[0, : len(products)].max(initial=0.0), right.squares.max(initial=0.0))
    if kernel.of_distance and not is_fine(kernel, largest):
        raise FloatingPointError(
            f"the values of these examples (largest ||x||^2 {largest:.3g}) are too large for the {kernel} kernel: "
            f"scale the examples, or {remedy}"
        )
    _fill_scaled(out, None, products.__getitem__, "fill_products", (products,), kernel, left, right)


def is_fine(kernel: Formula, largest: float) -> bool:
    """Return whether a kernel's values from inner products are exact enough for examples with ||x||^2 up to this."""
    apart, same = kernel.formula(np.array([2e-16 * largest, 0.0]), *kernel.numbers)
    return bool(same - apart <= _COARSEST)


def _fill_scaled(
    out: np.ndarray,
    needed: Needed | None,
    products: Callable[[slice], np.ndarray],
    loop: str,
    given: tuple[Any, ...],
    kernel: Formula,
    left: np.ndarray,
    right: Encoded,
) -> None:
    """Compute kernel values from the products of unscaled rows, as `_fill` does."""

    def values(some: slice) -> np.ndarray:
        squares, factors = left[:, some, None]
        s = scaled(kernel.of_distance, products(some), squares, right.squares, factors, right.factors)
        return kernel.formula(s, *kernel.numbers)

    _fill(out, needed, values, loop, *given, kernel, left, np.stack([right.squares, right.factors]))


def _fill(
    out: np.ndarray, needed: Needed | None, values: Callable[[slice], np.ndarray], loop: str, *given: Any
) -> None:
    """Fill a block by a compiled loop; until it is ready by ``values`` of slots, shape (slots, tiles * rounds)."""
    tiles, used, width = out.shape
    if fill := compiling.loop(loop, *given, *(needed or (np.arange(used), np.full(tiles, used))), out):
        fill()
        return
    # As many slots at a time as have values that fit into the cache.
    step = max(1, _IN_CACHE // (tiles * width))
    for start in range(0, used, step):
        some = slice(start, min(start + step, used))
        out[:, some] = values(some).reshape(-1, tiles, width).transpose(1, 0, 2)


def _is_wide(X: Rows) -> bool:
    return X.shape[1] > DENSE_FEATURES and not isinstance(stored(X), np.ndarray)


def _pack(X: np.ndarray, words: np.ndarray) -> bool:
    """Pack rows, shape (n, d), into ``words``; return whether all are zeros and ones."""
    if pack := compiling.loop("pack", np.ascontiguousarray(X), words):
        return bool(pack())
    if not ((X == 0) | (X == 1)).all():
        return False
    packed = np.packbits(X.astype(bool), axis=1, bitorder="little")
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return True


def _common(known: float | None, more: np.ndarray) -> float | None:
    """Return the one value of all numbers so far, nan if there are several."""
    if not len(more) or (known is not None and known != known):
        return known
    value = float(more[0])
    return value if known in (None, value) and (more == value).all() else float("nan")


def enlarged(array: np.ndarray, *shape: int) -> np.ndarray:
    """Return a larger array that begins with the old one in each dimension; what is new is 0."""
    new = np.zeros(shape, dtype=array.dtype)
    new[tuple(map(slice, array.shape))] = array
    return new


if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix: TypeAlias = "np.ndarray | csr_array"
Rows: TypeAlias = "Matrix | IntegerRows"
# The largest absolute value in a row of small integers, and what the sum of its squares is below.
MOST_WHOLE = 32767
MOST_SQUARES = 2.0**31
# With more features, sparse rows stay sparse in kernels.
DENSE_FEATURES = 8192
# The bytes that hold a value, at most.
BYTES = {"bits": 1, "integers": 2, "floats": 8}


def row_bytes(name: str, n_features: int, values: float) -> float:
    """Return the bytes of an example that a `Kind` stores; ``values`` is the number of those that are not 0."""
    words = -(-n_features // 64)
    own = {"bits": 8 * words, "integers": 2 * (n_features + n_features % 2), "floats": 8 * n_features}
    return 16.0 + (own[name] if name in own else 12 * values + 4)


# Values that are checked at a time, and kernel values that numpy computes at a time.
_CHUNK = 1 << 16
_IN_CACHE = 1 << 14
# Units whose squares neither underflow nor overflow.
_UNITS = 1e-100, 1e100


class IntegerRows:
    """Rows of small integers, each times a factor: ``x_i = factors[i] * integers[i]``.

    Parameters:
    integers : ndarray or csr_array, shape (n, d), of whole numbers
    factors : ndarray of float64, shape (n,)
    """

    def __init__(self, integers: Matrix, factors: np.ndarray) -> None:
        self.integers, self.factors = integers, factors

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of features."""
        n, d = self.integers.shape
        return int(n), int(d)

    def __getitem__(self, rows: Any) -> IntegerRows:
        return IntegerRows(self.integers[rows], self.factors[rows])

    def floats(self) -> Matrix:
        """Return the rows as float64, dense or sparse as they are."""
        X = self.integers
        if isinstance(X, np.ndarray):
            return X * self.factors[:, None]
        return type(X)((X.data * np.repeat(self.factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def floats(X: Rows) -> Matrix:
    """Return examples as floats, dense or sparse as they are."""
    return X.floats() if isinstance(X, IntegerRows) else X


def dense(X: Rows) -> np.ndarray:
    """Return examples as a dense array."""
    found = floats(X)
    return found if isinstance(found, np.ndarray) else found.toarray()


def as_held(X: Rows) -> Matrix:
    """Return examples as floats in the form in which a kind holds them: sparse only if they have very many features."""
    return floats(X) if _is_wide(X) else dense(X)


def stored(X: Rows) -> Matrix:
    """Return the matrix that holds the numbers of examples, without their factors if they have any."""
    return X.integers if isinstance(X, IntegerRows) else X


def whole_squares(X: Matrix) -> np.ndarray:
    """Return the sum of squares of each row of whole numbers, shape (n,), float64; exact below 2^53."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X, dtype=np.int64).astype(np.float64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    squares = np.square(X.data, dtype=np.float64)
    return np.bincount(rows, weights=squares, minlength=X.shape[0])


def as_whole(X: Matrix) -> Rows:
    """Return a matrix as rows of small integers times one factor, if that gives back every value exactly.

    The factor is 1 or the least absolute value except 0. Other matrices are returned as they are.
    """
    values = (X if isinstance(X, np.ndarray) else X.data).reshape(-1)
    found = _divided(values, 1.0)
    unit = 1.0
    if found is None:
        chunks = (np.abs(chunk[chunk != 0]) for chunk in _chunks(values))
        unit = float(min(chunk.min(initial=np.inf) for chunk in chunks))
        found = _divided(values, unit) if _UNITS[0] < unit < _UNITS[1] else None
    if found is None:
        return X
    integers = found.reshape(X.shape) if isinstance(X, np.ndarray) else type(X)((found, X.indices, X.indptr), X.shape)
    if whole_squares(integers).max(initial=0.0) >= MOST_SQUARES:
        return X
    return IntegerRows(integers, np.full(X.shape[0], unit))


def _chunks(values: np.ndarray) -> list[np.ndarray]:
    return [values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK)]


def _divided(values: np.ndarray, unit: float) -> np.ndarray | None:
    """Return numbers divided by a unit, in one or two bytes each; None unless that is exact and they are small."""
    if values.dtype.kind == "u" and values.itemsize == 1:
        return values
    whole = np.empty(len(values), dtype=np.int16)
    for chunk, out in zip(_chunks(values), _chunks(whole), strict=True):
        with np.errstate(over="ignore"):
            numbers = np.rint(chunk / unit)
            fits = (np.abs(numbers) <= MOST_WHOLE) & (numbers * unit == chunk)
        if not fits.all():
            return None
        out[:] = numbers
    small = whole.min(initial=0) >= -128 and whole.max(initial=0) <= 127
    return whole.astype(np.int8) if small else whole
