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
    MultipleMatchesFound,
    NoMatchFound,
    PlaneAPIError,
)
from plane.models.v2.common import CursorPage, OffsetPage  # noqa: E402
from plane.models.v2.cycles import CreateCycle, UpdateCycle  # noqa: E402
from plane.models.v2.labels import CreateLabel, UpdateLabel  # noqa: E402
from plane.models.v2.modules import CreateModule, UpdateModule  # noqa: E402
from plane.models.v2.states import CreateState, UpdateState  # noqa: E402

WORKSPACE = "acme"
PROJECT = "00000000-0000-4000-c000-000000000001"
NOWHERE = "00000000-0000-4000-c000-00000000ffff"
ADA, BEN, CLEO, DEVI, GUS = (f"00000000-0000-4000-a000-{number:012}" for number in range(1, 6))

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
    refused(
        "declared but not served yet",
        501,
        "not_implemented",
        [],
        lambda: admin.v2.workspaces.projects.work_items.list(WORKSPACE, PROJECT),
    )
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
