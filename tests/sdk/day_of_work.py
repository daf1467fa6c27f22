"""A day of work through the vendor's Python SDK, unchanged, in front of a project of 5,000 work items.

Usage: python day_of_work.py PATH-TO-CAUSEWAY. Starts the demo on a free port and does what a team does in a
day, one step after the other without pauses: look around, triage, move, assign, comment, search, plan,
report, archive, and export every item by cursor while a colleague goes on working. Each step's outcome is
checked. Then does the same with every cache and window at zero, as after a pause before each step. Counts the v1
calls of both days, compares them with bounds and with the README, and prints them.
"""

import re
import sys
import time
from collections import Counter
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

from demo import Demo, Running, free_address  # noqa: E402
from plane import PlaneClient  # noqa: E402
from plane.models.v2.work_items import (  # noqa: E402
    CreateWorkItem,
    CreateWorkItemComment,
    UpdateWorkItem,
    UpdateWorkItemComment,
)

WORKSPACE = "acme"
PROJECT = "00000000-0000-4000-c000-000000000001"
EXTRA = 5000
SAMPLE = 30
# v1 calls that the whole day may cost, with the default settings and with nothing kept. The README has the real
# numbers, within a fifth.
BOUND = 125
BOUND_NOTHING_KEPT = 650
GROUPS = ["backlog", "unstarted", "started", "completed", "cancelled"]
PRIORITIES = ["urgent", "high", "medium", "low", "none"]

checks = 0


def same(what, actual, expected):
    """One check; the day ends where it fails."""
    global checks
    if actual != expected:
        sys.exit(f"day of work: {what}: got {actual!r}, expected {expected!r}")
    checks += 1


class Ledger:
    """The v1 calls of each request, read from the headers of the answers."""

    def __init__(self):
        self.part = ""
        self.requests = Counter()
        self.v1_calls = Counter()
        self.free = 0
        self.took = 0.0
        self.exported = 0

    def watch(self, client):
        client.v2.transport.session.hooks["response"].append(self.note)

    def note(self, response, *_, **__):
        calls = int(response.headers["Causeway-V1-Calls"])
        self.requests[self.part] += 1
        self.v1_calls[self.part] += calls
        self.free += calls == 0


class Person:
    """A person with a key, and short names for the SDK methods that the person uses."""

    def __init__(self, gateway, ledger, key):
        self.client = PlaneClient(base_url=gateway.base, api_key=key)
        ledger.watch(self.client)
        self.project = self.client.v2.workspaces.projects
        self.me = self.client.v2.users.me()

    def items(self, **call):
        return self.project.work_items.list(WORKSPACE, PROJECT, **call)

    def item(self, key, **call):
        return self.client.v2.workspaces.work_items.retrieve_by_identifier(WORKSPACE, key, **call)

    def create(self, **fields):
        return self.project.work_items.create(WORKSPACE, PROJECT, CreateWorkItem(**fields))

    def update(self, item, **fields):
        return self.project.work_items.update(WORKSPACE, PROJECT, item.id, UpdateWorkItem(**fields))

    def comment(self, item, html):
        return item.comments.create(CreateWorkItemComment(comment_html=html))


def look_around(ada):
    """Nine o'clock: what is there, and what is mine."""
    people = ada.client.v2.workspaces.members.list(WORKSPACE).data
    same("people", len(people), 5)
    states = {state.name: state for state in ada.project.states.list(WORKSPACE, PROJECT).data}
    labels = {label.name: label for label in ada.project.labels.list(WORKSPACE, PROJECT).data}
    same("states and labels", (len(states), len(labels)), (5, 12))
    newest = ada.items(per_page=20)
    same("all items", newest.total_count, EXTRA + SAMPLE)
    mine = ada.items(assignee_id=ada.me.id, state_group="started", order_by="priority", per_page=20)
    ranks = [PRIORITIES.index(row.priority) for row in mine.data]
    same("mine, most urgent first", ranks, sorted(ranks))
    same("mine are mine", all(ada.me.id in row.assignee_ids for row in mine.data), True)
    for row in mine.data[:4]:
        opened = ada.item(row.identifier, expand=["state", "assignees", "labels", "parent"])
        same("opened", (opened.id, opened.model_extra["state"]["group"]), (row.id, "started"))
        same("no comments yet", row.comments.list().total_count, 0)
    return states, labels, mine.data


def triage(ada, states, labels):
    """Creates the items that came in over night, with names of states, labels and people instead of ids."""
    epic = ada.create(name="Checkout breaks with vouchers", priority="urgent", labels=["bug", "customer"])
    made = [
        ada.create(name=name, parent=epic.identifier, state=state, labels=names, assignees=people, priority=priority)
        for name, state, names, people, priority in [
            ("Voucher field rejects lower case", "Todo", ["bug"], ["ben@acme.test"], "high"),
            ("Voucher total is not rounded", "Todo", ["bug", "regression"], ["ben@acme.test"], "high"),
            ("Tell support about vouchers", "In Progress", ["customer"], ["ada@acme.test"], "medium"),
            ("Voucher texts are clipped", "Backlog", ["design"], ["cleo@acme.test"], "low"),
            ("Vouchers in the changelog", "Backlog", ["documentation"], [], "none"),
            ("Vocher texts are cliped", "Backlog", ["design"], [], "low"),
        ]
    ]
    same("states by name", made[2].state_id, states["In Progress"].id)
    same("labels by name", set(made[1].label_ids), {labels["bug"].id, labels["regression"].id})
    same("under one parent", {item.parent_id for item in made}, {epic.id})
    same("found at once", ada.items(parent_id=epic.id).total_count, 6)
    same("a look for duplicates", ada.items(search="voucher texts", per_page=10).total_count, 1)
    ada.project.work_items.delete(WORKSPACE, PROJECT, made[-1].id)
    same("one less", ada.items(parent_id=epic.id).total_count, 5)
    return epic, made[:-1]


def carry_on(ada, ben, made, mine, states):
    """Two people move, assign and talk."""
    for item in made[:2]:
        moved = ben.update(item, state="In Progress")
        same("moved", moved.state_id, states["In Progress"].id)
        said = ben.project.work_items.comments.create(
            WORKSPACE, PROJECT, item.id, CreateWorkItemComment(comment_html="<p>On it.</p>")
        )
        same("said by", said.actor_id, ben.me.id)
    same("what Ben sees", ben.items(search="voucher", state_group="started").total_count, 3)
    asked = ada.comment(made[0], "<p>Wich release?</p>")
    asked = made[0].comments.update(asked.id, UpdateWorkItemComment(comment_html="<p>Which release?</p>"))
    same("corrected", (asked.comment_stripped, asked.edited_at is not None), ("Which release?", True))
    same("the talk", [row.comment_stripped for row in made[0].comments.list().data], ["On it.", "Which release?"])
    for item in made[:2]:
        ben.update(item, state="Done")
    same("done", ada.items(parent_id=made[0].parent_id, state_group="completed").total_count, 2)
    for row in mine[:6]:
        given = ada.update(row, assignees=["devi@acme.test", "cleo@acme.test"])
        same("assigned", len(given.assignee_ids), 2)
    for row in mine[6:12]:
        same("moved on", ada.update(row, state="Done").state_id, states["Done"].id)
    same("taken back", ada.update(mine[6], state="In Progress").state_id, states["In Progress"].id)
    stray = ada.comment(mine[0], "<p>Wrong window.</p>")
    mine[0].comments.delete(stray.id)
    same("never said", mine[0].comments.list().total_count, 0)


def plan(ada, epic, made):
    """Plans the next weeks."""
    cycle = ada.project.cycles.find_by_name(WORKSPACE, PROJECT, "Sprint 3")
    inside = ada.items(cycle_id=cycle.id, order_by="priority", per_page=50)
    same("items of the sprint", inside.total_count >= len(inside.data) > 0, True)
    open_ones = ada.items(cycle_id=cycle.id, state_group__in=["backlog", "unstarted"], assignee_id__isnull=True)
    same("some wait for somebody", 0 < open_ones.total_count < inside.total_count, True)
    for row in open_ones.data[:4]:
        same("taken", ada.update(row, assignees=["ada@acme.test"]).assignee_ids, [ada.me.id])
    left = ada.items(cycle_id=cycle.id, state_group__in=["backlog", "unstarted"], assignee_id__isnull=True)
    same("fewer wait", left.total_count, open_ones.total_count - 4)
    for item, day in zip(made[2:], [8, 10, 12]):
        dated = ada.update(item, start_date=date(2027, 3, day), target_date=date(2027, 3, day + 3))
        same("dated", dated.target_date, date(2027, 3, day + 3))
    soon = ada.items(start_date__gte="2027-03-01", target_date__lte="2027-03-14", order_by="sequence_id")
    same("due soon", [row.id for row in soon.data], [item.id for item in made[2:4]])
    same("renamed", ada.update(epic, name="Vouchers break the checkout").name, "Vouchers break the checkout")


def tidy_up(ada, made):
    """Archives the work that is done."""
    done = made[:2]
    for item in done:
        archived = ada.project.work_items.archive(WORKSPACE, PROJECT, item.id)
        same("archived", archived.archived_at is not None, True)
    same("out of sight", ada.items(search="voucher", state_group="completed").total_count, 0)
    back = ada.project.work_items.unarchive(WORKSPACE, PROJECT, done[1].id)
    same("back", (back.id, back.archived_at), (done[1].id, None))
    same("in sight again", ada.items(search="voucher", state_group="completed").total_count, 1)


def export(ada, ben, made):
    """Exports all items by cursor, oldest first, while Ben works: an item that exists throughout comes exactly once."""
    before = ada.items(per_page=1).total_count
    walk = ada.project.work_items.iterate(
        WORKSPACE, PROJECT, paginate="cursor", per_page=200, order_by="created_at"
    )
    rows = []
    for row in walk:
        rows.append(row)
        if len(rows) == 1500:
            # Ben changes a row that was already read, removes another such row, and adds a new row at the end.
            ben.update(rows[10], priority="urgent")
            parents = {row.parent_id for row in rows}
            gone = next(row for row in rows[20:] if row.created_by_id == ben.me.id and row.id not in parents)
            ben.project.work_items.delete(WORKSPACE, PROJECT, gone.id)
            late = ben.create(name="Written during the export")
    same("each once", len({row.id for row in rows}), len(rows))
    same("all there were, and the late one", len(rows), before + 1)
    same("oldest first", all(a.created_at <= b.created_at for a, b in zip(rows, rows[1:])), True)
    same("the late one is last", rows[-1].id, late.id)
    same("gone", ada.items(sequence_id=gone.sequence_id).total_count, 0)
    rows[10] = ada.project.work_items.retrieve(WORKSPACE, PROJECT, rows[10].id)
    return [row for row in rows if row.id != gone.id]


def report(ada, rows, states, labels):
    """Numbers for the evening mail, and the same counted by hand in the export."""
    group = {state.id: state.group for state in states.values()}
    for name in GROUPS:
        counted = sum(group[row.state_id] == name for row in rows)
        same(f"items {name}", ada.items(state_group=name, per_page=1).total_count, counted)
    bug = labels["bug"].id
    for what, call, wanted in [
        (
            "urgent bugs",
            {"priority": "urgent", "label_id": bug},
            lambda row: row.priority == "urgent" and bug in row.label_ids,
        ),
        ("nobody's", {"assignee_id__isnull": True}, lambda row: not row.assignee_ids),
        ("search", {"search": "LOGIN form"}, lambda row: "login form" in row.name.lower()),
        ("with a parent", {"parent_id__isnull": False}, lambda row: row.parent_id is not None),
        (
            "since 2025-01-09",
            {"created_at__gte": "2025-01-09T00:00:00Z"},
            lambda row: row.created_at.isoformat() >= "2025-01-09",
        ),
    ]:
        same(what, ada.items(per_page=1, **call).total_count, sum(wanted(row) for row in rows))
    weighty = ada.items(search="dashboard", order_by="priority", per_page=200, expand=["state", "assignees"])
    ranks = [PRIORITIES.index(row.priority) for row in weighty.data]
    same("by weight", ranks, sorted(ranks))
    same("with states", all(row.model_extra["state"]["id"] == row.state_id for row in weighty.data), True)


def day(gateway):
    """Runs the whole day and returns its costs."""
    ledger = Ledger()
    began = time.monotonic()

    def part(name, work, *arguments):
        ledger.part = name
        return work(*arguments)

    ada, ben = part("sign in", lambda: [Person(gateway, ledger, f"demo-{who}-key") for who in ("admin", "member")])
    states, labels, mine = part("look around", look_around, ada)
    epic, made = part("triage", triage, ada, states, labels)
    part("carry on", carry_on, ada, ben, made, mine, states)
    part("plan", plan, ada, epic, made)
    part("tidy up", tidy_up, ada, made)
    rows = part("export", export, ada, ben, made)
    part("report", report, ada, rows, states, labels)
    ledger.took = time.monotonic() - began
    ledger.exported = len(rows)
    return ledger


def as_it_comes(program):
    """The day with the default settings."""
    with Demo(program, options=["--work-items", str(EXTRA)]) as demo:
        return day(demo)


def nothing_kept(program):
    """The day with nothing kept except the rows of the index, and v1 is asked about those every time."""
    address, listen = free_address(), free_address()
    sandbox = [program, "sandbox", "--listen", address, "--quota", "0", "--work-items", str(EXTRA)]
    serve = [program, "serve", "--upstream", f"http://{address}", "--listen", listen, "--store", "sqlite::memory:"]
    for setting in ["index.freshness", "cache.collection", "cache.card", "cache.identity"]:
        serve += ["--set", f"{setting}=0s"]
    # Only the number of v1 calls counts; pacing the calls would only take longer.
    serve += ["--set", "upstream.quota=0"]
    with Running(sandbox, address, alive="/api/v1/users/me/"), Running(serve, listen, alive="/readyz") as gateway:
        return day(gateway)


def compare_with_readme(requests, kept, fresh):
    """Checks these figures in the README: requests exactly, v1 calls within a fifth, because on a slow machine more
    freshness windows end during the day than on a fast one."""
    text = " ".join((ROOT / "README.md").read_text().split())
    told = re.search(r"A day of work .*? (\d+) requests .*? cost about (\d+) v1 calls.*? cost about (\d+)", text)
    same("the README tells the figures", told is not None, True)
    same("requests told by the README", int(told.group(1)), requests)
    for said, found in [(told.group(2), kept), (told.group(3), fresh)]:
        same(f"the README's {said} v1 calls are close to {found}", abs(int(said) - found) <= found / 5, True)


def main():
    kept, fresh = as_it_comes(sys.argv[1]), nothing_kept(sys.argv[1])
    print(f"{'':12} requests  v1 calls  nothing kept")
    for name, number in kept.requests.items():
        print(f"{name:12} {number:8}  {kept.v1_calls[name]:8}  {fresh.v1_calls[name]:12}")
    requests, few, many = kept.requests.total(), kept.v1_calls.total(), fresh.v1_calls.total()
    print(f"{'whole day':12} {requests:8}  {few:8}  {many:12}")
    print(f"{kept.exported} items exported; {kept.free} requests without a v1 call; {kept.took:.1f} s")
    same("requests either way", fresh.requests.total(), requests)
    for bound, calls in [(BOUND, few), (BOUND_NOTHING_KEPT, many)]:
        same(f"at most {bound} v1 calls, it was {calls}", calls <= bound, True)
    compare_with_readme(requests, few, many)
    print(f"{checks} passed, 0 failed")


if __name__ == "__main__":
    main()
