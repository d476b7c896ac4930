"""Crammer & Singer (2003): the Perceptron of several classes with the max-score update."""

from reference.kernel_expansion import Trace
from reference.multiclass import best_rival, record, stream, values

NAME = "perceptron"


def multiclass_perceptron(X, codes, k, n_classes):
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, codes):
        scores = values(alpha, X, x_t, k, n_classes)
        rival, lead = best_rival(scores, y_t, tolerance=0.0)
        mistake = lead <= 0  # f_y <= max_{r != y} f_r
        if mistake:  # x_t enters with +1 for its class and -1 for the rival
            alpha[t] = [0.0] * n_classes
            alpha[t][y_t] += 1
            alpha[t][rival] -= 1
        record(trace, scores, mistake, alpha)
    return trace


MULTICLASS_CASES = [(None, {}, multiclass_perceptron)]
