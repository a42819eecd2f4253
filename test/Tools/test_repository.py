"""Rules for all files of the repository."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listing.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def text_files():
    for path in tracked_files():
        try:
            yield path, path.read_text()
        except UnicodeDecodeError:
            pass


def test_sources_are_formatted():
    run = subprocess.run(
        [ROOT / "utils" / "format.sh", "--check"], capture_output=True, text=True, check=False
    )
    names = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.M)))
    assert run.returncode == 0, f"run utils/format.sh; it changes {names or run.stderr}"


def test_llvm_version_mentions_match_the_pin():
    version = (ROOT / "cmake" / "LLVMVersion.txt").read_text().strip()
    major = version.split(".")[0]
    mention = re.compile(r"\b(?:clang|clang\+\+|lld|llvm|mlir|clang-format)-(\d+)(?![\d.])\b")
    wrong = [
        f"{path.relative_to(ROOT)}: {found.group(0)}"
        for path, text in text_files()
        for found in mention.finditer(text)
        if found.group(1) != major
    ]
    assert not wrong, f"cmake/LLVMVersion.txt pins {version}"


def test_sources_begin_with_the_license_banner():
    missing = [
        str(path.relative_to(ROOT))
        for path, text in text_files()
        if path.suffix in (".cpp", ".h", ".c", ".td")
        # A public header under its own license has a LICENSE file in its folder.
        and not (path.parent / "LICENSE").exists()
        and "Part of the bppsa project, under the MIT License." not in text[:600]
    ]
    assert not missing


def test_whitespace_at_line_and_file_ends():
    bad = []
    for path, text in text_files():
        if path.suffix in (".csv", ".json", ".jsonl", ".onnx", ".svg", ".html"):
            continue
        lines = [i for i, line in enumerate(text.split("\n"), 1) if line != line.rstrip()]
        if lines or (text and not text.endswith("\n")):
            bad.append(f"{path.relative_to(ROOT)}:{lines[0] if lines else 'end'}")
    assert not bad


def test_scripts_are_executable():
    scripts = [path for path, text in text_files() if text.startswith("#!")]
    assert scripts
    assert not [path for path in scripts if not path.stat().st_mode & 0o100]


def is_checked(file):
    return (
        file.suffix == ".h"
        # Excludes a header that the compiler includes, and headers with their own license.
        and file.relative_to(ROOT).parts[0] != "cmake"
        and not (file.parent / "LICENSE").exists()
    )


def expected_guard(path):
    """Returns BPPSA_SUPPORT_TEXTLISTS_H for include/bppsa/Support/TextLists.h and BPPSA_LIB_X_Y_H
    for lib/X/Y.h."""
    parts = path.parts[1:] if path.parts[0] == "include" else ("bppsa", *path.parts)
    return re.sub(r"\W", "_", "_".join(parts)).upper()


def test_include_guards():
    wrong = []
    for file in filter(is_checked, tracked_files()):
        path = file.relative_to(ROOT)
        found = re.search(r"^#ifndef (\w+)\n#define (\w+)$", file.read_text(), re.M)
        if not found or set(found.groups()) != {expected_guard(path)}:
            wrong.append(f"{path}: expected {expected_guard(path)}")
    assert not wrong


MAX_PROSE_WIDTH = 100
MAX_CHANGE_WIDTH = 120


def documentation_pages():
    """Returns all pages except docs/generated, which ODS generates."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return [page for page in sorted(pages) if page.parent.name != "generated"]


def prose_lines(text):
    """Yields numbered lines outside of tables, headings, comments, and fenced or indented code."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "#", "<!--", "    ")):
            yield number, line


def test_prose_lines_of_documentation_are_narrow():
    wide = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in documentation_pages()
        for number, line in prose_lines(page.read_text())
        if len(line) > MAX_PROSE_WIDTH
    ]
    assert not wide, f"prose lines have at most {MAX_PROSE_WIDTH} columns"


def test_prose_lines_leave_out_tables_and_code():
    text = "# title\n\ntext\n```sh\ncode\n```\n| a |\n    code\n* item\n"
    assert list(prose_lines(text)) == [(2, ""), (3, "text"), (9, "* item")]


def test_changelog_items_are_single_lines():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    wide = [number for number, line in enumerate(lines, 1) if len(line) > MAX_CHANGE_WIDTH]
    assert not wide, f"items of CHANGELOG.md have at most {MAX_CHANGE_WIDTH} characters"
    assert not [line for line in lines if line.startswith(" ")]
