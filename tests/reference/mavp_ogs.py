"""Li et al. (2024): MAVP-OGS, as in the authors' program."""

import math

from reference import kernel_expansion, multiclass
from reference.kernel_expansion import cases
from reference.ogs import approximated, moved
from reference.projection import LEAST, TOLERANCE, Basis, ProjectionTrace, gram, projected_value


class Functions:
    """f_c for every class c, in the span of one set J."""

    def __init__(self, n_classes, K, alpha, epsilon, U, c, least):
        self.n_classes, self.K, self.alpha, self.epsilon, self.U, self.c = n_classes, K, alpha, epsilon, U, c
        self.least = least
        self.f = [{} for _ in range(n_classes)]
        self.J = Basis()
        self.L = 1.0

    def step(self):
        # lambda = c sqrt(M) U / sqrt(M U^2 + L)
        M = self.n_classes
        return self.c * math.sqrt(M) * self.U / math.sqrt(M * self.U**2 + self.L)

    def learn(self, t, y, rival, lead, mistake):
        """Return whether the round is an update, and the error of the projection."""
        if not lead < 1 - self.epsilon - TOLERANCE:
            return False, None
        first = not self.J.members
        v, square, residual = approximated(self.J, self.K, t, self.alpha, self.least)
        if mistake and not first:
            self.L += square
        # the first example is added to its class, and subtracted from all others
        for c in range(self.n_classes) if first else (y, rival):
            weight = self.step() if c == y else -self.step()
            self.f[c] = moved(self.f[c], weight, v, self.U, self.K) if v else self.f[c]
        return True, residual


def mavp_ogs(X, codes, k, n_classes, alpha, epsilon=0.9, U=10.0, c=0.1):
    functions = Functions(n_classes, gram(X, k), alpha, epsilon, U, c, LEAST)
    trace = ProjectionTrace()
    for t, x_t, y_t in kernel_expansion.stream(X, codes):
        weights = {i: [f.get(i, 0.0) for f in functions.f] for i in functions.J.members}
        scores = multiclass.values(weights, X, x_t, k, n_classes)
        rival, lead = multiclass.best_rival(
            scores, y_t, tolerance=multiclass.negligible_solved(weights, X, x_t, k, n_classes)
        )
        update, residual = functions.learn(t, y_t, rival, lead, lead <= 0)
        weights = {i: [f.get(i, 0.0) for f in functions.f] for i in functions.J.members}
        kernel_expansion.record(trace, scores, lead <= 0, weights, update, residual)
    return trace


def of_two_classes(X, y, k, alpha, epsilon=0.9, U=10.0, c=0.1, tie="mistake"):
    """The same with classes 0 and 1; the score is that of class 1."""
    functions = Functions(2, gram(X, k), alpha, epsilon, U, c, 0.0)
    trace = ProjectionTrace()
    for t, x_t, y_t in kernel_expansion.stream(X, y):
        scores = [projected_value(f, X, x_t, k) for f in functions.f]
        mistake = kernel_expansion.is_mistake(y_t, scores[1], tie)
        own = int(y_t > 0)
        update, residual = functions.learn(t, own, 1 - own, scores[own] - scores[1 - own], mistake)
        kernel_expansion.record(trace, scores[1], mistake, functions.f[1], update, residual)
    return trace


GIVEN = ({"alpha": 0.3}, {"alpha": 0.05, "epsilon": 0.3, "U": 0.7, "c": 0.4}, {"alpha": 0.6, "epsilon": 0.5})
CASES = cases(of_two_classes, *GIVEN)
MULTICLASS_CASES = cases(mavp_ogs, *GIVEN)
