"""The CKS algorithm as Dekel, Shalev-Shwartz & Singer (2008), section 8, describe it."""

from reference.kernel_expansion import Trace, cases, first_smallest, is_mistake, lengths, record, stream, value


def cks(X, y, k, budget, candidates="old", tie="mistake"):
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = value(alpha, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            alpha[t] = y_t
            if len(alpha) > budget:  # when the budget is exceeded,
                leaving = [i for i in alpha if candidates == "all" or i != t]
                # calculate the margin attained by removing each active example
                # and applying the resulting hypothesis to the removed example;
                margins = []
                for i in leaving:
                    without = {j: a for j, a in alpha.items() if j != i}
                    margins.append(y[i] * value(without, X, X[i], k))
                # the removed example is the one which attains the maximal margin
                longest = max(lengths(alpha, X, k))
                sizes = [length * longest for length in lengths(leaving, X, k)]
                del alpha[leaving[first_smallest([-m for m in margins], sizes)]]
        record(trace, score, mistake, alpha)
    return trace


CASES = cases(cks, *({"budget": B, "candidates": c} for B, c in ((1, "old"), (9, "old"), (25, "old"), (9, "all"))))
