"""The vendor's Python SDK, unchanged, in front of `causeway demo`.

Usage: python smoke.py PATH-TO-CAUSEWAY. Starts the demo on a free port, walks through everything the
gateway serves, compares values, and ends with `N passed, M failed`; exit code 1 when anything failed.
Nothing here patches or configures the SDK beyond its address and key.
"""

import sys
import traceback
from datetime import date, datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from demo import Demo  # noqa: E402
from plane import PlaneClient  # noqa: E402
from plane.api.v2 import (  # noqa: E402
    LoadedCycle,
    LoadedModule,
    LoadedWorkItem,
    MultipleMatchesFound,
    NoMatchFound,
    PlaneAPIError,
)
from plane.models.v2.common import CursorPage, OffsetPage  # noqa: E402
from plane.models.v2.cycles import CreateCycle, UpdateCycle  # noqa: E402
from plane.models.v2.labels import CreateLabel, UpdateLabel  # noqa: E402
from plane.models.v2.modules import CreateModule, UpdateModule  # noqa: E402
from plane.models.v2.states import CreateState, UpdateState  # noqa: E402
from plane.models.v2.work_items import (  # noqa: E402
    CreateWorkItem,
    CreateWorkItemComment,
    UpdateWorkItem,
    UpdateWorkItemComment,
)

WORKSPACE = "acme"
PROJECT = "00000000-0000-4000-c000-000000000001"
NOWHERE = "00000000-0000-4000-c000-00000000ffff"
ADA, BEN, CLEO, DEVI, GUS = (f"00000000-0000-4000-a000-{number:012}" for number in range(1, 6))
BUG, FEATURE, REGRESSION, CRASH = (f"00000000-0000-4000-7000-{number:012}" for number in range(1, 5))
BACKLOG, UNSTARTED, IN_PROGRESS, DONE = (f"00000000-0000-4000-d000-{number:012}" for number in range(101, 105))

passed = 0
failures = []


def same(what, actual, expected):
    """One check: `actual` is `expected`."""
    global passed
    if actual == expected and type(actual) is type(expected):
        passed += 1
    else:
        failures.append(f"{what}: got {actual!r}, expected {expected!r}")


def holds(what, condition):
    """One check: `condition` is true."""
    same(what, bool(condition), True)


def refused(what, status, code, fields, call):
    """`call` raises the SDK's typed error with this status, code and fields in error; returns it."""
    try:
        answer = call()
    except PlaneAPIError as error:
        same(f"{what}: status", error.status, status)
        same(f"{what}: code", error.code, code)
        holds(f"{what}: type {error.type}", error.type.endswith(f"/errors/{code}"))
        holds(f"{what}: title and detail", error.title and error.detail)
        same(f"{what}: fields", [entry.field for entry in error.errors or []], fields)
        return error
    failures.append(f"{what}: no refusal but {answer!r}")
    return None


def raises(what, kind, call):
    """`call` raises exactly `kind`."""
    try:
        answer = call()
    except Exception as error:  # the kind is the check
        same(what, type(error), kind)
    else:
        failures.append(f"{what}: no {kind.__name__} but {answer!r}")


def names(rows):
    return [row.name for row in rows]


def numbers(rows):
    return [row.sequence_id for row in rows]


def item_id(number):
    """Id of a work item of the sample."""
    return f"00000000-0000-4000-e000-{number:012}"


def current_user(admin, guest):
    me = admin.v2.users.me()
    same("me: id", me.id, ADA)
    same("me: email", me.email, "ada@acme.test")
    same("me: display_name", me.display_name, "ada")
    same("me: principal_kind", me.principal_kind, "api_key")
    same("me: scopes", me.scopes, [])
    same("me: guest", guest.v2.users.me().id, GUS)


def members(admin, project):
    roster = admin.v2.workspaces.members
    page = roster.list(WORKSPACE)
    same("workspace members: ids", [row.member_id for row in page.data], [ADA, BEN, CLEO, DEVI, GUS])
    same(
        "workspace members: roles",
        [row.role for row in page.data],
        ["admin", "member", "member", "member", "guest"],
    )
    same("workspace members: total", page.total_count, 5)
    same("workspace members: distinct ids", len({row.id for row in page.data}), 5)
    walked = [row.id for row in roster.iterate(WORKSPACE, per_page=2)]
    same("workspace members: iterate", walked, [row.id for row in page.data])
    found = roster.list(WORKSPACE, role="guest").data
    same("workspace members: role=guest", [row.member_id for row in found], [GUS])

    roster = project.members
    page = roster.list(WORKSPACE, PROJECT)
    same("project members: ids", [row.member_id for row in page.data], [ADA, BEN, CLEO, DEVI, GUS])
    roles = ["admin", "contributor", "contributor", "contributor", "guest"]
    same("project members: roles", [row.role for row in page.data], roles)
    walked = [row.member_id for row in roster.iterate(WORKSPACE, PROJECT, per_page=2)]
    same("project members: iterate", walked, [ADA, BEN, CLEO, DEVI, GUS])
    found = roster.list(WORKSPACE, PROJECT, role__in=["admin", "guest"]).data
    same("project members: role__in", [row.member_id for row in found], [ADA, GUS])
    found = roster.list(WORKSPACE, PROJECT, member_id=CLEO).data
    same("project members: member_id", [row.role for row in found], ["contributor"])
    plain = roster.list(WORKSPACE, PROJECT, fields=["member_id"], per_page=1).data[0]
    same("project members: fields= is tolerated and ignored", plain.role, "admin")
    person = roster.list(WORKSPACE, PROJECT, expand=["member"], per_page=1).data[0].model_extra["member"]
    same("project members: expand", (person["id"], person["display_name"]), (ADA, "ada"))


def states(admin, project):
    api = project.states
    page = api.list(WORKSPACE, PROJECT)
    holds("states: envelope", isinstance(page, OffsetPage))
    same("states: names", names(page.data), ["Backlog", "Todo", "In Progress", "Done", "Cancelled"])
    groups = ["backlog", "unstarted", "started", "completed", "cancelled"]
    same("states: groups", [row.group for row in page.data], groups)
    same("states: default", [row.is_default for row in page.data], [True, False, False, False, False])
    same("states: total", page.total_count, 5)
    same("states: next", page.next, None)
    same("states: previous", page.previous, None)
    same("states: created_at in UTC", page.data[0].created_at.utcoffset(), timezone.utc.utcoffset(None))
    same("states: group filter", names(api.list(WORKSPACE, PROJECT, group="started").data), ["In Progress"])
    found = api.list(WORKSPACE, PROJECT, group__in=["completed", "cancelled"]).data
    same("states: group__in", names(found), ["Done", "Cancelled"])
    same("states: is_default", names(api.list(WORKSPACE, PROJECT, is_default=True).data), ["Backlog"])
    same("states: search", names(api.list(WORKSPACE, PROJECT, search="progress").data), ["In Progress"])

    todo = api.find_by_name(WORKSPACE, PROJECT, "Todo")
    same("states: find_by_name", todo.group, "unstarted")
    raises("states: nothing by that name", NoMatchFound, lambda: api.find_by_name(WORKSPACE, PROJECT, "Nope"))
    same("states: retrieve", api.retrieve(WORKSPACE, PROJECT, todo.id), todo)

    sent = CreateState(
        name="In Review",
        color="#3f76ff",
        description="Somebody looks at it",
        group="started",
        sequence=36000.5,
        external_id="rev-1",
        external_source="smoke",
    )
    made = api.create(WORKSPACE, PROJECT, sent)
    same(
        "states: create", made.model_dump(include=set(sent.model_dump())), sent.model_dump() | {"is_default": False}
    )
    same("states: created_by_id", made.created_by_id, ADA)
    same("states: created is read back", api.retrieve(WORKSPACE, PROJECT, made.id), made)
    same(
        "states: external pair",
        [r.id for r in api.list(WORKSPACE, PROJECT, external_id="rev-1", external_source="smoke").data],
        [made.id],
    )
    order = names(api.list(WORKSPACE, PROJECT, order_by="sequence").data)
    same("states: order_by", order, ["Backlog", "Todo", "In Progress", "In Review", "Done", "Cancelled"])

    changed = api.update(WORKSPACE, PROJECT, made.id, UpdateState(name="Review", is_default=True))
    same("states: update name", changed.name, "Review")
    same("states: update default", changed.is_default, True)
    same("states: update keeps", (changed.color, changed.group, changed.sequence), ("#3f76ff", "started", 36000.5))
    same("states: one default", names(api.list(WORKSPACE, PROJECT, is_default=True).data), ["Review"])
    refused("states: delete the default", 409, "conflict", [], lambda: api.delete(WORKSPACE, PROJECT, made.id))
    backlog = api.find_by_name(WORKSPACE, PROJECT, "Backlog")
    api.update(WORKSPACE, PROJECT, backlog.id, UpdateState(is_default=True))
    same("states: delete", api.delete(WORKSPACE, PROJECT, made.id), None)
    refused("states: gone", 404, "resource_not_found", [], lambda: api.retrieve(WORKSPACE, PROJECT, made.id))
    refused("states: delete again", 404, "resource_not_found", [], lambda: api.delete(WORKSPACE, PROJECT, made.id))
    refused("states: delete one in use", 409, "conflict", [], lambda: api.delete(WORKSPACE, PROJECT, todo.id))
    refused(
        "states: duplicate name",
        409,
        "conflict",
        [],
        lambda: api.create(WORKSPACE, PROJECT, CreateState(name="Done", color="#000000")),
    )
    refused(
        "states: empty name and colour",
        400,
        "validation_error",
        ["name", "color"],
        lambda: api.create(WORKSPACE, PROJECT, CreateState(name="", color="")),
    )


def labels(admin, project):
    api = project.labels
    everything = api.list(WORKSPACE, PROJECT)
    same("labels: total", everything.total_count, 12)
    bug = api.find_by_name(WORKSPACE, PROJECT, "bug")
    same("labels: find_by_name", bug.color, "#e5484d")
    below = api.list(WORKSPACE, PROJECT, parent_id=bug.id).data
    same("labels: parent_id", names(below), ["regression", "crash"])
    same("labels: parent_id__isnull", api.list(WORKSPACE, PROJECT, parent_id__isnull=True).total_count, 10)

    made = api.create(
        WORKSPACE, PROJECT, CreateLabel(name="flaky", color="#aabbcc", parent_id=bug.id, sort_order=1.5)
    )
    same(
        "labels: create",
        (made.name, made.color, made.parent_id, made.sort_order),
        ("flaky", "#aabbcc", bug.id, 1.5),
    )
    same("labels: created is read back", api.retrieve(WORKSPACE, PROJECT, made.id), made)
    same("labels: order_by", api.list(WORKSPACE, PROJECT, order_by="sort_order", per_page=1).data[0].id, made.id)
    bare = api.create(WORKSPACE, PROJECT, CreateLabel(name="bare"))
    same("labels: defaults", (bare.parent_id, bare.external_id, bare.created_by_id), (None, None, ADA))
    changed = api.update(
        WORKSPACE,
        PROJECT,
        made.id,
        UpdateLabel(description="Fails now and then", external_id="7", external_source="smoke"),
    )
    same(
        "labels: update",
        (changed.description, changed.external_id, changed.name),
        ("Fails now and then", "7", "flaky"),
    )
    refused(
        "labels: rename to a taken name",
        409,
        "conflict",
        [],
        lambda: api.update(WORKSPACE, PROJECT, made.id, UpdateLabel(name="bug")),
    )
    refused(
        "labels: unknown parent",
        400,
        "validation_error",
        ["parent_id"],
        lambda: api.create(WORKSPACE, PROJECT, CreateLabel(name="orphan", parent_id=NOWHERE)),
    )
    same("labels: delete", api.delete(WORKSPACE, PROJECT, made.id), None)
    same("labels: delete", api.delete(WORKSPACE, PROJECT, bare.id), None)
    raises("labels: gone by name", NoMatchFound, lambda: api.find_by_name(WORKSPACE, PROJECT, "flaky"))
    same("labels: none too many", api.list(WORKSPACE, PROJECT).total_count, 12)


def pages(admin, project):
    api = project.labels
    made = [
        api.create(
            WORKSPACE, PROJECT, CreateLabel(name=f"page {n:02}", external_source="pages", external_id=str(n))
        ).id
        for n in range(23)
    ]
    first = api.list(WORKSPACE, PROJECT, per_page=10, order_by="created_at", external_source="pages")
    same(
        "pages: first",
        ([row.id for row in first.data], first.next, first.previous, first.total_count),
        (made[:10], 10, None, 23),
    )
    last = api.list(
        WORKSPACE, PROJECT, per_page=10, offset=20, order_by="created_at", external_source="pages", count=False
    )
    same("pages: last", ([row.id for row in last.data], last.next, last.previous), (made[20:], None, 10))
    same("pages: no count", "total_count" in last.model_fields_set, False)
    walked = [
        row.id
        for row in api.iterate(WORKSPACE, PROJECT, per_page=5, order_by="created_at", external_source="pages")
    ]
    same("pages: iterate by offset", walked, made)

    page = api.list(
        WORKSPACE, PROJECT, paginate="cursor", per_page=10, order_by="created_at", external_source="pages"
    )
    holds("cursors: envelope", isinstance(page, CursorPage))
    same("cursors: first", ([row.id for row in page.data], page.has_more), (made[:10], True))
    api.delete(WORKSPACE, PROJECT, made[3])
    page = api.list(
        WORKSPACE, PROJECT, cursor=page.next_cursor, per_page=10, order_by="created_at", external_source="pages"
    )
    same("cursors: a delete does not shift the walk", [row.id for row in page.data], made[10:20])
    page = api.list(
        WORKSPACE, PROJECT, cursor=page.next_cursor, per_page=10, order_by="created_at", external_source="pages"
    )
    same(
        "cursors: last", ([row.id for row in page.data], page.has_more, page.next_cursor), (made[20:], False, None)
    )
    walked = [
        row.id
        for row in api.iterate(
            WORKSPACE, PROJECT, per_page=4, paginate="cursor", order_by="-created_at", external_source="pages"
        )
    ]
    same("cursors: iterate backwards", walked, [label for label in reversed(made) if label != made[3]])
    refused(
        "cursors: malformed",
        400,
        "validation_error",
        ["cursor"],
        lambda: api.list(WORKSPACE, PROJECT, cursor="no-cursor"),
    )
    refused(
        "cursors: order that cannot be walked",
        400,
        "ordering_not_cursor_eligible",
        [],
        lambda: api.list(WORKSPACE, PROJECT, paginate="cursor", order_by="sort_order"),
    )
    refused(
        "pages: offset beyond the cap",
        400,
        "validation_error",
        ["offset"],
        lambda: api.list(WORKSPACE, PROJECT, offset=10001),
    )
    for label in made[:3] + made[4:]:
        api.delete(WORKSPACE, PROJECT, label)
    same("pages: all removed", api.list(WORKSPACE, PROJECT, external_source="pages").total_count, 0)


def cycles(admin, project):
    api = project.cycles
    page = api.list(WORKSPACE, PROJECT)
    holds("cycles: rows can be navigated", all(isinstance(row, LoadedCycle) for row in page.data))
    same("cycles: names", sorted(names(page.data)), ["Sprint 1", "Sprint 2", "Sprint 3"])
    second = api.find_by_name(WORKSPACE, PROJECT, "Sprint 2")
    same("cycles: owner", second.owned_by_id, ADA)
    start, end = (
        datetime(2027, 3, 1, 8, 30, 15, tzinfo=timezone.utc),
        datetime(2027, 3, 14, 17, 45, tzinfo=timezone.utc),
    )
    sent = CreateCycle(
        name="Spring",
        description="Longer days",
        start_date=start,
        end_date=end,
        logo_props={"in_use": "emoji", "emoji": {"value": "127793"}},
        timezone="Europe/Berlin",
    )
    made = api.create(WORKSPACE, PROJECT, sent)
    same("cycles: instants survive", (made.start_date, made.end_date), (start, end))
    same("cycles: logo_props", made.logo_props, sent.logo_props)
    same(
        "cycles: rest",
        (made.name, made.description, made.timezone, made.owned_by_id),
        ("Spring", "Longer days", "Europe/Berlin", ADA),
    )
    same("cycles: created is read back", api.retrieve(WORKSPACE, PROJECT, made.id).model_dump(), made.model_dump())
    changed = api.update(WORKSPACE, PROJECT, made.id, UpdateCycle(name="Early spring", sort_order=12.25))
    same("cycles: update", (changed.name, changed.sort_order, changed.start_date), ("Early spring", 12.25, start))
    same("cycles: order_by", api.list(WORKSPACE, PROJECT, order_by="sort_order", per_page=1).data[0].id, made.id)
    refused(
        "cycles: duplicate name",
        409,
        "conflict",
        [],
        lambda: api.create(WORKSPACE, PROJECT, CreateCycle(name="Sprint 1")),
    )
    refused(
        "cycles: ends before it starts",
        400,
        "validation_error",
        ["end_date"],
        lambda: api.update(
            WORKSPACE, PROJECT, made.id, UpdateCycle(end_date=datetime(2027, 2, 1, tzinfo=timezone.utc))
        ),
    )
    refused(
        "cycles: unknown zone",
        400,
        "validation_error",
        ["timezone"],
        lambda: api.update(WORKSPACE, PROJECT, made.id, UpdateCycle(timezone="Mars/Base")),
    )
    same("cycles: delete", api.delete(WORKSPACE, PROJECT, made.id), None)
    same(
        "cycles: iterate",
        sorted(names(api.iterate(WORKSPACE, PROJECT, per_page=2))),
        ["Sprint 1", "Sprint 2", "Sprint 3"],
    )


def modules(admin, project):
    api = project.modules
    page = api.list(WORKSPACE, PROJECT)
    holds("modules: rows can be navigated", all(isinstance(row, LoadedModule) for row in page.data))
    same("modules: names", sorted(names(page.data)), ["Accessibility", "Blog", "Launch"])
    launch = api.find_by_name(WORKSPACE, PROJECT, "Launch")
    same("modules: launch", (launch.status, launch.lead_id), ("in-progress", ADA))
    same("modules: launch members", sorted(launch.member_ids), [ADA, BEN])
    same("modules: dates", (launch.start_date, launch.target_date), (date(2026, 1, 5), date(2026, 12, 18)))
    same("modules: status", names(api.list(WORKSPACE, PROJECT, status="planned").data), ["Blog"])
    found = api.list(WORKSPACE, PROJECT, status__in=["backlog", "planned"], order_by="created_at").data
    same("modules: status__in", names(found), ["Blog", "Accessibility"])
    same("modules: lead_id", names(api.list(WORKSPACE, PROJECT, lead_id=CLEO).data), ["Accessibility"])
    sent = CreateModule(
        name="Press kit",
        description="Pictures and words",
        start_date=date(2027, 1, 4),
        target_date=date(2027, 2, 1),
        status="paused",
        lead_id=DEVI,
        logo_props={"in_use": "icon", "icon": {"name": "newspaper"}},
    )
    made = api.create(WORKSPACE, PROJECT, sent)
    same(
        "modules: create",
        made.model_dump(include=set(CreateModule.model_fields) - {"sort_order"}),
        sent.model_dump(exclude={"sort_order"}),
    )
    same("modules: member_ids, archived_at", (made.member_ids, made.archived_at), ([], None))
    same("modules: created is read back", api.retrieve(WORKSPACE, PROJECT, made.id).model_dump(), made.model_dump())
    changed = api.update(WORKSPACE, PROJECT, made.id, UpdateModule(status="completed", sort_order=3.5))
    same("modules: update", (changed.status, changed.sort_order, changed.lead_id), ("completed", 3.5, DEVI))
    refused(
        "modules: duplicate name",
        409,
        "conflict",
        [],
        lambda: api.create(WORKSPACE, PROJECT, CreateModule(name="Blog")),
    )
    refused(
        "modules: a stranger leads",
        400,
        "validation_error",
        ["lead_id"],
        lambda: api.update(WORKSPACE, PROJECT, made.id, UpdateModule(lead_id=NOWHERE)),
    )
    refused(
        "modules: target before start",
        400,
        "validation_error",
        ["target_date"],
        lambda: api.update(WORKSPACE, PROJECT, made.id, UpdateModule(target_date=date(2026, 12, 31))),
    )
    same("modules: delete", api.delete(WORKSPACE, PROJECT, made.id), None)
    refused("modules: gone", 404, "resource_not_found", [], lambda: api.retrieve(WORKSPACE, PROJECT, made.id))


def item_lists(admin, project):
    api = project.work_items
    page = api.list(WORKSPACE, PROJECT, per_page=4)
    holds("items: envelope", isinstance(page, OffsetPage))
    holds("items: rows can be navigated", all(isinstance(row, LoadedWorkItem) for row in page.data))
    same("items: newest first", numbers(page.data), [30, 29, 28, 27])
    same("items: total, next, previous", (page.total_count, page.next, page.previous), (30, 4, None))
    same("items: custom_fields in lists", page.data[0].custom_fields, None)
    page = api.list(WORKSPACE, PROJECT, per_page=4, offset=28, count=False)
    same("items: last page", (numbers(page.data), page.next, page.previous), ([2, 1], None, 24))
    same("items: no count", "total_count" in page.model_fields_set, False)

    def found(**call):
        return numbers(api.list(WORKSPACE, PROJECT, **call).data)

    same("items: priority", found(priority="urgent"), [21, 9, 3])
    same("items: priority__in", len(found(priority__in=["urgent", "none"])), 7)
    same("items: state_group", found(state_group="cancelled"), [28, 16])
    same("items: state_group__in", len(found(state_group__in=["completed", "cancelled"])), 9)
    same("items: state_id", found(state_id=IN_PROGRESS), [27, 21, 17, 9, 5, 3])
    same("items: state_id__in", len(found(state_id__in=[BACKLOG, IN_PROGRESS])), 14)
    same("items: assignee_id", found(assignee_id=CLEO), [26, 17, 14, 8, 7, 2])
    same("items: assignee_id__isnull", found(assignee_id__isnull=True), [28, 24, 18, 16, 10])
    same("items: label_id", found(label_id=CRASH), [9])
    same("items: label_id__in", found(label_id__in=[CRASH, REGRESSION]), [21, 9, 3])
    same("items: label_id__isnull", found(label_id__isnull=True), [28, 27])
    same("items: parent_id", found(parent_id=item_id(9)), [10])
    same("items: parent_id__isnull", found(parent_id__isnull=False), [30, 20, 10])
    third = project.cycles.find_by_name(WORKSPACE, PROJECT, "Sprint 3")
    same("items: cycle_id", found(cycle_id=third.id), [27, 23, 19, 15, 11, 7, 3])
    same("items: cycle_id__isnull", found(cycle_id__isnull=True), [28, 24, 20, 16, 12, 8, 4])
    launch = project.modules.find_by_name(WORKSPACE, PROJECT, "Launch")
    same("items: module_id", found(module_id=launch.id), [26, 21, 16, 11, 6, 1])
    same("items: module_id__isnull", len(found(module_id__isnull=True)), 12)
    same("items: sequence_id", found(sequence_id=9), [9])
    same("items: is_draft", found(is_draft=True), [])
    same("items: search", found(search="FOOTER"), [12])
    same("items: filters together", found(search="form", state_group="unstarted", label_id=BUG), [6])
    known = api.retrieve(WORKSPACE, PROJECT, item_id(24))
    same("items: start_date__gte", found(start_date__gte=known.start_date.isoformat()), [30, 27, 24])
    same("items: target_date__lte", found(target_date__lte=known.target_date.isoformat())[0], 24)
    same("items: created_at__gte", found(created_at__gte=known.created_at.isoformat()), list(range(30, 23, -1)))

    same("items: order_by=sequence_id", found(order_by="sequence_id", per_page=3), [1, 2, 3])
    same("items: order_by=-id", found(order_by="-id", per_page=3), [30, 29, 28])
    ranks = [row.priority for row in api.list(WORKSPACE, PROJECT, order_by="priority").data]
    same("items: order_by=priority", ranks, sorted(ranks, key=["urgent", "high", "medium", "low", "none"].index))
    rows = api.list(WORKSPACE, PROJECT, order_by="state_group", expand=["state"]).data
    groups = [row.model_extra["state"]["group"] for row in rows]
    order = ["backlog", "unstarted", "started", "completed", "cancelled"]
    same("items: order_by=state_group", groups, sorted(groups, key=order.index))

    row = api.list(WORKSPACE, PROJECT, sequence_id=10, expand=["state", "type", "parent", "assignees", "labels"])
    row = row.data[0]
    extra = row.model_extra
    same("items: expand state", (row.state_id, extra["state"]["name"]), (BACKLOG, "Backlog"))
    same("items: expand type", extra["type"], None)
    same(
        "items: expand parent",
        (row.parent_id, extra["parent"]["name"], extra["parent"]["sequence_id"]),
        (item_id(9), "Search crashes on empty input", 9),
    )
    same("items: expand assignees", extra["assignees"], [])
    same("items: expand labels", [label["name"] for label in extra["labels"]], ["documentation", "customer"])
    refused(
        "items: an expansion only the SDK knows",
        400,
        "validation_error",
        ["expand"],
        lambda: api.list(WORKSPACE, PROJECT, expand=["modules"]),
    )
    refused(
        "items: unknown priority",
        400,
        "validation_error",
        ["priority"],
        lambda: api.list(WORKSPACE, PROJECT, priority="burning"),
    )
    refused(
        "items: order that cannot be walked",
        400,
        "ordering_not_cursor_eligible",
        [],
        lambda: api.list(WORKSPACE, PROJECT, paginate="cursor", order_by="priority"),
    )
    walked = numbers(api.iterate(WORKSPACE, PROJECT, per_page=7))
    same("items: iterate by offset", walked, list(range(30, 0, -1)))
    for order in ["created_at", "sequence_id", "id", "-updated_at"]:
        walked = numbers(api.iterate(WORKSPACE, PROJECT, per_page=7, paginate="cursor", order_by=order))
        same(f"items: iterate by cursor, {order}", sorted(walked), list(range(1, 31)))
    walked = numbers(
        api.iterate(WORKSPACE, PROJECT, per_page=2, paginate="cursor", state_group__in=["completed", "cancelled"])
    )
    same("items: iterate a selection by cursor", walked, [28, 25, 23, 16, 13, 12, 4, 2, 1])


def items(admin, member, guest, project):
    api = project.work_items
    by_key = admin.v2.workspaces.work_items.retrieve_by_identifier
    bare = api.create(WORKSPACE, PROJECT, CreateWorkItem(name="  Bare  "))
    same(
        "items: defaults",
        (bare.name, bare.priority, bare.state_id, bare.assignee_ids, bare.label_ids, bare.parent_id, bare.type_id),
        ("Bare", "none", BACKLOG, [], [], None, None),
    )
    same(
        "items: set by the server",
        (bare.created_by_id, bare.is_draft, bare.archived_at, bare.custom_fields, bare.identifier),
        (ADA, False, None, {}, f"WEB-{bare.sequence_id}"),
    )
    sent = CreateWorkItem(
        name="Made by ids",
        description_html="<p>Long <b>story</b></p>",
        priority="high",
        state_id=UNSTARTED,
        assignee_ids=[CLEO, BEN],
        label_ids=[FEATURE, BUG],
        parent_id=bare.id,
        start_date=date(2027, 3, 1),
        target_date=date(2027, 3, 9),
        external_id="item-1",
        external_source="smoke",
    )
    made = api.create(WORKSPACE, PROJECT, sent, expand=["state", "parent", "assignees", "labels"])
    same(
        "items: create by ids",
        (made.name, made.priority, made.state_id, made.parent_id, made.start_date, made.target_date),
        (sent.name, "high", UNSTARTED, bare.id, sent.start_date, sent.target_date),
    )
    same(
        "items: people and labels",
        (sorted(made.assignee_ids), sorted(made.label_ids)),
        ([BEN, CLEO], [BUG, FEATURE]),
    )
    extra = made.model_extra
    same("items: create with expand", (extra["state"]["name"], extra["parent"]["name"]), ("Todo", "Bare"))
    same(
        "items: create with expanded lists",
        (sorted(p["email"] for p in extra["assignees"]), sorted(label["name"] for label in extra["labels"])),
        (["ben@acme.test", "cleo@acme.test"], ["bug", "feature"]),
    )
    named = api.create(
        WORKSPACE,
        PROJECT,
        CreateWorkItem(
            name="Made by names",
            state="in progress",
            assignees=["Devi@acme.test"],
            labels=["CRASH", "bug"],
            parent=bare.identifier.lower(),
        ),
    )
    same(
        "items: create by names",
        (named.state_id, named.assignee_ids, sorted(named.label_ids), named.parent_id),
        (IN_PROGRESS, [DEVI], [BUG, CRASH], bare.id),
    )
    same("items: numbers go up", named.sequence_id > made.sequence_id > bare.sequence_id, True)
    same("items: created is read back", api.retrieve(WORKSPACE, PROJECT, named.id).model_dump(), named.model_dump())
    told = {"id", "name", "priority", "state_id", "label_ids", "parent_id", "custom_fields"}
    found = by_key(WORKSPACE, named.identifier)
    same("items: by key", found.model_dump(include=told), named.model_dump(include=told))
    found = by_key(WORKSPACE, "web-9", expand=["assignees"])
    same("items: by lower-case key", (found.id, found.model_extra["assignees"][0]["id"]), (item_id(9), DEVI))
    for key in ["WEB-99999", "WEB_9", "9", "-9", "NOPE-1"]:
        refused(f"items: by key {key}", 404, "resource_not_found", [], lambda key=key: by_key(WORKSPACE, key))
    rows = api.list(WORKSPACE, PROJECT, external_id="item-1", external_source="smoke").data
    same("items: external pair", [row.id for row in rows], [made.id])
    same("items: external_source", api.list(WORKSPACE, PROJECT, external_source="smoke").total_count, 1)
    rows = api.list(WORKSPACE, PROJECT, parent_id=bare.id, order_by="sequence_id").data
    same("items: children are listed", names(rows), ["Made by ids", "Made by names"])

    changed = api.update(
        WORKSPACE,
        PROJECT,
        made.id,
        UpdateWorkItem(name="Renamed", state="Done", assignees=["ada@acme.test"], labels=[], priority="low"),
        expand=["state"],
    )
    same(
        "items: update by names",
        (changed.name, changed.state_id, changed.assignee_ids, changed.label_ids, changed.priority),
        ("Renamed", DONE, [ADA], [], "low"),
    )
    same("items: update with expand", changed.model_extra["state"]["group"], "completed")
    same("items: update keeps", (changed.parent_id, changed.target_date), (bare.id, sent.target_date))
    changed = api.update(WORKSPACE, PROJECT, made.id, UpdateWorkItem(assignee_ids=[], label_ids=[CRASH]))
    same("items: update by ids", (changed.assignee_ids, changed.label_ids), ([], [CRASH]))
    same("items: the list follows", numbers(api.list(WORKSPACE, PROJECT, search="renamed").data), [made.sequence_id])

    def create(**fields):
        return lambda: api.create(WORKSPACE, PROJECT, CreateWorkItem(**{"name": "Refused"} | fields))

    invalid = [
        ("a blank name", ["name"], create(name=" ")),
        ("a name too long", ["name"], create(name="x" * 256)),
        ("no such state", ["state"], create(state="Nowhere")),
        ("a state id of nobody", ["state_id"], create(state_id=NOWHERE)),
        ("a name and its id", ["state", "state_id"], create(state="Todo", state_id=UNSTARTED)),
        ("no such person", ["assignees"], create(assignees=["nobody@acme.test"])),
        ("no such label", ["labels"], create(labels=["bug", "nothing"])),
        ("no such parent", ["parent"], create(parent="WEB-99999")),
        ("no such type", ["type"], create(type="Story")),
        ("start after target", ["target_date"], create(start_date=date(2027, 2, 2), target_date=date(2027, 2, 1))),
        ("custom fields while they are off", ["custom_fields"], create(custom_fields={"size": 3})),
    ]
    for what, fields, call in invalid:
        refused(f"items: {what}", 400, "validation_error", fields, call)
    refused(
        "items: target before the stored start",
        400,
        "validation_error",
        ["target_date"],
        lambda: api.update(WORKSPACE, PROJECT, made.id, UpdateWorkItem(target_date=date(2027, 2, 1))),
    )
    same("items: nothing was made", api.list(WORKSPACE, PROJECT, search="refused").total_count, 0)
    refused(
        "items: external pair twice",
        409,
        "conflict",
        [],
        create(external_id="item-1", external_source="smoke"),
    )
    refused(
        "items: a guest may not write",
        403,
        "forbidden",
        [],
        lambda: guest.v2.workspaces.projects.work_items.create(WORKSPACE, PROJECT, CreateWorkItem(name="Mine")),
    )
    own = member.v2.workspaces.projects.work_items.create(WORKSPACE, PROJECT, CreateWorkItem(name="From Ben"))
    same("items: a contributor writes", own.created_by_id, BEN)

    archived = api.archive(WORKSPACE, PROJECT, made.id)
    same("items: archive", (archived.id, archived.custom_fields), (made.id, None))
    holds("items: archived_at", archived.archived_at)
    same("items: archive touches nothing else", (archived.state_id, archived.label_ids), (DONE, [CRASH]))
    for what, call in [
        ("retrieve", lambda: api.retrieve(WORKSPACE, PROJECT, made.id)),
        ("by key", lambda: by_key(WORKSPACE, made.identifier)),
        ("update", lambda: api.update(WORKSPACE, PROJECT, made.id, UpdateWorkItem(name="Late"))),
        ("archive", lambda: api.archive(WORKSPACE, PROJECT, made.id)),
        ("delete", lambda: api.delete(WORKSPACE, PROJECT, made.id)),
        ("comments", lambda: made.comments.list()),
    ]:
        refused(f"items: archived, {what}", 404, "resource_not_found", [], call)
    same("items: archived is not listed", api.list(WORKSPACE, PROJECT, search="renamed").total_count, 0)
    for what in ["unarchive", "unarchive again"]:
        back = api.unarchive(WORKSPACE, PROJECT, made.id)
        same(f"items: {what}", (back.archived_at, back.name, back.state_id), (None, "Renamed", DONE))
    same("items: listed again", api.list(WORKSPACE, PROJECT, search="renamed").total_count, 1)

    same("items: delete", api.delete(WORKSPACE, PROJECT, bare.id), None)
    refused("items: gone", 404, "resource_not_found", [], lambda: api.retrieve(WORKSPACE, PROJECT, bare.id))
    refused("items: gone by key", 404, "resource_not_found", [], lambda: by_key(WORKSPACE, bare.identifier))
    refused("items: delete again", 404, "resource_not_found", [], lambda: api.delete(WORKSPACE, PROJECT, bare.id))
    same("items: children stay", api.retrieve(WORKSPACE, PROJECT, named.id).parent_id, None)
    for item in [made, named, own]:
        api.delete(WORKSPACE, PROJECT, item.id)
    same("items: none too many", api.list(WORKSPACE, PROJECT).total_count, 30)


def comments(admin, member, guest, project):
    api = project.work_items.comments
    menu = project.work_items.retrieve(WORKSPACE, PROJECT, item_id(3))
    page = menu.comments.list()
    holds("comments: envelope", isinstance(page, OffsetPage))
    same("comments: authors", [row.actor_id for row in page.data], [BEN, CLEO])
    same("comments: text", page.data[0].comment_stripped, "Happens on every phone I tried.")
    same("comments: total, next", (page.total_count, page.next), (2, None))
    sent = CreateWorkItemComment(
        comment_html="<p>See the <b>sketch</b></p>", access="EXTERNAL", external_id="c-1", external_source="smoke"
    )
    made = menu.comments.create(sent)
    same("comments: create", made.model_dump(include=set(sent.model_dump())), sent.model_dump())
    same(
        "comments: set by the server",
        (made.work_item_id, made.actor_id, made.created_by_id, made.comment_stripped, made.edited_at),
        (menu.id, ADA, ADA, "See the sketch", None),
    )
    same("comments: created is read back", menu.comments.retrieve(made.id), made)
    twin = menu.comments.create(
        CreateWorkItemComment(comment_html="<p>Again</p>", external_id="c-1", external_source="smoke")
    )
    same("comments: access when omitted", twin.access, "INTERNAL")
    rows = menu.comments.list(external_id="c-1", external_source="smoke").data
    same("comments: an external pair twice", [row.id for row in rows], [made.id, twin.id])
    same("comments: access", [row.id for row in menu.comments.list(access="EXTERNAL").data], [made.id])
    same("comments: search", [row.id for row in menu.comments.list(search="THE SKETCH").data][-1], made.id)
    newest = menu.comments.list(order_by="-created_at", per_page=1)
    same("comments: order_by", (newest.data[0].id, newest.next, newest.total_count), (twin.id, 1, 4))
    walked = [row.id for row in menu.comments.iterate(per_page=1, paginate="cursor")]
    same("comments: iterate by cursor", walked[2:], [made.id, twin.id])
    changed = menu.comments.update(made.id, UpdateWorkItemComment(comment_html="<p>Never mind</p>"))
    same(
        "comments: update",
        (changed.comment_html, changed.comment_stripped, changed.access, changed.external_id),
        ("<p>Never mind</p>", "Never mind", "EXTERNAL", "c-1"),
    )
    holds("comments: edited_at", changed.edited_at and changed.edited_at >= made.created_at)
    same("comments: edited is read back", menu.comments.retrieve(made.id), changed)
    refused(
        "comments: no such access",
        400,
        "validation_error",
        ["access"],
        lambda: menu.comments.list(access="SECRET"),
    )
    refused(
        "comments: nothing said",
        400,
        "validation_error",
        ["comment_html"],
        lambda: menu.comments.create(CreateWorkItemComment(comment_html="")),
    )
    refused(
        "comments: of another item",
        404,
        "resource_not_found",
        [],
        lambda: api.retrieve(WORKSPACE, PROJECT, item_id(9), made.id),
    )
    refused("comments: of no item", 404, "resource_not_found", [], lambda: api.list(WORKSPACE, PROJECT, NOWHERE))
    others = member.v2.workspaces.projects.work_items.comments
    refused(
        "comments: somebody else's",
        403,
        "forbidden",
        [],
        lambda: others.update(WORKSPACE, PROJECT, menu.id, made.id, UpdateWorkItemComment(comment_html="<p>?</p>")),
    )
    same("comments: delete", menu.comments.delete(made.id), None)
    same("comments: delete", menu.comments.delete(twin.id), None)
    refused("comments: gone", 404, "resource_not_found", [], lambda: menu.comments.retrieve(made.id))
    refused("comments: delete again", 404, "resource_not_found", [], lambda: menu.comments.delete(made.id))
    same("comments: none too many", menu.comments.list().total_count, 2)
    own = guest.v2.workspaces.projects.work_items.comments
    sent = CreateWorkItemComment(comment_html="<p>As a guest</p>")
    heard = own.create(WORKSPACE, PROJECT, menu.id, sent)
    same("comments: a guest comments", heard.actor_id, GUS)
    same("comments: and takes it back", own.delete(WORKSPACE, PROJECT, menu.id, heard.id), None)


def refusals(admin, member, guest, stranger):
    refused("a bad key", 401, "unauthorized", [], stranger.v2.users.me)
    states = guest.v2.workspaces.projects.states
    same("a guest reads", states.list(WORKSPACE, PROJECT).total_count, 5)
    refused(
        "a guest may not write",
        403,
        "forbidden",
        [],
        lambda: states.create(WORKSPACE, PROJECT, CreateState(name="Mine", color="#000000")),
    )
    labels = member.v2.workspaces.projects.labels
    made = labels.create(WORKSPACE, PROJECT, CreateLabel(name="from a contributor"))
    same("a contributor writes", made.created_by_id, BEN)
    same("a contributor deletes", labels.delete(WORKSPACE, PROJECT, made.id), None)
    states = admin.v2.workspaces.projects.states
    refused("no such project", 404, "resource_not_found", [], lambda: states.list(WORKSPACE, NOWHERE))
    refused("no such workspace", 404, "resource_not_found", [], lambda: states.list("elsewhere", PROJECT))
    refused(
        "an id that is none", 400, "validation_error", ["pk"], lambda: states.retrieve(WORKSPACE, PROJECT, "none")
    )
    refused(
        "a page size that is none",
        400,
        "validation_error",
        ["per_page"],
        lambda: states.list(WORKSPACE, PROJECT, per_page="many"),
    )
    types = admin.v2.workspaces.projects.work_item_types
    holds("a project begins without types", list(types.list(WORKSPACE, PROJECT).data) == [])
    holds("lookups have their own errors", issubclass(MultipleMatchesFound, Exception))


def main():
    with Demo(sys.argv[1]) as demo:

        def client(key):
            return PlaneClient(base_url=demo.base, api_key=key)

        admin, member, guest = client("demo-admin-key"), client("demo-member-key"), client("demo-guest-key")
        project = admin.v2.workspaces.projects
        parts = [
            lambda: current_user(admin, guest),
            lambda: members(admin, project),
            lambda: states(admin, project),
            lambda: labels(admin, project),
            lambda: pages(admin, project),
            lambda: cycles(admin, project),
            lambda: modules(admin, project),
            lambda: item_lists(admin, project),
            lambda: items(admin, member, guest, project),
            lambda: comments(admin, member, guest, project),
            lambda: refusals(admin, member, guest, client("no-such-key")),
        ]
        for part in parts:
            try:
                part()
            except Exception:
                failures.append(traceback.format_exc())
    for failure in failures:
        print(f"FAILED  {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
