"""The learners of this plug-in."""

from budgetrun.papers.programs.pipe import Command
from budgetrun.papers.programs.river import River
from budgetrun.papers.programs.scikit_learn import ScikitLearn
from budgetrun.papers.programs.vowpal_wabbit import VowpalWabbit

LEARNERS = (Command, River, ScikitLearn, VowpalWabbit)
