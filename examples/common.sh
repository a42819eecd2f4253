# Shared by the training examples: where things are, and how one of them runs.  Sourced, not run.
# The first argument of an example is the folder it writes to.

examples="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(dirname "$examples")"
compiler="${BPPSA_COMPILE:-$root/build/bin/bppsa-compile}"
work="${1:-$root/build/examples}"

# Any Python with NumPy makes the data; the checkout's own environment comes first.
python="${BPPSA_PYTHON:-}"
for candidate in "$root/.venv/bin/python" python3; do
  [ -n "$python" ] || ! "$candidate" -c 'import numpy' 2>/dev/null || python="$candidate"
done

[ -x "$compiler" ] || {
  echo "$0: $compiler is not there; run utils/build.sh first" >&2
  exit 1
}
[ -n "$python" ] || {
  echo "$0: no Python with NumPy found; run utils/venv.sh, or name one in BPPSA_PYTHON" >&2
  exit 1
}
mkdir -p "$work"

show() {
  printf '\n$ %s\n' "${*//"$root/"/}"
  "$@"
}

# make_data FILE ARGUMENTS...: a set that is there already is kept (the generators are seeded).
make_data() {
  local file="$1"
  shift
  [ -f "$file" ] || PYTHONPATH="$root/python" show "$python" -m bppsa.data "$@" --out "$file"
}

# check_saved MODEL DATA: ONNX Runtime, where installed, opens the trained model and scores it.
check_saved() {
  "$python" -c 'import onnxruntime' 2>/dev/null || return 0
  show "$python" "$examples/score.py" "$1" "$2"
}
