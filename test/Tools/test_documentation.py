"""Runs the examples of the documentation: fenced blocks that follow a `<!-- run -->` comment.

A `sh` block runs in a folder that all blocks of one page share, with the tools, the virtual
environment's Python and the package under python/ at hand, and BPPSA set to the source tree. An
`mlir` block must round-trip through bppsa-opt.
"""

import os
import re
import subprocess
import sys

import harness
import pytest

PAGES = [harness.ROOT / "README.md", *sorted((harness.ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"<!-- run -->\n```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    return BLOCK.findall(page.read_text()) if page.exists() else []


def environment():
    """The tools and the virtual environment's `python` on PATH."""
    path = [str(harness.BIN), os.path.dirname(sys.executable), os.environ["PATH"]]
    package = str(harness.ROOT / "python")
    own = {"PATH": os.pathsep.join(path), "PYTHONPATH": package, "BPPSA": str(harness.ROOT)}
    return {**os.environ, **own}


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_examples(page, tmp_path):
    harness.require_tool("bppsa-compile")
    variables = environment()
    for language, text in blocks(page):
        if language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", text]
        else:
            assert language == "mlir", f"{page}: blocks that run are sh or mlir, found {language}"
            source = tmp_path / "block.mlir"
            source.write_text(text)
            command = ["bppsa-opt", "--verify-roundtrip", str(source), "-o", "/dev/null"]
        result = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, f"{text}\n{result.stdout}\n{result.stderr}"


def test_links_point_to_files():
    broken = []
    for page in PAGES:
        if not page.exists():
            continue
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(harness.ROOT)}: {target}")
    assert not broken


def test_the_command_reference_has_every_option():
    """Every option that the compiler and a trainer explain in --help is in docs/CommandLine.md."""
    reference = (harness.ROOT / "docs" / "CommandLine.md").read_text()
    compiler = harness.require_tool("bppsa-compile")
    help_text = harness.check_succeeded(harness.run(compiler, "--help")).stdout
    own = help_text.split("bppsa-compile options:")[-1].split("options:")[0]
    options = set(re.findall(r"^\s+(--[a-z][a-z-]+)", own, re.M))
    missing = [option for option in sorted(options) if option not in reference]
    assert not missing
