#!/usr/bin/env bash
# Runs the unit tests of the plain data structures under Miri; where there is no Miri, under address sanitizer.
# Miri comes with nightly toolchains: rustup +nightly component add miri
set -euo pipefail

features=(--no-default-features --features cli,conformance --lib)
modules=(simulate::engine solve::heuristic::groups solve::dp::chain_cuts::chain bound::flow report::units)
of_model=(graph:: spec::)
# A path of many thousand vertices takes Miri hours.
skipped=(--skip long_paths)

for toolchain in +nightly ""; do
    # shellcheck disable=SC2086
    if cargo $toolchain miri --version >/dev/null 2>&1; then
        # Property tests read the clock and a file of past failures, and are a thousand times slower here.
        # bitvec's pointers to bits break the older of Miri's two aliasing models, stacked borrows, by design.
        export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows" PROPTEST_CASES=4
        cargo $toolchain miri test --package dagsplit-model --lib -- "${of_model[@]}" "${skipped[@]}"
        exec cargo $toolchain miri test "${features[@]}" -- "${modules[@]}" "${skipped[@]}"
    fi
done
echo "miri: it is not installed, so address sanitizer runs all unit tests instead" >&2
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address"
cargo test --target "$host" --package dagsplit-model --lib
exec cargo test --target "$host" "${features[@]}"
