#!/usr/bin/env bash
# Builds, runs every test and ends with one line that counts them: `N passed, N failed`.
#
#   utils/check.sh [--debug | --sanitize] [--torch]
#
#   --debug     a build without optimisation and with assertions, in build-debug
#   --sanitize  a build with AddressSanitizer and UndefinedBehaviorSanitizer, in build-sanitize: some
#               hours, for nights
#   --torch     the tests of bppsa.torch, too, with the interpreter BPPSA_TORCH_PYTHON: one with torch, onnxscript
#               and the packages of utils/requirements.txt, of the same version of Python as the others run with
#
# Results in machine-readable form are in build/test-results.  The exit status is 0 only if nothing failed.
set -uo pipefail
source "$(dirname "$0")/common.sh"

build_dir="$bppsa_root/build"
build_args=()
torch=0
sanitize=0
for arg in "$@"; do
  case "$arg" in
    --debug)
      build_dir="$bppsa_root/build-debug"
      build_args=(--debug)
      ;;
    --sanitize)
      build_dir="$bppsa_root/build-sanitize"
      build_args=(--sanitize)
      sanitize=1
      ;;
    --torch) torch=1 ;;
    -h | --help)
      sed -n '2,12s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "check.sh: unknown option '$arg'; try --help" >&2
      exit 2
      ;;
  esac
done

# A set-up that fails is one failed test, so that the last line always tells the truth.
set_up() {
  local what="$1"
  shift
  say "$what"
  if ! "$@"; then
    printf 'FAILED: %s\n0 passed, 1 failed\n' "$what"
    exit 1
  fi
}
set_up "build" "$bppsa_root/utils/build.sh" --unity "${build_args[@]}"
set_up "Python environment" "$bppsa_root/utils/venv.sh"
set_up "Python package" "$bppsa_root/utils/python.sh" "${build_args[@]}"

export BPPSA_BUILD_DIR="$build_dir"
python="${BPPSA_PYTHON:-$bppsa_root/.venv/bin/python}"
results="$build_dir/test-results"
rm -rf "$results"
mkdir -p "$results/gtest"

# LLVM and MLIR are not instrumented: what they keep until the end is no leak of this project, and they
# allocate from memory that headers in instrumented code have poisoned. The emulator knows the local
# variables of kernels by their place on its stacks. Tests ask for more memory than there is.
preload=()
if [ "$sanitize" -eq 1 ]; then
  export ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0:allow_user_poisoning=0:allocator_may_return_null=1"
  ASAN_OPTIONS+=":detect_stack_use_after_return=0"
  export UBSAN_OPTIONS="print_stacktrace=1"
  # Python is not instrumented, what it loads is.
  preload=(env "LD_PRELOAD=$("clang-$llvm_major" -print-runtime-dir)/libclang_rt.asan-$(uname -m).so")
fi

say "lit"
BPPSA_OPT_CHECK_IR_ROUNDTRIP=1 "$llvm_bin/lit" -sv -j "$jobs" \
  --xunit-xml-output "$results/lit.xml" "$build_dir/test"
echo $? >"$results/lit.status"

say "GoogleTest"
run_gtest() {
  local name
  name="$(basename "$1")"
  "$1" --gtest_brief=1 --gtest_output="json:$results/gtest/$name.json"
  echo $? >"$results/gtest/$name.status"
}
export -f run_gtest
export results
find "$build_dir/unittests/bin" -type f -executable -print0 | sort -z |
  xargs -0 -n 1 -P "$jobs" bash -c 'run_gtest "$1"' run_gtest

# References are compiled for one call each: what XLA would spend on making them fast is lost.
xla_flags="--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"
xla_flags+=" --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
xla_flags+=" --xla_cpu_parallel_codegen_split_count=1"

# The compiled programs are tested with one and with two threads; the libraries of the oracles stay
# on one thread each, because every core already runs a test.
say "pytest"
(
  cd "$bppsa_root" &&
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="$xla_flags" \
      "${preload[@]}" "$python" -m pytest -q -n "$jobs" --dist worksteal --junit-xml="$results/pytest.xml" test
)
echo $? >"$results/pytest.status"

if [ "$torch" -eq 1 ]; then
  say "PyTorch"
  (cd "$bppsa_root" && "${BPPSA_TORCH_PYTHON:-python3}" -c 'import torch' &&
    "${BPPSA_TORCH_PYTHON:-python3}" -m pytest -q --junit-xml="$results/torch.xml" test/python/test_torch.py test/python/test_plot.py)
  echo $? >"$results/torch.status"
fi

"$python" "$bppsa_root/utils/summarize_tests.py" "$results"
