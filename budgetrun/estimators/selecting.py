"""A classifier that runs several candidates side by side and chooses among them on the stream."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from budgetrun.base.problem import VOTES_TIE
from budgetrun.base.registry import parameters
from budgetrun.estimators.arguments import check_choice, check_choices, check_value, finds_gamma, group_options
from budgetrun.estimators.base import BudgetClassifier
from budgetrun.play import selection


class SelectingClassifier(BudgetClassifier):
    """Predicts by a weighted vote of candidates, whose weights follow their mistakes on the stream so far.

    Nothing is chosen in hindsight. `partial_fit` gives the same result however the data are divided into calls.

    Parameters
    ----------
    estimators : classifier of budgetrun, or list of them
        The learners. They are not changed.
    grid : dict, or list of dict, or None
        For each parameter, the values to try, in all combinations; a list has one dict per learner. None: the learners
        as they are.
    rule : {"hedge", "fixed_share", "racing", "omkc", "omkc_sd"}
        How to weigh them; see `budgetrun.play.selection`.
    rule_parameters : dict or None
        The rule's parameters: ``{"share": 0.001}`` of fixed share, ``{"confidence": 0.05}`` of racing,
        ``{"beta": 0.99}`` of OMKC, also ``smoothing`` and ``seed`` of "omkc_sd", its stochastic update.
    probabilities : bool
        Offer probabilities. Their calibration is fitted while learning, which needs a vote per round.

    Attributes
    ----------
    candidates_ : list of classifier
        The candidates, not fitted.
    candidate_weights_ : ndarray, shape (n_candidates,)
        Their weights in the next round, of sum 1; 0 for those that were dropped.
    candidate_mistakes_ : ndarray of int, shape (n_candidates,)
        Their mistakes, up to the round in which they were dropped.
    mistakes_ : int
        Those of the weighted vote: what this classifier has predicted before it saw the labels.
    support_size_ : int
        The number of examples that all live candidates hold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from budgetrun import RBP, SelectingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SelectingClassifier(RBP(budget=50), grid={"gamma": [0.001, 0.01, 0.1, 1]}, rule="racing")
    >>> model.fit(StandardScaler().fit_transform(X), y).mistakes_
    34
    """

    _learners: Any = None
    _arguments = frozenset({"estimators", "grid", "rule", "rule_parameters", "probabilities"})

    def __init__(
        self,
        estimators: Any,
        *,
        grid: Any = None,
        rule: str = "hedge",
        rule_parameters: dict[str, Any] | None = None,
        probabilities: bool = False,
    ) -> None:
        self.estimators = estimators
        self.grid = grid
        self.rule = rule
        self.rule_parameters = rule_parameters
        self.probabilities = probabilities

    @property
    def candidate_weights_(self) -> np.ndarray:
        return self._selection.rule.next_weights()

    @property
    def candidate_mistakes_(self) -> np.ndarray:
        return self._selection.rule.losses.copy()

    @property
    def mistakes_(self) -> int:
        return int(self._selection.mistakes)

    @property
    def support_size_(self) -> int:
        return int(self._selection.support_size)

    @property
    def _selection(self) -> selection.Selection:
        check_is_fitted(self, "_group")
        return self._group

    def __getattribute__(self, name: str) -> Any:
        if name in ("support_set_", "weights_", "seed_"):
            raise AttributeError(f"a SelectingClassifier has no {name}, because it has several candidates")
        return super().__getattribute__(name)

    def _listed(self) -> list[Any]:
        given = self.estimators
        found = list(given) if isinstance(given, Sequence) else [given]
        for one in found:
            if not isinstance(one, BudgetClassifier) or isinstance(one, SelectingClassifier):
                raise ValueError(f"estimators must be a classifier of budgetrun, or a list of them, got {one!r}")
        if not found:
            raise ValueError("estimators must have at least one classifier, got an empty list")
        return found

    def _candidates(self) -> list[Any]:
        listed = self._listed()
        grids = self.grid if isinstance(self.grid, list) else [self.grid] * len(listed)
        if len(grids) != len(listed):
            raise ValueError(f"grid must be a dict, or a list of {len(listed)}, one per estimator, got {len(grids)}")
        return [
            clone(one).set_params(**chosen)
            for one, grid in zip(listed, grids, strict=True)
            for chosen in ParameterGrid(grid or {})
        ]

    def _started(self, classes: np.ndarray) -> Any:
        check_choices({"probabilities": self.probabilities})
        self.candidates_ = self._candidates()
        each = [self._with_gamma(one.get_params(deep=False)) for one in self.candidates_]
        given = [(own, one._learners, one._several, classes) for own, one in zip(each, self.candidates_, strict=True)]
        kernels, learners, options = zip(*(group_options(*one) for one in given), strict=True)
        for name in ("tie", "dtype"):
            if len({own[name] for own in options}) > 1:
                raise ValueError(f"{name} must be the same for all candidates")
        chosen = options[0] | {"n_classes": len(classes)}
        return selection.Selection(self._rule(), list(zip(kernels, learners, strict=True)), **chosen)

    def _rule_of_gamma(self) -> str | None:
        rules = {one.gamma for one in self._candidates() if finds_gamma(one.get_params(deep=False))}
        if len(rules) > 1:
            raise ValueError("gamma must be 'auto' or 'scale' for all candidates that leave it open")
        return rules.pop() if rules else None

    def _rule(self) -> selection.Rule:
        known = selection.registry()
        check_choice("rule", self.rule, known)
        rule, given = known[self.rule], deepcopy(self.rule_parameters or {})
        wanted = parameters(rule)
        for name, value in given.items():
            if name not in wanted:
                raise ValueError(
                    f"rule_parameters: {self.rule} has no parameter {name!r}; it has {', '.join(wanted) or 'none'}"
                )
            check_value(f"rule_parameters: {name}", value, wanted[name].annotation)
        return rule(**given)

    @property
    def _predicts_first(self) -> bool:
        return self._calibration is not None

    def _play_one(self, x: np.ndarray, y: Any) -> bool:
        return False

    def _score_one(self, x: np.ndarray) -> float | None:
        return None

    def _scores_of(self, rows: Any) -> np.ndarray:
        weights = self._group.score(rows)
        if len(weights) > 2:
            return weights.T
        lead = weights[1] - weights[0]
        # The second class is predicted in a tie.
        return np.where(np.abs(lead) <= VOTES_TIE, VOTES_TIE, lead)
