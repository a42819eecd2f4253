# Shared by the scripts of utils/: where things are, and the pinned LLVM.  Sourced, not run.

bppsa_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
llvm_version="$(head -n1 "$bppsa_root/cmake/LLVMVersion.txt")"
llvm_major="${llvm_version%%.*}"
llvm_bin="/usr/lib/llvm-$llvm_major/bin"
jobs="$(nproc)"

say() { printf '== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
