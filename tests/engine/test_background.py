"""Code is interpreted until a helper process has compiled it: nobody waits for the helper, or sees it."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import psutil
import pytest
from faults import message
from sweeping import wait_for

from budgetrun import estimators
from budgetrun.kernels import compiling
from budgetrun.kernels.compiling import background, kind_of, objects
from budgetrun.kernels.compiling.objects import named

LOOPS = "budgetrun.kernels.compiling.loops"
SECONDS = 120
# Compiled in a second.
SHORT = (f"{LOOPS}:add_multiple", kind_of(np.zeros(3)), "<f8", kind_of(np.zeros(3)))
# Refused by the compiler.
WRONG = (f"{LOOPS}:add_multiple", "str", "str", "str")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Let this process compile in the background, as if it had just begun, in an empty cache."""
    monkeypatch.delenv(compiling.ENVIRONMENT)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    caches = (compiling.on, background.folder, background._root, background._mark)
    for name, value in {"compiled": {}, "_wanted": {}, "_asked": set(), "_spent": 0.0, "_next": 0.0}.items():
        monkeypatch.setattr(background, name, value)
    for cached in caches:
        cached.cache_clear()
    before = psutil.Process().children()
    yield tmp_path / "cache"
    # Also those that have just been started, and have no command yet.
    for child in psutil.Process().children():
        if child not in before:
            child.kill()
            child.wait()
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def helpers(parent=None):
    found = []
    for child in psutil.Process(parent).children():
        try:
            if "budgetrun.kernels.compiling.helper" in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
        except psutil.NoSuchProcess:
            pass
    return found


def the_helper(parent=None):
    # A process that has just been started has no command yet.
    (only,) = wait_for(lambda: helpers(parent))
    return only


def look(seconds=background._PAYS, **following):
    background._next = background._counted = 0.0
    background.border(seconds, **following)


needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is missing")


def test_no_helper_starts_before_blocks_have_shown_what_they_call(fresh, monkeypatch):
    started = []
    monkeypatch.setattr(background, "_start_helper", started.append)
    background.request(SHORT)
    for seconds in (background._SHOWN / 2, background._SHOWN / 2):
        assert not started
        look(seconds, to_come=10 * background._PAYS)
    assert started == [[SHORT]]


def test_what_follows_later_counts_for_requests_and_not_for_loading(fresh, monkeypatch):
    started = []
    monkeypatch.setattr(background, "_start_helper", started.append)
    monkeypatch.setattr(background, "_switch", lambda key: pytest.fail("loaded"))
    kept = (f"{LOOPS}:copy", *SHORT[1:])
    background._mark(kept).parent.mkdir(parents=True)
    background._mark(kept).touch()
    for key in (SHORT, kept):
        background.request(key)
    look(background._SHOWN, later=background._PAYS)
    assert started == [[SHORT]]


def test_fit_tells_what_follows(monkeypatch):
    told = []
    monkeypatch.setattr("budgetrun.kernels.compiling.border", lambda *given: told.append(given))
    X = np.ones((3 * 256, 2))
    monkeypatch.setattr("budgetrun.estimators.base._ROUNDS", 512)
    estimators.Perceptron().fit(X, np.arange(len(X)) % 2)
    rounds = [(1 + (soon + later) / seconds) * 256 for seconds, soon, later in told]
    assert rounds == pytest.approx([768, 512, 256])


@needs_numba
def test_a_helper_compiles_what_is_requested_and_then_it_is_loaded(fresh, capfd):
    for key in (WRONG, SHORT):
        background.request(key)
    look(background._PAYS / 2)
    # The end of a block that contains the last one.
    background.border(background._PAYS / 2)
    assert not helpers()
    look(background._PAYS / 2)
    only = the_helper()
    wait_for(lambda: only.nice() == 19)
    # While it is there, no process starts another one.
    only.suspend()
    background.request((f"{LOOPS}:copy", kind_of(np.zeros(3)), kind_of(np.zeros(3))))
    look()
    assert helpers() == [only]
    only.resume()
    # A process that is ending has no command any more but still holds its files, so also the lock.
    only.wait(SECONDS)
    assert background._mark(SHORT).is_file()
    assert not background._mark(WRONG).exists()
    look()
    assert list(background.compiled) == [SHORT]
    assert WRONG in background._wanted
    # It now compiles the third; what failed is not tried again.
    assert background._asked == {SHORT, WRONG, *background._wanted}
    values = np.arange(3.0)
    background.compiled[SHORT](values, 2.0, np.ones(3))
    assert values.tolist() == [2.0, 3.0, 4.0]
    assert capfd.readouterr() == ("", "")


@needs_numba
def test_code_for_another_processor_is_not_loaded(fresh):
    background._mark(SHORT).parent.mkdir(parents=True)
    background._mark(SHORT).write_text("another")
    background.request(SHORT)
    look()
    assert not background.compiled
    assert the_helper()


@needs_numba
def test_what_cannot_be_loaded_stays_interpreted(fresh, monkeypatch):
    background._mark(SHORT).parent.mkdir(parents=True)
    background._mark(SHORT).touch()
    monkeypatch.setattr("budgetrun.kernels.compiling.structures.processor", lambda: "")
    monkeypatch.setattr(background, "load", lambda *given: 1 / 0)
    background.request(SHORT)
    look()
    assert compiling.ready(*SHORT) is None
    assert not background._wanted


PARENT = """
    import os, sys, time
    from budgetrun.kernels.compiling import background
    from budgetrun.kernels.compiling.objects import kind_of
    import numpy as np
    name = "budgetrun.kernels.compiling.loops:"
    # Long enough to be found running.
    many = [np.zeros(d * [1]) for d in range(1, 9)]
    for a in many:
        for b in many:
            background.request((name + "copy", kind_of(a), kind_of(b)))
    background.border(100.0)
    if sys.argv[1] == "fork":
        if os.fork() == 0:
            sys.exit()
        os.wait()
    print("begun", flush=True)
    if sys.argv[1] != "ends":
        time.sleep(1000)
"""


@needs_numba
@pytest.mark.parametrize("how", ["killed", "ends", "fork"])
def test_the_helper_ends_with_its_parent_and_not_before(fresh, how):
    command = [sys.executable, "-c", textwrap.dedent(PARENT), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        if how != "ends":
            assert parent.stdout.readline() == b"begun\n"
            only = the_helper(parent.pid)
            parent.kill()
            wait_for(lambda: not only.is_running())
        said = parent.communicate()
    if how == "ends":
        assert parent.returncode == 0
    assert said == (b"begun\n" if how == "ends" else b"", b"")
    locked = os.open(fresh / "helper.lock", os.O_RDWR)
    fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(locked)


@needs_numba
def test_what_earlier_sources_were_compiled_to_is_removed_after_a_month(fresh):
    month = 30 * 86_400
    for name, age in {"0" * 16 + "-0.1": month + 60, "1" * 16 + "-0.1": month - 60}.items():
        mark = fresh / name / "ready" / "mark"
        mark.parent.mkdir(parents=True)
        mark.write_text("")
        os.utime(mark, (time.time() - age,) * 2)
    (fresh / "of-others" / "ready").mkdir(parents=True)
    background.load(SHORT, named(SHORT[0]))
    assert {path.name for path in fresh.iterdir()} == {"1" * 16 + "-0.1", "of-others", background.folder().name}


def test_a_process_does_not_wait_for_its_helper_at_its_end():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(5)"]) as helper:
        background._end(helper, os.getpid())
    assert helper.returncode == -signal.SIGKILL


@pytest.mark.parametrize("cause", ["cache", "executable"])
def test_without_a_place_to_write_or_a_python_to_start_all_is_interpreted(fresh, monkeypatch, cause):
    if cause == "cache":
        monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/none")
        background._root.cache_clear()
    else:
        monkeypatch.setattr(sys, "executable", "/usr/bin/an-application")
    background.request(SHORT)
    look()
    assert not helpers()
    assert compiling.ready(*SHORT) is None


@pytest.mark.parametrize("off", [{"BUDGETRUN_COMPILED": "0"}, {"NUMBA_DISABLE_JIT": "1"}, "numba is missing"])
def test_nothing_is_requested_where_code_is_not_compiled(fresh, monkeypatch, off):
    if isinstance(off, dict):
        for name, value in off.items():
            monkeypatch.setenv(name, value)
    else:
        monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    compiling.on.cache_clear()
    estimators.Forgetron(budget=10).fit(np.eye(40), np.arange(40) % 2)
    assert not background._wanted


@needs_numba
def test_code_is_compiled_first_where_seconds_are_measured_and_if_the_user_says_so(fresh, monkeypatch):
    def compiled_now():
        background.compiled.clear()
        values = np.arange(2.0)
        compiling.loop("add_multiple", values, 3.0, np.ones(2))()
        return values.tolist() == [3.0, 4.0]

    assert compiling.loop("add_multiple", np.zeros(2), 3.0, np.ones(2)) is None
    with compiling.first():
        assert compiled_now()
    monkeypatch.setenv(compiling.ENVIRONMENT, "1")
    assert compiled_now()
    assert not helpers()
    # Another process now finds it in the cache.
    assert background._mark(SHORT).is_file()


def test_requests_name_only_functions_and_classes_of_this_package():
    learner = estimators.Forgetron(budget=3).fit(np.eye(9), np.arange(9) % 2)._member.learner
    key = "budgetrun.engine.play:play", kind_of(learner), kind_of(np.zeros((2, 3), order="F")), None
    assert objects.from_json(json.loads(json.dumps(objects.to_json(key)))) == key
    for title in ("os:system", "budgetrun.base.files:Path", "budgetrun.engine.play:none"):
        message(objects.from_json, [{title: []}], kind=(ValueError, AttributeError))


NUMBERED = """
    import os
    from numba.core.bytecode import FunctionIdentity
    from budgetrun.kernels.compiling import structures

    if hasattr(os, "fork") and (child := os.fork()):
        os.waitpid(child, 0)
    print(FunctionIdentity.from_function(os.path.join).unique_id)
"""


@needs_numba
def test_no_two_processes_give_functions_the_same_numbers():
    """A number is in the name of a compiled function, and code of many processes is loaded into one."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(NUMBERED)]
    found = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    numbers = sorted(map(int, "".join(found).split()))
    assert len(numbers) == (4 if hasattr(os, "fork") else 2)
    assert all(b - a > 10**6 for a, b in pairwise([0, *numbers]))


SWITCHING = """
    import sys
    import numpy as np
    from budgetrun.engine import Group
    from budgetrun.kernels import Gaussian
    from budgetrun.kernels.compiling import background
    from budgetrun.learners import find

    background._PAYS = background._SHOWN = background.OFTEN = 0.0
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    y = np.where(rng.random(700) < 0.5, -1, 1)
    group = Group(Gaussian(gamma=0.5), [find("remove_oldest")(budget=20)])
    scores = group.feed(X[:500], y[None, :500])
    for x, label in zip(X[500:], y[500:]):
        if group.feed_one(x, label) is None:
            group.feed(x[None], np.array([[label]]))
    print("numba" in sys.modules, hash(scores.tobytes()), group.members[0].hypothesis.coef.sum())
    print(sorted({key[0].partition(":")[2] for key in background.compiled}), file=sys.stderr)
"""


@pytest.mark.compiled
def test_play_switches_to_what_the_cache_holds():
    def outcome(mode):
        env = {**os.environ, "PYTHONHASHSEED": "0", compiling.ENVIRONMENT: mode}
        command = [sys.executable, "-c", textwrap.dedent(SWITCHING)]
        found = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return found.stdout.partition(" "), found.stderr

    interpreted, first, later = outcome("0"), outcome("1"), outcome("")
    assert [found[0][0] for found in (interpreted, first, later)] == ["False", "True", "True"]
    assert interpreted[0][2] == first[0][2] == later[0][2]
    for name in ("play", "_learn_one", "fill_floats"):
        assert f"'{name}'" in later[1]
    assert interpreted[1] == "[]\n"
