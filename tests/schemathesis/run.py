"""Schemathesis against the gateway in front of the sandbox, from the gateway's own document, in both modes.

Usage: run.py PATH-TO-CAUSEWAY [--long]. Starts both, makes a few records of every kind, and lets Schemathesis
generate calls. Exits with 1 when a check fails, or when there were fewer calls than the run must make.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from demo import Running, free_address  # noqa: E402

KEY = "demo-admin-key"
SLUG = "acme"
PROJECT = "00000000-0000-4000-c000-000000000001"
W = f"/api/v2/workspaces/{SLUG}"
P = f"{W}/projects/{PROJECT}"
# Beginning of a path template, as the document writes it.
TW = "/api/v2/workspaces/{slug}"
TP = TW + "/projects/{project_id}"
# The coverage phase makes the same thousands of calls every time, so it is for the long run. Chains of calls depend on
# the server's answers and differ from run to run, so they are for the long run too.
EVERYDAY = {"examples": 5, "phases": "examples,fuzzing", "calls": 1_000, "seed": 20260101}
# Different calls in every run. The seed is printed, and `--seed=` repeats the calls.
LONG = {"examples": 75, "phases": "examples,coverage,fuzzing,stateful", "calls": 20_000, "seed": int(time.time())}
# Records of each kind: half of them stay, the others may be deleted.
EACH = 6


class Api:
    """Sends requests directly to the gateway."""

    def __init__(self, base):
        self.base = base

    def __call__(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Api-Key": KEY, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base}{path}", data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def made(self, path, **body):
        return self("POST", path, body)["id"]

    def several(self, path, label, **body):
        """Makes EACH records that differ in `label`."""
        return [self.made(path, **{label: f"Made {number}"}, **body) for number in range(EACH)]


def mode(api, workspace):
    api("PATCH", f"{W}/features/", {"is_work_item_types_enabled": workspace})


def seeded(api):
    """Makes a few records of every kind in both modes. Returns their ids by the path template of the record."""
    records, parents = {}, {}

    def known(template, ids, **parent):
        for path in (f"{template}{{pk}}/", *(f"{template}{{pk}}/{verb}/" for verb in VERBS)):
            records[path] = ids
            parents[path] = {name: [value] for name, value in parent.items()}
        parents[template] = {name: [value] for name, value in parent.items()}

    plain = [("states", {"color": "#112233", "group": "started"}), ("labels", {}), ("cycles", {}), ("modules", {})]
    for kind, body in plain:
        known(f"{TP}/{kind}/", api.several(f"{P}/{kind}/", "name", **body))
    items = api.several(f"{P}/work-items/", "name")
    known(f"{TP}/work-items/", items)
    comments = [
        api.made(f"{P}/work-items/{items[0]}/comments/", comment_html=f"<p>{number}</p>") for number in range(EACH)
    ]
    known(f"{TP}/work-items/{{work_item_id}}/comments/", comments, work_item_id=items[0])
    for surface, template, workspace in [(P, TP, False), (W, TW, True)]:
        mode(api, workspace)
        if not workspace:
            api("POST", f"{P}/work-item-types/enable/")
        types = api.several(f"{surface}/work-item-types/", "name")
        known(f"{template}/work-item-types/", types)
        properties = api.several(f"{surface}/work-item-properties/", "display_name", property_type="TEXT")
        choice = api.made(f"{surface}/work-item-properties/", display_name="Choice", property_type="OPTION")
        known(f"{template}/work-item-properties/", [*properties, choice])
        options = api.several(f"{surface}/work-item-properties/{choice}/options/", "name")
        known(f"{template}/work-item-properties/{{property_id}}/options/", options, property_id=choice)
        api("POST", f"{surface}/work-item-types/{types[0]}/properties/", {"properties": properties})
        known(f"{template}/work-item-types/{{type_id}}/properties/", properties, type_id=types[0])
        if workspace:
            api("POST", f"{P}/work-item-types/import/", {"work_item_types": types})
            path = f"{W}/work-item-properties/{properties[0]}/contexts/"
            # Two contexts of one property may not cover the same project and type.
            contexts = [api.made(path, name=kind, project_ids=[PROJECT], issue_type_ids=[kind]) for kind in types]
            known(f"{TW}/work-item-properties/{{property_id}}/contexts/", contexts, property_id=properties[0])
    logs = [row["id"] for row in api("GET", f"{W}/audit-logs/?paginate=cursor")["data"]]
    known(f"{TW}/audit-logs/", logs)
    common = {"slug": [SLUG], "project_id": [PROJECT], "identifier": [f"WEB-{number}" for number in range(1, 20)]}
    return {"common": common, "records": records, "parents": parents}


VERBS = ["archive", "unarchive", "mark-default", "schema"]


def main():
    program = sys.argv[1]
    size = LONG if "--long" in sys.argv[2:] else EVERYDAY
    address, listen = free_address(), free_address()
    sandbox = [program, "sandbox", "--listen", address, "--quota", "0"]
    serve = [program, "serve", "--upstream", f"http://{address}", "--listen", listen, "--store", "sqlite::memory:"]
    for setting in [
        "upstream.quota=0",
        "limits.rate.api_key=0",
        "limits.rate.unauthenticated=0",
        "idempotency.per_person=1000000",
        "idempotency.per_person_size=1GiB",
    ]:
        serve += ["--set", setting]
    calls = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Running(sandbox, address, alive="/api/v1/users/me/"),
        Running(serve, listen, alive="/readyz") as gateway,
    ):
        api = Api(gateway.base)
        pool, document = Path(folder) / "pool.json", Path(folder) / "openapi.json"
        pool.write_text(json.dumps(seeded(api)))
        document.write_bytes(subprocess.check_output([program, "openapi", "--server", gateway.base]))
        # With PYTHONHASHSEED sets keep their order too, so that every run generates the same calls.
        environment = {
            "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "POOL": str(pool), "PYTHONHASHSEED": "0",
        }
        failed = []
        for name, workspace in [("project mode", False), ("workspace mode", True)]:
            mode(api, workspace)
            done = subprocess.run(
                [
                    str(Path(sys.executable).parent / "st"),
                    f"--config-file={HERE / 'schemathesis.toml'}",
                    "run",
                    str(document),
                    f"--url={gateway.base}",
                    f"--max-examples={size['examples']}",
                    f"--phases={size['phases']}",
                    f"--seed={size['seed']}",
                    f"--header=X-Api-Key:{KEY}",
                    *[argument for argument in sys.argv[2:] if argument != "--long"],
                ],
                env=os.environ | environment,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            made = re.search(r"(\d+) generated", done.stdout)
            calls += int(made.group(1)) if made else 0
            print(f"    {name}: {made.group(1) if made else 'no'} calls", flush=True)
            if done.returncode != 0:
                failed.append(name)
                print(done.stdout, flush=True)
    print(f"    {calls} generated calls, seed {size['seed']}")
    if calls < size["calls"]:
        failed.append(f"only {calls} calls, {size['calls']} are meant")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
