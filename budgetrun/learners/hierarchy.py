"""Label hierarchies, written as text: ``(0 6 8) (3 5) 1 2 4 7 9``."""

from __future__ import annotations

import re

import numpy as np


def parse(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return every label with the numbers of the groups it is in, outermost first, in the order of the text.

    Raises
    ------
    ValueError
        Brackets do not match, a label stands twice, or there are fewer than two.
    """
    labels: list[tuple[str, tuple[int, ...]]] = []
    open_groups: list[int] = []
    n_groups = 0
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            open_groups.append(n_groups)
            n_groups += 1
        elif token == ")":
            if not open_groups:
                raise ValueError(f"must be labels in groups, such as '(0 6 8) (3 5) 1 2'; {text!r} closes one too many")
            open_groups.pop()
        elif token in dict(labels):
            raise ValueError(f"must have each label once; {text!r} has {token} twice")
        else:
            labels.append((token, tuple(open_groups)))
    if open_groups:
        raise ValueError(f"must be labels in groups, such as '(0 6 8) (3 5) 1 2'; {text!r} leaves one open")
    if len(labels) < 2:
        raise ValueError(f"must have two labels at least; {text!r} has {len(labels)}")
    return labels


def label_kernel(text: str) -> np.ndarray:
    """Return K(a, b), the share of the path from the root that two labels have in common, shape (m, m).

    A label's path are the groups it is in and itself; K(a, b) is the number of common ones over the geometric mean of
    the paths' lengths, so that K(a, a) = 1, and 0 if no group holds both. It is positive definite. Labels stand in
    ascending order, as they do in a data set: numbers by value.
    """
    labels = sorted(parse(text), key=_ascending)
    n_groups = 1 + max((g for _, groups in labels for g in groups), default=-1)
    paths = np.zeros((len(labels), n_groups + len(labels)))
    for i, (_, groups) in enumerate(labels):
        paths[i, list(groups)] = 1
        paths[i, n_groups + i] = 1
    paths /= np.linalg.norm(paths, axis=1, keepdims=True)
    return paths @ paths.T


def _ascending(label: tuple[str, tuple[int, ...]]) -> tuple[bool, float, str]:
    try:
        return False, float(label[0]), ""
    except ValueError:
        return True, 0.0, label[0]
