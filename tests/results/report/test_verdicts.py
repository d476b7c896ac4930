"""The papers' claims: each committed verdict follows from the committed results, and changed results change it."""

import csv
import gzip
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import sweeping
from click.testing import CliRunner
from faults import message, raises

from budgetrun.base.errors import AlteredError, InputError
from budgetrun.cli import main
from budgetrun.papers.verdicts.claims import Claim, NumberSpec, Paper, load_claims
from budgetrun.papers.verdicts.verdicts import Verdicts, judge, judge_all
from budgetrun.results.report.evidence import _OF_BOUNDS, Evidence
from budgetrun.results.store import files

RESULTS = Path(__file__).resolve().parents[3] / "results"


@pytest.fixture(scope="module")
def verdicts() -> Verdicts:
    return judge_all(RESULTS)


@pytest.mark.committed
def test_every_verdict_is_the_stated_one_and_papers_have_many_claims(verdicts):
    assert verdicts.contradictions == []
    counts = [len(own) for _, own, _ in verdicts.papers]
    assert len(counts) == 5
    assert min(counts) >= 5
    assert sum(counts) >= 40


@pytest.mark.committed
def test_the_committed_pages_are_current(verdicts, tmp_path):
    for one in RESULTS.glob("*/manifest.json"):
        (tmp_path / one.parent.name).symlink_to(one.parent)
    for path in Verdicts(verdicts.judged, Evidence(tmp_path)).write():
        committed = RESULTS / "verdicts" / path.name
        assert path.read_text() == committed.read_text(), "the results changed; type: budgetrun verdicts"


@pytest.mark.committed
def test_links_lead_somewhere(verdicts):
    for one in verdicts.judged:
        for see in one.claim.see:
            assert (RESULTS / (see if "." in see else f"{see}.md")).is_file(), see
    for page in [RESULTS / "verdicts" / f"verdicts.{suffix}" for suffix in ("html", "md")]:
        for target in re.findall(r'href="(\.\./[^"]+)"|\]\((\.\./[^)]+)\)', page.read_text()):
            assert (page.parent / "".join(target)).exists(), target


@pytest.mark.committed
def test_claims_say_no_number_that_was_measured(verdicts):
    # Errors and large counts come from results; a claim's own words have at most what the paper prints there.
    for claim in (one.claim for one in verdicts.judged):
        assert not re.search(r"\d\.\d+ ?%", f"{claim.claim} {claim.conditions} {claim.open}"), claim.name


def bounds_of(folder: str) -> str:
    """Return the text of the committed bounds of a folder; empty if it has none."""
    path = next((RESULTS / folder).glob("bounds.csv*"), None)
    data = path.read_bytes() if path else b""
    return (gzip.decompress(data) if path and path.suffix == ".gz" else data).decode()


def copy_of(folder: str, tmp_path: Path, changed: dict[str, str], **row: str) -> Path:
    """Return a folder of results in which the first run with these values has other ones, and the sums are right."""
    copied = tmp_path / folder
    copied.mkdir()
    (copied / "manifest.json").write_bytes((RESULTS / folder / "manifest.json").read_bytes())
    (copied / "bounds.csv").write_text(bounds_of(folder))
    rows = sweeping.rows(RESULTS / folder, files.read_table(RESULTS / folder).path.name)
    first = next(one for one in rows if row.items() <= one.items())
    first |= changed
    files.replace_table(copied, sweeping.csv_text(rows), len(rows))
    for one in RESULTS.glob("*/manifest.json"):
        if one.parent.name != folder:
            (tmp_path / one.parent.name).symlink_to(one.parent)
    return tmp_path


def claim_of(paper: str, name: str) -> tuple[Paper, Claim]:
    (found,) = [one for one in load_claims() if one.name == paper]
    return found, next(claim for claim in found.claims if claim.name == name)


# A claim, and the results folder, a run of it, and its new value that turn the verdict.
TURNED = """
forgetron adult_order forgetron_fig5 label=rbp budget_fraction=0.25 online_error=50
forgetron noise_needs_support forgetron_fig6 label=perceptron dataset=synthetic_5 support_size=1000000
forgetron remove_oldest_better forgetron_table81 label=remove_oldest dataset=usps budget_fraction=0.5 online_error=90
sutskever trims_early sutskever_bounds label=modified_rbp dataset=usps budget=4000 support_size=400000
projectron tracks_the_perceptron projectron_fig6 label=projectron dataset=a9a online_error=0.9
projectron greater_gain projectron_fig7 label=projectron++ dataset=synthetic online_error=0.9
projectron beats_projectron projectron_fig6 label=projectron++ dataset=a9a online_error=0.9
mpu accuracy mpu_table1 label=mpu dataset=a9a objective=12000
mpu theorem_2_before mpu_kernel label=mpu dataset=a9a_primal objective=1200000
ahpatron beats_pomdr ahpatron_table2 label=pomdr dataset=w8a online_error=0
ahpatron their_projectron_pp ahpatron_table2 label=projectron++(2024) dataset=a9a online_error=0.9
ahpatron projectron_pp_slow ahpatron_seconds label=projectron++(2024) dataset=ijcnn1 seconds=0.001
"""


@pytest.mark.committed
@pytest.mark.parametrize("line", TURNED.strip().splitlines(), ids=lambda line: " ".join(line.split()[:3]))
def test_one_changed_cell_turns_the_verdict(line, tmp_path):
    paper, name, folder, *row, changed = line.split()
    key, value = changed.split("=")
    copied = copy_of(folder, tmp_path, {key: value}, **dict(one.split("=") for one in row))
    judged = judge(*claim_of(paper, name), Evidence(copied))
    assert judged.verdict != judged.claim.verdict
    assert f"{paper}, {name}: the results say {judged.verdict}, but the claim states" in judged.contradiction


def test_a_violated_bound_turns_the_verdict(tmp_path):
    folder = copy_of("sutskever_bounds", tmp_path, {}, label="perceptron")
    path = folder / "sutskever_bounds" / "bounds.csv"
    rows = sweeping.rows(path.parent, path.name)
    next(row for row in rows if row["theorem"].endswith("2008), Theorem 3"))["mistakes"] = "1e9"
    path.write_text(sweeping.csv_text(rows))
    assert judge(*claim_of("forgetron", "theorem_3"), Evidence(folder)).verdict == "refuted"


def test_what_bounds_come_to():
    evidence, theorem = Evidence(RESULTS), "Liao et al. (2024), Theorem 6"
    every = csv.DictReader(io.StringIO(bounds_of("ahpatron_table2")))
    rows = [row for row in every if (row["theorem"], row["label"]) == (theorem, "ahpatron")]
    met = [row for row in rows if row["applies"] == "yes"]

    def number(statistic: str, **more: str) -> float:
        spec = NumberSpec(results="ahpatron_table2", label="ahpatron", theorem=theorem, statistic=statistic, **more)
        return evidence.number(spec, {}, {}, "x").value

    assert 0 < number("held") == len(met) < len(rows)
    assert number("void") == len(rows) - len(met)
    assert number("below_t") == sum(float(row["bound"]) < float(row["n_examples"]) for row in met)
    # The epsilon that table3 chooses does not meet the conditions on a9a, where the bound is the number of rounds.
    assert number("bound", dataset="a9a", chosen_in="table3") == 48_842
    chosen = [float(row["bound"]) for row in met if (row["dataset"], row["setting"]) == ("phishing", "epsilon=0.5")]
    assert number("bound", dataset="phishing", setting="epsilon=0.5") == pytest.approx(sum(chosen) / len(chosen))


def test_numbers_of_other_files():
    spec = NumberSpec(csv="bench/solvers.csv", where={"dataset": "web"}, column="objective", digits=4)
    assert Evidence(RESULTS).number(spec, {}, {}, "x").text == "6,605"
    for where, column in (({}, "ratio"), ({"dataset": "web"}, "none"), ({"none": 1}, "ratio")):
        with pytest.raises(InputError, match=rf"^x: .*solvers\.csv has no single number {column} of "):
            Evidence(RESULTS).number(NumberSpec(csv="bench/solvers.csv", where=where, column=column), {}, {}, "x")


def test_a_table_that_was_edited_is_refused(tmp_path):
    folder = copy_of("mpu_table1", tmp_path, {}, label="mpu")
    path = folder / "mpu_table1" / "runs.csv"
    path.write_text(path.read_text().replace("11434.3", "11433.3"))
    with pytest.raises(AlteredError, match=r"runs\.csv: is not as the sweep wrote it"):
        judge(*claim_of("mpu", "accuracy"), Evidence(folder))


# A small set of claims on one folder, for the command.
CLAIMS = """\
name: small
year: 2010
title: "A paper"
source: "Somebody (2010)"
names: {mpu: MPU}
claims:
  - name: one
    claim: "MPU is near the optimum."
    where: "section 1"
    verdict: %s
    results: mpu_table1
    cases: {dataset: [a9a, web]}
    numbers: {gap: {label: mpu, quantity: gap}}
    holds: %s
"""


def judged_by(tmp_path, verdict: str, holds: str, more: str = "") -> Verdicts:
    claims = tmp_path / "claims"
    claims.mkdir(exist_ok=True)
    (claims / "small.yaml").write_text(CLAIMS % (verdict, holds) + more)
    return judge_all(RESULTS, claims)


CASES = [("gap < 1e-4", "", "confirmed"), ("gap < 1e-9", "", "refuted"), ("gap < 5e-5", "", "partly")]
CASES += [("gap < 5e-5", f"    needs: {needs}\n", "refuted") for needs in ("most", "always")]
CASES += [("gap < 5e-5", f"    undecided: gap > 5e-5\n    needs: {needs}\n", "open") for needs in ("most", "always")]
CASES += [("gap < 1e-4", "    undecided: gap > 5e-5\n", "partly"), ("gap < 1e-4", "    undecided: gap > 0\n", "open")]
CASES += [("gap < 1e-4", "    missing: [mnist]\n", "partly"), ("gap < 1e-9", "    missing: [mnist]\n", "refuted")]
CASES += [("gap < 5e-5", "    some: dataset\n", "confirmed"), ("gap < 1e-9 or 0 < gap < 1", "", "confirmed")]


@pytest.mark.parametrize(("holds", "more", "verdict"), CASES)
def test_verdicts_follow_from_the_cases(tmp_path, holds, more, verdict):
    assert judged_by(tmp_path, verdict, holds, more).judged[0].verdict == verdict


def test_as_many_mistakes_as_the_bound_keep_it():
    numbers = {"mistakes": [9.0, 10.0, 11.0], "bound": 10.0, "n_examples": 100, "lower": np.nan, "ratio": 1.0}
    frame = pd.DataFrame({"theorem": "T", "dataset": "d", "label": "a", "applies": "yes", **numbers})
    evidence = Evidence(RESULTS)
    evidence._bounds = lambda _: frame
    specs = [NumberSpec(results="r", theorem="T", statistic=name) for name in ("violated", "held")]
    assert [evidence.number(spec, {}, {}, "x").value for spec in specs] == [1, 2]


def test_theorems_are_counted_apart(tmp_path):
    found = judged_by(tmp_path, "confirmed", "gap < 1e-4", "    proved: true\n")
    assert found.summary == "1 theorem or identity: 1 confirmed, 0 refuted, 0 partly, 0 open"
    assert found.by_paper.rows == [["A paper", "0", "0", "0", "0", "1 of 1"]]


def test_open_claims_may_show_numbers(tmp_path):
    text = CLAIMS.replace("    holds: %s\n", '    open: "Nobody knows."\n') % "open"
    (tmp_path / "small.yaml").write_text(text)
    (judged,) = judge_all(RESULTS, tmp_path).judged
    assert (judged.verdict, [case.holds for case in judged.cases]) == ("open", [None, None])


def test_a_difference_is_tested_over_the_streams():
    spec = NumberSpec(results="ahpatron_table2", dataset="phishing", label="ahpatron", chosen_in="table2")
    errors = {}
    runs = sweeping.rows(RESULTS / "ahpatron_table2", "runs.csv.gz")
    of_phishing = [row for row in runs if row["dataset"] == "phishing"]
    for label, setting in (("ahpatron", '{"epsilon": 0.6}'), ("pomdr", "{}")):
        rows = [row for row in of_phishing if row["label"] == label]
        errors[label] = {row["repetition"]: float(row["online_error"]) for row in rows if row["setting"] == setting}
    gains = np.array([errors["ahpatron"][key] - error for key, error in errors["pomdr"].items()])
    t = gains.mean() / (gains.std(ddof=1) / np.sqrt(len(gains)))
    number = Evidence(RESULTS).number(spec.model_copy(update={"paired_with": "pomdr"}), {}, {}, "x")
    assert number.value == pytest.approx(2 * scipy.stats.t.sf(abs(t), len(gains) - 1))
    assert number.text == f"{number.value:.2g}" == "0.16"
    shown = Evidence(RESULTS).number(spec.model_copy(update={"digits": 3}), {}, {}, "x").text
    assert shown == f"{100 * np.mean(list(errors['ahpatron'].values())):.3g}%"
    with pytest.raises(InputError, match="no two different runs on several streams to compare"):
        Evidence(RESULTS).number(spec.model_copy(update={"paired_with": "ahpatron"}), {}, {}, "x")


def test_a_contradiction_is_one_sentence_and_exit_code_1(tmp_path, monkeypatch):
    found = judged_by(tmp_path, "confirmed", "gap < 5e-5")
    said = "small, one: the results say partly, but the claim states confirmed; the condition does not hold for: web"
    assert found.contradictions == [said]
    assert found.summary == "1 claim: 0 confirmed, 0 refuted, 1 partly, 0 open"
    monkeypatch.setattr("budgetrun.papers.verdicts.verdicts.load_claims", lambda _: load_claims(tmp_path / "claims"))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mpu_table1").symlink_to(RESULTS / "mpu_table1")
    ran = CliRunner().invoke(main, ["verdicts", "--results", str(tmp_path / "results")])
    assert ran.exit_code == 1
    assert ran.stderr == f"{found.contradictions[0]}\n"
    assert ran.stdout.endswith(f"{found.summary}\n")
    assert found.contradictions[0] in (tmp_path / "results" / "verdicts" / "verdicts.html").read_text()


def test_missing_results_are_one_sentence(tmp_path):
    ran = CliRunner().invoke(main, ["verdicts", "--results", str(tmp_path / "none")])
    said = f"{tmp_path / 'none'}: no such folder; name one with results folders: budgetrun verdicts --results DIR\n"
    assert (ran.exit_code, ran.stderr) == (2, said)
    ran = CliRunner().invoke(main, ["verdicts", "--results", str(tmp_path)])
    assert ran.exit_code == 2
    said = rf"{tmp_path}/\w+: no such results folder; make one first: budgetrun sweep CONFIG\n"
    assert re.fullmatch(said, ran.stderr)


A9A = {"dataset": "a9a"}
OTHER = {"label": "projectron++", "dataset": "a9a", "results": "projectron_fig8"}
MISSING = [
    ({"label": "perceptron"}, "x: no run in {0}6 has label perceptron, quantity online_error"),
    (A9A | {"label": "rbp", "budget_fraction": 0.5},
     "x: no run in {0}6 has dataset a9a, label rbp, budget_fraction 0.5, quantity online_error"),
    (A9A | {"label": "rbp", "quantity": "size"}, "{0}6/runs.csv: no column 'size'"),
    (OTHER, "x: 7 averages in {0}8 have dataset a9a, label projectron++, quantity online_error"),
    (A9A | {"label": "rbp", "published": "fig6_support"},
     "x: table 'fig6_support' of {0}6 has no published number for it"),
    (OTHER | {"chosen_in": "fig9"}, "{0}8: no table 'fig9' that chooses a setting"),
    (A9A | {"label": "rbp", "errs_less_than": "none"}, "x: no two runs with a full budget to compare in {0}6"),
    ({"formula": "1 / (2 - 2)"}, "x: '1 / (2 - 2)' is not a real number for {{}}"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "told"), MISSING)
def test_numbers_that_select_nothing(number, told):
    given = {} if "formula" in number or "results" in number else {"results": "projectron_fig6"}
    said = message(Evidence(RESULTS).number, NumberSpec(**number), given, {}, "x")
    assert said == told.format(RESULTS / "projectron_fig")


def test_bounds_that_cannot_be_read(tmp_path):
    (tmp_path / "a").mkdir()
    spec = NumberSpec(results="a", theorem="T")
    for text, why in ((None, "not readable"), ("dataset,label\n", "no column theorem, mistakes")):
        if text is not None:
            (tmp_path / "a" / "bounds.csv").write_text(text)
        with pytest.raises(InputError, match=rf"bounds\.csv: {why}.*; make it again: budgetrun bounds {tmp_path}/a$"):
            Evidence(tmp_path).number(spec, {}, {}, "x")
    # Of two that are there, that which is not compressed was written later.
    (tmp_path / "a" / "bounds.csv.gz").write_bytes(gzip.compress((",".join(_OF_BOUNDS) + "\n").encode()))
    raises(InputError, r"bounds\.csv: no column", Evidence(tmp_path).number, spec, {}, {}, "x")
    with pytest.raises(InputError, match=r"meets the conditions of T$"):
        Evidence(RESULTS).number(NumberSpec(results="sutskever_bounds", theorem="T"), {}, {}, "x")
