"""Short runs of every part whose revision is in run ids, and what came of them."""

import importlib
import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from cases import STREAMS, TASKS, WHOLE, all_cases

from budgetrun import config, engine, kernels
from budgetrun.data.streams import STREAM_REVISION, open_stream, stream_info
from budgetrun.engine import Group, score
from budgetrun.kernels.kinds import floats
from budgetrun.learners import find, registry
from budgetrun.learners import parameters as parameters_of
from budgetrun.papers import solvers
from budgetrun.runner import identity
from budgetrun.runner.identity import EVALUATION_REVISION
from budgetrun.runner.job import Settings, evaluate
from budgetrun.runner.plan import make_jobs, make_plan

RECORD = Path(__file__).with_name("outcomes.json")
ROUNDS, BLOCK = 120, 32
GAUSSIAN = kernels.Gaussian(gamma=0.5)
KERNELS = {
    "gaussian": GAUSSIAN,
    "gaussian-sigma": kernels.Gaussian(sigma=0.9),
    "polynomial": kernels.Polynomial(degree=3, gamma=0.5, coef0=1.0),
    "linear": kernels.Linear(),
}
CASES_OF = {"binary": "CASES", "multiclass": "MULTICLASS_CASES", "regression": "REGRESSION_CASES"}
FILES = {
    "table.csv": b"label,a,b,c\n" + b"".join(b"%d,%d,%.3f,%d\n" % (i % 2, i, math.sin(i), i**2 % 7) for i in range(40)),
    "table.tsv": b"".join(b"%d\t%d\t%.3f\n" % (i % 2 * 2 - 1, i % 5, math.cos(i)) for i in range(30)),
    "text.libsvm": b"".join(b"%+d %d:%.3f %d:1\n" % (i % 2 * 2 - 1, i % 3 + 1, i / 7, i % 4 + 5) for i in range(40)),
    "wide.libsvm": b"".join(b"%d %d:%.3f 90:2\n" % (i % 2, i % 60 + 1, i / 7) for i in range(50)),
}


def probes(folder):
    """Yield (name, revisions, function) of every probe; the function returns a JSON-like outcome."""
    for task, kind in CASES_OF.items():
        for case_id, name, variant, parameters, _ in all_cases(kind):
            learner = find(name, variant, task)
            shown = f"{name}({variant})" if variant else name
            parts = [f"{shown} {learner.revision}", f"{learner.form.form} {learner.form.revision}"]
            parts += [f"engine {engine.REVISION}", f"gaussian {kernels.Gaussian.revision}"]
            for stream in ("random", "tied"):
                key = f"{_of_task(task)}{case_id} on {stream}"
                yield key, parts, lambda args=(learner, parameters, stream, task): play(*args)
    yield from _kernel_probes()
    yield from _group_probes()
    yield from _solver_probes()
    yield from _data_probes(folder)
    yield from _default_probes()
    yield from _hard_probes()
    yield from _more_solver_probes()
    yield from _more_data_probes(folder)
    yield "job", [f"job {identity.JOB_REVISION}"], lambda: _job(folder, **_BINARY_JOB)
    yield "job of regression", [f"job {identity.JOB_REVISION}"], lambda: _job(folder, **_REGRESSION_JOB)


def _of_task(task):
    return "" if task == "binary" else f"{task} "


def stream_of(name, task="binary"):
    X, y = STREAMS[name](WHOLE[name])
    X, y = X[:ROUNDS], y[:ROUNDS]
    if task == "regression":
        return X, np.round(np.sin(2 * X[:, 0]) + 0.5 * y, 1)
    return X, (np.where(y > 0, (np.arange(len(y)) % 3 > 0) + 1, 0) if task == "multiclass" else y)


def play(learner, parameters, stream, task="binary", kernel=GAUSSIAN, **options):
    X, y = stream_of(stream, task)
    one = learner(**parameters)
    return _played([one], X, y[None], kernel, n_classes=3 if task == "multiclass" else None, **options)[0]


def _played(learners, X, Y, kernel, block=BLOCK, **options):
    acts = [[] for _ in learners]
    group = Group(kernel, learners, watch=lambda i, t: acts[i].append(t), **options)
    scores = [group.feed(X[t : t + block], Y[:, t : t + block]) for t in range(0, X.shape[0], block)]
    found = []
    for member, seen in zip(group.members, acts, strict=True):
        f = member.hypothesis
        own = np.concatenate([s[member.index] for s in scores], axis=-1)
        found.append(
            {
                "mistakes": member.count.mistakes,
                "updates": " ".join(map(str, seen)),
                "support": " ".join(map(str, f.rounds.tolist())),
                "largest": member.count.max_support,
                "weights": _numbers(f.coef),
                "scores": _numbers(own[..., 5::12]),
                "facts": member.learner.facts(f),
                "tested": _errors(member, X, Y),
            }
        )
    return found


def _errors(member, X, Y):
    if member.learner.task == "regression":
        return _numbers(score(member, X[::-1][:30] * 1.1))
    return evaluate(member, X[::-1][:30] * 1.1, Y[member.task][::-1][:30], "mistake")


def _kernel_probes():
    for (name, kernel), form in itertools.product(KERNELS.items(), ("dense", "sparse")):

        def outcome(kernel=kernel, sparse=form == "sparse"):
            X, y = stream_of("random")
            X = sp.csr_array(X) if sparse else X
            learners = [find("perceptron")(), find("forgetron", "self_tuned")(budget=9)]
            norms = kernels.squares(X)
            return {
                "values": _numbers(kernel.between(X[:4], X[4:9])),
                "row": _numbers(kernel.between(X[:6], X[9:10])[:, 0]),
                "diagonal": _numbers(kernel.diagonal(norms[:4])),
                "runs": [_played([one], X, y[None], kernel)[0] for one in learners],
            }

        yield f"kernel {name} {form}", [f"{kernel.name} {kernel.revision}", f"engine {engine.REVISION}"], outcome

    def of_tasks():
        X, y = stream_of("random")
        rows, kernel = np.column_stack([X, np.arange(len(y)) % 3]), kernels.make("multitask", n_tasks=3, gamma=0.5)
        group = Group(kernel, [find("perceptron")(), find("rbp")(budget=9)])
        scores = group.feed(rows, y[None])
        return {"values": _numbers(kernel.between(rows[:4], rows[4:9])), "scores": _numbers(scores[:, 5::12])}

    yield "kernel multitask", [f"multitask {kernels.registry()['multitask'].revision}"], of_tasks


def _group_probes():
    def learners():
        return [
            find("perceptron")(),
            *(find("remove_oldest")(budget=b) for b in (3, 11)),
            *(find("forgetron", v)(budget=b) for v in ("self_tuned", "greedy") for b in (4, 9)),
            find("rbp")(budget=5, seed=3),
            find("cks")(budget=6),
            find("projectron")(eta=0.3),
        ]

    def shared(**options):
        X, y = STREAMS["duplicated"](WHOLE["duplicated"])
        Y = np.stack([y, np.roll(y, 1)])
        tasks = [i % 2 for i in range(len(learners()))]
        return _played(learners(), X, Y, GAUSSIAN, tasks=tasks, **options)

    parts = [f"engine {engine.REVISION}", f"evaluation {EVALUATION_REVISION}"]
    yield "group", parts, lambda: shared(block=64)
    yield "group, small blocks", parts, lambda: shared(block=3)
    yield "group, positive ties", parts, lambda: shared(tie="positive")
    yield "group, far", parts, lambda: play(find("perceptron"), {}, "far")


def _solver_probes():
    given = {"mpu": {}, "dcd": {}, "svm_perf": {}, "pegasos": {"iterations": 400, "k": 5}}
    for name, solver in solvers.registry().items():

        def outcome(solver=solver, name=name):
            X, y = stream_of("random")
            takes = solvers.parameters(solver)
            parameters = {key: value for key, value in given.get(name, {}).items() if key in takes}
            solution = solver(C=0.7, **parameters).solve(X, y, kernels.Linear())
            return {
                "objective": solution.objective,
                "lower bound": None if math.isnan(solution.lower_bound) else solution.lower_bound,
                "steps": solution.steps,
                "epochs": solution.epochs,
                "weights": _numbers(solution.weights),
            }

        yield f"solver {name}", [f"{name} {solver.revision}", f"linear {kernels.Linear.revision}"], outcome


def _data_probes(folder):
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    rng = np.random.default_rng(5)
    np.savez(folder / "arrays.npz", X=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    changes = {
        "plain": {},
        "unit_norm": {"scale": "unit_norm"},
        "minmax": {"scale": "minmax"},
        "standard": {"scale": "standard"},
        "running": {"scale": "running"},
        "balanced": {"balanced": True},
        "noise": {"noise": 0.3},
        "in file order, capped": {"order": "file", "n_examples": 25},
        "positive": {"positive": 0},
    }
    for name in (*FILES, "arrays.npz"):
        for change, keys in changes.items():
            if "positive" in keys and name in ("table.tsv", "text.libsvm"):
                keys = {"positive": -1}
            spec = config.DatasetSpec(name="probe", path=folder / name, **{"order": "permuted"} | keys)
            parts = [f"stream {STREAM_REVISION}", *stream_info(spec).readers]
            yield f"data {name}, {change}", parts, lambda spec=spec: _stream(spec)
    generated = {
        "noisy_gaussians": {"options": {"n_per_class": 30}, "noise": 0.1},
        "rotating_gaussians": {"options": {"n_examples": 60}},
        "unit_vectors": {"options": {"n_examples": 50}},
        "diabetes": {"task": "regression", "scale": "running"},
        "friedman": {"task": "regression", "options": {"n_examples": 50}},
        "mackey_glass": {"task": "regression", "options": {"n_examples": 50, "noise": 0.1}},
    }
    for name, keys in generated.items():
        spec = config.DatasetSpec(name=name, **keys)
        yield f"data {name}", [f"stream {STREAM_REVISION}", *stream_info(spec).readers], lambda s=spec: _stream(s)
    splits = config.DatasetSpec(name="probe", path=folder / "four.csv", order="permuted", task="equal_splits")
    several = splits.model_copy(update={"task": "multiclass"})
    (folder / "four.csv").write_bytes(b"".join(b"%d,%d,%d\n" % (i % 4, i, i * i % 11) for i in range(40)))
    for spec in (splits, several, splits.model_copy(update={"task": "regression"})):
        parts = [f"stream {STREAM_REVISION}", *stream_info(spec).readers]
        yield f"data, {spec.task}", parts, lambda spec=spec: _stream(spec)
    yield from _reader_probes()


def _reader_probes():
    from budgetrun.data import formats

    census = importlib.import_module("budgetrun.data.formats.census_income")
    idx = importlib.import_module("budgetrun.data.formats.idx")
    digits = b"".join(b"%d %s\n" % (i % 10, b" ".join(b"%.2f" % math.sin(i * j) for j in range(16))) for i in range(20))
    pairs = importlib.import_module("budgetrun.data.formats.zip_digit_pairs")
    table = importlib.import_module("budgetrun.data.formats.csv")
    images = b"\0\0\x08\x03" + (3).to_bytes(4, "big") + (2).to_bytes(4, "big") * 2 + bytes(range(0, 120, 10))
    lines = []
    for i in range(30):
        fields = [str((i * (j + 3)) % 7) for j in range(41)]
        lines.append(", ".join([*fields, "- 50000." if i % 3 else "50000+."]))
    text = ("\n".join(lines) + "\n").encode()
    found = {
        "census_income": lambda: [_array(a) for a in census.parse_census(text)],
        "idx": lambda: [_array(idx.parse_idx(images, "probe"))],
        "zip_digit_pairs": lambda: [
            _array(a) for a in pairs.read([formats.Content(digits, "probe")], formats.Layout())[:2]
        ],
        "zip_digits": lambda: [_array(a) for a in table.parse_table(digits, "probe")],
    }
    for kind, outcome in found.items():
        yield f"reader {kind}", [formats.revision(kind)], outcome


def _stream(spec):
    stream = open_stream(spec, 3, 1)
    return {"X": _array(stream.X), "tasks": {name: _array(y) for name, y in stream.tasks.items()}}


# What the configs need not give has defaults, which outcomes depend on; this is the rest.
REQUIRED = {"alpha": 0.2, "regulariser": 0.05, "budget": 6, "eta": 0.3, "epsilon": 0.5, "phi": 0.8, "step": 0.4}
REQUIRED |= {"features": 10, "first_budget": 4, "beta": 0.4, "delta": 1.0}


def _parts(learners, *others):
    shown = [f"{a.name}({a.variant})" if a.variant else a.name for a in learners]
    rules = [f"{name} {a.revision}" for name, a in zip(shown, learners, strict=True)]
    forms = [f"{a.form.form} {a.form.revision}" for a in learners]
    engine_part = f"engine {engine.REVISION}"
    return list(dict.fromkeys([*rules, *forms, engine_part, *others, f"evaluation {EVALUATION_REVISION}"]))


def _default_probes():
    gaussian = f"gaussian {kernels.Gaussian.revision}"
    for task in CASES_OF:
        for name, variants in registry(task).items():
            for variant, learner in variants.items():
                takes = parameters_of(learner)
                given = {key: REQUIRED[key] for key, taken in takes.items() if taken.default is taken.empty}
                given |= {"seed": 4} if learner.draws else {}
                # With the default of nu, 1e-4, the tenth digit depends on the processor.
                given |= {"nu": 0.1} if name == "krls" else {}
                key = f"defaults of {_of_task(task)}{name}{f'({variant})' if variant else ''}"
                yield key, _parts([learner], gaussian), lambda args=(learner, given, "random", task): play(*args)
    learner = find("nogd")
    parts = _parts([learner], gaussian, f"nogd reading=program {learner.revised['reading', 'program']}")
    given = {"budget": 30, "step": 0.4, "reading": "program"}
    for stream in ("random", "tied"):
        yield f"nogd, program, {stream}", parts, lambda stream=stream: play(learner, given, stream)
    learner = find("projectron++", task="multiclass")
    given = {"eta": 0.3, "hierarchy": "(2 (1)) 0"}
    yield "hierarchy", _parts([learner], gaussian), lambda: play(learner, given, "random", "multiclass")
    X, _ = stream_of("random")
    polynomial = kernels.Polynomial()
    parts = [f"polynomial {polynomial.revision}"]
    yield "defaults of polynomial", parts, lambda: _numbers(polynomial.between(X[:3], X[3:6]))


def _hard_probes():
    """Streams that are longer, wider or in float32."""
    gaussian = f"gaussian {kernels.Gaussian.revision}"
    given = [
        ("perceptron", {}), ("remove_oldest", {"budget": 200}), ("forgetron", {"budget": 120}),
        ("rbp", {"budget": 150, "seed": 1}), ("cks", {"budget": 90}), ("projectron", {"eta": 0.05}),
        ("projectron++", {"eta": 0.2}), ("projected_alma", {"eta": 0.05}), ("nogd", {"budget": 60, "step": 0.3}),
        ("fogd", {"features": 20, "step": 0.3}), ("ahpatron", {"budget": 80, "epsilon": 0.5}),
        ("pomdr", {"budget": 60, "first_budget": 20, "eta": 0.3}),
        ("bogd++", {"budget": 50, "step": 0.3, "regulariser": 0.01}),
    ]  # fmt: skip
    kinds = [find(name) for name, _ in given]
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(700, 6)), rng.choice([-1, 1], 700)
    columns = rng.integers(9000, size=(120, 5))
    wide = sp.csr_array((rng.random(600) + 0.2, columns.ravel(), np.arange(0, 601, 5)), shape=(120, 9000))
    wide.sum_duplicates()
    twice = sp.csr_array(sp.vstack([wide, wide[::-1]]))

    def long(dtype):
        learners = [kind(**keys) for kind, (_, keys) in zip(kinds, given, strict=True)]
        found = _played(learners, X, y[None], GAUSSIAN, block=300, dtype=dtype)
        return found if dtype == "float64" else [_rough(one) for one in found]

    yield "long", _parts(kinds, gaussian), lambda: long("float64")
    yield "long, float32", _parts(kinds, gaussian), lambda: long("float32")
    for name, kernel in (("tied", kernels.Linear()), ("duplicated", GAUSSIAN)):

        def outcome(name=name, kernel=kernel):
            X, y = STREAMS[name](WHOLE[name])
            learners = [kind(**keys) for kind, (_, keys) in zip(kinds[:5], given, strict=False)]
            return [_rough(one) for one in _played(learners, X * 0.7, y[None], kernel, dtype="float32")]

        yield f"{name}, float32", _parts(kinds[:5], f"{kernel.name} {kernel.revision}"), outcome
    yield from _averages()
    for name, keys in given:
        kind = find(name)
        smaller = {key: min(value, 20) if key == "budget" else value for key, value in keys.items()}

        def outcome(kind=kind, keys=smaller):
            return _played([kind(**keys)], twice, np.resize([1, -1, -1], (1, 240)), GAUSSIAN, block=50)[0]

        yield f"wide, {name}", _parts([kind], gaussian), outcome
    for tie in ("mistake", "positive"):
        parts = _parts([find("perceptron"), find("perceptron", task="multiclass")], f"linear {kernels.Linear.revision}")
        yield f"evaluation, ties: {tie}", parts, lambda tie=tie: _evaluated(tie)


def _averages():
    """Means of hypotheses, and what cancels but for rounding, on few examples with all labels."""
    given = [("perceptron", {}), ("passive_aggressive", {"C": 0.1}), ("projectron", {"eta": 0.2})]
    given += [("projectron++", {"eta": 0.2}), ("projected_alma", {"eta": 0.05, "alpha": 0.9})]
    given += [("avp", {"epsilon": 0.5, "U": 2.0})]
    given += [("ahpatron", {"budget": 20, "epsilon": 0.5}), ("shrinking_perceptron", {"phi": 0.7})]
    for several, (name, keys) in itertools.product((False, True), given):
        if several and name not in registry("multiclass"):
            continue
        kind = find(name, task=TASKS[several])

        def outcome(kind=kind, keys=keys, several=several):
            found = {}
            for stream in ("duplicated", "tied"):
                X, y = STREAMS[stream](WHOLE[stream])
                codes = np.random.default_rng(6).integers(5, size=len(y)) if several else y
                group = Group(GAUSSIAN, [kind(**keys)], n_classes=5 if several else None)
                scores = [group.feed(X[t : t + 48], codes[None, t : t + 48])[0] for t in range(0, len(y), 48)]
                f, count = group.members[0].hypothesis, group.members[0].count
                mean = f.score(X[:4], averaged=True) if kind.averages() else None
                found[stream] = [count.mistakes, count.updates, count.max_support, f.rounds.tolist(), _numbers(mean)]
                found[stream].append(_numbers(np.concatenate(scores, axis=-1)[..., ::9]))
            return found

        key = f"average and ties, {'multiclass ' if several else ''}{name}"
        yield key, _parts([kind], f"gaussian {kernels.Gaussian.revision}"), outcome


def _rough(played):
    """Return what float32 rounding leaves alone."""
    kept = {key: played[key] for key in ("mistakes", "updates", "support", "largest", "tested")}
    return kept | {"scores": [round(score, 2) for score in played["scores"]]}


def _evaluated(tie):
    found = []
    for multiclass in (False, True):
        X, y = stream_of("tied", TASKS[multiclass])
        learner = find("perceptron", task=TASKS[multiclass])()
        group = Group(kernels.Linear(), [learner], n_classes=3 if multiclass else None, tie=tie)
        group.feed(X, y[None])
        # A row of zeros has equal scores for all labels; the last rows differ from those before them.
        rows = np.resize(np.arange(len(y)), 1500)
        tests = X[rows]
        tests[1200:] *= -1
        found += [evaluate(group.members[0], tests[part], y[rows][part], tie) for part in (slice(None), slice(0, 40))]
    return found


def _more_solver_probes():
    rng = np.random.default_rng(12)
    words = sp.csr_array((rng.random((90, 40)) < 0.1).astype(float))
    y = np.where(np.arange(90) % 3 > 0, 1, -1)
    valued = words.copy()
    valued.data *= rng.random(valued.nnz) + 0.5
    gram = {"mpu": {"rho": 0.5, "accuracy": 0.01}}
    given = [("binary rows", words, kernels.Linear(), {}), ("sparse rows", valued, kernels.Linear(), {})]
    for name, solver in solvers.registry().items():
        for what, X, kernel, keys in [*given, ("kernel", valued, GAUSSIAN, gram.get(name))]:
            if keys is None:
                continue

            def outcome(solver=solver, X=X, kernel=kernel, keys=keys):
                solution = solver(**keys).solve(X, y, kernel)
                weights = solution.weights if solution.weights is not None else solution.dual
                counts = {"steps": solution.steps, "epochs": solution.epochs}
                return counts | {"objective": solution.objective, "weights": _numbers(weights)}

            yield f"solver {name}, {what}", [f"{name} {solver.revision}", f"{kernel.name} {kernel.revision}"], outcome


def _more_data_probes(folder):
    """Test sets, sparse data with full features, sparse archives, and options of generators."""
    lines = [b"%d 1:%.2f %d:%.3f 100:2\n" % (i % 3, 1 + i / 9, i % 70 + 2, 1 + i / 7) for i in range(60)]
    (folder / "full.libsvm").write_bytes(b"".join(lines))
    (folder / "full-test.libsvm").write_bytes(b"".join(line.replace(b" 100:2", b" 80:1") for line in lines[1::3]))
    rows = [b"%d,%.3f,%d,4\n" % (i % 3, math.sin(i) * 3, i % 5) for i in range(50)]
    (folder / "three.csv").write_bytes(b"".join(rows))
    (folder / "three-test.csv").write_bytes(b"".join(b"%d,%.3f,%d,5\n" % (i % 2 + 1, i / 9, i % 3) for i in range(20)))
    full = b"".join(line.replace(b" 100:2", b" 100:3") for line in lines[1::3])
    (folder / "full-both.libsvm").write_bytes(full)
    pairs = [("three.csv", "three-test.csv"), ("full.libsvm", "full-test.libsvm"), ("full.libsvm", "full-both.libsvm")]
    for (name, test), scale in itertools.product(pairs, ("none", "unit_norm", "minmax", "standard")):
        if (test, scale) == ("full-test.libsvm", "minmax"):
            continue  # refused, since the last feature's zeros would move
        keys = {"path": folder / name, "test_path": folder / test, "scale": scale, "task": "multiclass"}
        spec = config.DatasetSpec(name="probe", order="permuted", **keys)
        parts = [f"stream {STREAM_REVISION}", *stream_info(spec).readers]
        yield f"data {name} and {test}, {scale}", parts, lambda spec=spec: _stream_and_test(spec)
    X = sp.random_array((40, 90), density=0.1, rng=np.random.default_rng(3), format="csr")
    pieces = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(folder / "sparse.npz", y=np.arange(40) % 2, **pieces)
    specs = {"sparse.npz": config.DatasetSpec(name="probe", path=folder / "sparse.npz", order="permuted")}
    for name, options in (
        *(("noisy_gaussians", {"n_per_class": 20, "spread": spread}) for spread in ("standard_deviation", "variance")),
        ("rotating_gaussians", {"n_examples": 40, "turns": 0.5, "deviation": 0.2}),
    ):
        given = ", ".join(f"{key}={value}" for key, value in options.items())
        specs[f"{name}, {given}"] = config.DatasetSpec(name=name, options=options)
    for name, spec in specs.items():
        parts = [f"stream {STREAM_REVISION}", *stream_info(spec).readers]
        yield f"data {name}", parts, lambda spec=spec: _stream(spec)


def _stream_and_test(spec):
    stream = open_stream(spec, 3, 1)
    tests = {name: _array(y) for name, y in stream.test.tasks.items()}
    return _stream(spec) | {"test X": _array(stream.test.X), "test tasks": tests}


_BINARY_JOB = {
    "datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 400}, "repetitions": 1}],
    "algorithms": [{"name": "perceptron"}, {"name": "avp", "epsilon": 0.6}, {"name": "rbp", "budget": 10, "seeds": 2}],
    "measured": ("mistakes", "updates", "support_size", "max_support_size", "prefix_examples", "prefix_mistakes"),
    "curve": "mistakes",
}
_REGRESSION_JOB = {
    "datasets": [{"name": "friedman", "task": "regression", "options": {"n_examples": 700}}],
    "algorithms": [{"name": "krls", "budget": 20}, {"name": "klms", "budget": 30, "step": 0.2}],
    "measured": ("mistakes", "updates", "support_size", "mae", "rmse", "r2", "prefix_rmse"),
    "curve": "squared_error",
}


def _job(folder, datasets, algorithms, measured, curve):
    """The rows of a small config, as a worker fills them."""
    given = {"name": "probe", "kernel": {"name": "gaussian", "gamma": 0.5}}
    path = folder / "probe.yaml"
    path.write_text(json.dumps(given | {"datasets": datasets, "algorithms": algorithms}))
    loaded = config.load(path)
    (job,) = make_jobs(loaded, make_plan(loaded).runs, lambda *_: True)
    settings = Settings(loaded.seed, loaded.tie, loaded.dtype, None, folder, os.getpid())
    from budgetrun.runner.job import measure

    rows, curves = measure(job, settings)
    return {
        "rows": [{key: row[key] for key in measured} for row in rows],
        "rounds": " ".join(map(str, curves["rounds"].tolist())),
        "curves": _array(curves[curve]),
    }


def _numbers(values):
    return [] if values is None else np.asarray(values, dtype=np.float64).ravel().tolist()


def _array(X):
    """Return what tells an array from others: its shape, and sums that depend on every entry's place."""
    X = floats(X)
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    if X.dtype.kind == "U":
        return X.tolist()
    values = X.astype(np.float64).ravel()
    places = np.cos(np.arange(values.size) + 1.0)
    return {"shape": list(X.shape), "dtype": X.dtype.kind, "sums": [float(values.sum()), float(values @ places)]}


def same(one, other):
    """Tell whether two outcomes are equal, numbers to 1e-9."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return type(one) is type(other) and one == other


def recorded():
    return json.loads(RECORD.read_text(encoding="utf-8"))
