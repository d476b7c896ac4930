"""Learners of other packages, and programs of anyone, played under the rules of our own."""
