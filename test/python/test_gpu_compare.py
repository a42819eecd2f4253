# Part of the bppsa project, under the MIT License.
"""benchmarks/gpu/compare.py: the criteria for equal and for worse kernels.

Scripts that copy precompiled, manually edited PTX replace the compilers.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks/gpu/compare.py"
MODEL = ROOT / "examples/bitstream_rnn.onnx"
COMPILER = pathlib.Path(os.environ.get("BPPSA_BUILD_DIR", ROOT / "build")) / "bin/bppsa-compile"


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    if not COMPILER.exists():
        pytest.skip(f"{COMPILER} is not built")
    out = tmp_path_factory.mktemp("ptx") / "out.ptx"
    command = [COMPILER, MODEL, "--target=cuda", "--scan=chunked", "--emit=ptx", "--gpu-arch=sm_90"]
    subprocess.run([*command, "-o", out], check=True)
    return out.read_text()


@pytest.fixture
def compare(tmp_path, ptx):
    def make_compiler(name, text):
        source, script = tmp_path / f"{name}.ptx", tmp_path / name
        source.write_text(text)
        script.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp {source} "$2"\n')
        script.chmod(0o755)
        return script

    def run(new):
        compilers = [make_compiler("old", ptx), make_compiler("new", new)]
        command = [sys.executable, SCRIPT, *compilers, "--model", MODEL, "--plans", "chunked"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def change_chain(ptx, change):
    """Replaces the text of the first chain kernel of a program."""
    match = re.search(r"\.visible \.entry chain_kernel_\d+\(.*?^}", ptx, re.S | re.M)
    return ptx.replace(match.group(0), change(match.group(0)))


def test_register_and_kernel_names_are_ignored(compare, ptx):
    text = change_chain(ptx, lambda text: re.sub(r"%r([12])\b", lambda m: f"%r{3 - int(m[1])}", text))
    text = re.sub(r"_kernel_(\d+)", lambda m: f"_kernel_{int(m[1]) + 1000}", text)
    assert text != ptx
    found = compare(text)
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.fullmatch(r"\d+ kernels equal, 0 different, none worse\n", found.stdout)


@pytest.mark.parametrize(
    "pattern,column",
    [(r"^\s*fma\..*;", "fma"), (r"^\s*ld\.shared.*;", "ld.shared"), (r"^\s*bar(rier)?\..*;", "barrier")],
)
def test_more_instructions_are_worse(compare, ptx, pattern, column):
    changed = ptx
    for name in re.findall(r"\.entry ((?:chain|recurrence)_kernel_\d+)\(", ptx):
        match = re.search(rf"\.entry {name}\(.*?^}}", changed, re.S | re.M)
        more = re.sub(pattern, r"\g<0>\n\g<0>", match.group(0), flags=re.M)
        changed = changed.replace(match.group(0), more)
    found = compare(changed)
    assert found.returncode == 1 and found.stdout.endswith("some worse\n"), found.stdout
    assert re.search(rf"\| [^|]*{re.escape(column)} \d+ -> \d+[^|]* \| [^|]*{re.escape(column)}", found.stdout)


def test_fewer_instructions_are_not_worse(compare, ptx):
    found = compare(change_chain(ptx, lambda text: re.sub(r"^\s*fma\..*;\n", "", text, flags=re.M)))
    assert found.returncode == 0 and ", 1 different, none worse" in found.stdout, found.stdout


def test_constants_are_compared(compare, ptx):
    found = compare(change_chain(ptx, lambda text: re.sub(r"0f\w{8}", "0f40490FDB", text)))
    assert ", 1 different" in found.stdout, found.stdout


def test_missing_kernel(compare, ptx):
    found = compare(change_chain(ptx, lambda text: ""))
    assert found.returncode == 1 and "only old" in found.stdout, found.stdout
