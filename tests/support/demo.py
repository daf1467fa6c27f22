"""A running `causeway` for tests written in Python: started, waited for, stopped."""

import contextlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_address():
    """Returns an address of this machine with a free port. Another process can get a port that the system chooses
    before it is used here, so it is one below those."""
    while True:
        address = ("127.0.0.1", random.randrange(11_000, 32_000))
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(address)
            return "{}:{}".format(*address)


class Running:
    """A child process that serves HTTP; stopped by SIGTERM, after which it must end with exit code 0."""

    def __init__(self, command, address, cwd=None, env=None, alive="/healthz"):
        self.base = f"http://{address}"
        self.output = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT
        )
        self.wait_until(f"{self.base}{alive}")

    def wait_until(self, url, patience=60):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"ended with {self.process.returncode}:\n{self.text()}")
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except urllib.error.HTTPError as refused:
                if refused.code < 500:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.process.kill()
        raise RuntimeError(f"{url} does not answer:\n{self.text()}")

    def text(self):
        """Returns the output of the process so far."""
        self.output.seek(0)
        return self.output.read()

    def stop(self):
        """Stops the process and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.stop()
        if code != 0 and kind is None:
            raise RuntimeError(f"ended with {code}:\n{self.text()}")


class Demo(Running):
    """`causeway demo` on a free port, or on `address`, with further options."""

    def __init__(self, program, address=None, options=()):
        address = address or free_address()
        super().__init__([str(program), "demo", "--listen", address, *options], address)

    def curls(self):
        """Returns the curl lines that the demo prints."""
        return re.findall(r"^\s*(curl .*)$", self.text(), re.MULTILINE)
