"""Streams, policies and competitors that try to break what `reference.fleet` proves, and the ratios that they reach."""

import math

import numpy as np

from reference.fleet import KAPPA, Fleet, Policy, U_of, events, labellings
from reference.kernel_expansion import gaussian, linear

K = gaussian(0.5)


class Spiteful(Policy):
    """Who pays is who loses most."""

    def price(self, fleet, f):
        return -f.price(f.held[0], fleet.kappa)


class Restless(Policy):
    """Removes at random moments, also when there is room, and of any learner above its floor."""

    def payers(self, fleet):
        payers = fleet.payers()
        return [payers[fleet.random.integers(len(payers))]]

    def names(self, fleet):
        at_random = fleet.random.random() < 0.3 and fleet.payers()
        return self.payers(fleet) if at_random or fleet.size() > fleet.limit else []


class Watched(Fleet):
    """A fleet that notes each example, label and mistake of each learner, and the largest Q - A."""

    closest = -math.inf

    def play(self, row, x, labels):
        super().play(row, x, labels)
        self.seen = getattr(self, "seen", {})
        for key, y in labels.items():
            self.seen.setdefault(key, []).append((np.asarray(x), y, self.mistakes[-1][key]))

    def remove(self, f):
        super().remove(f)
        self.closest = max(self.closest, f.Q - f.allowed(self.kappa))


def played(made, rounds):
    for row, x, labels in rounds:
        made.play(row, x, labels)
    return made


def several(T, m, seed, shared=False):
    """Return rounds of m learners of different activity, difficulty and noise: of their own, or of one stream."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(T, 2))
    noise = random.random((T, m)) < np.linspace(0, 0.4, m)
    Y = np.where(np.sin(np.outer(X[:, 0], 1 + np.arange(m)) + X[:, 1:]) > 0, 1, -1) * np.where(noise, -1, 1)
    if shared:
        return labellings(X, Y)
    keys = np.minimum(random.geometric(0.4, T) - 1, m - 1)
    return events(keys.tolist(), X, Y[np.arange(T), keys])


def bursty(T, m, seed):
    """Return rounds in which one learner plays for a while, and its labels are the reverse of those before."""
    random = np.random.default_rng(seed)
    X, keys = random.normal(size=(T, 2)), np.arange(T) // 23 % m
    signs = np.where(np.arange(T) // (23 * m) % 2, -1, 1)
    return events(keys.tolist(), X, np.where(X.sum(axis=1) > 0, 1, -1) * signs)


def loud(T, m, seed):
    """Return rounds of m learners whose labels are noise: nearly half of them are mistakes."""
    random = np.random.default_rng(seed)
    return events(random.integers(0, m, T).tolist(), random.normal(size=(T, 2)), random.choice([-1, 1], T))


def malicious(made, T, m, seed):
    """Play examples whose labels are always wrong, near those that the fleet holds."""
    random = np.random.default_rng(seed)
    for t in range(T):
        key = int(random.integers(m))
        held = made.learner(key).held
        x = held[0].x + 0.1 * random.normal(size=2) if held and t % 2 else random.normal(size=2)
        made.play(t, x, {key: -1 if made.learner(key).value(x) > 0 else 1})
    return made


# Name -> (a fleet that has played it, given the fleet, the size and the number of learners).
STREAMS = {
    "own rows": lambda made, size=1, m=4: played(made, several(260 * size, m, 0)),
    "shared rows": lambda made, size=1, m=4: played(made, several(90 * size, m, 1, shared=True)),
    "bursts": lambda made, size=1, m=4: played(made, bursty(260 * size, m, 2)),
    "noise": lambda made, size=1, m=4: played(made, loud(220 * size, m, 9)),
    "malicious": lambda made, size=1, m=4: malicious(made, 160 * size, m, 3),
}


def paging(m, T, policy, per_learner=2, **options):
    """Ask m learners for the one of their orthonormal examples that is missing: there is room for all but one.

    Returns the mistakes of the policy, and those of the best split in hindsight.
    """
    wanted = [(key, i) for key in range(m) for i in range(per_learner)]
    made = Fleet(linear(), len(wanted) - 1, policy, **options)
    asked = []
    for t in range(T):
        held = {(f.key, int(e.x.argmax()) % per_learner) for f in made.learners.values() for e in f.held}
        key, i = next(pair for pair in wanted if pair not in held)
        made.play(t, np.eye(len(wanted))[per_learner * key + i], {key: 1})
        asked.append((key, i))
    # A split that has room for all examples of the other learners lets only one err after the first time.
    first = {pair: asked.index(pair) for pair in dict.fromkeys(asked)}
    return made, min(_errs_of(asked, first, short, per_learner) for short in range(m))


def _errs_of(asked, first, short, per_learner):
    """Return the mistakes of the split whose learner ``short`` has room for all but one of its examples."""
    own = [i for key, i in asked if key == short]
    held, errs = [], 0
    for i in own:
        if i not in held:
            errs += 1
            held = [*held, i][-(per_learner - 1) :] if per_learner > 1 else []
    return errs + sum(key != short for key, _ in first)


def competitors(seen, norms):
    """Return (n, T) values of functions of several kinds, scaled to norms, and these norms."""
    X, y = np.array([x for x, *_ in seen]), np.array([y for _, y, _ in seen], dtype=float)
    gram = K.gram(X)
    random = np.random.default_rng(0)
    values, lengths = [], []
    for alpha in (y, np.linalg.solve(gram + 0.1 * np.eye(len(y)), y), random.normal(size=len(y)), -y):
        norm = math.sqrt(max(alpha @ gram @ alpha, 1e-12))
        for wanted in norms:
            values.append(gram @ alpha * (wanted / norm))
            lengths.append(wanted)
    return np.array(values), np.array(lengths)


def losses(seen, norms):
    """Return the hinge losses on the learner's mistakes of each competitor, and its norm."""
    values, lengths = competitors(seen, norms)
    y, erred = np.array([y for _, y, _ in seen]), np.array([e for *_, e in seen])
    return np.maximum(0, 1 - y * values)[:, erred].sum(axis=1), lengths


def ratios(made):
    """Return the largest left side / right side of each bound of a fleet's learners, by name; at most 1 if they hold.

    ``product`` compares the two sides of C(M), as sums of logarithms.
    """
    found = {"measured": 0.0}
    for key, f in made.learners.items():
        excess = max(0, len(f.held) - f.floor)
        limits = {}
        if f.floor >= 83:
            limits["floor"] = U_of(f.floor)
            most = f.M * math.log(f.floor + 1) / (2 * (f.floor + 1))
            found["product"] = max(found.get("product", 0.0), f.shrinking(U_of(f.floor)) / most)
        if 84 <= f.N < math.inf:
            limits["held"] = U_of(f.N - 1)
        L, norms = losses(made.seen[key], [0.3, 1.0, *limits.values(), 4.0])
        for loss, norm in zip(L, norms, strict=True):
            right = norm**2 * (1 + f.shrinking(norm)) + 2 * loss
            found["measured"] = max(found["measured"], (f.M - f.Q) / right)
            for name, limit in limits.items():
                if norm <= limit:
                    right = 2 * norm**2 + 4 * loss
                    found[name] = max(found.get(name, 0.0), (f.M + 15 / 16 * excess) / right)
            if not f.removed:
                found["unshrunk"] = max(found.get("unshrunk", 0.0), f.M / (32 / 17 * (norm**2 + 2 * loss)))
    if 84 <= made.N < math.inf:
        found["sum"] = sum_ratio(made, U_of(made.N - 1))
    return found


def sum_ratio(made, U):
    """Return the largest ratio of the sum bound for competitors that share U^2 in several ways."""
    m = len(made.learners)
    shares = [np.full(m, 1 / m), *np.random.default_rng(0).dirichlet(np.ones(m), 3)]
    norms = [U * np.sqrt(share) for share in shares]
    L = sum(losses(made.seen[key], [n[i] for n in norms])[0] for i, key in enumerate(made.learners))
    excess = sum(max(0, len(f.held) - f.floor) for f in made.learners.values())
    return float(((made.M + 15 / 16 * excess) / (2 * U**2 + 4 * L)).max())


def smallest_slack_holds(made):
    """Return whether Q <= A held after each removal, up to rounding."""
    return made.closest <= 1e-9 and sum(f.Q for f in made.learners.values()) <= KAPPA * made.M + 1e-9
