"""What Liao, Li, Liao, Hu & Dang (2024) ran under the name of Projectron++."""

from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE, Basis, ProjectionTrace, allowed, projected_value
from reference.projectron import step_on_mistake

NAME = "projectron++_2024"


def projectron_2024(X, y, k, eta, tie="mistake"):
    trace = ProjectionTrace()
    alpha = {}
    S = Basis()
    for t, x_t, y_t in stream(X, y):
        score = projected_value(alpha, X, x_t, k)
        residual, update = None, 1 - y_t * score > TOLERANCE
        if update:  # on y f(x) < 1
            # ||delta|| <= eta: alpha += y d; otherwise add with weight y
            residual = step_on_mistake(alpha, S, X, t, x_t, y_t, k, allowed(eta, "distance"))
        record(trace, score, is_mistake(y_t, score, tie), alpha, update, residual)
    return trace


CASES = cases(projectron_2024, *({"eta": eta} for eta in (0.1, 0.6, 0.9)))
