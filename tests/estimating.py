"""What the estimators of every kind are tried with: scikit-learn's checks, and a stream in pieces."""

import pickle
import warnings

from sklearn.utils.estimator_checks import check_estimator


def failed_checks(model):
    """Return the names and messages of scikit-learn's checks that fail; none may be skipped but one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(model, on_fail=None)
    # It is for array libraries other than numpy.
    assert {c["check_name"] for c in checks if c["status"] == "skipped"} <= {"check_array_api_input"}
    return [(c["check_name"], str(c["exception"])) for c in checks if c["status"] == "failed"]


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def in_pieces(model, X, y, pause=pickled, **given):
    """Learn a stream of 150 rounds in calls of several lengths, with a pause after each."""
    for start, end in [(0, 1), (1, 4), (4, 70), (70, 71), (71, 150)]:
        model = pause(model.partial_fit(X[start:end], y[start:end], **given))
    return model
