"""Record the outcomes of the short runs in tests/identity again, after a new part or a raised revision.

Usage: python scripts/results/record_probes.py [--new]

With --new, only probes that are not recorded with their present revisions are run; the others are taken as they are.
An outcome that differs although none of its revisions does is refused: raise the revision of the part whose behaviour
changed first (the `revision` of a learner, form, kernel or solver, or one of the constants named REVISION).
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2] / "tests"


def without_new_facts(found: Any, known: Any) -> Any:
    """Return an outcome without the facts that the recorded one does not have: no older run is wrong without them."""
    if isinstance(found, list) and isinstance(known, list):
        return [without_new_facts(*pair) for pair in zip(found, known, strict=False)] + found[len(known) :]
    if isinstance(found, dict) and isinstance(known, dict):
        return {
            key: {name: fact for name, fact in value.items() if name in known[key]}
            if key == "facts"
            else without_new_facts(value, known.get(key))
            for key, value in found.items()
        }
    return found


def main(only_new: bool) -> int:
    """Write tests/identity/outcomes.json; return 1 if a revision has to be raised first."""
    sys.path[:0] = [str(TESTS), str(TESTS / "identity")]
    import probes

    before = probes.recorded() if probes.RECORD.is_file() else {}
    after, unraised = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, revisions, outcome in probes.probes(Path(folder)):
            known = before.get(name)
            if only_new and known and known["revisions"] == revisions:
                after[name] = known
                continue
            found = json.loads(json.dumps(outcome()))
            after[name] = {"revisions": revisions, "outcome": found}
            if known and known["revisions"] == revisions:
                # Recorded digits stay where they are equal but for rounding, so that the file's history is readable.
                if probes.same(known["outcome"], found):
                    after[name] = known
                elif not probes.same(known["outcome"], without_new_facts(found, known["outcome"])):
                    unraised.append(f"{name}: another outcome, but the revisions are still {', '.join(revisions)}")
    if unraised:
        print("\n".join(unraised), file=sys.stderr)
        return 1
    probes.RECORD.write_text(json.dumps(after, indent=0) + "\n", encoding="utf-8")
    print(f"{len(after)} outcomes in {probes.RECORD}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--new", action="store_true", help="only probes without an outcome of their present revisions")
    sys.exit(main(parser.parse_args().new))
