"""Reads the kernels and datasets of a config."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from budgetrun.base.files import own_folder
from budgetrun.base.problem import BINARY, Problem, problem_of
from budgetrun.base.registry import parameters
from budgetrun.config.problems import Checker, Values, ValueType, unknown, unknown_key, value_types
from budgetrun.config.schema import DatasetSpec, KernelSpec
from budgetrun.config.yaml import KeyPath, parse, read_text

if TYPE_CHECKING:
    from budgetrun.kernels import Kernel

KERNEL = ValueType(dict[str, Any] | None, required=False)


@dataclass(frozen=True)
class DatasetReader:
    """Reads kernels and datasets; what is wrong with them goes to the checker's problems."""

    checker: Checker

    def kernel(self, data: Any, path: KeyPath) -> KernelSpec | None:
        """Return a kernel; None if there is none or it is wrong."""
        if data is None:
            return None
        from budgetrun import kernels

        known = kernels.registry()
        name = data.get("name")
        if name is None:
            self.checker.add((*path, "name"), f"missing; must be one of {', '.join(known)}")
            return None
        if not isinstance(name, str) or name not in known:
            self.checker.add((*path, "name"), f"{unknown(name, known)}  (budgetrun list kernels)")
            return None
        before = len(self.checker.problems)
        types = _kernel_types(known[name])
        given: dict[str, Any] = {}
        for key, value in data.items():
            if key in types:
                values = self.checker.sweep(value, (*path, key), types[key], self.checker.checked)
                # A list of one value is that value.
                given[key] = values if len(values) > 1 else next(iter(values), None)
            elif key != "name":
                self.checker.add((*path, key), unknown_key(key, ["name", *types]))
        if len(self.checker.problems) > before:
            return None
        spec = KernelSpec(name=name, parameters={key: given[key] for key in types if key in given})
        try:
            # Any number will do for one that the data decide on.
            for one, _ in spec.each(median=1.0):
                one.build()
        except ValueError as error:
            self.checker.add(path, str(error))
        return spec

    def dataset(
        self, data: Any, path: KeyPath, kernel: KernelSpec | None, with_kernel: bool, repetitions: int
    ) -> DatasetSpec | None:
        """Return a dataset, with the config's kernel and repetitions where it has none of its own; None if it is wrong.

        ``with_kernel`` is true if the config gives a kernel, even a wrong one.
        """
        before = len(self.checker.problems)
        values = self.checker.values(data, path, {**value_types(DatasetSpec), "kernel": KERNEL})
        if not isinstance(data, dict):
            return None
        values["repetitions"] = values.get("repetitions") or repetitions
        if values.get("kernel") is not None:
            values["kernel"] = self.kernel(values["kernel"], (*path, "kernel"))
        elif "kernel" not in data or data["kernel"] is None:
            values["kernel"] = kernel
            if not with_kernel:
                self.checker.add((*path, "kernel"), "missing; give this dataset a kernel, or the whole config one")
        for key in ("path", "test_path"):
            typed = values.get(key)
            # Standard input, of a stream that was played; a sweep cannot read it again.
            if typed is not None and str(typed) != "-":
                # Unlike Path.expanduser and Path.is_file, these raise nothing if there is no such user or place.
                own = Path(os.path.expanduser(typed))
                places = list(dict.fromkeys([self.checker.folder / own, own]))
                found = [place for place in places if os.path.isfile(place)]
                if found:
                    values.update({key: found[0], f"typed_{key}": typed})
                else:
                    self.checker.add((*path, key), f"no such file: {' or '.join(str(place) for place in places)}")
        if not problem_of(values.get("task")).of_signs:
            self._refuse_what_needs_classes(values, path)
        generated = data.get("path") is None and "name" in values and self._is_generated(values["name"], path)
        self._check_test(values, path, generated)
        default_order = "permuted" if values.get("path") is None else "file"
        varies = generated or values.get("balanced") or values.get("noise")
        if values.get("order", default_order) == "file" and values["repetitions"] > 1 and not varies:
            default = "" if "order" in values else ", the default for a file of your own"
            text = f"with order: file{default}, each of the {values['repetitions']} repetitions would be the same"
            self.checker.add((*path, "order"), f"{text}; use repetitions: 1 or order: permuted")
        return DatasetSpec(**values) if len(self.checker.problems) == before else None

    def _refuse_what_needs_classes(self, values: Values, path: KeyPath) -> None:
        task = values["task"]
        given = [key for key in ("noise", "balanced") if values.get(key)]
        for key in [*given, *(["positive"] if values.get("positive") is not None else [])]:
            self.checker.add((*path, key), f"goes with two classes, not with task: {task}; remove it")
        for key in ("test", "test_path"):
            if not problem_of(task).of_classes and values.get(key) is not None:
                self.checker.add((*path, key), "goes with classes, not with task: regression; remove it")

    def _check_test(self, values: Values, path: KeyPath, generated: bool) -> None:
        own = values.get("path") is not None
        if values.get("test") is not None and (own or generated):
            advice = "a file of your own is tested on test_path: FILE" if own else "generated data have none; remove it"
            self.checker.add((*path, "test"), f"names parts of a card; {advice}")
        if values.get("test_path") is not None and not own:
            text = "goes with path, a file of your own; for a card write test: [parts]"
            self.checker.add((*path, "test_path"), text)
        for key in ("label_column", "missing"):
            if values.get(key) is not None and not own:
                self.checker.add((*path, key), "goes with path, a file of your own; remove it")

    def _is_generated(self, name: str, path: KeyPath) -> bool:
        """Return True if a card generates new points in every repetition; a card that does not exist is a problem."""
        cards = {file.stem: file for file in own_folder("datasets").glob("*.yaml")}
        if name in cards:
            return bool(_format(cards[name]) == "generated")
        text = f"{unknown(name, cards)}  (budgetrun data list; a file of your own needs path)"
        self.checker.add((*path, "name"), text)
        return False


@lru_cache(maxsize=64)
def _format(card: Path) -> Any:
    data = parse(read_text(card)).data
    return data.get("format") if isinstance(data, dict) else None


@cache
def _kernel_types(kernel: type[Kernel]) -> dict[str, ValueType]:
    """Return the parameters of a kernel; a gamma that is a rate of distances may be left to the data."""
    auto = {"gamma"} if kernel.of_distance else set()
    return {
        name: ValueType(p.annotation | Literal["auto"] if name in auto else p.annotation)
        for name, p in parameters(kernel).items()
    }


def common_problem(checker: Checker, entries: list[Any]) -> Problem:
    """Return what is learned from the first dataset; the first one that differs from it is a problem."""
    kinds = [problem_of(entry.get("task") if isinstance(entry, dict) else None) for entry in entries]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            which = f"is {'of two classes' if kind.of_signs else kind.name}, and that of datasets[0] is not"
            other = kinds[0] if kind.of_signs else kind
            text = f"{which}; a config's datasets are all {other.name}, or none is: make two configs"
            checker.add(("datasets", i, "task"), text)
            break
    return kinds[0] if kinds else BINARY


def dataset_label(data: Any) -> str | None:
    """Return the label of an entry; None if it has none."""
    label = (data.get("label") or data.get("name")) if isinstance(data, dict) else None
    return label if isinstance(label, str) else None
