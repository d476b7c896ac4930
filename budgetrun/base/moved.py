"""Modules of version 0.2.0 that have moved since: saved models and pickles name them."""

# Old names without the package's own, in the order in which they are tried.
MOVED = {
    "kernels.loops": "kernels.compiling.loops",
    **{f"learners.{name}": f"engine.hypotheses.{name}" for name in ("frames", "points", "inverse", "merging")},
    "learners.absorbing": "engine.hypotheses.absorbing",
    "learners.pairs": "engine.hypotheses.pairs",
    "learners.calibration": "play.calibration",
    "runner.metrics": "play.metrics",
    "runner.targets": "play.targets",
    "live.curve": "play.curve",
    "live.play": "play.counts",
    "live": "runner.live",
    "selection": "play.selection",
    "compiling": "kernels.compiling",
    "errors": "base.errors",
    "params": "base.params",
}

# Classes that are now elsewhere than the rest of their module.
CLASSES = {"live.play:Player": "play.session:Session"}


def module_now(module: str) -> str:
    """Return the full name of the module that now holds what a module of 0.2.0 held."""
    inside = module.removeprefix("budgetrun.")
    for old, now in MOVED.items():
        if inside == old or inside.startswith(f"{old}."):
            return f"budgetrun.{now}{inside.removeprefix(old)}"
    return module


def class_now(title: str) -> tuple[str, str]:
    """Return the module and the name of what was the class ``module:name`` in 0.2.0."""
    moved = CLASSES.get(title.removeprefix("budgetrun."))
    module, _, name = (f"budgetrun.{moved}" if moved else title).partition(":")
    return module_now(module), name
