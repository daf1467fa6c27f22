"""Shared code of the tests of README.md and docs/: runs the commands of a text as a reader would run them.

The reader's own values (address and key of a deployment) are replaced by those of a sandbox. When another process uses
port 8080, the test starts again in a network namespace of its own, where the port is free.
"""

import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

from demo import Running  # noqa: E402

ADDRESS = "127.0.0.1:8080"
DEPLOYMENT, KEY = "https://v1.example.com", "YOUR-V1-KEY"

done = 0


def same(what, actual, expected):
    global done
    if actual != expected:
        sys.exit(f"{what}: got {actual!r}, expected {expected!r}")
    done += 1


def commands(text):
    """Returns all commands of a page, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


class Shell:
    """Runs command lines as a reader would, with `causeway` on the path, in a folder of their own."""

    def __init__(self, program, folder):
        self.folder = folder
        shims = Path(folder) / "bin"
        shims.mkdir()
        (shims / "causeway").symlink_to(program)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CAUSEWAY_")}
        self.env = kept | {"PATH": f"{shims}:{os.environ['PATH']}"}

    def run(self, command, ends=0):
        """Returns the output of the command. Its exit code must be `ends`, which is success by default."""
        finished = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if finished.returncode != ends:
            sys.exit(f"`{command}` ended with {finished.returncode}:\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    def served(self, command):
        """Starts a command that serves, until the end of a `with`."""
        return Running(["bash", "-c", f"exec {command}"], ADDRESS, cwd=self.folder, env=self.env, alive="/readyz")

    def json(self, command):
        return json.loads(self.run(command))


def replaced(command, names):
    for name, value in names.items():
        command = command.replace(name, value)
    return command


def alone():
    """Makes sure that port 8080 is free for the test."""
    if os.environ.get("README_TEST_ALONE"):
        with socket.socket() as any_socket:
            # SIOCSIFFLAGS, IFF_UP: the loopback interface of a new network is down.
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8080))
            return
        except OSError:
            print("port 8080 is taken, using a network of our own")
    os.environ["README_TEST_ALONE"] = "1"
    sys.stdout.flush()
    os.execvp("unshare", ["unshare", "--map-root-user", "--net", sys.executable, *sys.argv])
