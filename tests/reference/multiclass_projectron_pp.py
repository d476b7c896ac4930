"""Orabona, Keshet & Caputo (2009), section 5, several classes with a prototype each: the Projectron++."""

from reference.kernel_expansion import cases, record, stream
from reference.multiclass import best_rival, negligible_lead, values
from reference.multiclass_projectron import add_projection, project_onto, step_on_mistake
from reference.projection import Basis, ProjectionTrace, cost_of_projecting, margin_step

NAME = "projectron++"


def multiclass_projectron_pp(X, codes, k, n_classes, eta, threshold="distance"):
    trace = ProjectionTrace()
    alpha = {}
    bases = [Basis() for _ in range(n_classes)]  # one inverse Gram matrix per class
    for t, x_t, y_t in stream(X, codes):
        scores = values(alpha, X, x_t, k, n_classes)
        rival, lead = best_rival(scores, y_t, tolerance=negligible_lead(alpha, X, x_t, k, n_classes))
        mistake = lead <= 0
        residual, changed = None, mistake
        if mistake:
            residual = step_on_mistake(alpha, bases, X, t, k, y_t, rival, eta, threshold, n_classes)
        elif lead < 1:  # margin error
            loss = 1 - lead
            _, d_y, square_y, residual_y = project_onto(bases[y_t], X, x_t, k)
            _, d_r, square_r, residual_r = project_onto(bases[rival], X, x_t, k)
            residual = residual_y + residual_r
            # a = P_{t-1}(k((x, y), .) - k((x, y'), .)); tau_t as below Theorem 6
            cost = cost_of_projecting(residual, k(x_t, x_t), eta, threshold)
            tau = margin_step(loss, square_y + square_r, cost)
            if tau > 0:
                changed = True
                add_projection(alpha, bases[y_t], y_t, d_y, tau)
                add_projection(alpha, bases[rival], rival, d_r, -tau)
        record(trace, scores, mistake, alpha, changed, residual)
    return trace


MULTICLASS_CASES = cases(
    multiclass_projectron_pp,
    {"eta": 0.1},
    {"eta": 0.6},
    {"eta": 1.5},
    {"eta": 0.1, "threshold": "squared_distance"},
    {"eta": 0.5, "threshold": "squared_distance"},
)
