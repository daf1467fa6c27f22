#!/usr/bin/env bash
# Makes a Python environment in the target folder when it is missing or has other packages, and prints where it is.
# Usage: python_environment.sh NAME ARGUMENT-OF-PIP-INSTALL... [--then ARGUMENT-OF-PIP-INSTALL...]
#
# Packages are installed by uv from PyPI, which takes a tenth of pip's processor time, else by pip.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
environment=$target/python/$1
shift
wanted=$(for argument in "$@"; do if [ -f "$argument" ]; then cat "$argument"; else echo "$argument"; fi; done)
if [ "$(cat "$environment/.ready" 2>/dev/null)" = "$wanted" ]; then
    printf '%s\n' "$environment"
    exit 0
fi

# Sections that run at the same time need the same installer.
mkdir -p "$target/python"
exec {lock}>"$target/python/.lock"
flock "$lock"
installer=$target/python/uv
if [ ! -e "$installer/.tried" ]; then
    python3 -m venv --clear "$installer"
    "$installer/bin/pip" install --quiet --disable-pip-version-check uv==0.9.13 >&2 || true
    touch "$installer/.tried"
fi
flock --unlock "$lock"

# installed COMMAND... -- ARGUMENT...: runs the command with the arguments up to `--then`, and again with the others.
installed() {
    local command=() part=()
    while [ "$1" != -- ]; do command+=("$1") && shift; done
    shift
    for argument in "$@" --then; do
        if [ "$argument" != --then ]; then part+=("$argument") && continue; fi
        "${command[@]}" "${part[@]}" || return 1
        part=()
    done
}
with_uv() {
    local uv=$installer/bin/uv
    [ -x "$uv" ] || return 1
    "$uv" venv --quiet --clear --no-config --python python3 "$environment" || return 1
    installed "$uv" pip install --quiet --no-config --python "$environment/bin/python" -- "$@"
}
with_pip() {
    python3 -m venv --clear "$environment"
    installed "$environment/bin/pip" install --quiet --disable-pip-version-check -- "$@"
}
with_uv "$@" >&2 || with_pip "$@" >&2
printf '%s\n' "$wanted" >"$environment/.ready"
printf '%s\n' "$environment"
