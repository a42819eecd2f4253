"""Runs the examples of the documentation: fenced blocks that follow a `<!-- run -->` comment.

All `sh` and `python` blocks of a page run in one folder. PATH has the tools and Python of the
virtual environment, the package can be imported, and BPPSA is the source tree. An `mlir` block
must round-trip through bppsa-opt. A block that follows `<!-- shows FILE -->` is an excerpt of a
file that an earlier block of its page wrote.
"""

import os
import re
import subprocess
import sys

import harness
import pytest

PAGES = [harness.ROOT / "README.md", *sorted((harness.ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"<!-- (run|shows \S+) -->\n```(\w+)\n(.*?)^```$", re.M | re.S)
NAME = re.compile(r"\.\.\.|%\w+|#map\d*|@\w+_kernel_\d+")


def blocks(page):
    return BLOCK.findall(page.read_text()) if page.exists() else []


def environment():
    """Returns the environment with the tools and the virtual environment's `python` on PATH."""
    path = [str(harness.BIN), os.path.dirname(sys.executable), os.environ["PATH"]]
    built = harness.BUILD / "python"
    package = str(built if built.exists() else harness.ROOT / "python")
    own = {"PATH": os.pathsep.join(path), "PYTHONPATH": package, "BPPSA": str(harness.ROOT)}
    return {**os.environ, **own}


def match_line(excerpt, line, names):
    """Returns whether `line` matches the excerpt.

    Leading and trailing space is ignored and `...` matches any text. `names` maps value, map
    and kernel names of the page to names of the file; the mapping is one-to-one per excerpt.
    """
    pattern, end, found = "", 0, []
    for match in NAME.finditer(excerpt):
        pattern += re.escape(excerpt[end : match.start()])
        end = match.end()
        name = match.group()
        if name == "...":
            pattern += ".*?"
        elif name in names:
            pattern += re.escape(names[name]) + r"(?!\w)"
        elif name in found:
            pattern += rf"(?P=name{found.index(name)})(?!\w)"
        else:
            pattern += rf"(?P<name{len(found)}>{name[0]}\w+)"
            found.append(name)
    matched = re.fullmatch(pattern + re.escape(excerpt[end:]), line.strip())
    if matched:
        names.update(zip(found, matched.groups(), strict=True))
    return matched is not None


def find_excerpt(excerpt, text):
    """Returns the first missing part of `excerpt`, or None; `...` lines separate parts."""
    lines, start, names = text.splitlines(), 0, {}
    for part in re.split(r"^\s*\.\.\.\n", excerpt, flags=re.M):
        wanted = [line.strip() for line in part.splitlines()]
        for first in range(start, len(lines) - len(wanted) + 1):
            bound = dict(names)
            if all(match_line(line, lines[first + i], bound) for i, line in enumerate(wanted)):
                start, names = first + len(wanted), bound
                break
        else:
            return part
    return None


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_examples(page, tmp_path):
    harness.require_tool("bppsa-compile")
    variables = environment()
    for what, language, text in blocks(page):
        if what != "run":
            file = what.removeprefix("shows ")
            missing = find_excerpt(text, (tmp_path / file).read_text())
            assert missing is None, f"{page.name}: {file} has no such lines:\n{missing}"
            continue
        if language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", text]
        elif language == "python":
            if not (harness.BUILD / "python").exists():
                pytest.skip("the package is not built: utils/python.sh")
            command = [sys.executable, "-W", "error", "-c", text]
        else:
            assert language == "mlir", f"{page}: blocks that run are sh, python or mlir, found {language}"
            source = tmp_path / "block.mlir"
            source.write_text(text)
            command = ["bppsa-opt", "--verify-roundtrip", str(source), "-o", "/dev/null"]
        result = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, f"{text}\n{result.stdout}\n{result.stderr}"


def test_excerpts_are_compared():
    text = "%3 = a.b %1, %2\n  c\n%4 = a.b %3, %3\n"
    assert find_excerpt("%x = a.b ...\n...\n%y = a.b %x, %x\n", text) is None
    assert find_excerpt("%x = a.b ...\nc\n%y = ... %x, %x\n", text) is None
    assert find_excerpt("%x = a.b ...\n%y = a.b %x, %x\n", text) is not None  # not adjacent
    assert find_excerpt("%x = a.b ...\n...\n%y = a.b %y, %x\n", text) is not None
    assert find_excerpt("c\n...\n%x = a.b %p, %q\n%y = a.b ...\n", text) is not None


def test_links_point_to_files():
    broken = []
    for page in PAGES:
        if not page.exists():
            continue
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(harness.ROOT)}: {target}")
    assert not broken


def find_undocumented(page, help_text):
    """Returns the options of `help_text` that the reference page does not mention."""
    reference = (harness.ROOT / "docs" / "Reference" / page).read_text()
    options = set(re.findall(r"^\s+(?:-h,)?(--[a-z][a-z0-9-]+)", help_text, re.M))
    assert options
    return [
        option for option in sorted(options) if not re.search(rf"{option}(?![a-z0-9-])", reference)
    ]


def test_compiler_options_are_documented():
    """docs/Reference/Compiler.md has every option of --help."""
    compiler = harness.require_tool("bppsa-compile")
    help_text = harness.check_succeeded(harness.run(compiler, "--help")).stdout
    # `--help-hidden` also lists the options of MLIR.
    assert not find_undocumented("Compiler.md", help_text)


def test_program_options_are_documented(tmp_path):
    """docs/Reference/Programs.md has every option of a trainer's --help."""
    compiler, program = harness.require_tool("bppsa-compile"), tmp_path / "trainer"
    model = harness.ROOT / "examples" / "bitstream_rnn.onnx"
    harness.check_succeeded(harness.run(compiler, model, "-O0", "-o", program))
    for command in ("train", "eval", "infer", "grad", "bench", "info"):
        help_text = harness.check_succeeded(harness.run(program, command, "--help")).stdout
        assert not find_undocumented("Programs.md", help_text), command
