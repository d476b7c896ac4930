"""Orabona, Keshet & Caputo (2009), Fig. 5: the Projectron++."""

from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import Basis, ProjectionTrace, allowed, cost_of_projecting, margin_step, projected_value
from reference.projectron import step_on_mistake

NAME = "projectron++"


def projectron_pp(X, y, k, eta, threshold="distance", tie="mistake"):
    trace = ProjectionTrace()
    alpha = {}  # S_0 is empty, f_0 = 0
    S = Basis()
    for t, x_t, y_t in stream(X, y):
        score = projected_value(alpha, X, x_t, k)  # predict sign(f_{t-1}(x_t))
        mistake = is_mistake(y_t, score, tie)
        loss = max(0.0, 1 - y_t * score)
        residual, changed = None, mistake
        if mistake:  # prediction error
            residual = step_on_mistake(alpha, S, X, t, x_t, y_t, k, allowed(eta, threshold))
        elif loss > 0:  # margin error
            column, k_tt = k.column(X, x_t), k(x_t, x_t)
            d, square, residual = S.project([column[i] for i in S.members], k_tt)
            # check if x_t can be projected: loss >= ||delta_t|| / eta; set tau_t
            tau = margin_step(loss, square, cost_of_projecting(residual, k_tt, eta, threshold))
            if tau > 0:  # f_t = f_{t-1} + y_t tau_t P_{t-1} k(x_t, .), S_t = S_{t-1}
                changed = True
                for i, d_i in zip(S.members, d, strict=True):
                    alpha[i] += y_t * tau * d_i
        record(trace, score, mistake, alpha, changed, residual)
    return trace


CASES = cases(
    projectron_pp, {"eta": 0.1}, {"eta": 0.6}, {"eta": 1.5}, {"eta": 0.1, "threshold": "squared_distance"},
    {"eta": 0.5, "threshold": "squared_distance"},
)  # fmt: skip
