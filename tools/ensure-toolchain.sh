#!/usr/bin/env bash
# Installs what dagsplit's build needs and does not find: Rust, cmake, a C++ compiler and libclang.
# The last three build HiGHS; `cargo build --no-default-features` does without them and without HiGHS.
# With the word `browser` it installs a Chromium in their place, in which tests open pages, or says that there is none.
set -euo pipefail

say() { printf 'toolchain: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

has_cxx() { have c++ || have g++ || have clang++; }

# libclang-cpp is another library, which bindgen cannot use.
is_libclang() { grep 'libclang[-.0-9]*\.\(so\|dylib\)' | grep -qv 'libclang-cpp'; }

has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    { have ldconfig && ldconfig -p 2>/dev/null | is_libclang; } && return 0
    { have llvm-config && ls "$(llvm-config --libdir)" 2>/dev/null | is_libclang; } && return 0
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' | is_libclang && return 0
    compgen -G '/usr/lib*/libclang*.so*' | is_libclang && return 0
    compgen -G '/opt/homebrew/opt/llvm/lib/libclang.dylib' >/dev/null && return 0
    compgen -G '/usr/local/opt/llvm/lib/libclang.dylib' >/dev/null && return 0
    compgen -G '/Library/Developer/CommandLineTools/usr/lib/libclang.dylib' >/dev/null
}

# Runs a command as root, with sudo where needed.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        say "installing needs root, and there is no sudo; run as root: $*"
        exit 1
    fi
}

# Installs with the system's package manager: one package name for each of apt, dnf and brew.
install() {
    local apt=$1 dnf=$2 brew=$3
    if have apt-get; then
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$apt"
    elif have dnf; then
        as_root dnf install -y -q "$dnf"
    elif have brew; then
        brew install --quiet "$brew"
    else
        say "no apt-get, dnf or brew here; please install $apt (or your system's equivalent) and try again"
        exit 1
    fi
}

need() {
    local what=$1 check=$2
    shift 2
    $check && return 0
    say "$what is missing; installing it"
    install "$@"
    $check || { say "$what is still missing; please install it and try again"; exit 1; }
}

has_cmake() { have cmake; }
has_curl() { have curl; }

ensure_rust() {
    have cargo && return 0
    [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ] && return 0
    need 'curl' has_curl curl curl curl
    say 'Rust is missing; installing it with rustup'
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal -c rustfmt -c clippy
}

has_browser() {
    for browser in "${DAGSPLIT_BROWSER:-chromium}" chromium-browser google-chrome google-chrome-stable \
        '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
        have "$browser" && return 0
    done
    return 1
}

if [ "${1:-}" = browser ]; then
    (need 'Chromium' has_browser chromium chromium google-chrome) || say 'THE TESTS IN A BROWSER ARE SKIPPED: there is none'
    exit 0
fi

ensure_rust
need 'cmake' has_cmake cmake cmake cmake
need 'a C++ compiler' has_cxx g++ gcc-c++ gcc
need 'libclang' has_libclang libclang-dev clang-devel llvm
