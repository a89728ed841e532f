"""Compiled tests of the library: building, and running them with property tests that draw by a given seed."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

FEATURES = ["--no-default-features", "--features", "cli,conformance"]
UNIT_TESTS = {"lib": "dagsplit", "model": "dagsplit-model"}
FAILED = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. FAILED$")


class Wrong(Exception):
    """What cannot go on, with its reason."""


def build(tree: pathlib.Path, binaries: list[str], target: pathlib.Path | None = None) -> dict[str, str]:
    """Compiles test binaries of a working tree; their paths by name, `lib` and `model` for unit tests (UNIT_TESTS).

    A copy of the tree needs a `target` folder of its own: cargo takes what was built of the one for the other.
    """
    packages = {UNIT_TESTS.get(name, "dagsplit") for name in binaries}
    chosen = [word for package in sorted(packages) for word in ("--package", package)]
    chosen += ["--lib"] if any(name in UNIT_TESTS for name in binaries) else []
    chosen += [word for name in binaries if name not in UNIT_TESTS for word in ("--test", name)]
    # Features belong to the package at the top.
    features = FEATURES if "dagsplit" in packages else []
    command = ["cargo", "test", "--no-run", "--message-format", "json-render-diagnostics", *features, *chosen]
    environment = {**os.environ, **({"CARGO_TARGET_DIR": str(target)} if target else {})}
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Wrong(f"the tests in {tree} do not compile")
    paths = {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            target = message["target"]
            is_of = lambda package: target["name"] == package.replace("-", "_")  # noqa: E731
            units = [name for name, package in UNIT_TESTS.items() if "lib" in target["kind"] and is_of(package)]
            paths[units[0] if units else target["name"]] = message["executable"]
    return paths


def run(tree: pathlib.Path, path: str, options: list[str], seed: int, limit: float, **switches: str):
    """Runs tests of a binary until one fails: its name, or `None`, and the seconds until then.

    Property tests draw the same cases for the same seed; what fails is not made smaller, nor kept for later runs.
    """
    environment = {
        **os.environ,
        **switches,
        "PROPTEST_RNG_SEED": str(seed),
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
        "INSTA_UPDATE": "no",
        "CARGO_MANIFEST_DIR": str(tree),
    }
    # Published workloads take minutes, and draw nothing.
    environment["DAGSPLIT_WORKLOADS"] = ""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        command = [path, "--test-threads", "1", *options]
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        )
        failed = _first_failure(process, output, started, limit)
        seconds = time.monotonic() - started
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    return failed or (f"(ended with {code})" if code != 0 else None), seconds


def _first_failure(process: subprocess.Popen, output, started: float, limit: float) -> str | None:
    """The first test that is told to have failed; `None` where the process ends without any."""
    read = 0
    while True:
        has_ended = process.poll() is not None
        # The file has one position, and the process writes at its own end of it.
        lines = os.pread(output.fileno(), 1 << 24, read).split(b"\n")
        read += sum(len(line) + 1 for line in lines[:-1])
        for line in lines:
            if match := FAILED.match(line.decode(errors="replace")):
                return match[1]
        if has_ended:
            return None
        if time.monotonic() - started > limit:
            return f"(no end within {limit:.0f} s)"
        time.sleep(0.02)
