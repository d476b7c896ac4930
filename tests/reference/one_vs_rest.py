"""One-vs-rest: a binary algorithm once per class, on labels that are +1 for the class and -1 for all others.

The class with the largest score is predicted. A round is a mistake unless the true class is strictly ahead of all
others; two scores tie if they differ by at most 1e-9 times the larger absolute one, which only rounding explains.
"""

from dataclasses import dataclass


@dataclass
class Combined:
    scores: list  # per round, one score per class
    mistakes: list
    updates: list  # whether any class's algorithm acted
    active: list  # the different examples of all classes, oldest first
    alpha: list  # one row of weights per class
    largest: int  # the largest support set of one class


def one_vs_rest(algorithm, X, codes, k, n_classes):
    """``algorithm(X, y, k)`` returns the trace of a binary run."""
    traces = [algorithm(X, [1 if code == c else -1 for code in codes], k) for c in range(n_classes)]
    result = Combined([], [], [], [], [], max(len(held) for trace in traces for held in trace.active))
    for t, code in enumerate(codes):
        scores = [trace.scores[t] for trace in traces]
        rival = max(scores[c] for c in range(n_classes) if c != code)
        result.scores.append(scores)
        result.mistakes.append(scores[code] - rival <= 1e-9 * max(abs(scores[code]), abs(rival)))
        result.updates.append(any(getattr(trace, "updates", trace.mistakes)[t] for trace in traces))
        held = sorted({i for trace in traces for i in trace.active[t]})
        rows = [dict(zip(trace.active[t], trace.alpha[t], strict=True)) for trace in traces]
        result.active.append(held)
        result.alpha.append([[row.get(i, 0.0) for i in held] for row in rows])
    return result
