"""Hooks of Schemathesis: generated requests meet records that exist, and leniency that the contract promises is known.

Loaded through SCHEMATHESIS_HOOKS by run.py, which writes the ids of the records it made into the file POOL names. Two
checks of Schemathesis take the schema for the whole truth about a request; they are switched off in schemathesis.toml
and stand here again, each with the exceptions that a rule of the contract demands (O numbers) and nothing more.
"""

import json
import os
import random
import re

import schemathesis
from schemathesis import GenerationMode
from schemathesis.generation.meta import TestPhase
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

with open(os.environ["POOL"], encoding="utf-8") as file:
    POOL = json.load(file)

# Why a request that fits the schema may be refused with 400: what its values mean is known to the gateway alone.
# Field, message, rule.
MEANING = [
    (".*", "must not contain NUL characters", "O48: no text may hold them"),
    ("cursor", "is not a token of this list", "O19: a cursor is a token that a page has handed out"),
    ("group", "`triage` is managed", "known gap: v1 keeps that group to itself"),
    ("estimate(_point_id)?", "this project has no active estimate", "known gap: v1 shows estimates on items alone"),
    ("timezone", "is not a name of the IANA", "O58: names of time zones are no schema"),
    ("(target|end)_date", "must not be before", "O28: a rule across fields"),
    ("is_default", ".*default", "O53, O72, O77: at most or at least one default"),
    (r"applies_to_\w+|project_ids|issue_type_ids", ".*", "O76: contexts of a property may not meet"),
    ("name", "another context", "O76: an omitted name is that of the seeded context"),
    (r"\w+_ids?|parent|state|type|labels|assignees", ".*(is|are|names) (not|no) |no |not |.*several", "O35, O42: look-ups"),
    ("properties|work_item_types", "not .* of this (workspace|project)", "O74: look-ups"),
    (r"options(\.\d+)?", "only a property of type OPTION|.*default|.*name", "O66, O70: options by type, one default"),
    (r"options\.\d+\.\w+", "is not an option of|is required|.*name|.*default", "O66, O70: known by id, new by name"),
    ("relation_type", ".*", "O68: goes with the property type"),
    ("default_value.*", ".*", "O69: goes with the property type"),
    (r"\w+__in", "must be a|.* is not one of", "elements of a comma-separated value are described, not typed"),
    (r"\w+", "exclusive with|.*together", "a name and its id exclude each other"),
]


def pick(values, seed):
    return random.Random(seed).choice(values)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Path parameters that are well-formed become those of a record that is there; most of the time.

    A case whose path is broken on purpose is left as it is; in a chain of calls the chain knows the record.
    """
    if case.meta is not None:
        for place, part in case.meta.components.items():
            if place.value == "path" and part.mode is not GenerationMode.POSITIVE:
                return
    chained = case.meta is not None and case.meta.phase.name is TestPhase.STATEFUL
    path, method = case.operation.path, case.method.upper()
    for name, value in list((case.path_parameters or {}).items()):
        if chained and name not in ("slug", "project_id"):
            continue
        known = POOL["parents"].get(path, {}).get(name) or POOL["common"].get(name) or POOL["records"].get(path)
        if not known:
            continue
        seed = f"{path}{value}"
        if name == "pk" and method == "DELETE":
            # Records to delete are apart, so that the others stay until the end.
            known = known[len(known) // 2 :]
        elif name == "pk":
            known = known[: (len(known) + 1) // 2]
        if name != "pk" or random.Random(seed).random() < 0.9:
            case.path_parameters[name] = pick(known, seed)


@schemathesis.check
def what_breaks_the_schema_is_refused(context, response, case):
    """`negative_data_rejection`, but an empty query value is an absent one (O22), and new options have no id to check."""
    if any(value == "" or value == [""] for value in (case.query or {}).values()):
        return None
    options = case.body.get("options") if isinstance(case.body, dict) else None
    new = case.method.upper() == "POST" and case.operation.path.endswith("/work-item-properties/")
    if new and isinstance(options, list) and any("id" in option for option in options if isinstance(option, dict)):
        # An id sent with a new record is ignored, as everywhere.
        return None
    return negative_data_rejection(context, response, case)


@schemathesis.check
def what_fits_the_schema_is_accepted(context, response, case):
    """`positive_data_acceptance`, but 400 may be said of what only the gateway can know (MEANING)."""
    if response.status_code == 400:
        problem = response.json()
        if problem["code"] == "ordering_not_cursor_eligible":
            # An unknown order is no error, one that cursors cannot walk is; the document has a word on each.
            return None
        errors = problem.get("errors", [])
        # Without errors the reason is a rule that belongs to no field (O28), such as O62 on default types.
        if all(known(error, case) for error in errors):
            return None
    return positive_data_acceptance(context, response, case)


def known(error, case):
    field, message = error["field"], error["message"]
    if any(re.fullmatch(left, field) and re.match(right, message) for left, right, _ in MEANING):
        return True
    # Where a schema admits null beside a format, the generator writes empty strings that do not have the format.
    body = case.body if isinstance(case.body, dict) else {}
    return body.get(field) == "" and message.startswith("must be a")
