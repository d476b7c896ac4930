"""Reading ``manifest.json`` and checking its shape: what it says of the config is checked where that is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from budgetrun.base.errors import InputError
from budgetrun.config.problems import quoted

NAME = "manifest.json"
AGAIN = "repeat the sweep: budgetrun sweep CONFIG"

Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Plan(_Shape):
    runs: Count = 0
    sha256: str = ""


class _Git(_Shape):
    commit: str | None = None
    dirty: bool | None = None


class _Stream(_Shape):
    n_examples: Count = 0
    n_features: Count = 0
    nnz_per_row: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    task_names: list[str] = []
    sha256: str = ""
    files: dict[str, str] = {}
    notes: list[str] = []
    classes: list[str | int | float] = []
    n_classes: Count = 0
    n_test: Count = 0
    readers: list[str] = []
    kind: str = ""


class _Part(_Shape):
    dataset: str
    runs: Count
    wall_seconds: Seconds
    cpu_seconds: Seconds
    algorithms: list[str]


class _Manifest(_Shape):
    name: str = ""
    source: str | None = None
    description: str | None = None
    config: dict[str, Any] | None = None
    config_text: str = ""
    config_file: str = ""
    expected: dict[str, list[dict[str, Any]]] = {}
    choose_expected: dict[str, list[dict[str, Any]]] = {}
    profile: str | None = None
    seed: int = 0
    versions: dict[str, str] = {}
    revisions: list[str] = []
    code: str = ""
    compiled: bool | None = None
    plan: _Plan = _Plan()
    git: _Git = _Git()
    datasets: dict[str, _Stream] = {}
    start: str | None = None
    end: str | None = None
    seconds: Seconds = 0.0
    jobs: int = 1
    parts: list[_Part] = []
    failures: list[str] = []


def read(path: Path) -> dict[str, Any]:
    """Return a manifest; parts of it may be missing, but what is there has the right type.

    Raises
    ------
    InputError
        No such file, or it is not a manifest.
    """
    if not os.path.isfile(path):
        raise InputError(
            f"{path}: no such file, so this is not a results folder; make one first: budgetrun sweep CONFIG"
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON ({error}); {AGAIN}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: must hold a JSON object; {AGAIN}")
    try:
        _Manifest.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(key) if str(key).isalnum() else quoted(key) for key in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}; {AGAIN}") from None
    return found
