"""The compiled loops that fill blocks of kernel values, and those in the place of `sums`.

Blocks have the shape (tiles, slots, rounds): rounds are contiguous, so that loops over them become vector instructions.
`kinds` has the same computations in numpy; both give the same bits.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.errors import NumbaError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, overload, register_model

from budgetrun.kernels import arithmetic
from budgetrun.kernels.arithmetic import END, LEAST, LEAST_SUM, LOG2_E, LOG_2, ROUND, TAYLOR, TILE, scaled

# Divisions by zero give inf or nan, as numpy's do.
OPTIONS = {"error_model": "numpy"}
# Of what only compiled code calls.
INNER = OPTIONS | {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
_HIGH, _LOW = LOG_2
# The least argument of rough exponentials, and what rounds float32 to integers.
_LEAST_ROUGH, _ROUND_ROUGH = -87.0, 12582912.0
# The bits of ROUND - 1022.
_LEAST_POWER = int(np.float64(ROUND - 1022).view(np.int64))


class Numbers(types.Type):  # type: ignore[misc]  # numba has no types
    """The type of some floats at once: a vector, for which formulas of kernels are compiled, too."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(f"Numbers({lanes})")


@register_model(Numbers)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Numbers) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), kind.lanes))


def _is_of_numbers(*kinds: Any) -> bool:
    return any(isinstance(kind, Numbers) for kind in kinds) and all(
        isinstance(kind, Numbers | types.Number) for kind in kinds
    )


def _repeated(builder: Any, number: Any, lanes: int) -> Any:
    """Return a vector of one number."""
    nothing = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


def _calculates(operation: Any, name: str) -> None:
    """Let compiled code apply an operation to `Numbers`, and to these and single ones."""

    @infer_global(operation)
    class Operation(AbstractTemplate):
        def generic(self, args: Any, keywords: Any) -> Any:
            if _is_of_numbers(*args):
                return signature(next(kind for kind in args if isinstance(kind, Numbers)), *args)
            return None

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = []
        for kind, arg in zip(signature.args, args, strict=True):
            if not isinstance(kind, Numbers):
                arg = _repeated(builder, context.cast(builder, arg, kind, types.float64), signature.return_type.lanes)
            vectors.append(arg)
        return getattr(builder, name)(*vectors)

    for kinds in ((Numbers, Numbers), (Numbers, types.Number), (types.Number, Numbers)):
        lower_builtin(operation, *kinds[: 1 if name == "fneg" else 2])(lower)


for _operation, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
    (operator.neg, "fneg"),
):
    _calculates(_operation, _name)


@intrinsic
def count_ones(typing: Any, x: Any) -> Any:
    return types.uint64(types.uint64), lambda context, builder, sig, args: builder.ctpop(args[0])


@overload(arithmetic.exp, jit_options=INNER)
def _exp_of_all(x):
    if isinstance(x, types.Array):
        return _exp_each
    return None


def _exp_each(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = arithmetic.exp(x[i])
    return out


@overload(arithmetic.exp, jit_options=INNER, inline="always")
def exp_of(x):
    """Compile `arithmetic.exp`, for a number or several at once."""
    return None if isinstance(x, types.Array) else lambda x: _exp(x)


@intrinsic
def _exp(typing: Any, x: Any) -> Any:
    kind = x if isinstance(x, Numbers) else types.float64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = args[0]
        floats, integers = x.type, ir.IntType(64)
        if isinstance(kind, Numbers):
            integers = ir.VectorType(integers, kind.lanes)

        def number(value: float, of: Any = floats) -> Any:
            return ir.Constant(of, [value] * kind.lanes if isinstance(kind, Numbers) else value)

        def larger(ordered: Callable[..., Any], a: Any, b: Any) -> Any:
            return builder.select(ordered(">", a, b), a, b)

        def power_of_two(n: Any) -> Any:
            biased = builder.add(n, number(1023, integers))
            return builder.bitcast(builder.shl(biased, number(52, integers)), floats)

        x = larger(builder.fcmp_unordered, x, number(LEAST))
        shifted = builder.fadd(builder.fmul(x, number(LOG2_E)), number(ROUND))
        n = builder.fsub(shifted, number(ROUND))
        r = builder.fsub(builder.fsub(x, builder.fmul(n, number(_HIGH))), builder.fmul(n, number(_LOW)))
        p = number(TAYLOR[13])
        for coefficient in TAYLOR[12::-1]:
            p = builder.fadd(builder.fmul(p, r), number(coefficient))
        # The bits of n are the lowest of `shifted`; the rest is shifted out.
        power = builder.bitcast(shifted, integers)
        first = larger(builder.icmp_signed, power, number(_LEAST_POWER, integers))
        return builder.fmul(builder.fmul(p, power_of_two(first)), power_of_two(builder.sub(power, first)))

    return kind(kind), generate


def pack(X: Any, words: Any) -> bool:
    """Pack rows of zeros and ones, shape (n, d), into ``words``, shape (n, W); return whether all are."""
    n, d = X.shape
    for i in range(n):
        for w in range(words.shape[1]):
            word, others = np.uint64(0), np.uint64(0)
            for j in range(min(64, d - 64 * w)):
                x = X[i, 64 * w + j]
                word |= np.uint64(x == 1) << np.uint64(j)
                others |= np.uint64((x != 0) & (x != 1))
            if others:
                return False
            words[i, w] = word
    return True


def take_whole(X: Any, rows: Any) -> bool:
    """Copy numbers, shape (n, d), to int16; return whether all are whole and fit."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            v = X[i, j]
            if not -32767 <= v <= 32767 or v != np.int16(v):
                return False
            rows[i, j] = np.int16(v)
    return True


def count_all(words: Any) -> int:
    """Return the number of ones in packed features."""
    total = np.uint64(0)
    for w in range(len(words)):
        total += count_ones(words[w])
    return total


# numba compares the signatures of a function and of what it is compiled from, so these have no annotations.
@overload(arithmetic.of_round, jit_options=INNER)
def _of_round(values, k):
    if isinstance(values, types.Array):
        return lambda values, k: values[k]
    return lambda values, k: values


def add_up(weights, slots, tile, out):
    if len(out) == 1:
        total = out[0]
        for i in range(len(slots)):
            total += weights[i] * tile[slots[i], 0]
        out[0] = total
        return
    if len(out) == TILE:
        _add_rows(weights, slots, tile, out)
        return
    for i in range(len(slots)):
        weight, values = weights[i], tile[slots[i]]
        for r in range(len(out)):
            out[r] += weight * values[r]


def add_up_together(
    weights: Any, slots: Any, ends: Any, rounds: Any, n_rounds: int, chunk: int, tiles: Any, out: Any
) -> None:
    """Compute `add_up` of several lists of weights and slots together, so that kernel values stay in the caches.

    The lists are concatenated, and ``ends`` are their ends. If they are in the order of the ``rounds`` of the slots'
    examples, those of ``chunk`` rounds are added to all lists before the next. ``tiles`` has the shape (tiles, slots,
    64), and ``out`` (lists, 64 * tiles).
    """
    n, n_chunks = len(ends), n_rounds // chunk + 1
    bounds = np.empty((n_chunks + 1, n), np.intp)
    for k in range(n):
        i = ends[k - 1] if k else 0
        for c in range(n_chunks):
            bounds[c, k] = i
            while i < ends[k] and rounds[slots[i]] < chunk * (c + 1):
                i += 1
        bounds[n_chunks, k] = ends[k]
    for tile in range(len(tiles)):
        for c in range(n_chunks):
            for k in range(n):
                i, end = bounds[c, k], bounds[c + 1, k]
                if i < end:
                    _add_rows(weights[i:end], slots[i:end], tiles[tile], out[k, TILE * tile : TILE * (tile + 1)])


def call(source, *arguments):
    return source(*arguments)


# numpy's takes a second to compile.
def where(condition, a, b):
    out = np.empty(len(condition))
    for i in range(len(condition)):
        out[i] = arithmetic.of_round(a, i) if condition[i] else arithmetic.of_round(b, i)
    return out


def add_multiple(values, factor, more):
    for i in range(len(values)):
        values[i] += factor * more[i]


def inner(values, others):
    result = 0.0
    for i in range(len(values)):
        result += values[i] * others[i]
    return result


def count_errors(scores, factor, row, positive, limits):
    errors = 0
    for i in range(len(scores)):
        errors += (scores[i] + factor * row[i] > limits[i]) != positive[i]
    return errors


def copy(values, to):
    for i in range(len(values)):
        to[i] = values[i]


# An assignment to a slice would compile a message of unequal lengths, too, which takes a second.
def close_gap(values, at, end):
    for i in range(at, end - 1):
        values[i] = values[i + 1]


def product(values, vector):
    return values @ vector


def add_outer(matrix, factor, vector):
    scaled = factor * vector
    for i in range(len(vector)):
        row, number = matrix[i], vector[i]
        for j in range(len(vector)):
            row[j] += number * scaled[j]


def taken(values, places):
    out = np.empty(len(places))
    for i in range(len(places)):
        out[i] = values[places[i]]
    return out


def put(values, places, to):
    for i in range(len(values)):
        to[places[i]] = values[i]


def add_multiple_at(values, places, factor, more):
    for i in range(len(places)):
        values[places[i]] += factor * more[i]


def inner_at(values, places, others):
    total = 0.0
    for i in range(len(places)):
        total += values[places[i]] * others[i]
    return total


def adapt(w, squared, places, slope, values, step):
    for i in range(len(places)):
        at, g = places[i], slope * values[i]
        squared[at] += g * g
        w[at] += step * g / np.sqrt(max(squared[at], LEAST_SUM))


def products(places, values, most):
    n = np.searchsorted(places, most, side="right")
    at = np.empty(n * (n + 1) // 2 + len(places) - n, places.dtype)
    x, end = np.empty(len(at)), 0
    for j in range(n):
        # Slices from 0 on, so that several are computed at once.
        start, end, first = end, end + j + 1, places[j] * (places[j] + 1) // 2
        row, part = at[start:end], x[start:end]
        for i in range(j + 1):
            row[i] = first + places[i]
            part[i] = values[i] * values[j]
    at[end:], x[end:] = most * (most + 1) // 2 + places[n:], values[n:]
    return at, x


def cheapest(weights, distances, squares, rounding):
    first, least = 0, np.inf
    for i in range(len(weights)):
        lost = weights[i] * weights[i] * distances[i]
        if not lost >= least:
            first, least = i, lost
            if np.isnan(lost):
                break
    error = rounding * (weights[first] * weights[first]) * squares[first]
    for i in range(len(weights)):
        size = weights[i] * weights[i]
        if size * distances[i] <= least + max(rounding * size * squares[i], error):
            return i, size * distances[i]
    return 0, weights[0] * weights[0] * distances[0]


def _term(of_distance, a, b):
    raise NotImplementedError


@overload(_term, jit_options=INNER)
def _term_of(of_distance, a, b):
    if isinstance(a, types.Integer):
        # Eight features of zeros and ones.
        return lambda of_distance, a, b: np.float64(count_ones(np.uint64(a ^ b if of_distance else a & b)))

    def term(of_distance, a, b):
        a, b = np.float64(a), np.float64(b)
        return (a - b) * (a - b) if of_distance else a * b

    return term


def along(points, i, columns, start, end, of_distance):
    total = np.zeros(end - start)
    for j in range(len(points)):
        a, row = points[j, i], columns[j, start:end]
        for r in range(len(row)):
            total[r] += _term(of_distance, a, row[r])
    return total


def evaluate(kernel: Any, sums: Any, out: Any) -> None:
    _put_values(kernel.formula, kernel.numbers, sums, out)


def evaluated_sums(kernel: Any, weights: Any, slots: Any, tile: Any, column: int) -> Any:
    formula, total, absolute = kernel.formula, 0.0, 0.0
    values = formula(taken(tile[:, column], slots), *kernel.numbers)
    for i in range(len(values)):
        total += weights[i] * values[i]
        absolute += abs(weights[i]) * values[i]
    return total, absolute


def _fill_sums(of_distance, by_products, rows, at, places, x, out):
    raise NotImplementedError


@overload(_fill_sums, jit_options=OPTIONS)
def _fill_sums_of(of_distance, by_products, rows, at, places, x, out):
    return _sums_of_sparse if rows.dtype == types.int32 else _sums_of_dense


def _sums_of_dense(of_distance, by_products, rows, at, places, x, out):
    n = len(places)
    # The sums of four rows at once: each has its order, and none waits for another.
    for i in range(0, n, 4):
        p, q, r, s = places[i], places[min(i + 1, n - 1)], places[min(i + 2, n - 1)], places[min(i + 3, n - 1)]
        a = b = c = e = 0.0
        for j in range(len(x)):
            a += _term(of_distance, rows[p, at + j], x[j])
            b += _term(of_distance, rows[q, at + j], x[j])
            c += _term(of_distance, rows[r, at + j], x[j])
            e += _term(of_distance, rows[s, at + j], x[j])
        for step, total in enumerate((a, b, c, e)):
            if i + step < n:
                out[i + step] = total


def _sums_of_sparse(of_distance, by_products, rows, at, places, x, out):
    values, given, differs = rows.view(np.float32), x.view(np.float32), of_distance and not by_products
    square = 0.0
    for j in range(0, len(x), 2):
        square += np.float64(given[j + 1]) * given[j + 1] if x[j] < END else 0.0
    for i in range(len(places)):
        block, k, j, total, own = places[i], 0, 0, 0.0, 0.0
        while True:
            p, q = rows[block, k], x[j] if j < len(x) else END
            if p < 0:
                # The complement of the next block.
                block, k = ~p, 0
                p = rows[block, 0]
            column, a, b = min(p, q), 0.0, 0.0
            if column == END:
                break
            if p == column:
                a = np.float64(values[block, k + 1])
                k += 2
            if q == column:
                b = np.float64(given[j + 1])
                j += 2
            total += _term(differs, a, b)
            own += a * a
        out[i] = max((own + square) - 2.0 * total, 0.0) if by_products else total


def values_at(kernel, rows, at, places, x, by_products):
    out, formula, numbers = np.empty(len(places)), kernel.formula, kernel.numbers
    _fill_sums(kernel.of_distance, by_products, rows, at, places, x, out)
    _put_values(formula, numbers, out, out)
    return out


def sum_at(cells, slots, values):
    total = absolute = 0.0
    for i in range(len(slots)):
        term = cells[slots[i], 0] * values[i]
        total += term
        absolute += abs(term)
    return total, absolute


def add_at(cells, slots, column, factor, values):
    for i in range(len(slots)):
        cells[slots[i], column] += factor * values[i]


def scale_at(cells, slots, factor):
    for i in range(len(slots)):
        cells[slots[i], 0] *= factor
        cells[slots[i], 1] *= factor


def touch(memory: Any, learners: Any) -> None:
    """Read one entry of each learner after the other, so that the processor waits for all of these at once."""
    n = len(learners)
    slots, left, most = np.empty(n, np.int64), np.empty(n, np.int64), 0
    for i in range(n):
        slots[i], left[i] = memory.ints[learners[i], 0], memory.ints[learners[i], 2]
        most = max(most, left[i])
    for _ in range(most):
        for i in range(n):
            if left[i] > 0:
                slots[i], left[i] = memory.links[slots[i], 4], left[i] - 1
    # What nobody reads would not be computed.
    memory.counts[-1] = slots.sum()


def _put_values(formula, numbers, given, out):
    raise NotImplementedError


@overload(_put_values, jit_options=INNER, inline="always")
def _put_values_of(formula, numbers, given, out):
    """Compile ``out[:] = formula(given, *numbers)``, for arrays without gaps."""

    def by_one(formula, numbers, given, out):
        for i in range(len(given)):
            out[i] = formula(given[i], *numbers)

    def together(formula, numbers, given, out):
        end = len(given) - len(given) % _TOGETHER
        for i in range(0, end, _TOGETHER):
            _put(out, i, formula(_take(given, i), *numbers))
        for i in range(end, len(given)):
            out[i] = formula(given[i], *numbers)

    try:
        formula.dispatcher.get_call_template((Numbers(_TOGETHER), *numbers), {})
    except NumbaError:
        # A formula of yours may need single numbers.
        return by_one
    return together


@intrinsic
def _take(typing: Any, given: Any, i: Any) -> Any:
    """Return `_TOGETHER` numbers of an array, from place ``i`` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(given)(context, builder, args[0])
        return _vector(builder, builder.gep(array.data, [args[1]]), _TOGETHER)

    return Numbers(_TOGETHER)(given, types.intp), generate


@intrinsic
def _put(typing: Any, out: Any, i: Any, values: Any) -> Any:
    """Put numbers into an array, from place ``i`` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(out)(context, builder, args[0])
        kind, vector = ir.VectorType(array.data.type.pointee, _TOGETHER), args[2]
        if kind != vector.type:
            vector = builder.fptrunc(vector, kind)
        _store(builder, vector, builder.gep(array.data, [args[1]]))
        return context.get_dummy_value()

    return types.void(out, types.intp, values), generate


# Of the ``slots`` that these functions are given, a tile needs the first ``counts[tile]``; only those are filled.


def fill_by_table(stored: Any, words: Any, table: Any, differing: bool, slots: Any, counts: Any, out: Any) -> None:
    """Fill a block from a table, indexed by the number of bits that differ, or that are 1 in both rows.

    ``stored`` and ``words`` are uint64, of the shapes (capacity, W) and (W, tiles * rounds).
    """
    tiles, used, width = out.shape
    if width == 1:
        for s in range(used):
            count = np.uint64(0)
            for w in range(len(words)):
                p, q = stored[s, w], words[w, 0]
                count += count_ones(p ^ q if differing else p & q)
            out[0, s, 0] = table[count]
        return
    # Small numbers of several rows at a time: the processor waits less for what it has just written.
    numbers = np.empty((4, width), np.uint16)
    n = len(words)
    for tile in range(tiles):
        first = tile * width
        for start in range(0, counts[tile], 4):
            rows = min(4, counts[tile] - start)
            numbers[:] = 0
            for i in range(rows):
                s, number = slots[start + i], numbers[i]
                for w in range(0, n - 1, 2):
                    p, q, a, b = stored[s, w], words[w], stored[s, w + 1], words[w + 1]
                    if differing:
                        for r in range(width):
                            number[r] += np.uint16(count_ones(p ^ q[first + r]) + count_ones(a ^ b[first + r]))
                    else:
                        for r in range(width):
                            number[r] += np.uint16(count_ones(p & q[first + r]) + count_ones(a & b[first + r]))
                if n % 2:
                    p, q = stored[s, n - 1], words[n - 1]
                    for r in range(width):
                        number[r] += np.uint16(count_ones(p ^ q[first + r] if differing else p & q[first + r]))
            for i in range(rows):
                number, values = numbers[i], out[tile, slots[start + i]]
                for r in range(width):
                    values[r] = table[number[r]]


def fill_bits(stored: Any, words: Any, kernel: Any, left: Any, right: Any, slots: Any, counts: Any, out: Any) -> None:
    """Fill a block of values of rows of bits, as `fill_integers` does for integers."""
    tiles, _, width = out.shape
    formula, numbers = kernel.formula, kernel.numbers
    ones, sums = np.empty(width, np.int64), np.empty(width)
    for tile in range(tiles):
        first = tile * width
        for s in slots[: counts[tile]]:
            ones[:] = 0
            for w in range(len(words)):
                p, q = stored[s, w], words[w]
                for r in range(width):
                    ones[r] += count_ones(p & q[first + r])
            square, factor = left[0, s], left[1, s]
            for r in range(width):
                t = first + r
                sums[r] = scaled(kernel.of_distance, ones[r], square, right[0, t], factor, right[1, t])
            _put_values(formula, numbers, sums, out[tile, s])


def fill_integers(
    stored: Any, rows: Any, paired: Any, kernel: Any, left: Any, right: Any, slots: Any, counts: Any, out: Any
) -> None:
    """Fill a block of values of integer rows, each with a factor.

    ``stored`` and ``rows`` are int16, of the shapes (capacity, d) and (tiles * rounds, d), d even; ``paired`` has the
    same rows in the order of `_products`, shape (tiles, d / 2, 64, 2), or is empty unless ``rounds`` is 64. ``left``
    and ``right`` are the squares of the scaled rows, and their factors, shapes (2, capacity) and (2, tiles * rounds).
    """
    tiles, _, width = out.shape
    formula, numbers = kernel.formula, kernel.numbers
    products, sums = np.empty((4, width), np.int32), np.empty(width)
    for tile in range(tiles):
        first = tile * width
        for start in range(0, counts[tile], 4):
            n = min(4, counts[tile] - start)
            if n == 4 and len(paired):
                _products(stored, slots[start : start + 4], paired[tile], stored.shape[1] // 2, products)
            else:
                for i in range(n):
                    a = stored[slots[start + i]]
                    for r in range(width):
                        b, total = rows[first + r], np.int32(0)
                        for j in range(len(a)):
                            total += np.int32(a[j]) * np.int32(b[j])
                        products[i, r] = total
            for i in range(n):
                s = slots[start + i]
                square, factor = left[0, s], left[1, s]
                for r in range(width):
                    t = first + r
                    sums[r] = scaled(kernel.of_distance, products[i, r], square, right[0, t], factor, right[1, t])
                _put_values(formula, numbers, sums, out[tile, s])


def fill_products(products: Any, kernel: Any, left: Any, right: Any, slots: Any, counts: Any, out: Any) -> None:
    """Fill a block of values from inner products, shape (slots, tiles * rounds); otherwise as `fill_integers`."""
    tiles, _, width = out.shape
    formula, numbers, sums = kernel.formula, kernel.numbers, np.empty(width)
    for tile in range(tiles):
        first = tile * width
        for s in slots[: counts[tile]]:
            # Written out as in `fill_integers`: in a function of its own, this loop took three times as long.
            square, factor = left[0, s], left[1, s]
            for r in range(width):
                t = first + r
                sums[r] = scaled(kernel.of_distance, products[s, t], square, right[0, t], factor, right[1, t])
            _put_values(formula, numbers, sums, out[tile, s])


def fill_floats(stored: Any, columns: Any, kernel: Any, slots: Any, counts: Any, out: Any) -> None:
    """Fill a block of values of rows of floats; each sum is over the features in their order.

    ``stored`` and ``columns`` are float64, of the shapes (d, capacity) and (d, tiles * rounds).
    """
    tiles, used, width = out.shape
    formula, numbers = kernel.formula, kernel.numbers
    if width == 1:
        sums = np.zeros(used)
        for tile in range(tiles):
            sums[:] = 0
            for j in range(len(columns)):
                row, b = stored[j], columns[j, tile]
                for s in range(used):
                    sums[s] += _term(kernel.of_distance, row[s], b)
            for s in range(used):
                out[tile, s, 0] = formula(sums[s], *numbers)
        return
    n, sums = len(slots), np.zeros((4, width))
    if width == TILE and n >= 4:
        # Copies without gaps: the features of four slots, and of some rounds at a time.
        four, parts = np.empty((len(columns), 4)), np.empty((tiles, TILE // _LANES, len(columns), _LANES))
        for tile in range(tiles):
            for j in range(len(columns)):
                for r in range(TILE):
                    parts[tile, r // _LANES, j, r % _LANES] = columns[j, tile * TILE + r]
        for start in range(0, n, 4):
            # The last four may have been filled in part already.
            places = slots[min(start, n - 4) :]
            for j in range(len(columns)):
                row = stored[j]
                for i in range(4):
                    four[j, i] = row[places[i]]
            for tile in range(tiles):
                if start >= counts[tile]:
                    continue
                if kernel.of_distance:
                    _square_distances(four, parts, tile, sums)
                else:
                    _inner_products(four, parts, tile, sums)
                for i in range(4):
                    _put_values(formula, numbers, sums[i], out[tile, places[i]])
        return
    for tile in range(tiles):
        first = tile * width
        for s in slots[: counts[tile]]:
            total = sums[0]
            total[:] = 0
            for j in range(len(columns)):
                a, row = stored[j, s], columns[j]
                for r in range(width):
                    total[r] += _term(kernel.of_distance, a, row[first + r])
            _put_values(formula, numbers, total, out[tile, s])


# -- sums in registers ------------------------------------------------------------------------------------------------

_DOUBLE, _FLOAT = ir.DoubleType(), ir.FloatType()
_CONTRACT = ("contract",)
# Vectors of this many numbers, times 4 slots, fit in the registers; the results do not depend on it.
_LANES = 16 if get_host_cpu_features().get("avx512f") else 8
# So many values of a formula are computed at once: its operations wait for each other. More would not fit, either.
_TOGETHER = 64 if _LANES == 16 else 16


def _sums(builder: Any, n: Any, lefts: Any, row: Any, lanes: int, distances: bool, first: Any = None) -> list[Any]:
    """Sum, over j < n in this order, the products of numbers with a row, or the squares of their differences.

    The sums begin with the vector ``first``, or 0. ``lefts(j)`` are the numbers, and ``row(j)`` is the vector of
    ``lanes`` numbers. Multiplications and additions of float32 are contracted.
    """
    begins = lefts(ir.Constant(n.type, 0))
    kind = begins[0].type.pointee
    wide, flags = ir.VectorType(kind, lanes), () if kind == _DOUBLE else _CONTRACT
    sums = [cgutils.alloca_once_value(builder, first or ir.Constant(wide, [0.0] * lanes)) for _ in begins]
    with cgutils.for_range(builder, n) as loop:
        right = row(loop.index)
        for total, left in zip(sums, lefts(loop.index), strict=True):
            term = _repeated(builder, builder.load(left), lanes)
            if distances:
                term = builder.fsub(term, right)
            term = builder.fmul(term, term if distances else right, flags=flags)
            builder.store(builder.fadd(builder.load(total), term, flags=flags), total)
    return [builder.load(total) for total in sums]


def _load(builder: Any, pointer: Any, lanes: int) -> Any:
    """Load a vector of float64 or float32 from an array of the same."""
    loaded = builder.load(builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, lanes).as_pointer()))
    loaded.align = 4
    return loaded


def _vector(builder: Any, pointer: Any, lanes: int) -> Any:
    """Load a vector of float64 from an array of float64 or float32."""
    loaded, wide = _load(builder, pointer, lanes), ir.VectorType(_DOUBLE, lanes)
    return loaded if loaded.type == wide else builder.fpext(loaded, wide)


def _store(builder: Any, vector: Any, pointer: Any) -> None:
    builder.store(vector, builder.bitcast(pointer, vector.type.as_pointer())).align = 4


@intrinsic
def _add_rows(typing: Any, weights: Any, slots: Any, tile: Any, out: Any) -> Any:
    """out[r] += the sum over i of ``weights[i] * tile[slots[i], r]``, for the 64 rounds of a tile."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = zip(signature.args, args, strict=True)
        left, places, rows, target = (context.make_array(kind)(context, builder, arg) for kind, arg in given)
        stride = builder.extract_value(rows.strides, 0)
        start = builder.ptrtoint(rows.data, stride.type)

        def row(i: Any) -> Any:
            at = builder.add(start, builder.mul(stride, builder.load(builder.gep(places.data, [i]))))
            return _vector(builder, builder.inttoptr(at, rows.data.type), TILE)

        n = builder.extract_value(places.shape, 0)
        before = _vector(builder, target.data, TILE)
        (total,) = _sums(builder, n, lambda i: [builder.gep(left.data, [i])], row, TILE, False, before)
        _store(builder, total, target.data)
        return context.get_dummy_value()

    return types.void(weights, slots, tile, out), generate


def _rough_exp(builder: Any, x: Any) -> Any:
    """Return e to the power of a vector of float32 <= 0, within 4 units in the last place, or 1e-37."""
    lanes, integer = x.type.count, ir.IntType(32)

    def number(value: float, of: Any = _FLOAT) -> Any:
        return ir.Constant(ir.VectorType(of, lanes), [float(np.float32(value)) if of is _FLOAT else value] * lanes)

    def plus(a: Any, b: Any, c: Any) -> Any:
        return builder.fadd(builder.fmul(a, b, flags=_CONTRACT), c, flags=_CONTRACT)

    x = builder.select(builder.fcmp_unordered(">", x, number(_LEAST_ROUGH)), x, number(_LEAST_ROUGH))
    shifted = plus(x, number(LOG2_E), number(_ROUND_ROUGH))
    r = plus(builder.fsub(shifted, number(_ROUND_ROUGH)), number(-_HIGH), x)
    p = number(TAYLOR[6])
    for coefficient in TAYLOR[5::-1]:
        p = plus(p, r, number(coefficient))
    biased = builder.add(builder.bitcast(shifted, ir.VectorType(integer, lanes)), number(127, integer))
    return builder.fmul(p, builder.bitcast(builder.shl(biased, number(23, integer)), p.type))


def _rough_terms(n_slots: int) -> Any:
    """Make a function that adds so many terms of `add_roughly`, from slot ``at`` on."""

    def add(typing: Any, weights: Any, slots: Any, at: Any, rows: Any, part: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            given = [(kind, arg) for kind, arg in zip(signature.args, args, strict=True) if kind != types.intp]
            left, places, rough, right, target = (
                context.make_array(kind)(context, builder, arg) for kind, arg in given
            )
            n = builder.extract_value(rough.shape, 1)

            def number(value: int) -> Any:
                return ir.Constant(n.type, value)

            each = [builder.add(args[2], number(i)) for i in range(n_slots)]
            factors = [builder.load(builder.gep(left.data, [i])) for i in each]
            starts = [builder.mul(builder.load(builder.gep(places.data, [i])), n) for i in each]

            def lefts(j: Any) -> Any:
                return [builder.gep(rough.data, [builder.add(start, j)]) for start in starts]

            lanes = 2 * _LANES
            for first in range(0, TILE, lanes):

                def row(j: Any, first: int = first) -> Any:
                    at = builder.add(builder.mul(j, number(TILE)), number(first))
                    return _load(builder, builder.gep(right.data, [at]), lanes)

                place = builder.gep(target.data, [number(first)])
                total = _vector(builder, place, lanes)
                for factor, distances in zip(factors, _sums(builder, n, lefts, row, lanes, True), strict=True):
                    value = builder.fpext(_rough_exp(builder, builder.fneg(distances)), total.type)
                    term = builder.fmul(value, _repeated(builder, factor, lanes), flags=_CONTRACT)
                    total = builder.fadd(total, term, flags=_CONTRACT)
                _store(builder, total, place)
            return context.get_dummy_value()

        return types.void(weights, slots, types.intp, rows, part, out), generate

    return intrinsic(add)


_add_four_roughly, _add_one_roughly = _rough_terms(4), _rough_terms(1)


def add_roughly(weights: Any, slots: Any, rows: Any, part: Any, out: Any) -> None:
    four = len(slots) - len(slots) % 4
    for at in range(0, four, 4):
        _add_four_roughly(weights, slots, at, rows, part, out)
    for at in range(four, len(slots)):
        _add_one_roughly(weights, slots, at, rows, part, out)


def _sums_of_four(distances: bool) -> Any:
    """Make the function of which `_square_distances` and `_inner_products` are the two forms."""

    def fill(typing: Any, four: Any, parts: Any, tile: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            left, right, target = (context.make_array(kinds[i])(context, builder, args[i]) for i in (0, 1, 3))
            n = builder.extract_value(left.shape, 0)

            def number(value: int) -> Any:
                return ir.Constant(n.type, value)

            def lefts(j: Any) -> Any:
                begin = builder.mul(j, number(4))
                return [builder.gep(left.data, [builder.add(begin, number(i))]) for i in range(4)]

            with cgutils.for_range(builder, number(TILE // _LANES)) as chunk:

                def row(j: Any) -> Any:
                    chunks = builder.add(builder.mul(args[2], number(TILE // _LANES)), chunk.index)
                    at = builder.add(builder.mul(chunks, n), j)
                    return _vector(builder, builder.gep(right.data, [builder.mul(at, number(_LANES))]), _LANES)

                for i, total in enumerate(_sums(builder, n, lefts, row, _LANES, distances)):
                    place = builder.add(builder.mul(chunk.index, number(_LANES)), number(TILE * i))
                    _store(builder, total, builder.gep(target.data, [place]))
            return context.get_dummy_value()

        return types.void(four, parts, types.intp, out), generate

    return intrinsic(fill)


_square_distances, _inner_products = _sums_of_four(True), _sums_of_four(False)


@intrinsic
def _products(typing: Any, stored: Any, slots: Any, paired: Any, pairs: Any, out: Any) -> Any:
    """out[i, r] = <stored[slots[i]], row r> for 4 slots and 64 rounds, two features at a time.

    LLVM has one instruction for two products of 16 bits and their sum of 32, but does not find it in a plain loop.
    """
    i16, i32, i64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
    wide, half = ir.VectorType(i32, 32), ir.VectorType(i32, 16)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(at: int, kind: Any) -> Any:
            array = context.make_array(signature.args[at])(context, builder, args[at])
            return builder.bitcast(array.data, kind.as_pointer())

        def number(value: int) -> Any:
            return ir.Constant(i64, value)

        def load(pointer: Any, kind: Any) -> Any:
            loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
            loaded.align = 2
            return loaded

        rows, places, blocks, target = data(0, i16), data(1, i64), data(2, i16), data(4, i32)
        n = args[3]
        chosen = [builder.load(builder.gep(places, [number(i)])) for i in range(4)]
        starts = [builder.mul(slot, builder.mul(n, number(2))) for slot in chosen]
        starts = [builder.bitcast(builder.gep(rows, [start]), i32.as_pointer()) for start in starts]
        sums = [[cgutils.alloca_once_value(builder, ir.Constant(half, [0] * 16)) for _ in range(4)] for _ in range(4)]
        nothing, zeros = ir.Constant(wide, ir.Undefined), ir.Constant(half, [0] * 16)
        even, odd = (ir.Constant(half, list(range(start, 32, 2))) for start in (0, 1))
        with cgutils.for_range(builder, n) as loop:
            at = builder.mul(loop.index, number(128))
            places = [builder.gep(blocks, [builder.add(at, number(32 * j))]) for j in range(4)]
            right = [builder.sext(load(place, ir.VectorType(i16, 32)), wide) for place in places]
            for i, start in enumerate(starts):
                pair = load(builder.gep(start, [loop.index]), i32)
                vector = builder.insert_element(ir.Constant(half, ir.Undefined), pair, ir.Constant(i32, 0))
                vector = builder.shuffle_vector(vector, ir.Constant(half, ir.Undefined), zeros)
                left = builder.sext(builder.bitcast(vector, ir.VectorType(i16, 32)), wide)
                for j in range(4):
                    both = builder.mul(right[j], left)
                    parts = [builder.shuffle_vector(both, nothing, side) for side in (even, odd)]
                    builder.store(builder.add(builder.load(sums[i][j]), builder.add(*parts)), sums[i][j])
        for i in range(4):
            for j in range(4):
                place = builder.bitcast(builder.gep(target, [number(64 * i + 16 * j)]), half.as_pointer())
                builder.store(builder.load(sums[i][j]), place).align = 4
        return context.get_dummy_value()

    return types.void(stored, slots, paired, types.intp, out), generate
