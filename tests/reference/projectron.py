"""Orabona, Keshet & Caputo (2009), Fig. 2, with the projection of Fig. 4: the Projectron."""

from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE, Basis, ProjectionTrace, allowed, projected_value
from reference.structured_projectron_pp import structured_projectron_pp


def step_on_mistake(alpha, S, X, t, x_t, y_t, k, most):
    """Fig. 2 on a mistake; return ||delta_t||^2, of which ``most`` may be lost."""
    column, k_tt = k.column(X, x_t), k(x_t, x_t)
    k_t = [column[i] for i in S.members]
    d, _, residual = S.project(k_t, k_tt)
    if residual <= most + TOLERANCE * k_tt:  # ||delta_t|| <= eta:
        for i, d_i in zip(S.members, d, strict=True):  # f_t = f''_t, S_t = S_{t-1}
            alpha[i] += y_t * d_i
    else:
        alpha[t] = float(y_t)  # f_t = f'_t, S_t = S_{t-1} + x_t
        S.add(t, k_t, k_tt)
    return residual


def projectron(X, y, k, eta, threshold="distance", tie="mistake"):
    trace = ProjectionTrace()
    alpha = {}  # S_0 is empty, f_0 = 0
    S = Basis()
    for t, x_t, y_t in stream(X, y):
        score = projected_value(alpha, X, x_t, k)  # predict sign(f_{t-1}(x_t))
        mistake = is_mistake(y_t, score, tie)
        residual = None
        if mistake:
            residual = step_on_mistake(alpha, S, X, t, x_t, y_t, k, allowed(eta, threshold))
        record(trace, score, mistake, alpha, mistake, residual)
    return trace


CASES = cases(
    projectron, {"eta": 0.02}, {"eta": 0.1}, {"eta": 0.6}, {"eta": 1.5}, {"eta": 0.1, "threshold": "squared_distance"},
    {"eta": 0.5, "threshold": "squared_distance"},
)  # fmt: skip
# With eta = 0 the Gram matrix may be singular to working precision: only where examples are exactly dependent, or
# clearly not, can two programs agree.
EXACT_CASES = cases(projectron, {"eta": 0.0}, {"eta": 0.0, "threshold": "squared_distance"})
# Section 5, several classes.
MULTICLASS_CASES = cases(
    structured_projectron_pp, {"eta": 0.05}, {"eta": 0.1}, {"eta": 0.6}, {"eta": 1.5},
    {"eta": 0.1, "threshold": "squared_distance"}, {"eta": 0.5, "threshold": "squared_distance"}, on_margins=False,
)  # fmt: skip
