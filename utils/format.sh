#!/usr/bin/env bash
# Formats the C++ sources and headers of the project in place; with --check only names those that differ.
set -euo pipefail
source "$(dirname "$0")/common.sh"

cd "$bppsa_root"
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)
git ls-files -z -- '*.cpp' '*.h' '*.c' | xargs -0 -r "$llvm_bin/clang-format" "${mode[@]}" --style=file
