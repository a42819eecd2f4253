#!/usr/bin/env bash
# Builds the Python package: a wheel in build/wheel, and its files in build/python for tests and examples.
# Does nothing when both are up to date.
#
#   utils/python.sh [--debug | --sanitize]
#
# BPPSA_PYTHON=/path/to/python uses that interpreter instead of the one of .venv.
set -euo pipefail
source "$(dirname "$0")/common.sh"

build_dir="$bppsa_root/build"
case "${1:-}" in
  --debug) build_dir="$bppsa_root/build-debug" ;;
  --sanitize) build_dir="$bppsa_root/build-sanitize" ;;
esac
python="${BPPSA_PYTHON:-$bppsa_root/.venv/bin/python}"
wheels="$build_dir/wheel"
files="$build_dir/python"

ninja -C "$build_dir" -j "$jobs" bppsa_bundle
if [ -d "$files/bppsa" ] &&
  [ -z "$(find "$bppsa_root/python" "$build_dir/bundle" "$build_dir"/lib/libbppsa_*.a -name __pycache__ -prune \
    -o -type f -newer "$files/bppsa" -print -quit)" ]; then
  exit 0
fi

say "building the Python package"
rm -rf "$wheels" "$files"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation \
  --wheel-dir "$wheels" --config-settings=build-dir="$build_dir/python-build" \
  --config-settings=cmake.define.BPPSA_BUILD_DIR="$build_dir" "$bppsa_root/python"
"$python" -m zipfile -e "$wheels"/bppsa-*.whl "$files"
touch "$files/bppsa"
