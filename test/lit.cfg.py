# The lit configuration of bppsa's IR and tool tests.
#
# Available in tests:
#   tools            everything in build/bin and in LLVM's bin (FileCheck, not, count, split-file)
#   %python          the Python of the checkout's virtual environment (numpy, onnx, ...)
#   %bppsa_src       the root of the source tree
#   REQUIRES: python              that environment exists
#   REQUIRES: bppsa-compile       this tool is built (any tool in build/bin)
#   REQUIRES: node                Node.js is installed
#   REQUIRES: bppsa-assertions    the project is built in Debug mode
#
# BPPSA_OPT_CHECK_IR_ROUNDTRIP=1 adds --verify-roundtrip to every run of bppsa-opt.

import os
import shutil
import subprocess

import lit.formats

config.name = "bppsa"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "lit.cfg.py", "numerics"]
config.test_source_root = os.path.dirname(__file__)

config.environment["PATH"] = os.pathsep.join(
    [config.bppsa_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
config.environment["OMP_NUM_THREADS"] = "1"
config.environment["BPPSA_VERIFY_EACH"] = "1"
for name in ("HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]


def find_python():
    """Returns the virtual environment's interpreter if it has the required packages, or None."""
    candidate = os.environ.get("BPPSA_PYTHON") or os.path.join(
        config.bppsa_source_dir, ".venv", "bin", "python"
    )
    if not os.path.exists(candidate):
        return None
    probe = subprocess.run(
        [candidate, "-c", "import numpy, onnx"], stderr=subprocess.DEVNULL, check=False
    )
    return candidate if probe.returncode == 0 else None


python = find_python()
if python:
    config.available_features.add("python")
config.substitutions.append(("%python", python or "python-of-the-virtual-environment-is-missing"))
config.substitutions.append(("%bppsa_src", config.bppsa_source_dir))

for tool in os.listdir(config.bppsa_tools_dir) if os.path.isdir(config.bppsa_tools_dir) else []:
    config.available_features.add(tool)
if shutil.which("node"):
    config.available_features.add("node")
if config.bppsa_assertions:
    config.available_features.add("bppsa-assertions")

if os.environ.get("BPPSA_OPT_CHECK_IR_ROUNDTRIP") == "1":
    config.substitutions.append(
        (r"(?<![-./\w])bppsa-opt(?![-./\w])", "bppsa-opt --verify-roundtrip")
    )
