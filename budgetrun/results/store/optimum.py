"""The gap between runs and the optimum, which lies between the largest lower bound and the smallest objective."""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

# The parameters that say what is minimized; all others say how.
OF_PROBLEM = ("C", "rho", "hard_margin")
# Two sums of up to a million terms may differ by this much, relative to them.
ROUNDING = 1e-9


class Problem(NamedTuple):
    """A stream, kernel and parameters (as text), which determine the function that is minimized."""

    dataset: str
    task: str
    repetition: int
    kernel: str
    parameters: str


class Bracket(NamedTuple):
    """The interval that contains the optimum of a problem, from all of its runs."""

    lower: float  # the largest lower bound; NaN if there is none
    upper: float  # the smallest objective
    lower_label: str  # the algorithm that found the lower bound
    upper_label: str
    # The labels whose gap is above the accuracy that was asked of them, each with a clause that says why.
    beyond: tuple[tuple[str, str], ...] = ()

    @property
    def base(self) -> float:
        """The base of all gaps: the lower bound, so that no gap is too small; without one, the smallest objective."""
        return self.upper if math.isnan(self.lower) else self.lower

    @property
    def width(self) -> float:
        """Largest distance of the optimum from the lower bound, relative to it; NaN without one."""
        return self.upper / self.lower - 1

    def text(self, title: Callable[[str], str] = str) -> str:
        """Return in words where the optimum lies."""
        low, high = title(self.lower_label), title(self.upper_label)
        lower, upper = f"{self.lower:.9g}", f"{self.upper:.9g}"
        if math.isnan(self.lower):
            return f"no lower bound is known, so gaps are relative to the smallest objective, {upper} ({high})"
        if self.width < -ROUNDING:
            above = f"is above the smallest objective, {upper} ({high}): one of the two is wrong"
            return f"the largest lower bound, {lower} ({low}), {above}"
        wide = f"{max(self.width, 0.0):.1e} wide"
        return f"the optimum lies in [{lower}, {upper}], {wide} (lower bound: {low}; objective: {high})"


def with_gaps(runs: pd.DataFrame) -> tuple[pd.DataFrame, dict[Problem, Bracket]]:
    """Return finished runs with a column ``gap_to_best``, and the bracket of each problem.

    The gap is objective / lower bound - 1 with the largest lower bound of the problem, so it is at least the true one.
    """
    gaps = pd.Series(np.nan, index=runs.index)
    brackets: dict[Problem, Bracket] = {}
    solved = runs[runs["objective"].notna()]
    # Many runs share one text of parameters.
    texts = {text: problem_of(text) for text in solved["parameters"].unique()}
    keys = ["dataset", "task", "repetition", "kernel", "problem"]
    key: Any
    for key, group in solved.assign(problem=solved["parameters"].map(texts)).groupby(keys, sort=False):
        bracket = brackets[Problem(*key)] = _bracket(group)
        gaps[group.index] = group["objective"] / bracket.base - 1
    return runs.assign(gap_to_best=gaps), brackets


def notes(brackets: dict[Problem, Bracket], datasets: Iterable[str], title: Callable[[str], str] = str) -> list[str]:
    """Return sentences on each problem of some datasets; ``title`` returns the title of a label."""
    sentences = []
    for dataset in datasets:
        own = {problem: bracket for problem, bracket in brackets.items() if problem.dataset == dataset}
        varying = [i for i in range(1, 5) if len({problem[i] for problem in own}) > 1]
        words = ("", "task ", "repetition ", "", "")
        for problem, bracket in own.items():
            details = ", ".join(f"{words[i]}{problem[i]}" for i in varying)
            where = f"{title(dataset)} ({details})" if details else title(dataset)
            beyond = (f"{title(label)} {clause}" for label, clause in bracket.beyond)
            sentences += [f"{where}: {clause}." for clause in (bracket.text(title), *beyond)]
    return sentences


def problem_of(text: str) -> str:
    """Return those of a run's parameters, JSON, that say what is minimized, such as ``C=1``."""
    parameters = json.loads(text or "{}")
    if parameters.get("hard_margin"):
        parameters.pop("C", None)
    known = {key: parameters[key] for key in OF_PROBLEM if parameters.get(key) not in (None, 0, False)}
    # A value typed as a formula comes with it.
    values = {key: value["value"] if isinstance(value, dict) else value for key, value in known.items()}
    return ", ".join(f"{key}={value:g}" for key, value in values.items())


def _bracket(runs: pd.DataFrame) -> Bracket:
    best = runs.iloc[int(runs["objective"].argmin())]
    bounded = runs[runs["lower_bound"] > 0]
    if not len(bounded):
        return Bracket(math.nan, float(best["objective"]), "", str(best["label"]))
    highest = bounded.iloc[int(bounded["lower_bound"].argmax())]
    lower = float(highest["lower_bound"])
    clauses = ((str(run["label"]), _beyond(run, run["objective"] / lower - 1)) for _, run in runs.iterrows())
    beyond = tuple(dict.fromkeys((label, clause) for label, clause in clauses if clause))
    return Bracket(lower, float(best["objective"]), str(highest["label"]), str(best["label"]), beyond)


def _beyond(run: pd.Series, gap: float) -> str:
    """Return a clause if a run's gap is above its accuracy; a run with a target stops at that instead."""
    parameters = json.loads(run["parameters"] or "{}")
    accuracy = parameters.get("accuracy")
    if accuracy is None or parameters.get("target") is not None or gap <= accuracy:
        return ""
    if run["error"]:
        # Tables list what stopped early, and why.
        why = "it stopped early, see below"
    elif math.isnan(run["lower_bound"]):
        why = "it has no lower bound of its own to stop by"
    elif run["gap"] > accuracy:
        why = "it ran until nothing changed"
    else:
        why = "its own lower bound let it stop"
    return f"is known to be within {gap:.1e} of the optimum, not within {accuracy:g}; {why}"
