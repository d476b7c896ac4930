"""Runs for the tests of bounds: learners on a stream, and the verdicts of the bounds on them."""

import numpy as np
from cases import fed

from budgetrun.engine import Group
from budgetrun.papers import theory


def play(learner, kernel, X, y, **options):
    """Run a learner over a stream; return it as a member of its group."""
    return play_all([learner], kernel, X, y, **options)[0]


def play_all(learners, kernel, X, y, *, n_classes=None, tie="mistake", block_size=256):
    """Run learners over a stream as one group, which takes less time than one by one; return its members."""
    group = Group(kernel, learners, n_classes=n_classes, tie=tie)
    fed(group, X, y[None], block_size)
    return group.members


def run_of(member, largest_square=1.0):
    """Return what bounds need to know of a member after its run."""
    learner, count = member.learner, member.count
    return theory.Run(learner, count.mistakes, count.updates, largest_square, learner.facts(member.hypothesis))


def competitors(kernel, X, y, n_classes=None, **options):
    """Return the competitors on a stream of one task."""
    return theory.find(X, {"-": np.asarray(y)}, kernel, n_classes, **options)["-"]


def verdicts(member, found):
    """Return the verdict of each bound on a member, by the theorem."""
    run = run_of(member, found.largest_square)
    bounds = theory.about(theory.registry(), member.learner)
    return {bound.name: bound.check(run, found) for bound in bounds}
