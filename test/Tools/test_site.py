"""The documentation site builds without warnings, and every page addresses a reader."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from harness import ROOT

DOCS = ROOT / "docs"
PACKAGES = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")
# Pages that are generated or include files from outside docs.
GENERATED = {
    *(page.relative_to(DOCS).as_posix() for page in (DOCS / "generated").glob("*.md")),
    *("Reference/ONNXNodeTests.md", "Reference/ONNXSupport.md"),
    *("Changelog.md", "Contributing/HouseRules.md", "Tutorials/Examples.md"),
}
READER = re.compile(
    r"\b(you|your|readers?|users?|engineers?|contributors?|developers?|programmers?|researchers?"
    r"|authors?|maintainers?|everyone|anyone|read\s+(it|this|\[))\b",
    re.I,
)


def build_site(folder):
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: utils/docs-requirements.txt")
    run = subprocess.run(
        [ROOT / "utils" / "docs.sh", folder],
        env={**os.environ, "BPPSA_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr


def check_c_api(page):
    headers = "".join(header.read_text() for header in (ROOT / "include/bppsa-c").glob("*.h"))
    functions = re.findall(r"^BPPSA_CAPI_EXPORTED [^;]*?\b(bppsa\w+)\(", headers, re.M)
    assert functions
    assert not [name for name in functions if f'id="c.{name}"' not in page]


def check_python_api(page):
    names = re.search(r"__all__ = \[(.*?)\]", (ROOT / "python/bppsa/__init__.py").read_text(), re.S)
    for name in [*re.findall(r'"(\w+)"', names[1]), "Program.step", "torch.GRU", "jax.function"]:
        assert f'id="bppsa.{name}"' in page, name
    assert "Runs a training step" in page


# One test, because parallel workers would build the site several times.
def test_site(tmp_path):
    """The site contains all pages, the API references and a search index."""
    build_site(tmp_path / "site")
    pages = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert not [page for page in pages if not (tmp_path / "site" / page).exists()]
    check_c_api((tmp_path / "site/Reference/C.html").read_text())
    check_python_api((tmp_path / "site/Reference/PythonAPI.html").read_text())
    assert "Tutorials/ReplaceGRU" in (tmp_path / "site/searchindex.js").read_text()


def first_paragraph(page):
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S)
    body = re.split(r"^# .*\n", text, maxsplit=1, flags=re.M)[-1]
    return body.strip().split("\n\n")[0]


def test_pages_open_with_their_reader():
    silent = {
        page.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        if not READER.search(first_paragraph(page))
    }
    assert silent <= GENERATED, "the first paragraph says who should read the page"
