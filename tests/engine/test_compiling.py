"""Code is compiled from the sources of plain classes, and kept on disk for other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from budgetrun import compiling
from budgetrun.learners import find

MODULE = """
    import sys
    from budgetrun.compiling import Compilable, prepared
    from budgetrun.compiling.structures import function

    class Account(Compilable):
        def __init__(self, amount):
            self.amount = amount

        def deposit(self, more):
            self.amount += more

    def double(account):
        account.deposit(account.amount)

    if __name__ == "__main__":
        import accounts
        for amount in eval(sys.argv[1]):
            account = accounts.Account(amount)
            function(accounts.double)(prepared(account))
            print(account.amount, end=" ")
"""


@pytest.mark.skipif(not compiling.on(), reason="nothing is compiled")
def test_classes_from_elsewhere_do_not_spoil_the_cache_of_other_processes(tmp_path):
    module = tmp_path / "accounts.py"
    module.write_text(textwrap.dedent(MODULE))
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(amounts):
        found = subprocess.run([sys.executable, module, amounts], env=env, capture_output=True, text=True)
        return found.stdout + found.stderr

    assert run("[1, 0.5]") == "2 1.0 "
    # Compiled code for another type is added to an index with types that only the first process had.
    assert run("[0.25, 3]") == "0.5 6 "
    assert run("[2]") == "4 "


def test_a_number_is_compiled_once_whether_it_has_a_point_or_not():
    kinds = set()
    for step in (1, 1.0, 0.5):
        learner = find("bogd")(budget=2, step=step)
        kinds.add(compiling.prepared(learner)._numba_type_)
        assert repr(learner.step) == repr(step)
    assert len(kinds) == 1
