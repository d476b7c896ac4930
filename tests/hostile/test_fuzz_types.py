"""Values of every type of Arrow and JSON as features and labels: the right numbers, or one sentence."""

import io
import json
import math
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from data.made_files import arrow_stream
from hypothesis import given
from hypothesis import strategies as st
from sentences import or_one_sentence

from budgetrun.data.tables import open_table
from budgetrun.data.tables.columns import MISSING

pytestmark = pytest.mark.faults

WORDS = st.sampled_from(["a", "b", "c", " d", "NA", "", "1", "2.5", "yes", "no", "true", "2024-05-01", "\x1b[1m", "é"])
TEXT = WORDS | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
WHOLE = [(pa.int8(), 7), (pa.int16(), 15), (pa.int32(), 31), (pa.int64(), 63)]
TYPES = {kind: st.integers(-(2**bits), 2**bits - 1) | st.integers(-3, 3) for kind, bits in WHOLE}
TYPES |= {kind: st.integers(0, 2**bits - 1) for kind, bits in [(pa.uint8(), 8), (pa.uint32(), 32), (pa.uint64(), 64)]}
TYPES |= {
    pa.float16(): st.floats(width=16).map(np.float16),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
}
TYPES |= {pa.decimal128(9, 2): st.integers(-999, 999).map(lambda n: Decimal(n) / 4), pa.bool_(): st.booleans()}
TYPES |= dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), TEXT)
TYPES |= {pa.null(): st.none(), pa.binary(): st.binary(max_size=3), pa.binary(2): st.binary(min_size=2, max_size=2)}
TYPES |= {kind: st.integers(0, 80_000) for kind in (pa.date32(), pa.time32("s"), pa.time64("us"), pa.duration("ms"))}
TYPES |= {kind: st.integers(-(2**40), 2**40) for kind in (pa.timestamp("s"), pa.timestamp("ns", "Asia/Tokyo"))}
NUMBERS = [t for t in TYPES if pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t)]
# Values that JSON can hold, and some that only Python's reader takes for it.
JSON = st.sampled_from(["1", "-0.0", "1e400", "NaN", "true", "null", '""', '"a"', '"\\ud800"', "[]", "[1]", '{"x": 1}'])
JSON |= st.integers().map(str) | st.floats(allow_nan=False, allow_infinity=False).map(repr) | TEXT.map(json.dumps)
JSON |= st.sampled_from(["9" * 400, "tru", '"a', "'a'", "01", "1_0", "0x1"])


def made(kind, values):
    """Return an Arrow array, also of types that are not made from Python values directly."""
    storage = {"date32": pa.int32(), "time32": pa.int32()}.get(str(kind)[:6], pa.int64())
    return pa.array(values, storage).cast(kind) if pa.types.is_temporal(kind) else pa.array(values, kind)


@st.composite
def columns(draw):
    """Draw a type and values of it, perhaps missing, as an Arrow array, perhaps nested or with a dictionary."""
    kind = draw(st.sampled_from(list(TYPES)))
    some = draw(st.booleans())
    values = draw(st.lists(TYPES[kind] | st.none() if some else TYPES[kind], min_size=3, max_size=8))
    array = made(kind, values)
    form = draw(st.sampled_from(["plain"] * 5 + ["dictionary", "list", "struct"]))
    if form == "dictionary" and kind not in (pa.null(), pa.float16()) and "view" not in str(kind):
        array = array.dictionary_encode()
    if form == "list":
        array = pa.array([None if v is None else [v] for v in array.to_pylist()], pa.list_(kind))
    if form == "struct":
        array = pa.StructArray.from_arrays([array], ["x"])
    return array, kind if form in ("plain", "dictionary") else None


def read(source, **options):
    """Return the features, examples and labels of a source; None if it is refused in a sentence."""
    with or_one_sentence():
        table = open_table(source, **options)
        chunks = list(table.chunks())
        return table.features, np.vstack([chunk.X for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])


def text_of(value):
    stripped = value.strip(" \t")
    return None if stripped in MISSING else stripped


def number_of(text):
    """Return the number that a text stands for: 1 or 0, a number, or days since 1970."""
    truth = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
    if text.lower() in truth:
        return truth[text.lower()]
    try:
        return float(text)
    except ValueError:
        return float((date.fromisoformat(text) - date(1970, 1, 1)).days)


@given(column=columns(), piped=st.booleans(), role=st.sampled_from(["feature", "label"]))
def test_a_column_of_any_type(column, piped, role):
    array, kind = column
    n = len(array)
    table = pa.table({"c": array, "other": pa.array([float(k) for k in range(n)])})
    label = "other" if role == "feature" else "c"
    source = io.BytesIO(arrow_stream(table)) if piped else table
    found = read(source, label=label, **({"classes": ()} if role == "feature" else {}))
    if found is None:
        return
    features, X, y = found
    # Python has no year 0.
    values = [] if kind is not None and pa.types.is_temporal(kind) else array.to_pylist()
    assert len(X) == len(y) == n
    got = X[:, 0].tolist() if role == "feature" else y.tolist()
    if kind in NUMBERS:
        assert got == [float(value) for value in values]
        assert all(map(math.isfinite, got))
    elif kind == pa.bool_():
        assert got == ([float(v) for v in values] if role == "feature" else [str(v).lower() for v in values])
    elif "string" in str(kind):
        texts = [text_of(value) for value in values]
        if role == "label" and isinstance(got[0], str):
            assert got == texts
        elif role == "label" or features == ["c"]:
            assert got == [number_of(text) for text in texts]
        else:
            assert [[f"c={text}" == feature for feature in features] for text in texts] == (X == 1).tolist()
    else:
        assert pa.types.is_temporal(kind), kind
        order = np.argsort(array.cast(pa.int64()) if kind.bit_width == 64 else array.cast(pa.int32()), kind="stable")
        assert np.isfinite(X).all()
        assert (np.diff(X[order, 0]) >= 0).all()


@given(cells=st.lists(JSON, min_size=3, max_size=8), role=st.sampled_from(["feature", "label"]), data=st.data())
def test_a_json_value_of_any_type(cells, role, data):
    lines = [f'{{"c": {cell}, "other": {k}.0}}' for k, cell in enumerate(cells)]
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(st.sampled_from(["", "[]", "{}", '{"other": 1}', '{"c": 1, "c": 2}', "{", '{"d": 1}']))
    label = "other" if role == "feature" else "c"
    content = "\n".join(lines).encode(errors="surrogatepass")
    found = read(io.BytesIO(content), label=label, **({"classes": ()} if role == "feature" else {}))
    if found is None:
        return
    _, X, y = found
    records = [json.loads(line) for line in lines if line.strip()]
    assert len(X) == len(y) == len(records)
    if role == "feature":
        assert y.tolist() == [record["other"] for record in records]
    values = [record["c"] for record in records]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values):
        assert (X[:, 0] if role == "feature" else y).tolist() == [float(value) for value in values]
    assert not any(isinstance(value, list | dict) for value in values)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_type_can_be_made(kind):
    assert made(kind, [None, None]).type == kind
