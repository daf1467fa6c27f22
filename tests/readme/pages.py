"""Checks that the pages of docs/ are true: runs each command of docs/getting-started.md and docs/oauth.md unchanged, in
order, and sends the request that docs/how-it-works.md follows. Its answer must be as described there.

Usage: python3 pages.py PATH-TO-CAUSEWAY. A sandbox replaces the reader's deployment, and a folder of the test replaces
the folders of a system.
"""

import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import shell as shells
from shell import DEPLOYMENT, KEY, ROOT, Shell, alone, commands, replaced, same

from demo import Demo, Running, free_address  # noqa: E402


def page(name):
    return (ROOT / "docs" / name).read_text()


def getting_started(shell, names):
    check, doctor, serve, curl, verify, verify_by_writing, explain, explain_and_run = [
        replaced(command, names) for command in commands(page("getting-started.md"))
    ]
    same("check", "the key is that of ada@acme.test" in shell.run(check), True)
    same("doctor", "the key is that of ada@acme.test" in shell.run(doctor), True)
    with shell.served(serve):
        same("the first call", shell.json(curl)["email"], "ada@acme.test")
        # The sample project has no types and properties yet, so that not every read can be proven.
        for command, ends in [(verify, 2), (verify_by_writing, 0)]:
            told = shell.run(command, ends)
            same(f"{command}: nothing fails", re.findall(r"^FAIL.*", told, re.MULTILINE), [])
        operations = re.findall(r"^pass +(\w+)  ", told, re.MULTILINE)
        same("by writing all operations are proven", len(set(operations)) >= 88, True)
        [counts, verdict] = told.splitlines()[-2:]
        same("by writing nothing is skipped", counts.endswith(" 0 failed, 0 skipped"), True)
        same("the verdict", verdict, "PROVEN: every operation was carried out")
        same("explain", "workspace_members_list" in shell.run(explain), True)
        same("explain --run", "200" in shell.run(explain_and_run), True)


def oauth(shell, names):
    """The commands for operators in docs/oauth.md, with the ids that earlier commands have printed."""
    new, *exports, serve, create, listing, rotate, delete, docs_page, mint, keys, revoke = commands(page("oauth.md"))
    run = lambda command, **ids: shell.run(replaced(command, names | ids))  # noqa: E731
    (Path(shell.folder) / "v1-key").write_text(names[KEY])
    run(new)
    for export in exports:
        variable, value = re.fullmatch(r"export (\w+)=(\S+)", replaced(export, names)).groups()
        shell.env[variable] = value
    with shell.served(replaced(serve, names)) as gateway:
        client = re.search(r"^client id +(\S+)$", run(create), re.MULTILINE).group(1)
        same("the app is listed", client in run(listing), True)
        same("another secret", "secret" in run(rotate, **{"CLIENT-ID": client}), True)
        same("the documentation page has no secret", "has no secret" in run(docs_page), True)
        run(delete, **{"CLIENT-ID": client})
        same("the app is gone", client in run(listing), False)
        minted = run(mint)
        key = re.search(r"cwk_\S+", minted).group(0)
        same("what the key is", me(gateway, key)["principal_kind"], "other")
        same("the v1 key is not told", names[KEY] in minted, False)
        [row] = [line for line in run(keys).splitlines() if "report" in line]
        ident = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", row).group(0)
        run(revoke, **{"KEY-ID": ident})
    with shell.served(replaced(serve, names)) as gateway:
        same("a revoked key", me(gateway, key), 401)


def me(gateway, key):
    request = urllib.request.Request(f"{gateway.base}/api/v2/users/me/", headers={"X-Api-Key": key})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code


def how_it_works(program):
    text = page("how-it-works.md")
    requests = re.findall(r"^```http\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for quoted in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        # The notes at the end of an entry are left out on the page.
        mapping = re.sub(r', notes = "[^"]*"', "", (ROOT / "mappings/states.toml").read_text()).splitlines()
        for line in quoted.splitlines():
            same(f"states.toml has `{line}`", line in mapping, True)
    asked, _, told = requests
    [line, key] = asked.splitlines()
    head, body = told.split("\n\n")
    with Demo(program) as demo:
        headers = dict([key.split(": ")])
        with urllib.request.urlopen(urllib.request.Request(demo.base + line.split()[1], headers=headers)) as answer:
            [calls] = [told for told in head.splitlines() if told.startswith("Causeway-V1-Calls")]
            same("the calls it takes", f"Causeway-V1-Calls: {answer.headers['Causeway-V1-Calls']}", calls)
            got = json.load(answer)
    got["data"][0]["created_at"] = "…"
    same("the answer that is followed", got, json.loads(body))


def main():
    alone()
    program = Path(sys.argv[1]).resolve()
    for part in [getting_started, oauth]:
        with tempfile.TemporaryDirectory() as folder:
            address = free_address()
            shell = Shell(program, folder)
            # The sandbox takes any number of calls, so the gateway need not spread them over minutes. `verify` checks
            # many times that nothing is served without a key, and an address has few attempts for that.
            for setting in ["UPSTREAM__QUOTA", "LIMITS__RATE__UNAUTHENTICATED"]:
                shell.env[f"CAUSEWAY_{setting}"] = "0"
            sandbox = [str(program), "sandbox", "--listen", address, "--quota", "0"]
            with Running(sandbox, address, alive="/api/v1/users/me/") as deployment:
                names = {DEPLOYMENT: deployment.base, KEY: "demo-admin-key", "YOUR-WORKSPACE": "acme"}
                for system in ["/etc/causeway", "/var/lib/causeway"]:
                    names[system] = folder
                part(shell, names)
    how_it_works(program)
    print(f"pages of docs/: {shells.done} passed, 0 failed")


if __name__ == "__main__":
    main()
