"""A round trip through `causeway demo` with each generated client.

Usage: round_trip.py PATH-TO-CAUSEWAY FOLDER, where the folder holds `v2_client` (Python) and `built/round_trip.js`.
Every module of the Python client is imported.
"""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, sys.argv[2])

import v2_client  # noqa: E402
from demo import Demo  # noqa: E402
from v2_client.api.labels import labels_create, labels_delete, labels_list, labels_retrieve, labels_update  # noqa: E402
from v2_client.api.users import users_me_retrieve  # noqa: E402
from v2_client.api.work_items import work_items_list, work_items_retrieve  # noqa: E402
from v2_client.models import (  # noqa: E402
    LabelOffsetPage,
    LabelsCreateBody,
    LabelsUpdateBody,
    Problem,
    WorkItem,
    WorkItemCursorPage,
)

KEY, WORKSPACE, PROJECT = "demo-admin-key", "acme", "00000000-0000-4000-c000-000000000001"


def python(base):
    place = {"slug": WORKSPACE, "project_id": UUID(PROJECT)}
    client = v2_client.AuthenticatedClient(
        base_url=base, token=KEY, prefix="", auth_header_name="X-Api-Key", raise_on_unexpected_status=True
    )
    with client:
        assert users_me_retrieve.sync(client=client).email == "ada@acme.test"
        body = LabelsCreateBody(name="from Python", color="#3776ab")
        made = labels_create.sync(**place, client=client, body=body)
        assert (made.name, made.color, made.parent_id) == ("from Python", "#3776ab", None), made
        assert labels_retrieve.sync(**place, pk=made.id, client=client) == made
        body = LabelsUpdateBody(description="typed")
        assert labels_update.sync(**place, pk=made.id, client=client, body=body).description == "typed"
        page = labels_list.sync(**place, client=client, name="from Python")
        assert isinstance(page, LabelOffsetPage) and [row.id for row in page.data] == [made.id], page
        page = work_items_list.sync(**place, client=client, paginate="cursor", order_by="sequence_id", per_page=7)
        assert isinstance(page, WorkItemCursorPage), page
        assert [row.sequence_id for row in page.data] == [1, 2, 3, 4, 5, 6, 7]
        first = work_items_retrieve.sync(**place, pk=page.data[0].id, client=client)
        assert isinstance(first, WorkItem) and first.identifier == "WEB-1", first
        assert labels_delete.sync_detailed(**place, pk=made.id, client=client).status_code == 204
        gone = labels_retrieve.sync(**place, pk=made.id, client=client)
        assert isinstance(gone, Problem) and gone.code == "resource_not_found", gone


def main():
    modules = [module.name for module in pkgutil.walk_packages(v2_client.__path__, "v2_client.")]
    for module in modules:
        importlib.import_module(module)
    print(f"    {len(modules)} modules of the Python client imported")
    with Demo(sys.argv[1]) as demo:
        python(demo.base)
        print("    round trip in Python")
        script = Path(sys.argv[2]) / "built" / "round_trip.js"
        subprocess.run(["node", script, demo.base, KEY, WORKSPACE, PROJECT], check=True)
        print("    round trip in TypeScript")


if __name__ == "__main__":
    main()
