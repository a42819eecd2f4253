#!/usr/bin/env bash
# Installs what is missing (Debian packages), configures and builds.  Tools land in build/bin.
#
#   utils/build.sh [--debug | --sanitize | --sanitize=thread] [--unity] [--no-install] [TARGET...]
#
#   --debug        build-debug/ instead of build/: no optimisation, the project's own assertions on
#   --sanitize     build-sanitize/: the same with AddressSanitizer and UndefinedBehaviorSanitizer
#   --sanitize=thread
#                  build-tsan/: the same with ThreadSanitizer
#   --unity        a directory that is configured afresh compiles several sources at a time
#   --no-install   never call the package manager; say what is missing and stop
#   TARGET...      ninja targets; default: everything, the unit tests included
set -euo pipefail
source "$(dirname "$0")/common.sh"

build_type=Release
build_dir="$bppsa_root/build"
install=1
unity=OFF
sanitize=
targets=()
for arg in "$@"; do
  case "$arg" in
    --debug)
      build_type=Debug
      build_dir="$bppsa_root/build-debug"
      ;;
    --sanitize | --sanitize=address,undefined)
      build_type=Debug
      build_dir="$bppsa_root/build-sanitize"
      sanitize=address,undefined
      ;;
    --sanitize=thread)
      build_type=Debug
      build_dir="$bppsa_root/build-tsan"
      sanitize=thread
      ;;
    --unity) unity=ON ;;
    --no-install) install=0 ;;
    -h | --help)
      sed -n '2,13s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    -*)
      echo "build.sh: unknown option '$arg'; try --help" >&2
      exit 2
      ;;
    *) targets+=("$arg") ;;
  esac
done

# What the build and the compiled programs need.  clang and lld also link what bppsa-compile emits.
packages=(
  ca-certificates cmake g++ ninja-build
  "clang-$llvm_major" "clang-format-$llvm_major" "lld-$llvm_major"
  "llvm-$llvm_major-dev" "llvm-$llvm_major-tools" "libmlir-$llvm_major-dev" "mlir-$llvm_major-tools"
  libcli11-dev libgtest-dev libminizip-dev libopenmpi-dev libprotobuf-dev libzstd-dev nlohmann-json3-dev
  openmpi-bin protobuf-compiler zlib1g-dev
  python3-dev python3-venv
)
[ -z "$sanitize" ] || packages+=("libclang-rt-$llvm_major-dev")

missing_packages() {
  local package installed
  # dpkg-query fails as soon as it does not know one of the packages.
  installed="$({ dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true; } |
    awk '$2 == "installed" { print $1 }')"
  for package in "${packages[@]}"; do
    grep -qxF -- "$package" <<<"$installed" || echo "$package"
  done
}

# The version and the suite of a distribution's LLVM change with its security updates, so the list
# of packages is always refreshed before it is judged.
install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "missing packages: $*; run as root, install sudo, or install them yourself"
    as_root=(sudo)
  fi
  say "installing $*"
  "${as_root[@]}" apt-get update -q
  local package
  for package in "$@"; do
    apt-cache show "$package" >/dev/null 2>&1 ||
      die "this distribution has no package '$package'; LLVM $llvm_version is in Debian 12 and newer, where the" \
        "package sources include the security suite (a line such as 'Suites: bookworm-security')"
  done
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@"
}

if command -v dpkg-query >/dev/null; then
  mapfile -t missing < <(missing_packages)
  if [ "${#missing[@]}" -gt 0 ]; then
    [ "$install" -eq 1 ] || die "missing packages: ${missing[*]}"
    install_packages "${missing[@]}"
  fi
else
  [ -x "$llvm_bin/mlir-tblgen" ] ||
    die "not a Debian system, and no MLIR $llvm_version in /usr/lib/llvm-$llvm_major: see docs/Tutorials/GettingStarted.md"
fi

# Configuring again is ninja's business once build.ninja exists; a directory whose configuration
# failed half-way, or that was configured with another LLVM, starts afresh.
if [ ! -f "$build_dir/build.ninja" ] ||
  ! grep -q "^MLIR_DIR:.*llvm-$llvm_major/" "$build_dir/CMakeCache.txt"; then
  rm -rf "$build_dir/CMakeCache.txt" "$build_dir/CMakeFiles"
  launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  say "configuring $build_dir ($build_type)"
  cmake -G Ninja -S "$bppsa_root" -B "$build_dir" -DCMAKE_BUILD_TYPE="$build_type" -DBPPSA_UNITY_BUILD="$unity" \
    -DBPPSA_SANITIZE="$sanitize" \
    -DCMAKE_C_COMPILER="clang-$llvm_major" -DCMAKE_CXX_COMPILER="clang++-$llvm_major" \
    -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld "${launcher[@]}"
fi

# What ccache has to overlook to keep results that were made with precompiled headers.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
ninja -C "$build_dir" -j "$jobs" "${targets[@]}"
