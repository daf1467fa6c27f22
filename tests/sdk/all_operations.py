"""Every operation of the document through the vendor's Python SDK, unchanged, in both modes of work item types.

Usage: python all_operations.py PATH-TO-CAUSEWAY. Starts the demo, uses every method of the SDK's v2 client that has an
operation in the document, and compares the answers. Then each operation of `causeway openapi` must have had at least
one success. SDK requests beyond the contract must be answered as docs/clients.md says. Ends with `N passed, M failed`;
exit code 1 when anything failed.
"""

import json
import re
import subprocess
import sys
import traceback

import smoke
from plane import PlaneClient
from plane.api.v2 import FieldNotRequested, MultipleMatchesFound, NoMatchFound
from plane.models.v2.common import CursorPage
from plane.models.v2.cycles import CreateCycle, UpdateCycle
from plane.models.v2.features import UpdateWorkspaceFeature
from plane.models.v2.labels import CreateLabel, UpdateLabel
from plane.models.v2.modules import CreateModule, UpdateModule
from plane.models.v2.states import CreateState, UpdateState
from plane.models.v2.work_item_properties import (
    CreateWorkItemProperty,
    CreateWorkItemPropertyContext,
    CreateWorkItemPropertyOption,
    UpdateWorkItemProperty,
    UpdateWorkItemPropertyContext,
    UpdateWorkItemPropertyOption,
    WorkItemPropertyContextOptionInput,
)
from plane.models.v2.work_item_types import CreateWorkItemType, UpdateWorkItemType
from plane.models.v2.work_items import (
    CreateWorkItem,
    CreateWorkItemComment,
    UpdateWorkItem,
    UpdateWorkItemComment,
)
from smoke import ADA, NOWHERE, PROJECT, WORKSPACE, Demo, failures, holds, names, raises, refused, same

AT_WORKSPACE, AT_PROJECT = "work_item_types_managed_at_workspace", "work_item_types_managed_at_project"


class Ledger:
    """Records which operations of the document succeeded, and which requests have no operation there."""

    def __init__(self, program):
        document = json.loads(subprocess.check_output([program, "openapi"]))
        self.operations = {}
        for path, methods in document["paths"].items():
            # A fixed word wins over a parameter: /enable/ is no id.
            pattern = re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)) + "$")
            for method, operation in methods.items():
                good = {int(status) for status in operation["responses"] if status.startswith("2")}
                self.operations[method.upper(), path] = (pattern, good)
        self.answered = set()
        self.beside = set()

    def watch(self, client):
        client.v2.transport.session.hooks["response"].append(self.note)

    def note(self, response, *_, **__):
        method, path = response.request.method, response.request.path_url.split("?")[0]
        hits = [(t, good) for (m, t), (pattern, good) in self.operations.items() if m == method and pattern.match(path)]
        if not hits:
            self.beside.add((method, path, response.status_code))
            return
        template, good = min(hits, key=lambda hit: hit[0].count("{"))
        if response.status_code in good:
            self.answered.add((method, template))
        holds(f"{method} {path}: {response.status_code} is no failure of the server", response.status_code < 500)


def found(what, api, place, wanted, label="name", by="find_by_name"):
    """Checks the SDK's look-ups, with an existing value and with an unknown one."""
    value = getattr(wanted, label)
    same(f"{what}: {by}", getattr(api, by)(*place, value).id, wanted.id)
    same(f"{what}: {by} is trimmed", getattr(api, by)(*place, f" {value} ").id, wanted.id)
    raises(f"{what}: {by}, nothing by that name", NoMatchFound, lambda: getattr(api, by)(*place, f"{value} no more"))


def walked(what, api, place, wanted):
    """Checks that both ways to page show the record, and each id once."""
    pages = api.list(*place)
    same(f"{what}: counted", pages.total_count, len(pages.data))
    holds(f"{what}: cursor page", isinstance(api.list(*place, paginate="cursor", order_by="created_at"), CursorPage))
    for way in [{}, {"paginate": "cursor", "order_by": "created_at"}]:
        ids = [row.id for row in api.iterate(*place, per_page=2, **way)]
        holds(f"{what}: walked {way}", wanted in ids and len(set(ids)) == len(ids) == pages.total_count)


def life(what, api, place, create, update, delete=True):
    """Create, retrieve, list, find, update, delete; returns the record as updated."""
    made = api.create(*place, create)
    sent = create.model_dump(exclude_none=True, exclude={"options", "issue_type_ids", "project_ids"})
    same(f"{what}: created as sent", made.model_dump(include=set(sent)), sent)
    same(f"{what}: read back", api.retrieve(*place, made.id).model_dump(), made.model_dump())
    walked(what, api, place, made.id)
    if hasattr(api, "find_by_name") and "display_name" not in sent:
        found(what, api, place, made)
    changed = api.update(*place, made.id, update)
    sent = update.model_dump(exclude_none=True, exclude={"options"})
    same(f"{what}: updated as sent", changed.model_dump(include=set(sent)), sent)
    same(f"{what}: update read back", api.retrieve(*place, made.id).model_dump(), changed.model_dump())
    if delete:
        gone(what, api, place, made.id)
    return changed


def gone(what, api, place, record):
    same(f"{what}: delete", api.delete(*place, record), None)
    refused(f"{what}: gone", 404, "resource_not_found", [], lambda: api.retrieve(*place, record))


def switch(client, workspace):
    wanted = UpdateWorkspaceFeature(is_work_item_types_enabled=workspace)
    api = client.v2.workspaces.features
    same(f"features: workspace mode {workspace}", api.update(WORKSPACE, wanted).is_work_item_types_enabled, workspace)
    same("features: read back", api.retrieve(WORKSPACE).is_work_item_types_enabled, workspace)


def core(client):
    """Resources that v1 has too."""
    project, place = client.v2.workspaces.projects, (WORKSPACE, PROJECT)
    same("me", client.v2.users.me().id, ADA)
    holds("workspace members", ADA in [row.member_id for row in client.v2.workspaces.members.list(WORKSPACE).data])
    holds("project members", ADA in [row.member_id for row in project.members.list(*place).data])
    life("states", project.states, place, CreateState(name="Review", color="#123456", group="started"), UpdateState(color="#654321"))
    life("labels", project.labels, place, CreateLabel(name="odd"), UpdateLabel(name="even"))
    life("cycles", project.cycles, place, CreateCycle(name="Late"), UpdateCycle(description="At night"))
    life("modules", project.modules, place, CreateModule(name="Beta"), UpdateModule(status="paused"))
    # A look-up finds one of these two only when it compares whole, trimmed names.
    twins = [project.labels.create(*place, CreateLabel(name=name)) for name in ["Twin", "twin"]]
    same("labels: names differ in case", project.labels.find_by_name(*place, "twin").id, twins[1].id)
    made = project.states.create(*place, CreateState(name="review", color="#123456"))
    holds("states: a second name of other case", made.id)
    for twin in twins:
        project.labels.delete(*place, twin.id)
    project.states.delete(*place, made.id)
    items = project.work_items
    item = life("items", items, place, CreateWorkItem(name="Ours", priority="low"), UpdateWorkItem(name="Mine"), delete=False)
    by_key = client.v2.workspaces.work_items.retrieve_by_identifier
    same("items: by key", by_key(WORKSPACE, item.identifier).id, item.id)
    archived = items.archive(*place, item.id)
    holds("items: archive", archived.id == item.id and archived.archived_at)
    same("items: unarchive", items.unarchive(*place, item.id).archived_at, None)
    comment = CreateWorkItemComment(comment_html="<p>Said</p>")
    life("comments", items.comments, (*place, item.id), comment, UpdateWorkItemComment(comment_html="<p>Told</p>"))
    gone("items", items, place, item.id)


def types_of_a_project(client):
    """Project mode: types, properties, options and attachments belong to the project."""
    project, place = client.v2.workspaces.projects, (WORKSPACE, PROJECT)
    api = project.work_item_types
    first = api.enable(*place)
    holds("types: enable gives a default", first.is_default)
    made = life("types", api, place, CreateWorkItemType(name="Bug", description="Broken"), UpdateWorkItemType(name="Defect"), delete=False)
    same("types: mark_default", api.mark_default(*place, made.id).is_default, True)
    same("types: one default", [row.id for row in api.list(*place).data if row.is_default], [made.id])
    api.mark_default(*place, first.id)
    fields = project.work_item_properties
    size = life(
        "properties",
        fields,
        place,
        CreateWorkItemProperty(display_name="Story Points", property_type="DECIMAL"),
        UpdateWorkItemProperty(description="How much"),
        delete=False,
    )
    found("properties", fields, place, size, "display_name", "find_by_display_name")
    refused("properties: find_by_name", 400, "validation_error", ["name"], lambda: fields.find_by_name(*place, size.name))
    choice = fields.create(
        *place,
        CreateWorkItemProperty(
            display_name="Browser", property_type="OPTION", options=[CreateWorkItemPropertyOption(name="Firefox")]
        ),
    )
    same("properties: inline options", [row["name"] for row in choice.options], ["Firefox"])
    life(
        "options",
        fields.options,
        (*place, choice.id),
        CreateWorkItemPropertyOption(name="Safari"),
        UpdateWorkItemPropertyOption(name="WebKit"),
    )
    attached(api.properties, (*place, made.id), [size.id, choice.id], "properties of a type")
    schema = api.schema(*place, made.id)
    same("types: schema", (schema.type_id, schema.type_name), (made.id, "Defect"))
    same("types: schema names the fields", sorted(schema.custom_fields), sorted([size.name, choice.name]))
    item = project.work_items.create(
        *place, CreateWorkItem(name="Typed", type="Defect", custom_fields={size.name: 5, choice.name: "Firefox"})
    )
    told = project.work_items.retrieve(*place, item.id)
    same("items: typed", told.type_id, made.id)
    same("items: custom fields", {name: field["value"] for name, field in told.custom_fields.items()}, {size.name: 5, choice.name: "Firefox"})
    project.work_items.delete(*place, item.id)
    api.properties.unlink(*place, made.id, size.id)
    refused("types: detached", 404, "resource_not_found", [], lambda: api.properties.retrieve(*place, made.id, size.id))
    for record in [size, choice]:
        gone("properties", fields, place, record.id)
    gone("types", api, place, made.id)

    other = client.v2.workspaces
    for what, call in [
        ("types", lambda: other.work_item_types.create(WORKSPACE, CreateWorkItemType(name="Epic"))),
        ("import", lambda: api.import_types(*place, [NOWHERE])),
    ]:
        refused(f"{what} of the workspace in project mode", 409, AT_PROJECT, [], call)


def attached(api, place, wanted, what):
    same(f"{what}: link", api.link(*place, wanted).properties, wanted)
    same(f"{what}: list", [row.id for row in api.list(*place).data], wanted)
    same(f"{what}: retrieve", api.retrieve(*place, wanted[0]).id, wanted[0])
    walked(what, api, place, wanted[0])


def types_of_the_workspace(client):
    """Workspace mode: they belong to the workspace, projects import types, contexts bind properties."""
    top, place, project = client.v2.workspaces, (WORKSPACE,), client.v2.workspaces.projects
    api = top.work_item_types
    first = api.find_by_name(WORKSPACE, "Task")
    same("workspace types: seeded default", first.is_default, True)
    made = life("workspace types", api, place, CreateWorkItemType(name="Incident"), UpdateWorkItemType(description="Pager"), delete=False)
    same("workspace types: mark_default", api.mark_default(WORKSPACE, made.id).is_default, True)
    api.mark_default(WORKSPACE, first.id)
    fields = top.work_item_properties
    size = life(
        "workspace properties",
        fields,
        place,
        CreateWorkItemProperty(display_name="Impact", property_type="TEXT"),
        UpdateWorkItemProperty(description="On whom"),
        delete=False,
    )
    found("workspace properties", fields, place, size, "display_name", "find_by_display_name")
    refused("workspace properties: find_by_name", 400, "validation_error", ["name"], lambda: fields.find_by_name(WORKSPACE, size.name))
    choice = fields.create(WORKSPACE, CreateWorkItemProperty(display_name="Severity", property_type="OPTION"))
    by_search = lambda: fields.contexts.list(WORKSPACE, choice.id, search="x")  # noqa: E731
    refused("contexts: search", 400, "validation_error", ["search"], by_search)
    life(
        "workspace options",
        fields.options,
        (WORKSPACE, choice.id),
        CreateWorkItemPropertyOption(name="Major"),
        UpdateWorkItemPropertyOption(name="Grave"),
    )
    context = life(
        "contexts",
        fields.contexts,
        (WORKSPACE, choice.id),
        CreateWorkItemPropertyContext(
            name="Web",
            project_ids=[PROJECT],
            issue_type_ids=[made.id],
            is_required=False,
            options=[WorkItemPropertyContextOptionInput(name="Minor")],
        ),
        UpdateWorkItemPropertyContext(name="Website"),
        delete=False,
    )
    same("contexts: where", ([*context.project_ids], [*context.issue_type_ids]), ([PROJECT], [made.id]))
    attached(api.properties, (WORKSPACE, made.id), [size.id, choice.id], "properties of a workspace type")
    types = project.work_item_types
    same("import answers nothing", types.import_types(WORKSPACE, PROJECT, [made.id]), None)
    holds("types: imported ones are listed", "Incident" in names(types.list(WORKSPACE, PROJECT).data))
    same("types: imported, found", types.find_by_name(WORKSPACE, PROJECT, "Incident").id, made.id)
    schema = types.schema(WORKSPACE, PROJECT, made.id)
    same("schema of an imported type", sorted(schema.custom_fields), sorted([size.name, choice.name]))
    refused(
        "types of a project in workspace mode",
        409,
        AT_WORKSPACE,
        [],
        lambda: types.create(WORKSPACE, PROJECT, CreateWorkItemType(name="Story")),
    )
    gone("contexts", fields.contexts, (WORKSPACE, choice.id), context.id)
    api.properties.unlink(WORKSPACE, made.id, size.id)
    holds("detached", size.id not in [row.id for row in api.properties.list(WORKSPACE, made.id).data])
    for record in [size, choice]:
        gone("workspace properties", fields, place, record.id)
    gone("workspace types", api, place, made.id)


def audit(client):
    logs = client.v2.workspaces.audit_logs
    rows = list(logs.iterate(WORKSPACE, paginate="cursor", per_page=2))
    switches = [row for row in rows if row.event_name == "settings.features_updated"]
    same("audit: every switch is told", len(switches), 2)
    same("audit: by whom", {row.actor_id for row in switches}, {ADA})
    same("audit: retrieve", logs.retrieve(WORKSPACE, rows[0].id).model_dump(), rows[0].model_dump())


def beyond_the_contract(client):
    """Requests that the SDK can send although v2 does not offer them (docs/clients.md)."""
    project, place = client.v2.workspaces.projects, (WORKSPACE, PROJECT)

    def unknown(what, name, call):
        refused(f"beyond: {what}", 400, "validation_error", [name], call)

    top = client.v2.workspaces
    wanted = CreateWorkItemProperty(display_name="Beyond", property_type="OPTION")
    choice = project.work_item_properties.create(*place, wanted)
    for what, api, where in [
        ("types", project.work_item_types, place),
        ("properties", project.work_item_properties, place),
        ("options", project.work_item_properties.options, (*place, choice.id)),
        ("workspace types", top.work_item_types, (WORKSPACE,)),
        ("workspace properties", top.work_item_properties, (WORKSPACE,)),
        ("workspace options", top.work_item_properties.options, (WORKSPACE, NOWHERE)),
    ]:
        for name in ["search", "external_id", "external_source"]:
            unknown(f"{name} of {what}", name, lambda api=api, where=where, name=name: api.list(*where, **{name: "x"}))
    project.work_item_properties.delete(*place, choice.id)
    unknown("project__in of items", "project_id__in", lambda: project.work_items.list(*place, project_id__in=[PROJECT]))
    unknown(
        "project of the audit log",
        "project_id",
        lambda: client.v2.workspaces.audit_logs.list(WORKSPACE, project_id=PROJECT, paginate="cursor"),
    )
    for relation in ["modules", "cycle"]:
        unknown(f"expand {relation}", "expand", lambda relation=relation: project.work_items.list(*place, expand=[relation]))
    label = project.labels.create(*place, CreateLabel(name="by fields"))
    same("fields= is tolerated and ignored", project.labels.retrieve(*place, label.id, fields=["id"]).name, label.name)
    project.labels.delete(*place, label.id)
    # Fields that the SDK sends and v2 does not have are ignored completely.
    made = project.work_items.create(*place, CreateWorkItem(name="Ignored", cycle_id=NOWHERE, module_ids=[NOWHERE]))
    for name in ["cycle_id", "module_ids", "project_id"]:
        raises(f"{name} is no field of v2, and the SDK says so", FieldNotRequested, lambda name=name: getattr(made, name))
    project.work_items.delete(*place, made.id)
    by_value = CreateWorkItem(name="Refused", estimate="5")
    refused("beyond v1: an estimate no item shows", 400, "validation_error", ["estimate"], lambda: project.work_items.create(*place, by_value))
    features = client.v2.workspaces.features
    wanted = UpdateWorkspaceFeature(is_member_project_creation_enabled=True)
    same("a switch that v2 lacks", features.update(WORKSPACE, wanted).is_member_project_creation_enabled, None)
    nowhere = [
        ("upsert", lambda: project.labels.upsert(*place, CreateLabel(name="x"))),
        ("bulk create", lambda: project.states.bulk_create(*place, [CreateState(name="x", color="#000000")])),
        ("bulk delete", lambda: project.labels.bulk_delete(*place, [NOWHERE])),
        ("items of a cycle", lambda: project.cycles.work_items.add(*place, NOWHERE, [NOWHERE])),
        ("items of a module", lambda: project.modules.work_items.remove(*place, NOWHERE, [NOWHERE])),
        ("transfer of a cycle", lambda: project.cycles.transfer(*place, NOWHERE, NOWHERE)),
        ("one member", lambda: project.members.retrieve(*place, NOWHERE)),
        ("removing a member", lambda: project.members.delete(*place, NOWHERE)),
        ("projects", lambda: project.list(WORKSPACE)),
    ]
    for name in ["links", "attachments", "relations", "activities", "worklogs"]:
        nowhere.append((name, lambda name=name: getattr(project.work_items, name).list(*place, NOWHERE)))
    for name in ["estimates", "milestones", "pages", "views", "intakes"]:
        nowhere.append((f"{name} of a project", lambda name=name: getattr(project, name).list(*place)))
    for name in ["customers", "initiatives", "releases", "stickies", "teamspaces", "webhooks", "work_items"]:
        nowhere.append((f"{name} of a workspace", lambda name=name: getattr(top, name).list(WORKSPACE)))
    for what, call in nowhere:
        try:
            holds(f"beyond: {what} is no route, but {call()!r}", False)
        except smoke.PlaneAPIError as error:
            holds(f"beyond: {what}: {error.status} {error.code}", error.status in (404, 405))
    holds("look-ups have their own errors", issubclass(MultipleMatchesFound, Exception))


def main():
    ledger = Ledger(sys.argv[1])
    with Demo(sys.argv[1]) as demo:
        client = PlaneClient(base_url=demo.base, api_key="demo-admin-key")
        ledger.watch(client)
        for part in [
            core,
            types_of_a_project,
            lambda client: switch(client, True),
            types_of_the_workspace,
            lambda client: switch(client, False),
            audit,
            beyond_the_contract,
        ]:
            try:
                part(client)
            except Exception:
                failures.append(traceback.format_exc())
    for missed in sorted(set(ledger.operations) - ledger.answered):
        failures.append(f"never answered as meant: {' '.join(missed)}")
    for failure in failures:
        print(f"FAILED  {failure}")
    print(f"{len(ledger.answered)} of {len(ledger.operations)} operations answered")
    print(f"{smoke.passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
