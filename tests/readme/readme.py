"""Checks that README.md is true: runs every command in it unchanged, and compares its tables and numbers.

Usage: python3 readme.py PATH-TO-CAUSEWAY. A debug binary replaces the release build of the first command. With a
release binary, that command itself is run too.
"""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from pathlib import Path

import shell as shells
from shell import ADDRESS, DEPLOYMENT, KEY, ROOT, Shell, alone, commands, replaced, same

from demo import Demo, Running, free_address  # noqa: E402

SET_UP = ["cargo run --release -- demo", "scripts/test"]


def against_demo(demo, shell, curls):
    """Checks that the curl lines are those that the demo prints, and that their answers are as described."""
    me, states, label, v1 = curls
    told = demo.text()
    same("the first address of the demo", re.search(r"http://\S+", told).group(), f"{demo.base}/")
    same("its link to allow an app", len(re.findall(rf"{demo.base}/auth/o/authorize/\?\S+", told)), 1)
    board = re.search(r"http://operator:(\S+)@(\S+/migration/)", told)
    proof = base64.b64encode(f"operator:{board[1]}".encode()).decode()
    asked = urllib.request.Request(f"http://{board[2]}", headers={"Authorization": f"Basic {proof}"})
    with urllib.request.urlopen(asked, timeout=20) as page:
        same("the operators' page", "The move from v1 to v2" in page.read().decode(), True)
    same("the curl lines of the demo", demo.curls(), [me, states, label])
    same("current user", shell.json(me)["email"], "ada@acme.test")
    same("started states", [state["name"] for state in shell.json(states)["data"]], ["In Progress"])
    made = shell.json(label)
    same("the new label", (made["name"], made["color"]), ("from the demo", "#3f76ff"))
    same("pass-through", shell.json(v1)["email"], "ada@acme.test")
    headers = shell.run(me.replace("curl ", "curl -s -o /dev/null -D - ", 1)).lower()
    same("Causeway-V1-Calls", bool(re.search(r"^causeway-v1-calls: \d+", headers, re.MULTILINE)), True)
    same("Server-Timing", bool(re.search(r"^server-timing: .*total;dur=", headers, re.MULTILINE)), True)


def in_front_of_a_deployment(shell, check, serve):
    address = free_address()
    sandbox = [str(Path(shell.folder) / "bin/causeway"), "sandbox", "--listen", address]
    with Running(sandbox, address, alive="/api/v1/users/me/") as deployment:
        names = {DEPLOYMENT: deployment.base, KEY: "demo-admin-key"}
        said = shell.run(replaced(check, names))
        same("check", "the key is that of ada@acme.test" in said, True)
        with shell.served(replaced(serve, names)) as gateway:
            answer = shell.json(f"curl -s -H 'X-Api-Key: demo-member-key' {gateway.base}/api/v2/users/me/")
            same("serve", answer["email"], "ben@acme.test")


def upkeep(shell, store):
    """Runs the commands about the store on the store that `serve` has made."""
    said = [shell.run(command) for command in store]
    same("migrate after serving", said[0], "the tables are up to date\n")
    same("check of the store", "the store is sound" in said[2], True)
    same("backup", (Path(shell.folder) / "backup.db").read_bytes()[:15], b"SQLite format 3")
    lines = (Path(shell.folder) / "store.jsonl").read_text().splitlines()
    same("export", json.loads(lines[-1]), {"rows": len(lines) - 2})


def numbers(shell, readme, operations):
    declared = shell.json(operations[1])
    rows = declared["operations"] if isinstance(declared, dict) else declared
    works = sum(1 for row in rows if row["status"] == "works")
    table = shell.run(operations[0])
    same("operations in the table", all(row["id"] in table for row in rows), True)
    told = re.search(r"(\d+) operations are declared, (\d+) work in this version", readme)
    same("declared and working", [int(number) for number in told.groups()], [len(rows), works])
    rest = re.search(r"The other (\d+) are", readme)
    same("the others", int(rest.group(1)) if rest else 0, len(rows) - works)


def settings(readme):
    """Checks that the settings in the table exist and have these defaults."""
    text = (ROOT / "config/causeway.toml").read_text()
    defaults = tomllib.loads(text)
    everything = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.+?) \|", readme, re.MULTILINE)
    same("rows of settings", len(rows) > 5, True)
    for name, told in rows:
        found, known = defaults, everything
        for part in name.split("."):
            found, known = (found or {}).get(part), known[part]
        same(name, None if told == "none" else json.loads(told.strip("`")), found)


def links(readme):
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        same(f"link {target}", "://" in target or (ROOT / target).exists(), True)


def release_demo(curls):
    """Runs the first command unchanged, and stops it with Ctrl-C as a reader would."""
    with Running(["bash", "-c", f"exec {SET_UP[0]}"], ADDRESS, cwd=ROOT) as demo:
        answer = subprocess.run(["bash", "-c", curls[0]], capture_output=True, check=True).stdout
        same("cargo run", json.loads(answer)["email"], "ada@acme.test")
        demo.process.send_signal(signal.SIGINT)
        same("Ctrl-C", demo.process.wait(timeout=60), 0)


def main():
    alone()
    program = Path(sys.argv[1]).resolve()
    readme = (ROOT / "README.md").read_text()
    all_commands = commands(readme)
    same("set-up commands", all_commands[:2], SET_UP)
    same("scripts/test can be run", os.access(ROOT / SET_UP[1], os.X_OK), True)
    curls = [command for command in all_commands if command.startswith("curl ")]
    own = [command for command in all_commands if command.startswith("causeway ")]
    same("every command is run", len(SET_UP) + len(curls) + len(own), len(all_commands))
    store = [command for command in own if command.startswith("causeway store ")]
    beginning = lambda words: [command for command in own if command.startswith(f"causeway {words}")]  # noqa: E731
    [check], [serve], [plain_check] = beginning("check --upstream"), beginning("serve"), beginning("check --set")
    [secret], operations = beginning("secrets new"), beginning("operations")
    others = [command for command in own if command not in [check, serve, plain_check, secret, *operations, *store]]
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(program, folder)
        with Demo(program, ADDRESS) as demo:
            against_demo(demo, shell, curls)
        in_front_of_a_deployment(shell, check, serve)
        upkeep(shell, store)
        same("check of settings", "settings  fine" in shell.run(plain_check), True)
        same("a new secret", len(base64.b64decode(shell.run(secret).strip(), validate=True)), 32)
        numbers(shell, readme, operations)
        for command in others:
            same(f"{command} prints something", shell.run(command) != "", True)
    settings(readme)
    links(readme)
    if program.parent.name == "release":
        release_demo(curls)
    print(f"{len(all_commands)} commands, {shells.done} passed, 0 failed")


if __name__ == "__main__":
    main()
