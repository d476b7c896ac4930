"""Orabona, Keshet & Caputo (2009), section 5, several classes with a prototype each: the Projectron."""

from reference.kernel_expansion import cases, record, stream
from reference.multiclass import best_rival, negligible_lead, values
from reference.projection import LEAST, TOLERANCE, Basis, ProjectionTrace, allowed

NAME = "projectron"


def project_onto(S, X, x, k):
    """What Fig. 4 gives for x in one class's basis: the inner products, d*, the projection's square, the residual."""
    column = k.column(X, x)
    k_t = [column[i] for i in S.members]
    return k_t, *S.project(k_t, k(x, x))


def add_projection(alpha, S, c, d, weight):
    for i, d_i in zip(S.members, d, strict=True):
        alpha[i][c] += weight * d_i


def step_on_mistake(alpha, bases, X, t, k, y, rival, eta, threshold, n_classes):
    """Add k((x, y), .) - k((x, rival), .), or its projection; return ||delta||^2."""
    k_tt = k(X[t], X[t])
    parts = [(c, sign, *project_onto(bases[c], X, X[t], k)) for c, sign in ((y, 1.0), (rival, -1.0))]
    # Functions of different classes are orthogonal, so squared lengths add up.
    total = sum(residual for *_, residual in parts)
    for c, sign, k_t, d, _, residual in parts:
        if total <= allowed(eta, threshold) + TOLERANCE * k_tt or residual <= LEAST * k_tt:
            add_projection(alpha, bases[c], c, d, sign)
        else:
            alpha.setdefault(t, [0.0] * n_classes)[c] = sign
            bases[c].add(t, k_t, k_tt)
    return total


def multiclass_projectron(X, codes, k, n_classes, eta, threshold="distance"):
    trace = ProjectionTrace()
    alpha = {}
    bases = [Basis() for _ in range(n_classes)]  # one inverse Gram matrix per class
    for t, x_t, y_t in stream(X, codes):
        scores = values(alpha, X, x_t, k, n_classes)
        rival, lead = best_rival(scores, y_t, tolerance=negligible_lead(alpha, X, x_t, k, n_classes))
        mistake = lead <= 0
        residual = None
        if mistake:
            residual = step_on_mistake(alpha, bases, X, t, k, y_t, rival, eta, threshold, n_classes)
        record(trace, scores, mistake, alpha, mistake, residual)
    return trace


MULTICLASS_CASES = cases(
    multiclass_projectron,
    {"eta": 0.05},
    {"eta": 0.1},
    {"eta": 0.6},
    {"eta": 1.5},
    {"eta": 0.1, "threshold": "squared_distance"},
    {"eta": 0.5, "threshold": "squared_distance"},
)
# As with two classes: where examples are exactly dependent, or clearly not.
EXACT_CASES = cases(multiclass_projectron, {"eta": 0.0})
