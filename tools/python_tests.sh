#!/usr/bin/env bash
# Builds the Python package into an environment of its own, beside the build cache, and runs its tests there.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
environment=$target/python

say() { printf 'python: %s\n' "$*" >&2; }
is_new() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }

find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        command -v "$python" >/dev/null 2>&1 && is_new "$python" && printf '%s\n' "$python" && return 0
    done
    return 1
}

make_environment() {
    "$1" -m venv "$environment" && return 0
    # Debian keeps a part of venv in a package of its own.
    command -v apt-get >/dev/null 2>&1 || return 1
    say 'the module venv is incomplete; installing python3-venv'
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv
    "$1" -m venv --clear "$environment"
}

if ! is_new "$environment/bin/python"; then
    python=$(find_python) || {
        say '*******************************************************************'
        say 'THE TESTS OF THE PYTHON PACKAGE ARE SKIPPED: there is no Python 3.10'
        say '*******************************************************************'
        exit 0
    }
    make_environment "$python"
fi

export VIRTUAL_ENV=$environment
export PATH=$environment/bin:$PATH
python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
maturin develop --quiet --locked --extras test
program=$target/debug/dagsplit
[ -x "$program" ] && export DAGSPLIT_COMMAND=$program DAGSPLIT=$program
python -m pytest "$@"
[ $# -eq 0 ] || exit 0
if python -c 'import torch' 2>/dev/null; then
    OMP_NUM_THREADS=1 python -m pytest tools/profile
else
    say 'there is no PyTorch here: the tests of dagsplit-profile (tools/profile) are skipped'
fi
