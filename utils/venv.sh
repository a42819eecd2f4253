#!/usr/bin/env bash
# Makes the virtual environment .venv of the checkout with the packages of utils/requirements.txt,
# and does nothing when it is up to date.  BPPSA_PYTHON=/path/to/python uses that interpreter instead.
set -euo pipefail
source "$(dirname "$0")/common.sh"

venv="$bppsa_root/.venv"
requirements="$bppsa_root/utils/requirements.txt"
docs_requirements="$bppsa_root/utils/docs-requirements.txt" # included by the other file

if [ -n "${BPPSA_PYTHON:-}" ]; then
  "$BPPSA_PYTHON" -c 'import hypothesis, jax, mypy, nanobind, numpy, onnx, onnxruntime, pytest, scikit_build_core' ||
    die "BPPSA_PYTHON=$BPPSA_PYTHON lacks a package of $requirements"
  exit 0
fi

# The stamp is written last, so an installation that was cut short is repeated.
if cat "$requirements" "$docs_requirements" | cmp -s - "$venv/requirements.installed"; then
  exit 0
fi
python=/usr/bin/python3
[ -x "$python" ] || python=python3
say "installing the Python packages of utils/requirements.txt into .venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  die "$("$python" --version) found, 3.11 or newer is needed"
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
cat "$requirements" "$docs_requirements" >"$venv/requirements.installed"
