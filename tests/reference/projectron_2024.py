"""What Liao, Li, Liao, Hu & Dang (2024) ran under the name of Projectron++."""

from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE, Basis, ProjectionTrace, allowed, projected_value

NAME = "projectron++_2024"


def projectron_2024(X, y, k, eta, tie="mistake"):
    trace = ProjectionTrace()
    alpha = {}
    S = Basis()
    for t, x_t, y_t in stream(X, y):
        score = projected_value(alpha, X, x_t, k)
        residual, update = None, 1 - y_t * score > TOLERANCE
        if update:  # on y f(x) < 1
            column = k.column(X, x_t)
            k_t = [column[i] for i in S.members]
            k_tt = k(x_t, x_t)
            d, _, residual = S.project(k_t, k_tt)
            if residual <= allowed(eta, "distance") + TOLERANCE * k_tt:  # ||delta|| <= eta: alpha += y d
                for i, d_i in zip(S.members, d, strict=True):
                    alpha[i] += y_t * d_i
            else:  # otherwise add with weight y
                alpha[t] = float(y_t)
                S.add(t, k_t, k_tt)
        record(trace, score, is_mistake(y_t, score, tie), alpha)
        trace.residuals.append(residual)
        trace.updates.append(update)
    return trace


CASES = cases(projectron_2024, *({"eta": eta} for eta in (0.1, 0.6, 0.9)))
