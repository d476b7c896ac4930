"""The learners of this plug-in."""

from budgetrun.papers.arena.pipe import Command
from budgetrun.papers.arena.river import River
from budgetrun.papers.arena.scikit_learn import ScikitLearn
from budgetrun.papers.arena.vowpal_wabbit import VowpalWabbit

LEARNERS = (Command, River, ScikitLearn, VowpalWabbit)
