#!/usr/bin/env bash
# Stands in for rustdoc in `cargo test --doc`: writes the documentation, with warnings as errors, and runs no example.
set -euo pipefail
arguments=()
for argument in "$@"; do [ "$argument" = --test ] || arguments+=("$argument"); done
exec rustdoc "${arguments[@]}" --deny warnings --out-dir "${CARGO_TARGET_DIR:-target}/documentation"
