#!/usr/bin/env bash
# Builds the documentation site from the pages in docs: build/site/index.html.
#
#   utils/docs.sh [FOLDER]
#
# FOLDER is build/site unless given. Warnings and broken links are errors. The packages of
# utils/docs-requirements.txt are in the virtual environment that utils/venv.sh makes;
# BPPSA_PYTHON=/path/to/python uses that interpreter instead. Links to source files lead to
# BPPSA_REPOSITORY_URL and are plain text if it is not set.
set -euo pipefail
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  -*)
    die "unknown option '$1'; try --help"
    ;;
esac
out="${1:-$bppsa_root/build/site}"
python="${BPPSA_PYTHON:-$bppsa_root/.venv/bin/python}"
if [ -z "${BPPSA_PYTHON:-}" ] && ! "$python" -c 'import furo, myst_parser, sphinx' 2>/dev/null; then
  "$bppsa_root/utils/venv.sh"
fi
"$python" -c 'import furo, myst_parser, sphinx, sphinx_copybutton' ||
  die "$python lacks a package of utils/docs-requirements.txt"

"$python" -m sphinx --quiet --fresh-env --nitpicky --fail-on-warning --builder html \
  --doctree-dir "$out.doctrees" "$bppsa_root/docs" "$out"
say "$out/index.html"
