"""Label hierarchies, written as text, e.g. ``(0 6 8) (3 5) 1 2 4 7 9``."""

import re

import numpy as np


def parse(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return every label with the numbers of its groups, outermost first, in the order of the text.

    A ValueError says that parentheses do not match, a label occurs twice, or there are fewer than two labels.
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
                raise ValueError(f"must be labels in groups, e.g. '(0 6 8) (3 5) 1 2'; {text!r} has an unmatched ')'")
            open_groups.pop()
        elif token in dict(labels):
            raise ValueError(f"must have each label once; {text!r} has {token} twice")
        else:
            labels.append((token, tuple(open_groups)))
    if open_groups:
        raise ValueError(f"must be labels in groups, e.g. '(0 6 8) (3 5) 1 2'; {text!r} has an unmatched '('")
    if len(labels) < 2:
        raise ValueError(f"must have at least two labels; {text!r} has {len(labels)}")
    return labels


def label_kernel(text: str) -> np.ndarray:
    """Return K(a, b), the common fraction of the paths from the root to two labels, shape (m, m).

    The path of a label consists of its groups and the label itself. K(a, b) is the number of common elements divided by
    the geometric mean of the paths' lengths, so K(a, a) = 1, and K(a, b) = 0 if no group contains both. K is positive
    definite. Labels are in ascending order, numbers by value, as in a dataset.
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
