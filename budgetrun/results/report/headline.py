"""The first line of a page: the best learner of each family beside a prediction that does not look at the examples."""

from budgetrun.config.quantities import QUANTITIES
from budgetrun.results.report.numbers import NO_BUDGET, Place, measure
from budgetrun.results.store.read import Results


def headline(results: Results) -> str:
    """Return ``Auto errs 5.41%; the larger class 44.31%; ...``; empty unless one dataset has a trivial prediction."""
    problem, known = results.config.problem, results.algorithms
    if results.of_batch or len(results.datasets) != 1:
        return ""
    families = results.families
    if "constant" not in families.values():
        return ""
    measured, quantity = measure(results, QUANTITIES[problem.error]), QUANTITIES[problem.error]
    best: dict[str, Place] = {}
    for place in sorted(measured, key=lambda place: measured[place].mean):
        # Rules of selection are no learners.
        best.setdefault(families.get(place.label, "combined"), place)
    names = {"constant": problem.constant}
    for family, place in best.items():
        title = results.title(place.label)
        details = [place.budget.title()] if place.budget != NO_BUDGET and family == "kernel" else []
        swept = known[place.label].swept if place.label in known and family != "kernel" else None
        items = [item for item in place.setting.items if swept is None or item.partition("=")[0] in swept]
        full = ", ".join([title, *details, *items])
        if family == "kernel":
            several = sum(families.get(other.label) == family for other in measured) > 1
            full = f"{'best kernel learner ' if several else ''}{full}{',' if details else ''}"
        names.setdefault(family, full[0].lower() + full[1:] if family == "linear" else full)
    order = ("combined", "constant", "linear", "kernel") if "combined" in best else ("kernel", "constant", "linear")
    verb = " errs" if problem.of_classes else f" has an {problem.error_title} of"
    parts = [
        f"{names[family]}{'' if i else verb} {quantity.write(measured[best[family]].mean)}{quantity.unit}"
        for i, family in enumerate(family for family in order if family in best)
    ]
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."
