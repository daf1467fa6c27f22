"""Hooks of Schemathesis: generated requests use records that exist, and the checks know where the contract is lenient.

run.py loads them through SCHEMATHESIS_HOOKS, and writes the ids of its records into the file named by POOL. Two checks
of Schemathesis assume that the schema says everything about a request. schemathesis.toml switches these checks off.
Here they are again, each with only the exceptions that a rule of the contract demands (O numbers).
"""

import functools
import json
import os
import random
import re
from urllib.parse import parse_qsl, urlsplit

import schemathesis
from schemathesis import GenerationMode
from schemathesis.generation.meta import TestPhase
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

with open(os.environ["POOL"], encoding="utf-8") as file:
    POOL = json.load(file)

# Reasons why a request that fits the schema may be refused with 400: only the gateway knows the meaning of its values.
# Field, message, rule. Field and message must match completely, so that another fault of the same field still fails.
#
LISTED = r"[\s\S]*"
MEANING = [
    (r".*", r"must not contain NUL characters", "O48: no text may hold them"),
    # Query.
    (r"cursor", r"is not a token of this list", "O19: a cursor is a token that a page has handed out"),
    (
        r"\w+__in|include",
        r"`[\s\S]*` is not one of .*|must be a .*",
        "elements of a comma-separated value are described, not typed",
    ),
    # States, labels, cycles, modules, comments.
    (
        r"group",
        r"`triage` is managed by the backend and cannot be given to a state",
        "known gap: v1 keeps it to itself",
    ),
    (r"is_default", r"a project always has a default state; make another state the default", "O53"),
    (
        r"parent_id",
        r"names no record of labels in this project|leads back to the record itself",
        "chapter 9: a foreign id in a body; no loops",
    ),
    (r"lead_id|owned_by_id", r"is not a member of this project", "chapter 9: a foreign id in a body"),
    (
        r"member_ids",
        r"is not a member of this project|must be members of this project" + LISTED,
        "chapter 9: a foreign id in a body",
    ),
    (
        r"(target|end)_date",
        r"must not be before start_date|must not be before [-0-9T:.Z+]+",
        "O28: a rule across fields",
    ),
    (r"(start|end)_date", r"is out of range", "O58: v1 holds the years 1 to 9999, in UTC"),
    (r"timezone", r"is not a name of the IANA time zone database", "O58: names of time zones are no schema"),
    (r"comment_html", r"must not be blank; what is not allowed in it was left out", "O9: judged after sanitising"),
    # Work items.
    (r"\w+", r"cannot be sent together with \w+", "chapter 12.1: a name and its id exclude each other"),
    (r"estimate(_point_id)?", r"this project has no active estimate", "known gap: v1 shows estimates on items alone"),
    (r"state(_id)?", r"names no state of this project(; use state_id)?", "chapter 12.1: name or id"),
    (r"type(_id)?", r"names no work item type of this project(; use type_id)?", "chapter 12.1: name or id"),
    (r"type(_id)?", r"names an inactive type, which is not for new items", "O35"),
    (
        r"parent(_id)?",
        r"names no live work item of this project.*|is the work item itself or one below it",
        "chapter 12.1: name or id; O42: no loops",
    ),
    (r"assignee_ids", r"(must be members of this project|guests cannot be assigned)" + LISTED, "chapter 9: a foreign id in a body"),
    (r"label_ids", r"names no labels of this project" + LISTED, "chapter 9: a foreign id in a body"),
    (
        r"assignees",
        r"must each be the address of exactly one member of this project; use assignee_ids" + LISTED,
        "chapter 12.1: name or id",
    ),
    (
        r"labels",
        r"must each name exactly one label of this project; use label_ids" + LISTED,
        "chapter 12.1: name or id",
    ),
    (r"custom_fields", r"cannot be set on a work item without a type", "chapter 12.2: fields go with the type"),
    (
        r"custom_fields",
        r"custom properties are not switched on in this project",
        "chapter 12.2: fields go with the type",
    ),
    (
        r"custom_fields\..*",
        r"is no custom property of the work item's type|is switched off \(`is_active` is false\)",
        "chapter 12.2: fields go with the type",
    ),
    (r"custom_fields\.\w+", r"is required", "chapter 12.2: required properties of the type"),
    (
        r"custom_fields\.[\s\S]+",
        r"takes (an array of values|a single value, not an array)|is computed and cannot be written"
        r"|must be (a|an|true) .*|[\s\S]* is no option offered here.*|[\s\S]* names several options; use the id"
        r"|names no (member|live work item) of this project: [\s\S]*",
        "chapter 12.2: values as the property's type and the type of the item have them",
    ),
    # Types, properties, options, contexts.
    (r"is_active", r"the default type cannot be switched off", "O62: a project always has a default type"),
    (r"properties", r"not properties of this (workspace|project): .*", "O74: look-up"),
    (r"work_item_types", r"not importable types of this workspace: .*", "O74: look-up"),
    (r"relation_type", r"is required for a property of type RELATION", "O68: goes with the property type"),
    (r"relation_type", r"is for properties of type RELATION only", "O68: goes with the property type"),
    (
        r"default_value(\.\d+)?",
        r"must be (a|an|the|\W?true\W?) .*|must not be blank|more than one needs is_multi|a formula takes no default",
        "O69: as the type has it",
    ),
    (r"options", r"only a property of type OPTION has options", "O66: options go with the property type"),
    (r"options", r"several options are defaults, which needs is_multi", "O70: at most one default"),
    (r"options\.\d+\.is_default", r"another option is the default already", "O70: at most one default"),
    (r"is_default", r"another option is the default; clear it first", "O72: at most one default"),
    (r"options\.\d+\.name", r"is required(, unless `id` is given)?", "O66: known by id, new by name"),
    (r"options\.\d+\.name", r"is given more than once, ignoring case", "O66: names are unique"),
    (r"options\.\d+\.name", r"is the name of several options; use the id", "O66: known by name"),
    (r"options\.\d+\.id", r"is not an option of this property|is given more than once", "O66: look-up"),
    (r"(project|issue_type)_ids", r"must not come with \w+ true", "O76: a list or all"),
    (r"(project|issue_type)_ids", r"must not be empty unless \w+ is true", "O76: a list or all"),
    (
        r"(project|issue_type)_ids",
        r"not (projects|types) of this workspace: .*|given more than once: .*",
        "O76: look-up",
    ),
    (
        r"(project|issue_type)_ids",
        r"the context `[\s\S]*` covers some of this just as specifically",
        "O76: no two may meet",
    ),
    (r"applies_to_all_projects", r"the context `[\s\S]*` applies to all projects already", "O76: no two may meet"),
    (
        r"name",
        r"another context of the property is named `[\s\S]*`",
        "O76: unique; an omitted name is the seeded context's",
    ),
    (r"external_(id|source)", r"is sent together with external_(id|source)", "chapter 15: the pair goes together"),
    (r"external_id", r"another context of the property has this external_id and external_source", "chapter 15: unique in the property"),
]
# The same for rules that belong to no field (O28): the detail of a problem without errors.
RULES = [
    ("An inactive type or an epic type cannot be the default type.", "O62"),
    ("Only a property of type OPTION has options.", "O66"),
    (
        "no context of the property covers all projects and all types; add the option through a context",
        "O73: where an option of the property itself would go",
    ),
]


# Members that are required only together with certain others. Schemathesis reads in a refusal that they are required,
# and then assumes it of every body.
CONDITIONAL = ["Missing required property: relation_type"]


def pick(values, seed):
    return random.Random(seed).choice(values)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces well-formed path parameters by those of an existing record, most of the time.

    A case whose path is broken on purpose is left as it is. In a chain of calls the chain knows the record.
    """
    if case.meta is not None:
        for place, part in case.meta.components.items():
            if place.value == "path" and part.mode is not GenerationMode.POSITIVE:
                return
    demand(case)
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
            # One half of the records is for DELETE, so that the other half stays until the end.
            known = known[len(known) // 2 :]
        elif name == "pk":
            known = known[: (len(known) + 1) // 2]
        if name != "pk" or random.Random(seed).random() < 0.9:
            case.path_parameters[name] = pick(known, seed)


def demand(case):
    """Replaces a well-formed If-Match by `*`, most of the time: a generated tag is never the tag of a record."""
    parts = case.meta.components.items() if case.meta is not None else []
    if any(place.value == "header" and part.mode is not GenerationMode.POSITIVE for place, part in parts):
        return
    tags = (case.headers or {}).get("If-Match")
    if tags is not None and random.Random(str(tags)).random() < 0.9:
        case.headers["If-Match"] = "*"


@schemathesis.check
def what_breaks_the_schema_is_refused(context, response, case):
    """`negative_data_rejection`, except for requests that the contract accepts.

    An empty query value counts as absent (O22). When a parameter is given more than once, the last value counts
    (contract chapter 6); cases with one value judge it. New options have no id to check.
    """
    if response.status_code == 412:
        # The gateway refused the version before it looked at the body.
        return None
    sent = parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True)
    if any(value == "" for _, value in sent) or len({name for name, _ in sent}) < len(sent):
        return None
    options = case.body.get("options") if isinstance(case.body, dict) else None
    new = case.method.upper() == "POST" and case.operation.path.endswith("/work-item-properties/")
    if new and isinstance(options, list) and any("id" in option for option in options if isinstance(option, dict)):
        # An id sent with a new record is ignored, as everywhere.
        return None
    if case.meta is not None and getattr(case.meta.phase.data, "description", None) in CONDITIONAL:
        return None
    return negative_data_rejection(context, response, case)


@schemathesis.check
def what_fits_the_schema_is_accepted(context, response, case):
    """`positive_data_acceptance`, but 400 is allowed for faults that only the gateway can know (MEANING)."""
    if response.status_code == 304:
        # The generated If-None-Match is the star.
        return None
    if response.status_code in (412, 422):
        # No record has the generated version, or the generated key came with another request.
        if response.json()["code"] in ("precondition_failed", "idempotency_key_reused"):
            return None
    if response.status_code == 400:
        problem = response.json()
        if problem["code"] == "ordering_not_cursor_eligible":
            # An unknown order is no error, but an order that cursors cannot walk is one. The document says both.
            return None
        errors = problem["errors"]
        if errors and all(known(error, case) for error in errors):
            return None
        if not errors and any(problem["detail"] == detail for detail, _ in RULES):
            return None
        try:
            return positive_data_acceptance(context, response, case)
        except Exception:
            unknown = [(error["field"], error["message"]) for error in errors if not known(error, case)]
            told(f"{case.operation.label}: no known refusal: {unknown or problem['detail']}")
            raise
    return positive_data_acceptance(context, response, case)


@functools.cache
def told(line):
    """Prints `line` once, because Schemathesis shows only the beginning of the answer."""
    print(line, flush=True)


def known(error, case):
    field, message = error["field"], error["message"]
    if any(re.fullmatch(left, field) and re.fullmatch(right, message) for left, right, _ in MEANING):
        return True
    # When a schema allows null beside a format, the generator also writes empty strings, which do not have the format.
    body = case.body if isinstance(case.body, dict) else {}
    return body.get(field) == "" and message.startswith("must be a")
