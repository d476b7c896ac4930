"""Count the labels so far, and predict that of the larger class."""

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import is_mistake, record, stream


def larger_class(X, y, k, tie="mistake"):
    trace = ExplicitTrace()
    counts = {-1: 0, 1: 0}
    for _, _x, y_t in stream(X, y):
        score = float(counts[1] - counts[-1])
        record(trace, score, is_mistake(y_t, score, tie), {}, True)
        counts[int(y_t)] += 1
    trace.final = lambda _: counts[1] - counts[-1]
    return trace


CASES = [(None, {}, larger_class)]
