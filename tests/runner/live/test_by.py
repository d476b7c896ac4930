"""`budgetrun run --by COLUMN`: a model per key in one memory, beside one model for all."""

import io
import signal
from dataclasses import replace
from functools import partialmethod
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from faults import FULL, message, raises, raising
from matplotlib.image import imread

from budgetrun import AutoClassifier, Fleet
from budgetrun.base.errors import InputError
from budgetrun.cli import main
from budgetrun.data.tables.table import Table
from budgetrun.estimators.predict import predict_stream
from budgetrun.runner import interrupts
from budgetrun.runner.live import by, kept
from budgetrun.runner.live.by import run_by
from budgetrun.runner.live.request import Request
from budgetrun.runner.live.run import run
from budgetrun.state import load_state

KEYS = 6


def by_customer(request, memory="1M"):
    return run_by(request, "customer", memory, Fleet)


@pytest.fixture(autouse=True)
def place(here, no_pictures):
    rng = np.random.default_rng(0)
    keys, X = rng.integers(0, KEYS, 600), rng.normal(size=(600, 3)).round(3)
    y = (X * rng.normal(size=(KEYS, 3))[keys]).sum(axis=1) > 0
    table = pd.DataFrame(X, columns=list("abc")).assign(customer=[f"<c{k}>" for k in keys])
    table.assign(label=np.where(y, "yes", "no")).to_csv("s.csv", index=False)


def test_each_key_learns_alone_and_errs_less(capsys, drawn):
    assert by_customer(Request("s.csv", gamma=("0.3",), scale="none"), "50K") == 0
    lines = capsys.readouterr().out.splitlines()
    keys, curves = pd.read_csv("results/s-by/keys.csv"), pd.read_csv("results/s-by/curves.csv")
    table = pd.read_csv("s.csv")
    fleet = Fleet("50K", gamma=0.3)
    fleet.partial_fit(table["customer"], table[list("abc")], table["label"].to_numpy() == "yes")
    mistakes = dict(zip(fleet.keys, fleet.facts()["mistakes"], strict=True))
    assert dict(zip(keys["key"], keys["mistakes"], strict=True)) == mistakes
    assert keys["mistakes"].is_monotonic_decreasing
    assert (keys["rounds"].sum(), keys["held"].sum()) == (600, fleet.facts()["held"].sum())
    last = curves.iloc[-1]
    assert last["a model per key"] == keys["mistakes"].sum() < last["one model for all"]
    assert lines[0] == f"a model per key: online error {keys['mistakes'].sum() / 600:.2%}"
    told = f"6 keys in {fleet.memory_used / 1e3:.1f} KB of 50.0 KB"
    assert lines[-1] == f"{told}: results/s-by/report.html"
    page = Path("results/s-by/report.html").read_text(encoding="utf-8")
    assert "&lt;c0&gt;" in page
    assert "auto, for all, is left out: it takes " in page
    assert "<c0>" not in page
    height, width, _ = imread("results/s-by/held.png").shape
    assert width / height == pytest.approx(11 / 4.2, rel=0.01)


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--by", "none"], "s.csv: by: no column 'none'; its columns are a b c customer label"),
    (["--by", "customer", "--quick", "--budget", "9"], "--by: each key has a Forgetron; remove --budget, --quick"),
    (["--by", "customer", "--gamma", "1,2"], "each key has a Forgetron; remove all but one value of --gamma"),
    (["--name", "../x"], "--name ../x: must be a name made of lower-case letters, digits"),
    (["--by", "customer", "--memory-for-all", "9999999T"], "--memory-for-all: memory must be at most 1,000,000,"),
    (["--memory-for-all", "1M"], "--memory-for-all: is shared by the models of --by COLUMN; give that, too"),
    (["--by", "customer", "--memory-for-all", "much"], "--memory-for-all: 'much' is not a size; give a number"),
    (["--by", "customer", "--memory-for-all", "1K"], "s.csv: --memory-for-all 1K: holds the floors of 3 keys, 4 exam"),
    (["--by", "customer", "--memory-for-all", "3TB"], "s.csv: --memory-for-all 3TB: memory: 3,000,000,000,000 bytes"),
    (["--by", "customer", "--label", "a", "--task", "regression"], "s.csv: --by needs labels of two classes, got numb"),
])  # fmt: skip
def test_what_is_refused(arguments, sentence):
    result = CliRunner().invoke(main, ["run", "s.csv", *arguments])
    assert result.exit_code == 2 or isinstance(result.exception, InputError)
    assert sentence in f"{result.output}{result.stderr}{result.exception}"


@pytest.mark.parametrize(("column", "options"), [("label", {}), ("a", {"missing": "skip"})])
def test_a_row_that_is_left_out_leaves_the_keys_of_others(column, options):
    table = pd.read_csv("s.csv")
    table.loc[200, column] = None
    table.to_csv("t.csv", index=False)
    table.drop(index=200).to_csv("without.csv", index=False)
    options = {"gamma": (0.5,), "scale": "none", **options}
    for name in ("t", "without"):
        assert by_customer(Request(f"{name}.csv", **options)) == 0
    with_it, without = (Path("results", f"{name}-by", "keys.csv").read_bytes() for name in ("t", "without"))
    assert with_it == without


def test_keys_that_are_not_text():
    pd.read_csv("s.csv").assign(customer=[["x"]] * 600).to_parquet("t.parquet")
    said = r"t.parquet: column 4 \(customer\): it holds values of type list<"
    raises(InputError, said, by_customer, Request("t.parquet"))


def test_keys_with_signs_of_other_programs():
    pd.read_csv("s.csv").assign(customer=["=1+1", "\x1b[31m", "$x^"] * 200).to_csv("t.csv", index=False)
    assert by_customer(Request("t.csv")) == 0
    assert set(pd.read_csv("results/t-by/keys.csv")["key"]) == {"'=1+1", r"\x1b[31m", "$x^"}
    assert "\x1b" not in Path("results/t-by/report.html").read_text(encoding="utf-8")


def test_new_rows_are_predicted_by_the_models_of_their_keys(capsys):
    assert by_customer(Request("s.csv", gamma=("0.3",), scale="none"), "50K") == 0
    table = pd.read_csv("s.csv")
    new = table.drop(columns="label").head(60)
    new.loc[::10, "customer"] = "new"
    new.to_csv("new.csv", index=False)
    told = predict_stream(Path("results/s-by"), "new.csv", output=Path("out.csv"))
    assert told == "60 rows; by a model per value of customer, and by the one for all for 6 rows whose value has none"
    fleet, known = Fleet("50K", gamma=0.3), new["customer"] != "new"
    fleet.partial_fit(table["customer"], table[list("abc")], table["label"].to_numpy() == "yes")
    out = pd.read_csv("out.csv")
    expected = fleet.predict(new["customer"], new[list("abc")])
    np.testing.assert_array_equal(out["score"][known], expected[known])
    np.testing.assert_array_equal(out["prediction"] == "yes", out["score"] > 0)
    played = load_state("results/s-by/by.state")[0]
    for_all = played.groups[0][0].members[0].hypothesis.score(new.loc[~known, list("abc")].to_numpy())
    np.testing.assert_array_equal(out["score"][~known], for_all)
    # In states of earlier versions, one group plays all sides.
    older, state = object.__new__(by._Played), vars(played) | {"group": played.groups[0][0]}
    older.__setstate__({name: value for name, value in state.items() if name != "groups"})
    assert older.groups == played.groups
    older.play(["<c0>"], np.ones((1, 3)), np.array([1]), "s.csv")
    assert older.rounds == 601
    capsys.readouterr()
    new.drop(columns="customer").to_csv("new.csv", index=False)
    said = message(predict_stream, "results/s-by", "new.csv")
    assert said == "new.csv: by: no column 'customer'; its columns are a b c"


def test_other_results_stay(monkeypatch):
    request = Request("s.csv", force=True)
    assert by_customer(request) == 0
    before = Path("results/s-by/keys.csv").read_bytes()
    assert by_customer(Request("s.csv"), "2M") == 0
    assert Path("results/s-by-2/keys.csv").is_file()
    with pytest.raises(InputError, match=r"s-by: was started with different options; use the same ones, take another"):
        by_customer(Request("s.csv", name="s"), "2M")
    Path("results/mine-by").mkdir()
    Path("results/mine-by/notes.txt").write_text("")
    with pytest.raises(InputError, match=r"mine-by: holds other results; take another --name, or move them aside"):
        by_customer(Request("s.csv", name="mine"))
    assert by_customer(request) == 0
    (old,) = Path("results").glob("s-by.old-*")
    assert (old / "keys.csv").read_bytes() == Path("results/s-by/keys.csv").read_bytes() == before
    monkeypatch.setattr("budgetrun.base.files.os.replace", raising(FULL))
    raises(InputError, r"s-by/by.state: .*No space left on device", by_customer, request)


@pytest.mark.parametrize("parts", [1, 2])
def test_standard_input_in_parts_is_the_file(parts, monkeypatch):
    """What comes later is read and scaled as the rows before it were."""
    table = pd.read_csv("s.csv").assign(colour=["red", "blue", "green"] * 200)
    table.to_csv("t.csv", index=False)
    options = {"gamma": (0.5,), "missing": "fill", "scale": "running"}
    assert by_customer(Request("t.csv", **options)) == 0
    n = len(table) // parts
    for start in range(0, len(table), n):
        text = table[start : start + n].to_csv(index=False)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert by_customer(Request("-", **options)) == 0
    ours, theirs = (Path("results", f"{name}-by", "keys.csv").read_bytes() for name in ("stdin", "t"))
    assert ours == theirs


def test_auto_for_all_is_that_of_the_rows_as_they_are():
    table = pd.read_csv("s.csv")
    table[["a", "b"]] = np.exp(2 * table[["a", "b"]])
    table.to_csv("s.csv", index=False)
    assert by_customer(Request("s.csv", scale="running"), "100MB") == 0
    known = AutoClassifier().fit(table[list("abc")], table["label"] == "yes")
    assert pd.read_csv("results/s-by/curves.csv")["auto, for all"].iloc[-1] == known.mistakes_


def test_it_does_not_continue_with_another_file():
    assert by_customer(Request("s.csv", gamma=("0.3",))) == 0
    told = "--continue results/s-by: has a model per key, which goes on by the same command, with further rows as"
    raises(InputError, told, run, Request("s.csv", continues=Path("results/s-by")))


def test_the_key_is_not_the_label():
    with pytest.raises(InputError, match=r"s.csv: column \d \(label\) is the label; name another column$"):
        run_by(Request("s.csv", label="label"), "label", "1M", Fleet)


def test_the_same_command_continues(capsys, monkeypatch):
    """Whatever stops the command, the next one has the results of a run that was never stopped."""
    monkeypatch.setattr(Table, "chunks", partialmethod(Table.chunks, 1024))
    pd.concat([pd.read_csv("s.csv")] * 4).to_csv("long.csv", index=False)
    monkeypatch.setattr(kept, "FIRST_SAVED", 0.0)
    monkeypatch.setattr(kept, "SHARE_OF_SAVING", 1e9)
    request = Request("long.csv", scale="running")
    assert by_customer(request, "50K") == 0
    expected = {name: Path("results/long-by", name).read_bytes() for name in ("keys.csv", "curves.csv")}
    again, playing = replace(request, results=Path("again")), by._Played._play

    def stopped(self, *args):
        if self.rounds >= 2048:
            raise ZeroDivisionError
        playing(self, *args)

    monkeypatch.setattr(by._Played, "_play", stopped)
    message(by_customer, again, "50K", kind=ZeroDivisionError)
    monkeypatch.setattr(by._Played, "_play", playing)
    capsys.readouterr()
    assert by_customer(again, "50K") == 0
    assert "again/long-by: continued after 2,048 rounds" in capsys.readouterr().err
    assert {name: Path("again/long-by", name).read_bytes() for name in expected} == expected
    said = "again/long-by: was started with different options"
    raises(InputError, said, by_customer, replace(again, name="long"), "60K")
    assert by_customer(replace(again, force=True), "60K") == 0


def test_a_pipe_that_begins_again_is_not_learned_twice(monkeypatch):
    lines = Path("s.csv").read_bytes().splitlines(keepends=True)
    for n, replay in ((401, False), (601, True)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"".join(lines[:n]))))
        assert by_customer(Request("-", gamma=("0.3",), scale="running", replay=replay), "50K") == 0
    assert by_customer(Request("s.csv", gamma=("0.3",), scale="running"), "50K") == 0
    replayed, whole = (pd.read_csv(f"results/{name}-by/keys.csv") for name in ("stdin", "s"))
    pd.testing.assert_frame_equal(replayed, whole)


@pytest.mark.parametrize("source", ["long.csv", "-"])
def test_an_interrupt_saves_what_was_played(source, capsys, monkeypatch):
    long = pd.concat([pd.read_csv("s.csv")] * 10)
    long.to_csv("long.csv", index=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(long.to_csv(index=False).encode())))
    monkeypatch.setattr(interrupts, "_raised", -10.0)
    playing, sent = by._Played._play, []

    def interrupted(self, *args):
        playing(self, *args)
        if self.rounds > 2000 and not sent:
            sent.append(True)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(by._Played, "_play", interrupted)
    assert by_customer(Request(source), "50K") == 130
    told = capsys.readouterr()
    folder = Path("results", "stdin-by" if source == "-" else "long-by")
    # The chunk is played to its end.
    played = load_state(folder / by.STATE)[0].rounds
    assert 2000 < played < len(long)
    assert (folder / "report.html").exists() == (source == "-")
    assert (f"interrupted after {played:,} rounds; the same command continues" in told.err) == (source != "-")
