"""The arena: learners of other packages under the rules of our own, and its site."""
