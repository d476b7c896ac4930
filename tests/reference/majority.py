"""The trivial predictor of classes: the larger one so far."""

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, is_mistake, record, stream


def majority(X, y, k, tie="mistake"):
    trace, seen = ExplicitTrace(), []
    for _, _, y_t in stream(X, y):
        score = float(seen.count(1) - seen.count(-1))
        record(trace, score, is_mistake(y_t, score, tie), {}, True)
        seen.append(y_t)
    trace.final = lambda x: float(seen.count(1) - seen.count(-1))
    return trace


CASES = cases(majority, {})
