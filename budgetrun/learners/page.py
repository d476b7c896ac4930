"""Pages of learners: short docstrings in the source, which become pages in numpy style.

A section begins with its title and a colon, and the last lines are an example on one of the streams of
`budgetrun.engine.examples`, which the page imports. A class that builds on another rule describes only what differs.
"""

import inspect
import re
import textwrap
from functools import cache

_SECTIONS = ("Parameters", "Attributes", "Notes", "References", "Examples")


def complete(cls: type) -> None:
    """Turn the docstring of a learner into its page.

    A parameter that it leaves out is described by the nearest base that describes it, and sections other than
    ``Examples`` are inherited as a whole. The base classes of the three problems describe no rule.
    """
    if not cls.__doc__:
        return
    bases = [_sections(base) for base in cls.__mro__[1:] if _has_rule(base)]
    if not (bases or _has_rule(cls)):
        return
    own = _sections(cls)
    pages = [own, *bases]
    described = {name: text for page in reversed(pages) for name, text in entries(page.get("Parameters", ""))}
    names = inspect.getfullargspec(cls.__init__).kwonlyargs  # type: ignore[misc]  # of this very class
    parameters = "\n".join(described[name] for name in names or described if name in described)
    full = {title: text for page in (*reversed(bases), own) for title, text in page.items()}
    full |= {"Parameters": parameters, "Examples": own.get("Examples", "")}
    parts = [own[""], *(f"{title}\n{'-' * len(title)}\n{full[title]}" for title in _SECTIONS if full.get(title))]
    cls.__doc__ = textwrap.indent("\n\n".join(parts), "    ").strip() + "\n    "


def _has_rule(base: type) -> bool:
    """Return whether the docstring of a class is that of a rule."""
    of_rules = base.__module__ != "budgetrun.learners.base" or base.__name__ == "Budgeted"
    return base.__module__.startswith(("budgetrun.learners.", "budgetrun.papers.arena.")) and of_rules


@cache
def _sections(cls: type) -> dict[str, str]:
    """Return the sections of a class's own docstring."""
    text = vars(cls).get("__doc__")
    return sections(text) if text else {}


def sections(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring by title, in either style; its summary has none."""
    text = re.sub(rf"^({'|'.join(_SECTIONS)}):\s", r"\1\n---\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    stream = r"\n\n(>>> (\w+)\()"
    text = re.sub(stream, r"\n\nExamples\n---\n>>> from budgetrun.engine.examples import \2\n\1", text)
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    titles, texts = ["", *parts[1::2]], [parts[0], *parts[2::2]]
    return {title: part.strip() for title, part in zip(titles, texts, strict=True)}


def entries(section: str) -> list[tuple[str, str]]:
    """Return the entries of a section of parameters, by name."""
    return [(entry.partition(" : ")[0], entry) for entry in re.split(r"\n(?! )", section) if entry]
