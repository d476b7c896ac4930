"""Descriptions of a config's data, and all faults of a user's own files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from budgetrun.base.errors import DataMissingError, InputError, counted
from budgetrun.base.problem import problem_of
from budgetrun.data import files
from budgetrun.data.dataset import sources_of
from budgetrun.data.streams import stream_info
from budgetrun.data.tables import open_table
from budgetrun.data.text import clipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from budgetrun.config.schema import DatasetSpec


# The most classes that are named.
_MOST_LISTED = 20


@dataclass
class Inspection:
    """Sentences about a dataset, and sentences about its faults."""

    told: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def inspect(dataset: DatasetSpec) -> Inspection:
    """Return the size and the classes of a dataset. Nothing is downloaded.

    A user's own files are read. A card's files are only looked for; a missing one is a note, not a problem.
    """
    found, numbers = Inspection(), not problem_of(dataset.task).of_classes
    try:
        for source, name in zip(sources_of(dataset), (dataset.label, f"{dataset.label} (test)"), strict=True):
            if source is None:
                continue
            if source.card is None:
                table = open_table(source.path, label=dataset.label_column, missing=dataset.missing)
                scan = table.scan()
                found.told.append(
                    f"{name}: {_size(scan.n_rows, len(table.features), None if numbers else scan.counts)}"
                )
                found.told += [f"{name}: {table.label_found}"] if table.label_found else []
                found.told += scan.notes
                found.problems += scan.problems
            else:
                facts = source.facts(None, download=False, verify=False)
                size = _size(sum(facts.counts.values()), facts.n_features, None if numbers else facts.counts)
                found.told.append(f"{name}: {size}")
                if source.card.format != "generated":
                    files.locate(source.card, source.parts, download=False)
        if not found.problems:
            # Settings that do not go together, such as three classes and a task of two.
            stream_info(dataset, download=False, verify=False)
    except DataMissingError as error:
        found.told.append(f"note: {error}")
    except InputError as error:
        found.problems.append(str(error))
    return found


def _size(n_rows: int, n_features: int, counts: Mapping[Any, int] | None) -> str:
    size = f"{counted(n_rows, 'row')} x {counted(n_features, 'feature')}"
    if counts is None:
        return f"{size}; the labels are numbers"
    shown = [f"{clipped(str(label), 20)} ({count:,})" for label, count in list(counts.items())[:_MOST_LISTED]]
    more = [f"and {len(counts) - _MOST_LISTED:,} more"] if len(counts) > _MOST_LISTED else []
    n_classes = "1 class" if len(counts) == 1 else f"{len(counts):,} classes"
    return f"{size}; {n_classes}: {', '.join([*shown, *more])}"
