"""Configs: one YAML file per table or figure, validated as a whole before anything runs."""

from budgetrun.config.reader import list_configs, load
from budgetrun.config.schema import Config, DatasetSpec, RunSpec

__all__ = ["Config", "DatasetSpec", "RunSpec", "list_configs", "load"]
