"""Online kernel learning under a memory budget; written by scripts/pages/write_stub.py."""
# fmt: off

from typing import Literal, TypedDict, Unpack

from numpy.random import RandomState

from budgetrun.estimators import BudgetClassifier, BudgetRegressor
from budgetrun.estimators import load as load
from budgetrun.estimators.fleet import Fleet as Fleet
from budgetrun.estimators.selecting import SelectingClassifier as SelectingClassifier
from budgetrun.runner.api import load_results as load_results
from budgetrun.runner.api import sweep as sweep

__version__: str
__all__: list[str]

class _Settings(TypedDict, total=False):
    kernel: Literal["gaussian", "linear", "polynomial", "multitask"]  # default: "gaussian"
    gamma: float | Literal["auto", "scale"] | None  # default: "auto"
    sigma: float | None  # default: None
    degree: int  # default: 3
    coef0: float  # default: 1.0
    products: Literal["blas"] | None  # default: None
    n_tasks: int | None  # default: None
    b: float  # default: 1.0
    base: Literal["gaussian", "polynomial", "linear"]  # default: "gaussian"
    dtype: Literal["float64", "float32"]  # default: "float64"
    missing: Literal["fill", "refuse"]  # default: "fill"

class _ClassifierSettings(_Settings, total=False):
    tie: Literal["mistake", "positive"]  # default: "mistake"
    probabilities: bool  # default: False

class ALMA(BudgetClassifier):
    """Add every normalised example whose margin is small, with decreasing steps, and keep ||f|| <= 1."""
    def __init__(self, *, alpha: float = 0.9, B: float | None = None, C: float = 1.4142135623730951,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class AOGDALD(BudgetClassifier):
    """Gradient descent on the squared loss, in every round; steps that nearly lie in the span are projected."""
    def __init__(self, *, alpha: float = 0.01, U: float = 2.0, c: float = 1.0, offset: float = 1.0,
        switch: int | None = None, averaged: bool = False, **settings: Unpack[_ClassifierSettings]) -> None: ...

class AOGDALDRegressor(BudgetRegressor):
    """Gradient descent on the squared loss, in every round; steps that nearly lie in the span are projected."""
    def __init__(self, *, alpha: float = 0.01, U: float = 2.0, c: float = 1.0, offset: float = 1.0,
        switch: int | None = None, averaged: bool = False, **settings: Unpack[_Settings]) -> None: ...

class AOMDOGS(BudgetClassifier):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["hinge", "square"] = "hinge", alpha: float = 0.01, U: float | None = None,
        c: float = 0.5, M: int | None = None, offset: float | None = None, switch: int | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class AOMDOGSRegressor(BudgetRegressor):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["square"] = "square", alpha: float = 0.01, U: float = 4.0, c: float = 0.5,
        offset: float | None = None, switch: int | None = None, averaged: bool = False,
        **settings: Unpack[_Settings]) -> None: ...

class AONSOGS(BudgetClassifier):
    """Newton steps on the squared loss, in every round, in coordinates of the span of the examples that were added."""
    def __init__(self, *, alpha: float = 0.01, C: float = 1.0, mu: float = 1.0,
        order: Literal["paper", "program"] = "paper", **settings: Unpack[_ClassifierSettings]) -> None: ...

class AONSOGSRegressor(BudgetRegressor):
    """Newton steps on the squared loss, in every round, in coordinates of the span of the examples that were added."""
    def __init__(self, *, alpha: float = 0.01, C: float = 1.0, mu: float = 1.0,
        order: Literal["paper", "program"] = "paper", **settings: Unpack[_Settings]) -> None: ...

class AVM(BudgetClassifier):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["hypercell", "hypersphere"] = "hypersphere", delta: float = 1.0,
        max_size: int | None = None, loss: Literal["hinge", "logistic"] = "hinge", regulariser: float = 0.0001,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class AVP(BudgetClassifier):
    """Add every example whose margin is below 1 - epsilon, and keep ||f|| <= U."""
    def __init__(self, *, epsilon: float = 0.6, U: float | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class AVPOGS(BudgetClassifier):
    """On a margin below 1 - epsilon, take a step towards the example, or its projection on the span if that is near."""
    def __init__(self, *, alpha: float = 0.01, epsilon: float = 0.6, U: float = 10.0, c: float = 0.5,
        averaged: bool = False, **settings: Unpack[_ClassifierSettings]) -> None: ...

class AdaRaker(BudgetClassifier):
    """Copies of Raker with several steps, as its authors ran them: none forgets; f is their mean, weighted by mistakes."""
    def __init__(self, *, factors: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), features: int = 50,
        step: float = 50.0, regulariser: float = 1e-05, beta: float = 0.5, rate: float = 1.0,
        frequencies: Literal["orthogonal", "independent", "program"] = "orthogonal", seed: int = 0,
        random_state: int | RandomState | None = None, **settings: Unpack[_ClassifierSettings]) -> None: ...

class AdaRakerRegressor(BudgetRegressor):
    """Copies of Raker with several steps, as its authors ran them: none forgets; f is their mean, weighted by errors."""
    def __init__(self, *, factors: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), features: int = 50,
        step: float = 0.5, regulariser: float = 0.0002, beta: float = 0.5, rate: float = 0.1,
        frequencies: Literal["orthogonal", "independent", "program"] = "orthogonal", seed: int = 0,
        random_state: int | RandomState | None = None, **settings: Unpack[_Settings]) -> None: ...

class Ahpatron(BudgetClassifier):
    """Add every example whose margin is below 1 - epsilon; when the budget is full, project half of the examples."""
    def __init__(self, *, budget: int = 100, epsilon: float = 0.6, U: float | None = None, step: float | None = None,
        eta: float = 0.0005, norm: Literal["kept", "shrunk"] = "kept",
        halving: Literal["largest", "program"] = "largest", **settings: Unpack[_ClassifierSettings]) -> None: ...

class AlwaysAddingProjectron(BudgetClassifier):
    """The Projectron, updated on every positive hinge loss, not only on mistakes."""
    def __init__(self, *, eta: float = 0.1, averaged: bool = False,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class AutoClassifier(BudgetClassifier):
    """Logistic regressions, BPA-NN, Ahpatron and KRLS play together; a logistic regression on their scores predicts."""
    def __init__(self, *, budget: int = 300, memory: int | None = None, class_weight: Literal["balanced"] | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class AutoRegressor(BudgetRegressor):
    """Least squares, NORMA and KRLS play together; least squares on their scores predict."""
    def __init__(self, *, budget: int = 300, memory: int | None = None, **settings: Unpack[_Settings]) -> None: ...

class BOGD(BudgetClassifier):
    """Gradient descent on the regularised hinge loss; when the budget is full, a random example is removed."""
    def __init__(self, *, budget: int = 100, step: float = 0.5, regulariser: float = 0.0, clip: float = 1.0,
        seed: int = 0, random_state: int | RandomState | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class BOGDPlusPlus(BudgetClassifier):
    """Gradient descent on the regularised hinge loss; when the budget is full, a random example is replaced."""
    def __init__(self, *, budget: int = 100, step: float = 0.5, regulariser: float = 0.0, clip: float = 1.0,
        seed: int = 0, random_state: int | RandomState | None = None,
        reading: Literal["algorithm", "program"] = "algorithm", **settings: Unpack[_ClassifierSettings]) -> None: ...

class BPA(BudgetClassifier):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["nearest", "projecting", "simple"] = "simple", budget: int = 100,
        C: float = 1.0, keep: bool | None = None, ridge: float | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class BSGD(BudgetClassifier):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["projection", "removal", "lookup_h", "lookup_wd", "merging"] = "removal",
        budget: int = 100, regulariser: float = 0.0001, ridge: float | None = None,
        first: Literal["paper", "program"] | None = None, partners: Literal["all", "same_sign"] | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class CKS(BudgetClassifier):
    """The Perceptron; past the budget, remove the example with the largest margin after its own removal."""
    def __init__(self, *, budget: int = 100, candidates: Literal["old", "all"] = "old",
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class CKS2003(BudgetClassifier):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["fixed", "variable"] = "fixed", budget: int = 100, beta: float | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class CONKONS(BudgetClassifier):
    """Newton steps on the squared loss over the features of a dictionary; as examples join it, f stays as it is."""
    def __init__(self, *, g: float = 5.0, alpha: float = 1.0, beta: float = 1.0, epsilon: float = 0.5, C: float = 1.0,
        curvature: float | None = None, seed: int = 0, random_state: int | RandomState | None = None,
        reading: Literal["algorithm", "program"] = "algorithm", **settings: Unpack[_ClassifierSettings]) -> None: ...

class DualSGD(BudgetClassifier):
    """Stochastic gradient descent; when the budget is full, random features take over the k smallest weights."""
    def __init__(self, *, budget: int = 100, k: int | None = None, features: int = 200,
        loss: Literal["hinge", "logistic"] = "hinge", regulariser: float = 0.0001, seed: int = 0,
        random_state: int | RandomState | None = None, frequencies: Literal["right", "program"] = "right",
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class FBKRLS(BudgetRegressor):
    """Kernel ridge regression on the examples held, whose labels stay; past the budget, remove the best predicted one."""
    def __init__(self, *, budget: int = 100, regulariser: float = 0.01, label_step: float = 0.0,
        **settings: Unpack[_Settings]) -> None: ...

class FOGD(BudgetClassifier):
    """Gradient descent on the hinge loss, over random features whose inner products approximate the Gaussian kernel."""
    def __init__(self, *, features: int = 300, step: float = 0.5, seed: int = 0,
        random_state: int | RandomState | None = None, counting: Literal["frequencies", "features"] = "frequencies",
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class FOGDRegressor(BudgetRegressor):
    """Gradient descent on the squared error, over random features whose products approximate the Gaussian kernel."""
    def __init__(self, *, features: int = 300, step: float = 0.5, seed: int = 0,
        random_state: int | RandomState | None = None, counting: Literal["frequencies", "features"] = "frequencies",
        **settings: Unpack[_Settings]) -> None: ...

class FORKS(BudgetClassifier):
    """SkeGD with Newton steps on the squared hinge loss, which begin again whenever the features change."""
    def __init__(self, *, budget: int = 100, step: float = 0.2, columns: int | None = None, sampled: int | None = None,
        rank: int | None = None, cycle: int = 100, seed: int = 0, random_state: int | RandomState | None = None,
        curvature: float = 0.2, alpha: float = 0.01, C: float = 1.0,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class Forgetron(BudgetClassifier):
    """A family of learners; choose one with ``variant``."""
    def __init__(self, *, variant: Literal["basic", "greedy", "self_tuned", "simplified"] = "self_tuned",
        budget: int = 100, cap: Literal["every_mistake", "when_full"] | None = None,
        logarithm: Literal["natural", "base2"] | None = None, test: Literal["per_round", "cumulative"] | None = None,
        step: float | None = None, radius: float | None = None, regulariser: float | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class IOKS(BudgetClassifier):
    """Draw a kernel by the losses so far; its function alone predicts, and takes a step that its gradients decide."""
    def __init__(self, *, factors: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), horizon: int = 1000,
        U: float = 15.0, seed: int = 0, random_state: int | RandomState | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class KLMS(BudgetRegressor):
    """Gradient descent on the squared error: add every example with its error times a step, until the budget is full."""
    def __init__(self, *, budget: int | None = None, step: float = 0.5, **settings: Unpack[_Settings]) -> None: ...

class KNLMS(BudgetRegressor):
    """Normalized gradient steps on all weights; an example is added if its kernel values with the others are small."""
    def __init__(self, *, budget: int | None = None, step: float = 0.5, coherence: float = 0.95,
        regulariser: float = 0.01, **settings: Unpack[_Settings]) -> None: ...

class KRLS(BudgetRegressor):
    """Least squares over all examples so far, in the span of those that are not nearly linear combinations of others."""
    def __init__(self, *, budget: int | None = None, nu: float = 0.0001, **settings: Unpack[_Settings]) -> None: ...

class KRLSClassifier(BudgetClassifier):
    """Least squares with the labels -1 and +1 as numbers, in the span of examples that are not nearly dependent."""
    def __init__(self, *, budget: int | None = None, nu: float = 0.0001,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class LeastSquares(BudgetRegressor):
    """Gradient descent on the squared error, (y - f(x))^2 / 2, for a linear function with an intercept."""
    def __init__(self, *, step: float = 0.1, rates: Literal["adagrad", "constant", "normalised"] = "adagrad",
        inputs: Literal["as_given", "standardised"] = "as_given", splines: bool = False, pairs: int = 0,
        **settings: Unpack[_Settings]) -> None: ...

class LinearPerceptron(BudgetClassifier):
    """Add every misclassified example, times its label, to the weights of the features, without a kernel."""
    def __init__(self, **settings: Unpack[_ClassifierSettings]) -> None: ...

class Logistic(BudgetClassifier):
    """Gradient descent on the logistic loss, log(1 + exp(-y f(x))), for a linear function with an intercept."""
    def __init__(self, *, step: float = 0.1, rates: Literal["adagrad", "constant", "normalised"] = "adagrad",
        inputs: Literal["as_given", "standardised"] = "as_given", splines: bool = False, pairs: int = 0,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class MAVPOGS(BudgetClassifier):
    """AVP-OGS with one function per class: steps for the true class and against the rival, projected together."""
    def __init__(self, *, alpha: float = 0.01, epsilon: float = 0.9, U: float = 10.0, c: float = 0.1,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class Majority(BudgetClassifier):
    """Predict the class that was more frequent so far: f is the number of labels +1 minus the number of labels -1."""
    def __init__(self, **settings: Unpack[_ClassifierSettings]) -> None: ...

class Mean(BudgetRegressor):
    """Predict the mean of the labels so far, 0 in the first round."""
    def __init__(self, **settings: Unpack[_Settings]) -> None: ...

class ModifiedRBP(BudgetClassifier):
    """On a mistake, empty one of B slots at random (filled or not), add the new example, and project f on a ball."""
    def __init__(self, *, budget: int = 100, step: float = 0.0625, radius: float | None = None, seed: int = 0,
        random_state: int | RandomState | None = None, **settings: Unpack[_ClassifierSettings]) -> None: ...

class NOGD(BudgetClassifier):
    """Gradient descent on the hinge loss; once there are B support examples, over their Nystroem features."""
    def __init__(self, *, budget: int = 100, step: float = 0.5, rank: int | None = None,
        reading: Literal["algorithm", "program"] = "algorithm", **settings: Unpack[_ClassifierSettings]) -> None: ...

class NOGDRegressor(BudgetRegressor):
    """Gradient descent on the squared error; once there are B support examples, over their Nystroem features."""
    def __init__(self, *, budget: int = 100, step: float = 0.5, rank: int | None = None,
        **settings: Unpack[_Settings]) -> None: ...

class NORMA(BudgetClassifier):
    """Gradient descent on the regularised soft-margin loss; past the budget, remove the oldest example."""
    def __init__(self, *, budget: int | None = None, step: float = 0.5, regulariser: float = 0.0, rho: float = 1.0,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class NORMARegressor(BudgetRegressor):
    """Gradient descent on a regularised loss of the error; past the budget, remove the oldest example."""
    def __init__(self, *, budget: int | None = None, step: float = 0.5, regulariser: float = 0.01,
        loss: Literal["squared", "insensitive", "dead_zone"] = "squared", epsilon: float = 0.1, nu: float | None = None,
        **settings: Unpack[_Settings]) -> None: ...

class OKS(BudgetClassifier):
    """Draw a kernel by the losses so far; its function alone predicts, and takes a step on the logistic loss."""
    def __init__(self, *, factors: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), horizon: int = 1000,
        step: float | None = None, seed: int = 0, random_state: int | RandomState | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class POMDR(BudgetClassifier):
    """Gradient descent with a hint; when the budget is full, give the weights of the younger half to the older half."""
    def __init__(self, *, budget: int = 100, first_budget: int | None = None, eta: float = 0.1, U: float = 25.0,
        halving: Literal["before", "after"] = "before", **settings: Unpack[_ClassifierSettings]) -> None: ...

class PROSNKONS(BudgetClassifier):
    """Newton steps on the squared loss over a dictionary's features; each time an example joins it, begin again."""
    def __init__(self, *, g: float = 5.0, alpha: float = 1.0, beta: float = 1.0, epsilon: float = 0.5, C: float = 1.0,
        curvature: float | None = None, seed: int = 0, random_state: int | RandomState | None = None,
        reading: Literal["algorithm", "program"] = "algorithm", **settings: Unpack[_ClassifierSettings]) -> None: ...

class PassiveAggressive(BudgetClassifier):
    """If the hinge loss is positive, add the example with the smallest weight that makes its margin 1, but at most C."""
    def __init__(self, *, C: float = 1.0, averaged: bool = False, **settings: Unpack[_ClassifierSettings]) -> None: ...

class Perceptron(BudgetClassifier):
    """Add every misclassified example, with its label as weight."""
    def __init__(self, *, averaged: bool = False, **settings: Unpack[_ClassifierSettings]) -> None: ...

class ProjectedALMA(BudgetClassifier):
    """ALMA_2, except that an update that nearly lies in the span of the support set is projected on it."""
    def __init__(self, *, eta: float = 0.1, alpha: float = 0.0, B: float = 1.0, C: float | None = None,
        threshold: Literal["distance", "squared_distance"] = "distance",
        delta: Literal["hypothesis", "example"] = "hypothesis", averaged: bool = False,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class Projectron(BudgetClassifier):
    """The Perceptron, except that an example that nearly lies in the span of the support set is projected on it."""
    def __init__(self, *, eta: float = 0.1, threshold: Literal["distance", "squared_distance"] = "distance",
        averaged: bool = False, **settings: Unpack[_ClassifierSettings]) -> None: ...

class ProjectronPlusPlus(BudgetClassifier):
    """The Projectron, which also projects an example inside the margin if its loss exceeds the cost of projecting."""
    def __init__(self, *, eta: float = 0.1, threshold: Literal["distance", "squared_distance"] = "distance",
        hierarchy: str | None = None, averaged: bool = False, **settings: Unpack[_ClassifierSettings]) -> None: ...

class QKLMS(BudgetRegressor):
    """Gradient descent on the squared error, where a step goes to the nearest support example if one is near."""
    def __init__(self, *, budget: int | None = None, step: float = 0.9, epsilon: float = 0.1,
        **settings: Unpack[_Settings]) -> None: ...

class RBP(BudgetClassifier):
    """The Perceptron; on a mistake with a full budget, remove a random example before adding the new one."""
    def __init__(self, *, budget: int = 100, seed: int = 0, random_state: int | RandomState | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class Raker(BudgetClassifier):
    """Gradient descent on the logistic loss for each of several kernels; f is their mean, weighted by their losses."""
    def __init__(self, *, factors: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), features: int = 50,
        step: float = 0.5, rate: float | None = None, regulariser: float = 0.0,
        frequencies: Literal["orthogonal", "independent", "program"] = "orthogonal", seed: int = 0,
        random_state: int | RandomState | None = None, **settings: Unpack[_ClassifierSettings]) -> None: ...

class RakerRegressor(BudgetRegressor):
    """Gradient descent on the squared error for each of several kernels; f is their mean, weighted by their losses."""
    def __init__(self, *, factors: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), features: int = 50,
        step: float = 0.5, rate: float | None = None, regulariser: float = 0.0,
        frequencies: Literal["orthogonal", "independent", "program"] = "orthogonal", seed: int = 0,
        random_state: int | RandomState | None = None, **settings: Unpack[_Settings]) -> None: ...

class RemoveOldest(BudgetClassifier):
    """The Perceptron; past the budget, remove the oldest example."""
    def __init__(self, *, budget: int = 100, **settings: Unpack[_ClassifierSettings]) -> None: ...

class ShrinkingPerceptron(BudgetClassifier):
    """The Perceptron, with the hypothesis multiplied by phi_t after each update."""
    def __init__(self, *, phi: float | str = 0.999, **settings: Unpack[_ClassifierSettings]) -> None: ...

class SkeGD(BudgetClassifier):
    """Gradient descent on the hinge loss; once there are B support examples, over features from a sketch of K."""
    def __init__(self, *, budget: int = 100, step: float = 0.2, columns: int | None = None, sampled: int | None = None,
        rank: int | None = None, cycle: int = 100, seed: int = 0, random_state: int | RandomState | None = None,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class Stoptron(BudgetClassifier):
    """Add every misclassified example until the budget is full; after that, leave f unchanged."""
    def __init__(self, *, budget: int = 100, averaged: bool = False,
        **settings: Unpack[_ClassifierSettings]) -> None: ...

class TighterPerceptron(BudgetClassifier):
    """Before an example is added to a full cache, remove the one without which f errs least often."""
    def __init__(self, *, budget: int = 100, beta: float = 0.0, validation: Literal["cache", "all"] = "cache",
        **settings: Unpack[_ClassifierSettings]) -> None: ...
