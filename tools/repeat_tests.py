#!/usr/bin/env python3
"""Runs every property test many times, each time with fresh cases, and tells which ones fail by which seed.

A failure comes again with the seed in the environment: `PROPTEST_RNG_SEED=SEED cargo test --test BINARY TEST`.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import secrets
import subprocess
import sys

import test_binaries
from test_binaries import Wrong

ROOT = pathlib.Path(__file__).resolve().parent.parent


def property_tests(source: str) -> list[str]:
    """The names of the tests inside `proptest!`, but for those that are ignored."""
    names = []
    for block in re.finditer(r"^( *)proptest! \{\n(.*?)^\1\}$", source, re.MULTILINE | re.DOTALL):
        attributed = re.finditer(r"((?:^ *#\[.*\]\n)+) *fn (\w+)", block[2], re.MULTILINE)
        names += [test[2] for test in attributed if "#[test]" in test[1] and "#[ignore" not in test[1]]
    return names


def all_property_tests() -> dict[str, set[str]]:
    """The names of property tests by test binary, those of unit tests without their modules."""
    found = {}
    sources = [("tests", "*.rs", None), ("src", "**/*.rs", "lib"), ("crates/model/src", "**/*.rs", "model")]
    for folder, pattern, units in sources:
        for path in sorted((ROOT / folder).glob(pattern)):
            names = property_tests(path.read_text())
            if names:
                found.setdefault(units or path.stem, set()).update(names)
    return found


def names_in(path: str, names: set[str]) -> list[str]:
    """The full names of these tests in a binary."""
    listed = subprocess.run([path, "--list", "--format", "terse"], capture_output=True, text=True, check=True).stdout
    tests = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
    return [test for test in tests if test.split("::")[-1] in names]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="*", help="test binaries, `lib` and `model` for unit tests; all where none is given")
    parser.add_argument("--runs", type=int, default=50, help="how often each test runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tests run at once")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds after which a test counts as failed")
    asked = parser.parse_args()
    tests = all_property_tests()
    unknown = set(asked.binaries) - set(tests)
    if unknown:
        raise Wrong(f"no property tests in {', '.join(sorted(unknown))}; there are some in {', '.join(sorted(tests))}")
    paths = test_binaries.build(ROOT, sorted(asked.binaries or tests))
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        for binary, path in sorted(paths.items()):
            for test in names_in(path, tests[binary]):
                seeds = [secrets.randbits(63) for _ in range(asked.runs)]
                run = lambda seed: test_binaries.run(ROOT, path, ["--exact", test], seed, asked.limit)  # noqa: E731
                results = list(zip(seeds, pool.map(run, seeds)))
                failed = [(seed, failure) for seed, (failure, _) in results if failure]
                seconds = sum(seconds for _, (_, seconds) in results)
                print(f"{binary} {test}: {len(failed)} of {asked.runs} runs failed, {seconds:.1f} s", flush=True)
                for seed, failure in failed:
                    print(f"  PROPTEST_RNG_SEED={seed}  {failure}", flush=True)
                failures += len(failed)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        sys.exit(f"repeat_tests: {error}")
