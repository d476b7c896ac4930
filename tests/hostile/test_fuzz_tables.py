"""Damaged files of columns: they are refused in one sentence, or give finite rows with a label each."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from damage import damaged
from data.made_files import arrow_stream, saved
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet
from sentences import or_one_sentence

from budgetrun.data.tables import open_table
from budgetrun.kernels.kinds import floats

pytestmark = pytest.mark.faults

N_ROWS = 24
FRAME = pd.DataFrame(
    {
        "a": np.arange(N_ROWS) / 8 - 1,
        "b": np.arange(N_ROWS) % 5,
        "c": ["red", "green", "blue", "é"] * (N_ROWS // 4),
        "d": [date(2024, 5, 1) + timedelta(days=k) for k in range(N_ROWS)],
        "y": ["yes", "no", "no"] * (N_ROWS // 3),
    }
)
TABLE = pa.Table.from_pandas(FRAME)
CODED = TABLE.set_column(2, "c", TABLE.column("c").dictionary_encode())


CONTENTS = {
    "csv": FRAME.to_csv(index=False).encode(),
    "tsv": FRAME.to_csv(index=False, sep="\t").encode(),
    "jsonl": FRAME.astype({"d": str}).to_json(orient="records", lines=True).encode(),
    "parquet": saved(lambda sink: parquet.write_table(TABLE, sink, row_group_size=10)),
    "feather": saved(lambda sink: feather.write_feather(TABLE, sink, chunksize=10)),
    "arrow": saved(lambda sink: feather.write_feather(CODED, sink, compression="uncompressed", chunksize=10)),
    "arrows": arrow_stream(CODED, max_chunksize=10),
}


def played(form, content, folder):
    """Return the rows and labels of a file; None if it is refused."""
    path = folder / f"t.{form}"
    path.write_bytes(content)
    with or_one_sentence(most=1000 + len(str(path))):
        chunks = list(open_table(path, label="y").chunks())
        X, y = np.vstack([floats(chunk.X) for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])
        assert len(X) == len(y)
        assert np.isfinite(X).all()
        return X, y


@pytest.mark.parametrize("form", CONTENTS)
def test_a_whole_file_is_read(form, tmp_path):
    X, y = played(form, CONTENTS[form], tmp_path)
    assert y.tolist() == FRAME["y"].tolist()
    np.testing.assert_array_equal(X[:, :2], FRAME[["a", "b"]])


@given(form=st.sampled_from(sorted(CONTENTS)), data=st.data())
def test_a_damaged_table_is_refused_or_read(form, data, tmp_path_factory):
    content = data.draw(damaged(CONTENTS[form], most=3))
    played(form, content, tmp_path_factory.getbasetemp())


def test_texts_beyond_their_batch_are_refused(tmp_path):
    """The sizes of texts stand in the file; those that were damaged named 10^18 bytes, or the memory of others."""
    texts = pa.array(["red", "green"] * 12, pa.large_string())
    table = pa.table({"c": texts, "y": FRAME["y"]})
    content = saved(lambda sink: feather.write_feather(table, sink, compression="uncompressed"))
    ends = np.frombuffer(texts.buffers()[1], "<i8")[:25].tobytes()
    assert content.count(ends) == 1
    for wrong in (10**18, 10**6, -5):
        damage = content.replace(ends, ends[:8] + np.array([wrong], "<i8").tobytes() + ends[16:])
        assert played("arrow", damage, tmp_path) is None
