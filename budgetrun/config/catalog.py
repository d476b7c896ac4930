"""The docstrings and signatures of algorithms and kernels, shortened for a terminal."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from budgetrun import kernels, learners
from budgetrun.base.errors import InputError
from budgetrun.base.problem import problem_of
from budgetrun.base.registry import parameters
from budgetrun.config import kinds
from budgetrun.config.problems import ValueType, nearest
from budgetrun.config.schema import value_text
from budgetrun.learners.one_vs_rest import ONE_VS_REST, one_vs_rest
from budgetrun.learners.page import entries, sections

_WIDTH = 100
_ONE_VS_REST = "With task: multiclass, any learner of two classes: one per class, which share the examples they hold."


def describe(what: str, name: str) -> str:
    """Return the parameters, cost and paper of a kernel, or of an algorithm's variants, by its name in `list`."""
    found: dict[str, Any] = dict(kernels.registry() if what == "kernels" else _algorithms())
    own = {title: cls for title, cls in found.items() if name in (cls.name, title, title.partition(" ")[0])}
    if not own:
        known = {word for title, cls in found.items() for word in (cls.name, title.partition(" ")[0])}
        raise InputError(f"list {what} {name}: there is no {name!r}{nearest(name, known)}  (budgetrun list {what})")
    return "\n\n".join(_page(title, cls) for title, cls in own.items())


def _algorithms() -> Iterator[tuple[str, Any]]:
    for task in learners.BASES:
        kind = "" if task == "binary" else f" [{task}]"
        for name, variants in learners.registry(task).items():
            for variant, learner in variants.items():
                yield (f"{name}({variant})" if variant else name) + kind, learner
    yield from ((f"{name} [program]", learner) for name, learner in kinds.programs().items())
    for other in kinds.registry().values():
        yield from ((f"{name} [{other.name}]", algorithm) for name, algorithm in other.algorithms().items())


def lines(what: str) -> list[tuple[str, str]]:
    """Return the name and the first line of each algorithm or kernel."""
    known = kernels.registry().items() if what == "kernels" else _algorithms()
    found = [(name, (cls.__doc__ or "").partition("\n")[0]) for name, cls in known]
    return found if what == "kernels" else [*found, (f"NAME({ONE_VS_REST})", _ONE_VS_REST)]


def _page(title: str, cls: Any) -> str:
    page_of = sections(cls.__doc__ or "")
    of_kernel = issubclass(cls, kernels.Kernel)
    described = entries(page_of.get("Parameters", ""))
    told = {name: _sentence(text.partition("\n")[2]) for names, text in described for name in names.split(", ")}
    if of_kernel and "gamma" in parameters(cls) and cls.of_distance:
        told.setdefault("gamma", "auto is the median heuristic on the first 1,000 rounds.")
    page = [title, *_wrapped(page_of[""])]
    for name, parameter in parameters(cls).items():
        wanted = ValueType(parameter.annotation).wanted
        default = "required" if parameter.default is parameter.empty else f"default {value_text(parameter.default)}"
        head = f"{name}: {wanted}; {default}." if name != "seed" else "seeds: the number of seeds, from 0; default 1."
        page += _wrapped(f"{head} {told.get(name, '')}", "      ")
    if not of_kernel:
        kind, first = kinds.kind_of(cls.name), _sentence(page_of.get("Notes", ""))
        # The first sentence of the notes, if it is about that; another kind of run than a learner tells its cost.
        cost = filter(None, (kind.cost(cls) if kind else "", first if "O(" in first else ""))
        page += _wrapped(f"Cost: {' '.join(cost)}", "      ")
        page += [f"  Memory: {_memory(cls)}.", f"  Classes: {_classes(cls)}."]
        page += _wrapped(f"Paper: {page_of['References']}", "      ")
    return "\n".join(page)


def _memory(cls: Any) -> str:
    known = parameters(cls)
    if kind := kinds.kind_of(cls.name):
        return kind.holds
    if getattr(cls, "family", "") == "program":
        return "its model, whose bytes are measured after the last round"
    if "budget" in known:
        return "at most B examples between rounds, B the budget"
    if "features" in known:
        return "its features, and no examples"
    return "an example for each update that adds one, without a limit"


def _classes(cls: Any) -> str:
    task = getattr(cls, "task", "binary")
    if not (problem := problem_of(task)).of_signs:
        return f"{'several' if problem.of_classes else 'none; the labels are numbers'} (task: {task})"
    if not issubclass(cls, learners.BinaryLearner) or cls.family == "program":
        return "two"
    variant = f"variant: {one_vs_rest(cls).variant}"
    if cls.name in learners.registry("multiclass"):
        return f"two; the learner of the same name with [multiclass] takes several, and so does {variant}"
    return f"two; with task: multiclass one learner per class ({variant})"


def _sentence(text: str) -> str:
    """Return the first sentence of a text, in one line."""
    text = " ".join(text.split())
    end = re.search(r"(?<!eq)(?<!eqs)(?<!Fig)(?<!e\.g)\.(?= [A-Z`\"]|$)", text)
    return text[: end.end()] if end else text


def _wrapped(text: str, following: str = "  ") -> list[str]:
    return textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent="  ", subsequent_indent=following)
