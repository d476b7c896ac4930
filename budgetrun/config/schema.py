"""The parts of a checked config, as frozen models: what a config file says, with defaults filled in."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from budgetrun.base.errors import InputError
from budgetrun.base.params import Count, Positive, Seed, Task
from budgetrun.base.problem import METRICS_IN_CURVES, Problem, problem_of
from budgetrun.config.problems import FileName, Name, Text, allowed_names, nearest
from budgetrun.config.quantities import IN_FIGURES, METRICS, MetricName, QuantityName

if TYPE_CHECKING:
    from budgetrun.kernels import Kernel


AUTO = "auto"  # a gamma that the data decide on: see `budgetrun.data.streams`
MOST_RUNS = 2_000_000  # the most runs of a config: a plan of so many takes about 1.5 GB
Label = int | float | str
# A share of a support size; the limit keeps budgets to numbers that can be computed with.
Fraction = Annotated[Positive, Field(le=1e6)]
Seeds = Count | Literal["by_repetition"]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]

_AT_THE_END = ("online_error", "test_error", "last_test_error", *METRICS, "rmse")
# For each horizontal axis of a figure, what it can show; the first is the default.
FIGURE_AXES: dict[str, tuple[str, ...]] = {
    "budget": _AT_THE_END,
    "budget_fraction": _AT_THE_END,
    "rounds": ("online_error", "windowed_error", "rmse", "windowed_rmse", "support_size", *METRICS_IN_CURVES),
    "support_size": _AT_THE_END,
    "seconds": ("gap",),
}
# The names that configs may give, as a `Literal` for pydantic.
if TYPE_CHECKING:
    FigureX = str
    FigureY = str
else:
    FigureX = Literal[tuple(FIGURE_AXES)]
    FigureY = Literal[tuple(name for name in IN_FIGURES if any(name in shown for shown in FIGURE_AXES.values()))]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KernelSpec(_Spec):
    """A kernel by name: ``{name: gaussian, gamma: 0.78}``."""

    name: str
    parameters: dict[str, Any] = {}  # as given: a list is a sweep over its values, and a gamma may be `AUTO`

    @cached_property
    def text(self) -> str:
        """The kernel as text, different for different kernels."""
        return f"{self.name} {json.dumps(self.parameters)}"

    @property
    def swept(self) -> dict[str, list[Any]]:
        """The parameters with several values."""
        return {name: value for name, value in self.parameters.items() if isinstance(value, list)}

    @property
    def _values(self) -> dict[str, list[Any]]:
        return {name: value if isinstance(value, list) else [value] for name, value in self.parameters.items()}

    @property
    def is_auto(self) -> bool:
        """True if the data decide on a value."""
        return any(AUTO in values for values in self._values.values())

    def each(self, median: float | None = None) -> list[tuple[KernelSpec, dict[str, Any]]]:
        """Return a kernel for each combination of values, with these as typed; a median takes the place of `AUTO`."""
        found = []
        for typed in _combinations(self._values):
            numbers = {name: median if value == AUTO and median is not None else value for name, value in typed.items()}
            found.append((KernelSpec(name=self.name, parameters=numbers), typed))
        return found

    def build(self) -> Kernel:
        """Return the kernel itself, which has one value of each parameter."""
        # Imported here because it imports scipy, which `budgetrun --help` does not need.
        from budgetrun import kernels

        return kernels.make(self.name, **self.parameters)


class DatasetSpec(_Spec):
    """A dataset and how its streams are made."""

    name: Name  # the name of a card in ``datasets/``, or any name if ``path`` is given
    label: Name = Field(default="", validate_default=True)  # in results, unique in a config; ``name`` by default
    path: Path | None = None  # a file of the user
    # ``multiclass`` and ``regression`` leave labels unchanged; a config's datasets are all of one of them, or none is.
    task: Literal["binary", "equal_splits", "multiclass", "regression"] = "binary"
    parts: Texts | None = None  # the parts of a card to read, in order; None for the card's default
    scale: Literal["none", "unit_norm", "minmax", "standard", "running"] = "none"
    order: Literal["permuted", "file"] = "permuted"  # of a file of the user ``file``: it is not shuffled unless asked
    balanced: bool = False  # use a random subset with equally many examples of both classes
    noise: Annotated[float, Field(ge=0, le=0.5)] = 0.0  # the probability that a label is flipped, independently
    positive: Label | tuple[Label, ...] | None = None  # become +1; None for the larger of two, or the card's default
    n_examples: Count | None = None  # the most examples to use: the first ones after balancing and permuting
    options: dict[str, Any] = {}  # arguments of a generated dataset
    repetitions: Count | None = None  # None for the config's value, which `load` fills in
    kernel: KernelSpec | None = None  # None for the config's kernel, which `load` fills in
    test: Texts | None = None  # the parts of a card on which hypotheses are tested after the last round
    test_path: Path | None = None  # a test file of the user, to go with ``path``
    optional: bool = False  # skip the runs of this dataset, without an error, if its files are missing
    label_column: Text | int = "first"  # in a file of the user: ``first``, ``last``, a name, or a number from 1
    # For missing values in a file of the user: an error, leave the row out, read 0, or fill them.
    missing: Literal["refuse", "skip", "zero", "fill"] = "refuse"
    # ``path`` and ``test_path`` as typed in the config, possibly relative to the config's folder.
    typed_path: str | None = Field(default=None, exclude=True)
    typed_test_path: str | None = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _own_in_file_order(cls, data: Any) -> Any:
        own = isinstance(data, dict) and data.get("path") is not None
        # As a path, a URL loses a slash.
        return {"order": "file", "typed_path": str(data["path"]), **data} if own else data

    @field_validator("label", mode="before")
    @classmethod
    def _default_label(cls, label: Any, info: Any) -> Any:
        return label or info.data.get("name", "")

    @property
    def has_test(self) -> bool:
        """True if hypotheses are tested after the last round."""
        return self.test is not None or self.test_path is not None


class FractionBudget(_Spec):
    """Budgets as fractions of the number of examples that another learner holds after the last round of the stream."""

    of: Text  # The label of that learner. The Perceptron holds one example per mistake.
    fractions: Annotated[tuple[Fraction, ...], Field(min_length=1)] = (1.0,)


class MemoryBudget(_Spec):
    """Budgets in bytes: for each dataset, the largest one with which the learner keeps at most so much."""

    learner_memory: Annotated[tuple[Count, ...], Field(min_length=1)]


class ByDataset(_Spec):
    """Values of a parameter or budget that differ between datasets."""

    # Label of a dataset -> the values to sweep over, at least one. Every dataset of the config is included.
    by_dataset: dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class RunSpec:
    """One algorithm with one value of each parameter."""

    label: str
    name: str
    variant: str | None
    parameters: dict[str, Any]  # the arguments of its class, defaults included, except ``budget`` and ``seed``
    budget: int | None = None  # B, at least 1; None for a learner without a budget, or while the budget is a fraction
    budget_fraction: float | None = None  # B as a fraction, above 0, of the final support size of another learner's run
    seed: int = 0  # the learner's own seed; 0 for a learner that draws nothing
    budget_of: str | None = None  # the label of that other learner
    # The run of that learner: its swept values, ``budget`` included; empty if it has only one.
    budget_setting: dict[str, Any] = field(default_factory=dict)
    # The difference from other runs with the same label and dataset, as typed and in the order of the config: the swept
    # values of the kernel, then those of the algorithm without the budget, then those of ``budget_setting``. Where the
    # last two have a name in common, the latter is written ``label.name``.
    setting: dict[str, Any] = field(default_factory=dict, compare=False)
    task: Task = "binary"
    kind: str = ""  # the kind of run (`budgetrun.config.kinds`); empty for an online learner
    # The text typed in place of a number that the data decide on: formulas in T, the number of rounds, whose values are
    # in ``parameters``, and `AUTO`, whose value is in ``kernel``.
    typed: dict[str, str] = field(default_factory=dict)
    learner_memory: int | None = None  # the most bytes that the learner keeps, if these decide on the budget
    kernel: KernelSpec | None = None  # with one value of each parameter; None before the dataset is known

    def build(self, algorithm: Any) -> Any:
        """Return the algorithm itself, given its class; a ValueError says which parameters do not go together."""
        budget = {} if self.budget is None else {"budget": self.budget}
        seed = {"seed": self.seed} if algorithm.draws else {}
        return algorithm(**self.parameters, **budget, **seed)


class AlgorithmSpec(_Spec):
    """An algorithm and the values to sweep over."""

    name: str
    variant: str | None = None  # filled in if the name has variants
    label: str  # unique in a config; by default the name, or ``name(variant)``
    seeds: Seeds = 1  # the number of seeds (0, 1, ...), or one seed per repetition, equal to its number
    budget: FractionBudget | MemoryBudget | ByDataset | tuple[int | None, ...] | None = None
    # The values of every parameter except ``budget`` and ``seed``, in the order of the learner's page. A text for a
    # parameter that is a number is a formula in T (`budgetrun.config.kinds`).
    parameters: dict[str, tuple[Any, ...] | ByDataset] = {}
    # The kind of run, the same for all algorithms of a config (`budgetrun.config.kinds`); empty for online learners.
    kind: str = Field(default="", exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _kind_of_manifests(cls, data: Any) -> Any:
        if isinstance(data, dict) and "solver" in data:
            return {"kind": "solver" if data["solver"] else "", **{k: v for k, v in data.items() if k != "solver"}}
        return data

    @property
    def n_seeds(self) -> int:
        """The number of seeds on each stream."""
        return 1 if self.seeds == "by_repetition" else self.seeds

    @property
    def budget_of(self) -> str | None:
        """The label of the algorithm that the budget is a fraction of, once the values are those `on` a dataset."""
        return self.budget.of if isinstance(self.budget, FractionBudget) else None

    @property
    def by_dataset(self) -> dict[str, ByDataset]:
        """The parameters that differ between datasets; the budget is included as ``budget``."""
        every = self.parameters | {"budget": self.budget}
        return {name: values for name, values in every.items() if isinstance(values, ByDataset)}

    def has(self, dataset: str) -> bool:
        """Return True if every parameter has values for a dataset, given by label."""
        return all(dataset in values.by_dataset for values in self.by_dataset.values())

    def on(self, dataset: str) -> AlgorithmSpec:
        """Return the algorithm with the values for one dataset, given by label; `expand` needs this form."""
        chosen: dict[str, Any] = {name: values.by_dataset[dataset] for name, values in self.by_dataset.items()}
        budget = chosen.pop("budget", self.budget)
        return self.model_copy(update={"budget": budget, "parameters": self.parameters | chosen})

    @property
    def _values(self) -> dict[str, tuple[Any, ...]]:
        """The values of every parameter, once they are those `on` a dataset."""
        return cast("dict[str, tuple[Any, ...]]", self.parameters)

    @property
    def swept(self) -> tuple[str, ...]:
        """The parameters with more than one value; the budget is not among them."""
        return tuple(name for name, values in self._values.items() if len(values) > 1)

    def expand(self, source: AlgorithmSpec | None = None) -> Iterator[RunSpec]:
        """Yield every combination of values: parameters vary slowest, then the budget, then seeds.

        With seeds by repetition, only the first repetition's is yielded. If the budget is a fraction of another
        algorithm, the ``source``, each of its settings gives its own budgets.
        """
        budgets = self._budgets(source)
        for parameters in _combinations(self._values):
            swept = {name: parameters[name] for name in self.swept}
            for budget, seed in itertools.product(budgets, range(self.n_seeds)):
                setting = swept.copy()
                for name, value in budget.get("budget_setting", {}).items():
                    setting[f"{budget['budget_of']}.{name}" if name in swept else name] = value
                who = (self.label, self.name, self.variant)
                yield RunSpec(*who, parameters, **budget, seed=seed, setting=setting, kind=self.kind)

    def count(self, source: AlgorithmSpec | None = None) -> int:
        """Return how many runs `expand` yields, without making them."""
        n_runs = self.n_seeds * math.prod(map(len, self._values.values()))
        if isinstance(self.budget, FractionBudget):
            return n_runs * len(self.budget.fractions) * (source.with_one_seed().count() if source else 1)
        return n_runs * len(self._budgets(None))

    def with_one_seed(self) -> AlgorithmSpec:
        """Return the algorithm with a single seed, for what does not depend on seeds."""
        return self.model_copy(update={"seeds": 1})

    def _budgets(self, source: AlgorithmSpec | None) -> list[dict[str, Any]]:
        """Return the attributes of a run that concern its budget, for each budget."""
        if isinstance(self.budget, MemoryBudget):
            return [{"learner_memory": size} for size in self.budget.learner_memory]
        if not isinstance(self.budget, FractionBudget):
            sizes = cast("tuple[int | None, ...] | None", self.budget) or (None,)
            return [{"budget": size} for size in sizes]
        settings = [source.source_setting(run) for run in source.with_one_seed().expand()] if source else [{}]
        distinct = {json.dumps(setting): setting for setting in settings}
        return [
            {"budget_fraction": fraction, "budget_of": self.budget.of, "budget_setting": setting}
            for setting, fraction in itertools.product(distinct.values(), self.budget.fractions)
        ]

    def source_setting(self, run: RunSpec) -> dict[str, Any]:
        """Return the `RunSpec.budget_setting` of budgets that are a fraction of one of this algorithm's runs."""
        several = isinstance(self.budget, tuple) and len(self.budget) > 1
        own = {name: value for name, value in run.setting.items() if name in self.swept}
        return own | ({"budget": run.budget} if several else {})


class SelectSpec(_Spec):
    """A rule of `budgetrun.play.selection` that follows candidates: every run of some algorithms on a stream."""

    rule: str  # its name
    of: Names  # labels of the algorithms
    label: Name  # unique among those of the algorithms; by default ``rule(labels)``
    parameters: dict[str, Any] = {}  # the arguments of its class


@dataclass(frozen=True)
class Published:
    """One published number of a table."""

    dataset: str
    label: str
    value: float  # errors are in percent
    budget: int | None = None  # at least 1; None if the number is for every budget, or for a ``budget_fraction``
    budget_fraction: float | None = None
    setting: str | None = None  # as `setting_text` writes it; None if the number is for every setting
    sd: float | None = None  # the published standard deviation


class ChooseSpec(_Spec):
    """A table's choice among an algorithm's settings, made separately for each dataset and budget."""

    # ``online_error``: the lowest mean online error (in hindsight); ``rmse``: the same for regression. ``prefix``: for
    # each stream, the fewest mistakes, or the lowest RMSE, in its first tenth; errors are then those of the rest.
    # ``printed``: the mean of ``quantity`` that is nearest to its published value.
    by: Literal["online_error", "prefix", "printed", "rmse"]
    quantity: Literal["margin_updates", "support_size"] | None = None  # only with ``printed``
    expected: Text | None = None  # only with ``printed``: the file of the published values of ``quantity``, as typed
    published: tuple[Published, ...] = Field(default=(), exclude=True)  # the content of ``expected``


class TableSpec(_Spec):
    """A table of the report."""

    name: FileName
    caption: Text | None = None
    expected: Text | None = None  # the file of the published numbers, as typed: relative to the config's folder
    columns: Names | None = None  # labels of algorithms, in order; None for all
    rows: Names | None = None  # labels of datasets, in order; None for all
    quantity: QuantityName = "online_error"  # errors in percent; ``gap`` is the gap to the best known optimum
    choose: ChooseSpec | None = None  # the choice among settings; None shows all of them
    # A label. The table also shows each ratio of our value to the published one, divided by the same ratio of this
    # algorithm. With ``seconds_ratio``, seconds (ours and published) are divided by the seconds of this algorithm.
    relative_to: str | None = None
    # Cells that differ from the published value by more than this fraction are listed; None if only ``tolerance_sd``
    # matters. By default 0.05, or None if ``tolerance_sd`` is given.
    tolerance: Positive | None = 0.05
    tolerance_sd: Positive | None = None  # the same in published standard deviations, for numbers published with one
    aliases: dict[str, str] = {}  # label or dataset -> the label or dataset in ``expected`` to compare it with
    as_written: tuple[Text, ...] = ()  # those among them that follow the paper's text, where the others do not
    published: tuple[Published, ...] = Field(default=(), exclude=True)  # the content of ``expected``

    @model_validator(mode="before")
    @classmethod
    def _no_default_beside_tolerance_sd(cls, data: Any) -> Any:
        return {"tolerance": None, **data} if isinstance(data, dict) and data.get("tolerance_sd") else data


class FigureSpec(_Spec):
    """A figure of the report, on one dataset."""

    name: FileName
    title: Text | None = None
    dataset: str
    lines: Names  # labels of algorithms, one line each
    point: str | None = None  # the algorithm shown as a single point
    band: tuple[str, ...] = ()  # algorithms whose range over seeds is shaded
    budget: Count | None = None  # with ``x: rounds``, the only one shown of algorithms with several; None for all
    x: FigureX = "budget"  # ``seconds`` is for kinds of runs without rounds
    y: FigureY = "online_error"
    log_x: bool | None = None  # a logarithmic horizontal axis; None if the figure decides


class NumberSpec(_Spec):
    """A number of a results folder, or a formula of other numbers.

    It is an average over runs, as in a table; or a published number (``published``), a summary of the checks of a
    theorem (``theorem``), how often single runs err less than others (``errs_less_than``), how likely chance alone is
    to give such a difference (``paired_with``), or a cell of a ``csv``.
    """

    title: Text | None = None  # the name on the page; by default the label
    unit: str = ""  # follows a formula's value
    # The results folder; by default that of the claim. The other selectors come from the claim's cases by default.
    results: FileName | None = None
    dataset: Text | None = None
    label: Text | None = None
    budget: int | None = None
    budget_fraction: float | None = None
    setting: Text | None = None
    chosen_in: Text | None = None  # the table that chooses a setting, or FOLDER/TABLE for one of another folder
    quantity: Text = "online_error"  # of tables, or a column of runs.csv, or a value in a JSON column: ``facts.damage``
    relative_to: Text | None = None  # the label whose seconds those of ``quantity: seconds_ratio`` are divided by
    statistic: Literal[
        "mean", "sd", "minimum", "maximum", "n_streams", "held", "violated", "void", "below_t", "bound",
        "largest_ratio", "smallest_ratio", "tolerance",
    ] = "mean"  # fmt: skip
    published: Text | None = None  # the table whose published number it is
    theorem: Text | None = None  # as in bounds.csv
    # The share of pairs, on the same stream with the same full budget, in which a run of ``label`` errs less than a
    # run of this label.
    errs_less_than: Text | None = None
    paired_with: Text | None = None  # two-sided p of the paired t-test over the streams between ``label`` and this one
    formula: Text | None = None  # in the names of the numbers before it
    # A file in the folder with the results, and the column of the one row with the values ``where``.
    csv: Text | None = None
    where: dict[str, Label] = {}
    column: Text | None = None
    digits: int | None = None  # rounds to so many significant figures; by default as tables do


class FindingSpec(_Spec):
    """An explanation of some cells; a selector that is None selects all."""

    dataset: str | tuple[str, ...] | None = None
    label: str | tuple[str, ...] | None = None
    budget: Count | tuple[Count, ...] | None = None
    budget_fraction: Positive | tuple[Positive, ...] | None = None
    setting: Text | tuple[Text, ...] | None = None  # As `setting_text` writes it, e.g. ``eta=0.1``.
    text: Text
    open: bool = False  # the text says what is known, but gives no explanation


class ReportSpec(_Spec):
    """The content of a report: tables, figures, choices made where a paper leaves them open, and findings."""

    # The title of the page, the main finding in a sentence, and the paper or question under which the index lists it.
    title: Text | None = None
    finding: Text | None = None
    group: Text | None = None
    # The tables compare learners: each says which rules of fair comparisons it breaks, and tests its differences.
    compares: bool = False
    tables: tuple[TableSpec, ...] = ()
    figures: tuple[FigureSpec, ...] = ()
    choices: tuple[Text, ...] = ()
    findings: tuple[FindingSpec, ...] = ()
    numbers: dict[str, NumberSpec] = {}  # which choices and findings name in braces; computed from the results
    # Label of an algorithm or of a dataset -> what pages, figures and tables for people call it; a label without a
    # title is shown as it is. `load` fills in the titles of algorithms that have their default label.
    titles: dict[str, Name] = {}


class Profile(_Spec):
    """Caps for a shorter run, the most of each; None for no cap."""

    n_examples: Count | None = None
    tasks: Count | None = None
    repetitions: Count | None = None
    seeds: Count | None = None


class Config(_Spec):
    """A checked config."""

    name: FileName  # the name of the results folder
    source: str = ""
    description: str = ""
    seed: Seed = 0  # all randomness of the streams depends on it
    datasets: tuple[DatasetSpec, ...]  # ``kernel`` and ``repetitions`` of each are filled in
    kernel: KernelSpec | None = None
    tie: Literal["mistake", "positive"] = "mistake"  # a score of exactly 0 is a mistake, or predicts +1
    dtype: Literal["float64", "float32"] = "float64"
    repetitions: Count = 1
    # Every run has its own job, as runs of other kinds than learners always have. Learners then share no kernel values,
    # so that their seconds can be compared.
    alone: bool = False
    # The seconds after which a run fails, without the time that its data take to read; None for no limit. It changes no
    # outcome, so neither run ids nor the resolved config have it.
    timeout_seconds: Positive | None = None
    algorithms: tuple[AlgorithmSpec, ...]
    select: tuple[SelectSpec, ...] = ()
    metrics: tuple[MetricName, ...] = ()  # names of `METRICS`, measured besides counts
    report: ReportSpec = ReportSpec()
    profiles: dict[str, Profile] = {}
    profile: str = "full"  # the profile that has been applied; ``full`` is the whole config
    tasks: int | None = None  # the profile's cap on the tasks of a dataset
    # The path of the config, as typed, and its text; empty if the config comes from a manifest.
    file: str = Field(default="", exclude=True)
    text: str = Field(default="", exclude=True)

    @model_validator(mode="after")
    def _is_whole(self) -> Config:
        # For manifests; the reader of YAML has better messages.
        labels = {algorithm.label for algorithm in self.algorithms}
        for algorithm in self.algorithms:
            if algorithm.budget_of and algorithm.budget_of not in labels:
                raise ValueError(f"budget of {algorithm.label!r}: no algorithm has the label {algorithm.budget_of!r}")
            for name, values in algorithm.by_dataset.items():
                for dataset in self.datasets:
                    if dataset.label not in values.by_dataset:
                        raise ValueError(f"{name} of {algorithm.label!r}: no value for dataset {dataset.label!r}")
        return self

    @property
    def problem(self) -> Problem:
        """The learners' problem, the same on all datasets."""
        return problem_of(self.datasets[0].task if self.datasets else None)

    @property
    def task(self) -> Task:
        """The problem's name."""
        return self.problem.name

    @property
    def kind(self) -> str:
        """The kind of run of the algorithms (`budgetrun.config.kinds`); empty for online learners."""
        return self.algorithms[0].kind if self.algorithms else ""

    @property
    def timed(self) -> bool:
        """True if seconds are compared, so that each run has its own job and only one runs at a time."""
        return self.alone or bool(self.kind)

    def on(self, dataset: str) -> dict[str, AlgorithmSpec]:
        """Return every algorithm, by label, with the values for one dataset, given by its label."""
        return {algorithm.label: algorithm.on(dataset) for algorithm in self.algorithms}

    def kernel_on(self, dataset: str) -> KernelSpec:
        """Return the kernel, or kernels, of a dataset, given by its label."""
        kernel = next(spec.kernel for spec in self.datasets if spec.label == dataset)
        assert kernel is not None
        return kernel

    def expand(self, dataset: str | None = None, median: float | None = None) -> Iterator[RunSpec]:
        """Yield all runs on one stream, in the order of the config: kernels vary slowest.

        The dataset, the first by default, is given by its label; `AUTO` stands for the median, if it is known.
        """
        label = self.datasets[0].label if dataset is None else dataset
        by_label, kernels = self.on(label), self.kernel_on(label)
        for kernel, typed in kernels.each(median):
            common: dict[str, Any] = {"task": self.task, "kernel": kernel}
            common["typed"] = {name: value for name, value in typed.items() if value == AUTO}
            setting = {name: typed[name] for name in kernels.swept}
            for algorithm in by_label.values():
                for spec in algorithm.expand(by_label.get(algorithm.budget_of or "")):
                    yield replace(spec, setting=setting | spec.setting, **common)

    def count(self, dataset: str) -> int:
        """Return how many runs `expand` yields for a dataset, given by its label, without making them."""
        by_label = self.on(dataset)
        n_kernels = math.prod(map(len, self.kernel_on(dataset).swept.values()))
        return n_kernels * sum(one.count(by_label.get(one.budget_of or "")) for one in by_label.values())

    def resolved(self) -> dict[str, Any]:
        """Return the config as plain JSON, with defaults, and paths as typed; published numbers are not included."""
        data = self.model_dump(mode="json", exclude={"timeout_seconds"})
        for entry, dataset in zip(data["datasets"], self.datasets, strict=True):
            entry["path"] = dataset.typed_path or entry["path"]
            entry["test_path"] = dataset.typed_test_path or entry["test_path"]
            if dataset.path is None:
                del entry["label_column"], entry["missing"]
        for entry, algorithm in zip(data["algorithms"], self.algorithms, strict=True):
            entry["solver"] = algorithm.kind == "solver"
            if algorithm.kind not in ("", "solver"):
                entry["kind"] = algorithm.kind
        # Keys that came later are omitted where they are empty, so that older configs stay as they were resolved.
        report = data["report"]
        report["numbers"] = {n: s.model_dump(exclude_defaults=True) for n, s in self.report.numbers.items()}
        later = [(data, ("select", "metrics")), (report, ("title", "finding", "group", "numbers"))]
        for entry, keys in [*later, *((figure, ("budget",)) for figure in report["figures"])]:
            for key in keys:
                if not entry[key]:
                    del entry[key]
        return data

    @classmethod
    def from_resolved(cls, data: dict[str, Any]) -> Config:
        """Return the config from what `resolved` returned; its files need not exist."""
        return cls.model_validate_json(json.dumps(data))

    def apply_profile(self, name: str) -> Config:
        """Return the config with the caps of one of its profiles; an InputError says that it has no such profile."""
        if name == "full":
            return self
        if name not in self.profiles:
            known = ["full", *self.profiles]
            raise InputError(f"{self.file}: unknown profile {name!r}{nearest(name, known)}{allowed_names(known)}")
        caps = self.profiles[name]

        def capped(spec: Any, *keys: str) -> Any:
            given = {key: [value for value in (getattr(spec, key), getattr(caps, key)) if value] for key in keys}
            # Seeds may be a text, by repetition.
            least = {key: min(values) for key, values in given.items() if values and "by_repetition" not in values}
            return spec.model_copy(update=least)

        datasets = tuple(capped(dataset, "n_examples", "repetitions") for dataset in self.datasets)
        algorithms = tuple(capped(algorithm, "seeds") for algorithm in self.algorithms)
        own = {"profile": name, "tasks": caps.tasks, "datasets": datasets, "algorithms": algorithms}
        return capped(self, "repetitions").model_copy(update=own)  # type: ignore[no-any-return]


def _combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each combination of some values by name; the last one varies fastest."""
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def setting_text(parameters: dict[str, Any]) -> str:
    """Return parameters and their values as tables and figures show them, e.g. ``eta=0.1, C=2``."""
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


def plain(text: str) -> float | str:
    """Return the number in a text; the text itself if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return text
