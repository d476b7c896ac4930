"""Runs for the tests of bounds: a learner on a stream, and what bounds say of it."""

import numpy as np

from budgetrun import theory
from budgetrun.engine import Group


def play(learner, kernel, X, y, *, n_classes=None, tie="mistake", block_size=256):
    """Run a learner over a stream; return it as a member of its group."""
    group = Group(kernel, [learner], n_classes=n_classes, tie=tie)
    for start in range(0, len(y), block_size):
        group.feed(X[start : start + block_size], y[None, start : start + block_size])
    return group.members[0]


def run_of(member, largest_square=1.0):
    """Return what bounds need to know of a member that has run."""
    learner, count = member.learner, member.count
    facts = learner.facts(member.hypothesis)
    return theory.Run(learner, count.mistakes, count.updates, largest_square, facts)


def competitors(kernel, X, y, n_classes=None, **options):
    """Return the competitors on a stream of one task."""
    return theory.find(X, {"-": np.asarray(y)}, kernel, n_classes, **options)["-"]


def verdicts(member, found):
    """Return the verdict of each bound on a member, by the theorem."""
    run = run_of(member, found.largest_square)
    bounds = theory.about(theory.registry(), member.learner)
    return {bound.name: bound.check(run, found) for bound in bounds}
