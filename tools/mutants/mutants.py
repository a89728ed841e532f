#!/usr/bin/env python3
"""Fixed mutants of the library, and which tests kill them.

Each mutant of `mutants.toml` replaces one place of a source by a wrong one. All of them are built at once into a copy of
the working tree, each behind a switch that the environment sets, so that the tests are compiled once. For each mutant
the tests named in its row then run until one fails. `README.md` beside this file says how to use it.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

import test_binaries  # noqa: E402
from test_binaries import Wrong  # noqa: E402

SWITCH = "DAGSPLIT_MUTANT"
SWITCH_SOURCE = f"""
/// Whether this mutant is the one asked for.
#[inline]
pub fn is_mutant(number: u32) -> bool {{
    static ASKED: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ASKED.get_or_init(|| std::env::var("{SWITCH}").ok().and_then(|asked| asked.parse().ok()).unwrap_or(0)) == number
}}
"""


# What the page says of a mutant that no test sees.
SURVIVES = "**survives**"


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A wrong place, what it means, and the tests that should see it: `binary` or `binary:filter`."""

    number: int
    file: str
    old: str
    new: str
    meaning: str
    tests: tuple[str, ...]
    survives: str | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The test that failed first, or `None`, and the seconds until then."""

    mutant: Mutant
    killer: str | None
    seconds: float


def read_table() -> list[Mutant]:
    rows = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    mutants = [Mutant(**{**row, "tests": tuple(row["tests"])}) for row in rows]
    numbers = [mutant.number for mutant in mutants]
    if numbers != sorted(set(numbers)) or 0 in numbers:
        raise Wrong("mutants.toml: numbers have to ascend from 1")
    return mutants


def mutated(text: str, mutants: list[Mutant]) -> str:
    """`text` with all mutants of this file behind their switches; lists every place that is not there exactly once."""
    edits, wrong = [], []
    for mutant in mutants:
        if text.count(mutant.old) != 1:
            wrong.append(f"mutant {mutant.number}: found {text.count(mutant.old)} times in {mutant.file}: {mutant.old}")
        start = text.find(mutant.old)
        edits.append((start, start + len(mutant.old), mutant))
    edits.sort(key=lambda edit: edit[:2])
    for (_, end, first), (start, _, second) in zip(edits, edits[1:]):
        if start < end and not wrong:
            wrong.append(f"mutants {first.number} and {second.number} overlap in {first.file}")
    if wrong:
        raise Wrong("\n".join(wrong))
    for start, end, mutant in reversed(edits):
        text = text[:start] + mutant.new.replace("MUTANT", f"crate::is_mutant({mutant.number})") + text[end:]
    return text


def crate_root(file: str) -> str:
    """The `lib.rs` of the crate whose source this is."""
    return file[: file.index("src/")] + "src/lib.rs"


def mutated_files(mutants: list[Mutant]) -> dict[str, str]:
    """The text of every file with mutants, and of the roots of their crates; `Wrong` names all that do not fit."""
    texts, wrong = {}, []
    for file in sorted({mutant.file for mutant in mutants}):
        try:
            texts[file] = mutated((ROOT / file).read_text(), [mutant for mutant in mutants if mutant.file == file])
        except (OSError, Wrong) as error:
            wrong.append(str(error))
    if wrong:
        raise Wrong("\n".join(wrong))
    for root in {crate_root(mutant.file) for mutant in mutants}:
        texts[root] = texts.get(root, (ROOT / root).read_text()) + SWITCH_SOURCE
    return texts


def copy_tree(to: pathlib.Path, mutants: list[Mutant]) -> None:
    """Makes `to` the working tree with the mutants in it; what is so already keeps its time, lest cargo builds it anew."""
    texts = mutated_files(mutants)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    files = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in files:
        content = texts[name].encode() if name in texts else (ROOT / name).read_bytes()
        target = to / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(ROOT / name, target)
    for folder in ["crates", "src", "tests"]:
        for path in (to / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(to)) not in files:
                path.unlink()


class Tests:
    """The compiled tests, run one binary at a time."""

    def __init__(self, copy: pathlib.Path, paths: dict[str, str], seed: int, limit: float):
        self.copy, self.paths, self.seed, self.limit = copy, paths, seed, limit
        # By test that failed under a mutant: whether it passes without any.
        self.sound: dict[str, bool] = {}

    def run(self, spec: str, mutant: int, *options: str) -> tuple[str | None, float]:
        """The first test of `binary:filter` that fails, if any, and the seconds until then."""
        binary, _, chosen = spec.partition(":")
        arguments = [*([chosen] if chosen else []), *options]
        switch = {SWITCH: str(mutant)}
        failed, seconds = test_binaries.run(self.copy, self.paths[binary], arguments, self.seed, self.limit, **switch)
        return failed and f"{binary}::{failed}", seconds

    def judge(self, mutant: Mutant) -> Verdict:
        """Runs the tests of the mutant's row until one fails that passes without any mutant."""
        total = 0.0
        for spec in mutant.tests:
            while True:
                skipped = [word for test in self.unsound(spec) for word in ("--skip", test)]
                killer, seconds = self.run(spec, mutant.number, *skipped)
                total += seconds
                if killer is None:
                    break
                if self.is_sound(spec, killer):
                    return Verdict(mutant, killer, total)
        return Verdict(mutant, None, total)

    def unsound(self, spec: str) -> list[str]:
        """The tests of this binary that are known to fail without any mutant."""
        binary = spec.partition(":")[0] + "::"
        return [test.removeprefix(binary) for test, passes in self.sound.items() if not passes and test.startswith(binary)]

    def is_sound(self, spec: str, killer: str) -> bool:
        """Whether what fails under a mutant passes without any."""
        binary, _, test = killer.partition("::")
        if killer not in self.sound:
            is_named = not test.startswith("(")
            asked, options = (f"{binary}:{test}", ["--exact"]) if is_named else (spec, [])
            self.sound[killer] = self.run(asked, 0, *options)[0] is None
            if not self.sound[killer]:
                print(f"{killer} fails without any mutant", file=sys.stderr, flush=True)
            if not is_named and not self.sound[killer]:
                raise Wrong(f"{spec} {test} without any mutant")
        return self.sound[killer]


def row(verdict: Verdict) -> str:
    mutant = verdict.mutant
    killer = f"`{verdict.killer}`" if verdict.killer else SURVIVES
    return f"| {mutant.number} | `{mutant.file}` | {mutant.meaning} | {killer} | {verdict.seconds:.1f} |"


def rows_of(page: str) -> dict[int, str]:
    """The rows of a page by the numbers of their mutants."""
    rows = (line for line in page.splitlines() if re.match(r"\| \d+ \|", line))
    return {int(line.split("|")[1]): line for line in rows}


def page(mutants: list[Mutant], rows: dict[int, str]) -> str:
    """The page of these mutants, as far as there are rows for them."""
    known = [mutant for mutant in mutants if mutant.number in rows]
    survivors = [mutant for mutant in known if SURVIVES in rows[mutant.number]]
    lines = [
        "# Mutants",
        "",
        "Fixed errors in the verifier, bounds, dominance, tolerances and propagators, and the test that sees each of them first.",
        "`tools/mutants/mutants.py --write docs/mutants.md` made this page; [its README](../tools/mutants/README.md) says how.",
        "",
        f"{len(known) - len(survivors)} of {len(known)} are killed.",
        "",
        "| mutant | file | meaning | killed by | s |",
        "|---:|---|---|---|---:|",
    ]
    lines += [rows[mutant.number] for mutant in known]
    if survivors:
        lines += ["", "## Survivors", ""]
        lines += [f"- **{mutant.number}**, {mutant.meaning}: {mutant.survives or 'not argued'}." for mutant in survivors]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int, help="mutants to try; all where none is given")
    parser.add_argument("--check", action="store_true", help="only check that every mutant's place is there once")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "dagsplit-mutants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tried at once")
    parser.add_argument("--seed", type=int, default=0, help="what the property tests draw their cases by")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a test counts as failed")
    parser.add_argument("--write", type=pathlib.Path, help="write the table to this file, where rows of mutants not asked for stay")
    asked = parser.parse_args()
    mutants = read_table()
    if asked.check:
        mutated_files(mutants)
        print(f"{len(mutants)} mutants, all in place")
        return 0
    chosen = [mutant for mutant in mutants if not asked.numbers or mutant.number in asked.numbers]
    copy = asked.scratch / "tree"
    copy_tree(copy, mutants)
    binaries = sorted({spec.partition(":")[0] for mutant in chosen for spec in mutant.tests})
    paths = test_binaries.build(copy, binaries, asked.scratch / "target")
    tests = Tests(copy, paths, asked.seed, asked.limit)
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        for verdict in pool.map(tests.judge, chosen):
            verdicts.append(verdict)
            print(f"{verdict.mutant.number:3} {verdict.seconds:6.1f} s  {verdict.killer or 'SURVIVES'}", flush=True)
    survivors = [verdict.mutant for verdict in verdicts if verdict.killer is None]
    print(f"{len(verdicts) - len(survivors)} of {len(verdicts)} killed")
    if asked.write:
        known = rows_of(asked.write.read_text()) if asked.write.exists() else {}
        tried = {verdict.mutant.number: row(verdict) for verdict in verdicts}
        asked.write.write_text(page(mutants, known | tried))
    return 1 if any(not mutant.survives for mutant in survivors) or not all(tests.sound.values()) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        sys.exit(f"mutants: {error}")
