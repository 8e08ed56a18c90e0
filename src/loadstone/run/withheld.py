"""Secrets of the lab's environment that a workload sends: drivers are told them, records never hold them."""

import os
from collections.abc import Mapping
from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.workload.values import OPTIONS_PREFIX

SECRET = "secret"
"""Kind of a plan's value whose text stands in the environment."""
LEAST_WITHHELD = 4
"""Letters of a secret: a shorter one stands in texts by chance, which would be withheld with it."""


def with_secrets(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan whose values of kind `secret` have their texts, for a driver alone. Only those values are filled in: no
    text of a workload can name a variable. Raises UsageError for a variable that is not set, or is too short.
    """
    return {**plan, "parts": [_part(part) for part in plan.get("parts", ())]}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    workload = part["workload"]
    return {**part, "workload": {**workload, "values": [_value(value) for value in workload["values"]]}}


def _value(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return value if value["kind"] != SECRET else {**value, "value": _secret(value["variable"])}


def _secret(variable: str) -> str:
    if variable.startswith(OPTIONS_PREFIX):
        raise UsageError(f"A workload cannot use the variable {variable}, which is reserved for Loadstone. Rename it.")
    text = os.environ.get(variable, "")
    if len(text) < LEAST_WITHHELD:
        problem = "is not set" if not text else f"is shorter than {LEAST_WITHHELD} letters, so it cannot be withheld"
        raise UsageError(f"The workload uses the variable {variable}, which {problem}.")
    return text
