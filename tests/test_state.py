"""Saved states: continuing gives the same bits, and a hostile file gives one sentence."""

import io
import json
import zipfile
from collections import deque
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from cases import TASKS, all_cases, firsts, paired
from data.made_files import members_of, zip_of
from faults import message, raises

import budgetrun
from budgetrun import engine, kernels
from budgetrun.base.errors import InputError, OutOfRangeError
from budgetrun.engine import Group, score
from budgetrun.learners import find
from budgetrun.state import load_state, save_state

CASES = {i: (False, *rest) for i, *rest, _ in all_cases()}
CASES |= {f"multiclass-{i}": (True, *rest) for i, *rest, _ in all_cases("MULTICLASS_CASES")}
T, AT = 120, 50


def stream(form, several):
    rng = np.random.default_rng(7)
    y = rng.integers(3, size=T) if several else rng.choice([-1, 1], T)
    if form == "dense":
        return rng.normal(size=(T, 3)) + 0.5 * y[:, None], y
    if form == "bits":
        return (rng.random((T, 12)) < 0.3 + 0.1 * y[:, None]).astype(float), y
    rows = sp.random_array((T, 30 if form == "csr" else 9000), density=0.1 if form == "csr" else 0.002, rng=rng)
    return sp.csr_array(rows), y


def group_of(case_id):
    several, name, variant, given = CASES[case_id]
    learner = find(name, variant, TASKS[several])(**given)
    return Group(kernels.Gaussian(gamma=0.5), [learner], n_classes=3 if several else None)


def facts(group, X):
    member = group.members[0]
    f, count = member.hypothesis, member.count
    kept = [np.asarray(f.coef), f.rounds, score(member, X[:20])]
    return [count.mistakes, count.updates, count.max_support, group.rounds, *(array.tobytes() for array in kept)]


@pytest.mark.parametrize(("case_id", "form"), paired(firsts(CASES), ("dense", "bits", "csr", "wide")))
def test_continuing_gives_the_same_bits(reloaded, case_id, form):
    X, y = (values[:80] for values in stream(form, CASES[case_id][0]))
    whole, saved = group_of(case_id), group_of(case_id)
    scores = [whole.feed(X[:AT], y[None, :AT]), whole.feed(X[AT:], y[None, AT:])]
    first = saved.feed(X[:AT], y[None, :AT])
    before = facts(saved, X)
    loaded = reloaded(saved)
    assert facts(loaded, X) == before
    # The object that was saved is as it was.
    for group in (loaded, saved):
        assert [first.tobytes(), group.feed(X[AT:], y[None, AT:]).tobytes()] == [part.tobytes() for part in scores]
        assert facts(group, X) == facts(whole, X)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["rbp", "forgetron"])
def test_single_rounds_in_between(reloaded, name):
    X, y = stream("dense", False)
    ends = []
    for every in (T, 10, 41):
        group, played = Group(kernels.Gaussian(gamma=0.5), [find(name)(budget=8)]), 0
        for t in range(T):
            if t % every == every - 1:
                group = reloaded(group)
            if group.feed_one(X[t], int(y[t])) is not None:
                played += 1
            else:
                group.feed(X[t : t + 1], y[None, t : t + 1])
        assert played > 40
        ends.append(facts(group, X))
    assert ends[0] == ends[1] == ends[2]


def test_learners_that_share_a_pool(reloaded):
    X, y = stream("dense", False)
    learners = [find("perceptron")(), *(find("rbp")(budget=b, seed=b) for b in (4, 9, 30))]
    learners.append(find("fogd")(features=6, step=0.1))
    one, other = (Group(kernels.Gaussian(gamma=0.5), learners, isolate=(Exception,)) for _ in range(2))
    one = reloaded(one)
    for start in range(0, T, 45):
        part, labels = X[start : start + 45], y[None, start : start + 45]
        np.testing.assert_array_equal(one.feed(part, labels), other.feed(part, labels))
        one = reloaded(one)
    assert one.isolate == (Exception,)


def test_values_of_every_kind_and_shared_references(tmp_path):
    array, own = np.arange(6.0).reshape(2, 3), [1]
    own.append(own)
    values = {
        "numbers": [0, -(10**40), 0.1, -0.0, float("inf"), float("nan"), True, None, "é\ud800\n"],
        "arrays": [np.asfortranarray(array), np.array(3, ">i2"), np.array(["a", "bc"]), np.empty((0, 4), bool)],
        "objects": np.array([["a", 1], [None, 0.5]], dtype=object),
        "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
        "scalars": [np.float32(0.1), np.int8(-3), np.str_("x"), np.bool_(True)],
        "types": [np.dtype("float32"), kernels.Linear, ValueError],
        "containers": (deque([1, (2,)], maxlen=3), {1, "a"}, frozenset({(1, 2.5)}), {(1, "a"): [], None: ()}),
        "shared": [array, array, own],
        "sparse": sp.csr_array(array),
        "random": [np.random.default_rng(1), np.random.Generator(np.random.MT19937(2)), np.random.RandomState(3)],
        "kernel": kernels.Polynomial(degree=2),
        "errors": [OutOfRangeError("too large"), KeyError("k")],
    }
    save_state(tmp_path / "a.state", values, name="n", array=array)
    loaded, meta = load_state(tmp_path / "a.state")
    assert repr(loaded["numbers"]) == repr(values["numbers"])
    for one, other in zip([*loaded["arrays"], loaded["dates"]], [*values["arrays"], values["dates"]], strict=True):
        np.testing.assert_array_equal(one, other)
        assert (one.dtype, one.flags.c_contiguous) == (other.dtype, other.flags.c_contiguous)
    assert loaded["objects"].tolist() == values["objects"].tolist()
    assert list(map(repr, loaded["scalars"])) == list(map(repr, values["scalars"]))
    for key in ("types", "containers", "kernel"):
        assert loaded[key] == values[key]
    assert loaded["containers"][0].maxlen == 3
    assert loaded["shared"][0] is loaded["shared"][1] is meta["array"]
    assert loaded["shared"][2][1] is loaded["shared"][2]
    np.testing.assert_array_equal(loaded["sparse"].toarray(), array)
    for one, other in zip(loaded["random"], values["random"], strict=True):
        assert one.normal(size=5).tolist() == other.normal(size=5).tolist()
    assert list(map(repr, loaded["errors"])) == list(map(repr, values["errors"]))
    assert meta["name"] == "n"
    with np.load(tmp_path / "a.state") as arrays:
        assert len(arrays.files) > 5


@pytest.mark.parametrize(("thing", "sentence"), [
    ({"f": print}, "object['f']: cannot be saved: an object of builtins.builtin_function_or_method, which is not of"),
    ([io.StringIO()], "object[0]: cannot be saved: an object of _io.StringIO, which is not of this package"),
    ({frozenset(): 1}, "object: cannot be saved: a key that is neither text, a number nor a tuple of these"),
    (np.zeros(1, dtype=[("a", "f4")]), "object: cannot be saved: an array of [('a', '<f4')]"),
])  # fmt: skip
def test_what_cannot_be_saved(tmp_path, thing, sentence):
    assert message(save_state, tmp_path / "a.state", thing).startswith(sentence)
    assert not list(tmp_path.iterdir())


def test_a_tuple_in_itself_is_refused(tmp_path):
    inner = []
    outer = (inner,)
    inner.append(outer)
    raises(InputError, "a tuple that contains itself", save_state, tmp_path / "a.state", outer)


def written(path, **changes):
    """Write a state whose JSON is partly replaced, with one array of three numbers."""
    save_state(path, [np.arange(3.0)])
    members = members_of(path)
    members["state.json"] = json.dumps(json.loads(members["state.json"]) | changes).encode()
    path.write_bytes(zip_of(members))


ARRAY = ["array", 0]
FORMULA = "budgetrun.base.params:Formula"


OBJECTS = {
    "os:system": "it names 'os:system', which is not a class",
    "builtins:object": "it names 'builtins:object', which is not a class",
    "builtins:ValueError": "safe",
    "budgetrun.cli:Path": "it names 'budgetrun.cli:Path'",
    **{f"budgetrun.engine.{name}": "it names" for name in ("group:np.ndarray", "group:Group.__init__", "group:np")},
    "budgetrun.engine.nothing:A": "it names",
    "budgetrun.learners.base:BinaryLearner": "abstract",
}


@pytest.mark.parametrize(("changes", "reason"), [
    *(({"nodes": [["object", name, []]]}, reason) for name, reason in OBJECTS.items()),
    *(({"nodes": [["object", "budgetrun.kernels:Linear", [[name, 1]]]]},
     f"Linear has no attribute '{name}'") for name in ("__class__", "formula", "numbers")),
    ({"nodes": [["object", FORMULA, [["text", "__import__('os')"], ["names", ["@", 1]]]], ["list", []]]},
     "may use only numbers"),
    ({"nodes": [["object", FORMULA, [["call", "1"]]]]}, "unexpected keyword argument 'call'"),
    ({"nodes": [["error", "budgetrun.kernels:Linear", []]]}, "is not an error"),
    ({"nodes": [["error", "builtins:SystemExit", []]]}, "is not an error"),
    ({"nodes": [["tuple", [], "budgetrun.kernels:Linear"]]}, "is not a tuple"),
    ({"nodes": [["tuple", [["@", 0]], None]]}, "refers to one that is not there yet, or to itself"),
    ({"nodes": [["tuple", [["@", 1]], None], ["tuple", [["@", 0]], None]]}, "refers to one that is not there yet"),
    ({"nodes": [["set", [["@", 1]]], ["list", []]]}, "refers to one that is not there yet"),
    ({"nodes": [["list", []], ["set", [["@", 0]]]]}, "a key is neither"),
    ({"nodes": [["list", [["@", -1]]]]}, "refers to one that is not there yet"),
    ({"nodes": [["array", 7]]}, "There is no item named '7.npy'"),
    ({"nodes": [["array", "../../x"]]}, "format"),
    ({"nodes": [["objects", [10**12], []]]}, "reshape"),
    ({"nodes": [ARRAY, ["csr", [10**9, 3], ["@", 0], ["@", 0], ["@", 0]]]}, "ind"),
    ({"nodes": [["random", "Evil", {}]]}, "unknown item 'random'"),
    ({"nodes": [["random", "PCG64", 3]]}, "state must be a dict"),
    ({"nodes": [["code", "print()"]]}, "unknown item 'code'"),
    ({"nodes": [[]]}, "kind"),
    ({"nodes": {}}, "not there yet"),
    ({"nodes": 3}, "not iterable"),
    ({"root": ["call", 1]}, "unknown value 'call'"),
    ({"root": ["scalar", "O", "00"]}, "unknown type of numbers 'O'"),
    ({"root": ["dtype", "V8"]}, "unknown type of numbers 'V8'"),
    ({"root": ["float", "x"]}, "hexadecimal"),
    ({"root": {}}, "unpack"),
    ({"root": 1.5}, "float"),
    ({"format": "other"}, "it has another format"),
    ({"revisions": []}, "no revisions"),
])  # fmt: skip
def test_hostile_content_is_one_sentence(tmp_path, changes, reason):
    path = tmp_path / "a.state"
    written(path, **changes)
    assert reason in refused(path)


def refused(path):
    """Return the sentence that refuses a file."""
    text = message(load_state, path)
    assert text.startswith(f"{path}: not a file that budgetrun saved, or damaged (")
    assert "\n" not in text
    return text


DEEP = "[" * 10**5 + "]" * 10**5


@pytest.mark.parametrize("data", [b"", b"PK", b"hello", b"PK\x05\x06" + bytes(18), b"\x80\x04K\x01.", DEEP.encode()])
def test_other_files_are_refused(tmp_path, data):
    (tmp_path / "a.state").write_bytes(data)
    refused(tmp_path / "a.state")


@pytest.mark.parametrize("text", [DEEP, "NaN", '{"format": 1', "\xff", '{"format": ' + "9" * 5000 + "}"])
def test_wrong_json_is_refused(tmp_path, text):
    (tmp_path / "a.state").write_bytes(zip_of({"state.json": text.encode("latin-1")}))
    refused(tmp_path / "a.state")


def test_missing_files_and_folders(tmp_path):
    for path, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        assert message(load_state, path) == f"{path}: cannot be read ({reason})"


def npy(shape, dtype="<f8", data=b""):
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize("member", [
    npy("(1000000000000000,)"), npy("(-3,)", data=bytes(24)), npy("(3,)", data=bytes(16)),
    npy("(3,)", dtype="|O", data=bytes(24)), npy("(3,)", dtype="|V8", data=bytes(24)), npy("__import__('os').abort()"),
    b"\x93NUMPY", b"",
])  # fmt: skip
def test_hostile_arrays_are_refused(tmp_path, member):
    path = tmp_path / "a.state"
    written(path)
    path.write_bytes(zip_of({"state.json": members_of(path)["state.json"], "0.npy": member}))
    refused(path)


@pytest.mark.parametrize("content", [b" " * 10**6, np.random.default_rng(0).bytes(1000)])
def test_compressed_parts_are_refused_even_if_they_are_not_larger(tmp_path, content):
    (tmp_path / "a.state").write_bytes(zip_of({"state.json": content}, zipfile.ZIP_DEFLATED))
    assert "its parts are larger than the file" in refused(tmp_path / "a.state")


def test_every_cut_and_every_changed_byte_is_found_or_harmless(tmp_path):
    path, thing = tmp_path / "a.state", {"a": np.arange(4.0), "k": kernels.Linear()}
    save_state(path, thing)
    data = path.read_bytes()
    for end in range(0, len(data), 7):
        path.write_bytes(data[:end])
        message(load_state, path)
    rng = np.random.default_rng(0)
    for at in rng.integers(len(data), size=200):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.integers(8))]) + data[at + 1 :])
        try:
            loaded, _ = load_state(path)
        except InputError:
            continue
        np.testing.assert_array_equal(loaded["a"], thing["a"])


def test_other_revisions_and_versions_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.state"
    save_state(path, group_of(next(iter(CASES))))
    load_state(path)
    with monkeypatch.context() as patch:
        patch.setattr(kernels.Gaussian, "revision", 99)
        error = message(load_state, path)
    assert error == (
        f"{path}: saved by budgetrun {budgetrun.__version__} with revisions of code that give other results "
        f"(budgetrun.kernels.kernel:Gaussian: {kernels.Gaussian.revision}, now 99): train again"
    )
    for kernel, refused in (("linear", False), ("gaussian", True)):
        learner = type(load_state(path)[0].members[0].learner)
        with monkeypatch.context() as patch:
            patch.setattr(learner, "revised", {("kernel", kernel): 2})
            with pytest.raises(InputError, match=r"kernel=gaussian: None, now 2") if refused else nullcontext():
                load_state(path)
    with monkeypatch.context() as patch:
        patch.setattr("budgetrun.state.REVISION", engine.REVISION + 1)
        raises(InputError, r"\(engine: ", load_state, path)
    monkeypatch.setattr(budgetrun, "__version__", "0.1.9")
    raises(InputError, r"and this is 0\.1\.9, which cannot read it: train again, or pip install", load_state, path)
