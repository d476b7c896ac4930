"""The arena: learners of other packages and programs of anyone, played under the rules of our own; and its site."""
