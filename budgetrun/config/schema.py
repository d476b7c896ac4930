"""Configs: one YAML file a table or figure, checked as a whole before anything runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from budgetrun.config.problems import nearest
from budgetrun.errors import InputError
from budgetrun.store.columns import QuantityName

if TYPE_CHECKING:
    from budgetrun.kernels import Kernel

Text = Annotated[str, Field(min_length=1)]
FileName = Annotated[
    str, Field(pattern=r"^[a-z0-9_-]+$", description="a name made of lower-case letters, digits, '_' and '-'")
]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Label = int | float | str
Seeds = Count | Literal["by_repetition"]
Quantity = QuantityName


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KernelSpec(_Spec):
    """A kernel by name: ``{name: gaussian, gamma: 0.78}``.

    Attributes
    ----------
    name : str
    parameters : dict
        What its class takes, as given.
    """

    name: str
    parameters: dict[str, Any] = {}

    def build(self) -> Kernel:
        """Return the kernel itself."""
        # kernels.py needs scipy, which `budgetrun --help` does without.
        from budgetrun import kernels

        return kernels.make(self.name, **self.parameters)


class DatasetSpec(_Spec):
    """One stream, or a family of them.

    Attributes
    ----------
    name : str
        Of a card in ``datasets/``; any name for a file of the user's own.
    label : str
        What results call it, unique in a config; the name by default.
    path : Path or None
        The user's own file.
    task : {"binary", "equal_splits", "multiclass"}
        ``multiclass`` leaves the labels as they are; a config's datasets are all so, or none is.
    parts : tuple of str or None
        Which parts of a card, in order; None for the card's own choice.
    scale : {"none", "unit_norm", "minmax", "standard"}
    order : {"permuted", "file"}
    balanced : bool
        A random subset with as many of the larger class as there are of the smaller.
    noise : float in [0, 0.5]
        Labels are flipped independently with this probability.
    positive : label, tuple of labels or None
        The labels that become +1; None for the larger of two, or the card's own choice.
    n_examples : int, >= 1, or None
        At most so many: the first after balancing and permuting.
    options : dict
        Of a generated dataset.
    repetitions : int, >= 1, or None
        None for the config's; `load` fills it in.
    kernel : KernelSpec or None
        None for the config's; `load` fills it in.
    test : tuple of str or None
        The parts of a card on which hypotheses are tested after the last round.
    test_path : Path or None
        The same for a user's own file.
    optional : bool
        Where its files are not to be had, its runs are left out, and nothing else is wrong.
    typed_path, typed_test_path : str or None
        ``path`` and ``test_path`` as the config has them; they may be relative to the config's folder.
    """

    name: Text
    label: Text = Field(default="", validate_default=True)
    path: Path | None = None
    task: Literal["binary", "equal_splits", "multiclass"] = "binary"
    parts: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    scale: Literal["none", "unit_norm", "minmax", "standard"] = "none"
    order: Literal["permuted", "file"] = "permuted"
    balanced: bool = False
    noise: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    positive: Label | tuple[Label, ...] | None = None
    n_examples: Count | None = None
    options: dict[str, Any] = {}
    repetitions: Count | None = None
    kernel: KernelSpec | None = None
    test: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    test_path: Path | None = None
    optional: bool = False
    typed_path: str | None = Field(default=None, exclude=True)
    typed_test_path: str | None = Field(default=None, exclude=True)

    @field_validator("label", mode="before")
    @classmethod
    def _default_label(cls, label: Any, info: Any) -> Any:
        return label or info.data.get("name", "")

    @property
    def has_test(self) -> bool:
        """Whether hypotheses are tested after the last round."""
        return self.test is not None or self.test_path is not None


class FractionBudget(_Spec):
    """Budgets as fractions of how many examples another learner holds after the last round of the same stream.

    Attributes
    ----------
    of : str
        That learner's label; the Perceptron holds as many as it made mistakes.
    fractions : tuple of float, > 0
    """

    of: Text
    fractions: Annotated[tuple[Positive, ...], Field(min_length=1)] = (1.0,)


class ByDataset(_Spec):
    """Values of a parameter or budget that differ from dataset to dataset.

    Attributes
    ----------
    by_dataset : dict of str to tuple
        A dataset's label -> what is swept over there, one value or more. Every dataset of the config is in it.
    """

    by_dataset: dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class RunSpec:
    """One learner or solver with one setting.

    Attributes
    ----------
    label, name : str
    variant : str or None
    parameters : dict
        What the learner is built with, defaults included, but for ``budget`` and ``seed``.
    budget : int, >= 1, or None
        B; None for a learner without one, or where it is a fraction.
    budget_fraction : float, > 0, or None
        B as a fraction of the final support size of another learner's run.
    seed : int, >= 0
        The learner's own; 0 for one that does not draw.
    budget_of : str or None
        The label of that other learner.
    budget_setting : dict
        Which of its settings: the values of what it sweeps over, ``budget`` included; empty if it has one alone.
    setting : dict
        What tells the run from others of its label on the same dataset, as typed and in the order of the config: the
        values of what is swept, the budget aside, then those of ``budget_setting``, with that label before a name that
        both have.
    multiclass : bool
        Whether the learner is the one for several classes.
    solver : bool
        Whether it is a batch solver (`budgetrun.solvers`) and no learner.
    typed : dict of str to str
        The parameters that were typed as formulas in T, the number of rounds, once ``parameters`` has their numbers.
    """

    label: str
    name: str
    variant: str | None
    parameters: dict[str, Any]
    budget: int | None
    budget_fraction: float | None
    seed: int
    budget_of: str | None = None
    budget_setting: dict[str, Any] = field(default_factory=dict)
    setting: dict[str, Any] = field(default_factory=dict, compare=False)
    multiclass: bool = False
    solver: bool = False
    typed: dict[str, str] = field(default_factory=dict)


class AlgorithmSpec(_Spec):
    """A learner or solver and the settings to sweep over.

    Attributes
    ----------
    name : str
    variant : str or None
        Filled in where the name has variants.
    label : str
        Unique in a config; by default the name, or ``name(variant)``.
    seeds : int, >= 1, or "by_repetition"
        How many seeds: 0, 1, ...; or one in each repetition, its number.
    budget : tuple of int, FractionBudget, ByDataset or None
    parameters : dict of str to tuple or ByDataset
        The values to sweep over, of every parameter but ``budget`` and ``seed``, in the order of the learner's page.
        Text where the learner takes a number is a formula in T (`budgetrun.config.formulas`).
    solver : bool
        Whether it is a batch solver; a config's algorithms all are, or none is.
    """

    name: str
    variant: str | None = None
    label: str
    seeds: Seeds = 1
    budget: FractionBudget | ByDataset | tuple[int | None, ...] | None = None
    parameters: dict[str, tuple[Any, ...] | ByDataset] = {}
    solver: bool = False

    @property
    def by_dataset(self) -> dict[str, ByDataset]:
        """What differs from dataset to dataset: parameters, and the budget under ``budget``."""
        every = self.parameters | {"budget": self.budget}
        return {name: values for name, values in every.items() if isinstance(values, ByDataset)}

    def on(self, dataset: str) -> AlgorithmSpec:
        """Return the same with the values that the dataset of this label has; the rest of the class needs it so."""
        chosen: dict[str, Any] = {name: values.by_dataset[dataset] for name, values in self.by_dataset.items()}
        if not chosen:
            return self
        budget = chosen.pop("budget", self.budget)
        return self.model_copy(update={"budget": budget, "parameters": self.parameters | chosen})

    @property
    def _values(self) -> dict[str, tuple[Any, ...]]:
        return cast("dict[str, tuple[Any, ...]]", self.parameters)

    @property
    def swept(self) -> tuple[str, ...]:
        """The parameters with more than one value; ``budget`` is not among them."""
        return tuple(name for name, values in self._values.items() if len(values) > 1)

    def expand(self, source: AlgorithmSpec | None = None) -> Iterator[RunSpec]:
        """Yield every combination of values: parameters vary slowest, then the budget, seeds fastest.

        Seeds by repetition are those of the first one.

        Parameters
        ----------
        source : AlgorithmSpec or None
            The one that the budget is a fraction of: each of its settings gives budgets of their own.
        """
        budgets: list[dict[str, Any]]
        if isinstance(self.budget, FractionBudget):
            settings = source.settings() if source else [{}]
            budgets = [
                {"budget": None, "budget_fraction": fraction, "budget_of": self.budget.of, "budget_setting": setting}
                for setting, fraction in itertools.product(settings, self.budget.fractions)
            ]
        else:
            typed = cast("tuple[int | None, ...] | None", self.budget)
            budgets = [{"budget": budget, "budget_fraction": None} for budget in typed or (None,)]
        for values in itertools.product(*self._values.values()):
            n_seeds = 1 if self.seeds == "by_repetition" else self.seeds
            for budget, seed in itertools.product(budgets, range(n_seeds)):
                parameters = dict(zip(self.parameters, values, strict=True))
                setting = {name: parameters[name] for name in self.swept}
                for name, value in budget.get("budget_setting", {}).items():
                    setting[f"{budget['budget_of']}.{name}" if name in setting else name] = value
                yield RunSpec(
                    self.label,
                    self.name,
                    self.variant,
                    parameters,
                    **budget,
                    seed=seed,
                    setting=setting,
                    solver=self.solver,
                )

    def settings(self) -> list[dict[str, Any]]:
        """Return what tells each of the settings from the others, the budget included and the seed not."""
        return list({json.dumps(setting): setting for setting in map(self.setting, self.expand())}.values())

    def setting(self, spec: RunSpec) -> dict[str, Any]:
        """Return what tells the setting of one of the runs from those of the others, formulas as typed."""
        chosen = {name: spec.typed.get(name, spec.parameters[name]) for name in self.swept}
        several = isinstance(self.budget, tuple) and len(self.budget) > 1
        return chosen | ({"budget": spec.budget} if several else {})


class ChooseSpec(_Spec):
    """How a table chooses among an algorithm's settings, for each dataset and budget on its own.

    Attributes
    ----------
    by : {"online_error", "prefix", "printed"}
        The lowest mean online error, which is hindsight; for each stream the fewest mistakes in its first tenth, scored
        on the rest; or the mean of ``quantity`` that is nearest to the printed one.
    quantity : {"margin_updates", "support_size"} or None
        With ``printed``.
    expected : str or None
        With ``printed``: the file of its printed numbers, as typed.
    expected_rows : tuple of dict
        As in `TableSpec`.
    """

    by: Literal["online_error", "prefix", "printed"]
    quantity: Literal["margin_updates", "support_size"] | None = None
    expected: Text | None = None
    expected_rows: tuple[dict[str, Any], ...] = Field(default=(), exclude=True)


class TableSpec(_Spec):
    """A table of the report.

    Attributes
    ----------
    name : str
    caption : str or None
    expected : str or None
        The file of the printed numbers, as typed: relative to the config's folder.
    columns, rows : tuple of str or None
        Labels of algorithms and of datasets, in order; None for all.
    quantity : Quantity
        What is shown; errors in percent. ``objective`` and ``gap`` (to the best known optimum) are of solvers.
    choose : ChooseSpec or None
        How to choose among settings; None shows all of them.
    relative_to : str or None
        The algorithm by whose ratio, ours / printed, the others' are also divided; with ``seconds_ratio`` the one whose
        seconds, ours and printed, the others' are divided by.
    tolerance : float, > 0, or None
        The relative difference from the print above which a cell is listed; None leaves it to ``tolerance_sd``.
    tolerance_sd : float, > 0, or None
        The same in printed standard deviations, where the print has one.
    aliases : dict of str to str
        Label or dataset -> the one in ``expected`` to compare it with.
    expected_rows : tuple of dict
        ``dataset``, ``label``, ``budget`` (int or None), ``budget_fraction`` (float or None), ``setting`` (str or
        None), ``value`` (float) and, where printed, ``sd`` (float) of each printed number; online errors stand under
        ``online_error_percent``, too.
    """

    name: FileName
    caption: Text | None = None
    expected: Text | None = None
    columns: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    rows: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    quantity: Quantity = "online_error"
    choose: ChooseSpec | None = None
    relative_to: str | None = None
    tolerance: Positive | None = 0.05
    tolerance_sd: Positive | None = None
    aliases: dict[str, str] = {}
    expected_rows: tuple[dict[str, Any], ...] = Field(default=(), exclude=True)


class FigureSpec(_Spec):
    """A figure of the report, on one dataset.

    Attributes
    ----------
    name : str
    title : str or None
    dataset : str
        Its label.
    lines : tuple of str
        Labels of algorithms, a line each.
    point : str or None
        The algorithm shown as a single point.
    band : tuple of str
        Algorithms whose range over seeds is shaded.
    x : {"budget", "budget_fraction", "rounds", "support_size", "seconds"}
        ``seconds`` is of solvers.
    y : {"online_error", "support_size", "test_error", "last_test_error", "gap"}
    log_x : bool or None
        Whether the horizontal axis is logarithmic; None leaves it to the figure.
    """

    name: FileName
    title: Text | None = None
    dataset: str
    lines: Annotated[tuple[str, ...], Field(min_length=1)]
    point: str | None = None
    band: tuple[str, ...] = ()
    x: Literal["budget", "budget_fraction", "rounds", "support_size", "seconds"] = "budget"
    y: Literal["online_error", "support_size", "test_error", "last_test_error", "gap"] = "online_error"
    log_x: bool | None = None


class FindingSpec(_Spec):
    """What is known of some cells; a selector left out chooses all.

    Attributes
    ----------
    dataset, label : str, tuple of str or None
    budget : int, tuple of int or None
    budget_fraction : float, tuple of float or None
    setting : str, tuple of str or None
        As `setting_text` writes it, e.g. ``eta=0.1``.
    text : str
    """

    dataset: str | tuple[str, ...] | None = None
    label: str | tuple[str, ...] | None = None
    budget: Count | tuple[Count, ...] | None = None
    budget_fraction: Positive | tuple[Positive, ...] | None = None
    setting: Text | tuple[Text, ...] | None = None
    text: Text


class ReportSpec(_Spec):
    """What the report shows beside the runs themselves."""

    tables: tuple[TableSpec, ...] = ()
    figures: tuple[FigureSpec, ...] = ()
    choices: tuple[Text, ...] = ()
    findings: tuple[FindingSpec, ...] = ()


class Profile(_Spec):
    """Caps for a shorter run: at most so many of each; None for no cap."""

    n_examples: Count | None = None
    tasks: Count | None = None
    repetitions: Count | None = None
    seeds: Count | None = None


class Config(_Spec):
    """A checked config.

    Attributes
    ----------
    name : str
        The results folder.
    source, description : str
    seed : int, >= 0
        Everything random about the streams depends on it.
    datasets : tuple of DatasetSpec
        Each with its own ``kernel`` and ``repetitions``, the config's filled in.
    kernel : KernelSpec or None
    tie : {"mistake", "positive"}
        What a score of exactly 0 is.
    dtype : {"float64", "float32"}
    repetitions : int, >= 1
    alone : bool
        Every run has a job of its own, as solvers always have: learners of a stream then share no kernel values, and
        their seconds can be compared.
    algorithms : tuple of AlgorithmSpec
    report : ReportSpec
    profiles : dict of str to Profile
        As typed; the chosen one has been applied.
    profile : str
        The chosen one; ``full`` is the whole config.
    tasks : int, >= 1, or None
        The profile's cap on the tasks of a dataset.
    file, text : str
        Where the config was read, as typed, and what it says; empty in one read back from a manifest.
    """

    name: FileName
    source: str = ""
    description: str = ""
    seed: Annotated[int, Field(ge=0)] = 0
    datasets: tuple[DatasetSpec, ...]
    kernel: KernelSpec | None = None
    tie: Literal["mistake", "positive"] = "mistake"
    dtype: Literal["float64", "float32"] = "float64"
    repetitions: Count = 1
    alone: bool = False
    algorithms: tuple[AlgorithmSpec, ...]
    report: ReportSpec = ReportSpec()
    profiles: dict[str, Profile] = {}
    profile: str = "full"
    tasks: int | None = None
    file: str = Field(default="", exclude=True)
    text: str = Field(default="", exclude=True)

    @model_validator(mode="after")
    def _is_whole(self) -> Config:
        # The reader has better sentences; these are for manifests.
        labels = {algorithm.label for algorithm in self.algorithms}
        for algorithm in self.algorithms:
            if isinstance(algorithm.budget, FractionBudget) and algorithm.budget.of not in labels:
                raise ValueError(f"budget of {algorithm.label!r}: no algorithm has the label {algorithm.budget.of!r}")
            for name, values in algorithm.by_dataset.items():
                for dataset in self.datasets:
                    if dataset.label not in values.by_dataset:
                        raise ValueError(f"{name} of {algorithm.label!r}: no value for dataset {dataset.label!r}")
        return self

    @property
    def multiclass(self) -> bool:
        """Whether the tasks have several classes: all of a config's, or none."""
        return any(dataset.task == "multiclass" for dataset in self.datasets)

    @property
    def solvers(self) -> bool:
        """Whether the algorithms are batch solvers: all of a config's, or none."""
        return any(algorithm.solver for algorithm in self.algorithms)

    @property
    def timed(self) -> bool:
        """Whether seconds are compared, so that each run has a job of its own and one is made at a time."""
        return self.alone or self.solvers

    def on(self, dataset: str) -> dict[str, AlgorithmSpec]:
        """Return every algorithm, by label, with the values that the dataset of this label has."""
        return {algorithm.label: algorithm.on(dataset) for algorithm in self.algorithms}

    def expand(self, dataset: str | None = None) -> Iterator[RunSpec]:
        """Yield every algorithm with every setting on a dataset, in the order of the config; None for the first one."""
        by_label = self.on(self.datasets[0].label if dataset is None else dataset)
        for algorithm in by_label.values():
            of = algorithm.budget.of if isinstance(algorithm.budget, FractionBudget) else None
            for spec in algorithm.expand(by_label[of] if of else None):
                yield replace(spec, multiclass=self.multiclass)

    def resolved(self) -> dict[str, Any]:
        """Return the config as plain JSON, defaults filled in, paths as typed; printed numbers are not part of it."""
        data = self.model_dump(mode="json")
        for entry, dataset in zip(data["datasets"], self.datasets, strict=True):
            entry["path"] = dataset.typed_path or entry["path"]
            entry["test_path"] = dataset.typed_test_path or entry["test_path"]
        return data

    @classmethod
    def from_resolved(cls, data: dict[str, Any]) -> Config:
        """Return the config that `resolved` gave; its files are not looked for."""
        return cls.model_validate_json(json.dumps(data))

    def apply_profile(self, name: str) -> Config:
        """Return the config under the caps of one of its profiles.

        Raises
        ------
        InputError
            The config has no such profile.
        """
        if name == "full":
            return self
        if name not in self.profiles:
            known = ["full", *self.profiles]
            listed = f"  (allowed: {', '.join(known)})"
            raise InputError(f"{self.file}: unknown profile {name!r}{nearest(name, known)}{listed}")
        caps = self.profiles[name]

        def capped(dataset: DatasetSpec) -> DatasetSpec:
            n_examples = _at_most(dataset.n_examples, caps.n_examples)
            repetitions = _at_most(dataset.repetitions, caps.repetitions)
            return dataset.model_copy(update={"n_examples": n_examples, "repetitions": repetitions})

        def with_seeds(algorithm: AlgorithmSpec) -> AlgorithmSpec:
            if algorithm.seeds == "by_repetition":
                return algorithm
            return algorithm.model_copy(update={"seeds": _at_most(algorithm.seeds, caps.seeds)})

        return self.model_copy(
            update={
                "profile": name,
                "tasks": caps.tasks,
                "repetitions": _at_most(self.repetitions, caps.repetitions),
                "datasets": tuple(map(capped, self.datasets)),
                "algorithms": tuple(map(with_seeds, self.algorithms)),
            }
        )


def setting_text(parameters: dict[str, Any]) -> str:
    """Return values of parameters as tables and figures show them, e.g. ``eta=0.1, C=2``."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in parameters.items())


def value_text(value: Any) -> str:
    """Return one value as `setting_text` shows it."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:g}"
        case list() | tuple():
            return f"[{', '.join(map(value_text, value))}]"
    return str(value)


def _at_most(value: int | None, cap: int | None) -> int | None:
    known = [number for number in (value, cap) if number is not None]
    return min(known, default=None)
