# Part of the bppsa project, under the MIT License.
"""Sphinx configuration of the documentation site, which utils/docs.sh builds.

Pages are the Markdown files of this folder. They also read well without the site, so their links are
relative paths and their source has few directives.
"""

import os
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "_extensions"), str(ROOT / "python")]

from c_headers import convert_header  # noqa: E402
from mlir_lexer import MLIRLexer  # noqa: E402
from repository_links import RepositoryLinks, make_title  # noqa: E402
from sphinx.ext.autodoc.mock import _MockObject  # noqa: E402

project = "bppsa"
package = (ROOT / "python" / "bppsa" / "__init__.py").read_text()
version = release = re.search(r'__version__ = "(.*)"', package)[1]
copyright = "the bppsa authors, under the MIT License"  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_extensions", "_static"]
highlight_language = "none"
# Typographic dashes and quotes would spoil options and strings.
smartquotes = False

# Generated pages skip levels of headings.
suppress_warnings = ["myst.header"]
nitpicky = True
# Types of standard libraries, NumPy, PyTorch and DLPack have no pages here.
nitpick_ignore_regex = [("c:identifier", ".*"), ("py:.*", ".*")]

myst_heading_anchors = 5

autodoc_mock_imports = ["bppsa._native", "google", "jax", "matplotlib", "numpy", "onnx", "torch", "tqdm"]
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Array", "Arrays", "Callback", "Model", "Path")}
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

repository_url = os.environ.get("BPPSA_REPOSITORY_URL", "")
html_theme = "furo"
html_title = f"bppsa {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "source_repository": repository_url,
    "source_branch": "main",
    "source_directory": "docs/",
}
copybutton_prompt_text = "$ "

# Expressions such as `Tensor | None` and `np.log(2.0) / 3.0` are evaluated with mocked modules.
_MockObject.__or__ = _MockObject.__truediv__ = lambda self, other: self  # type: ignore[attr-defined]

FIRST_TITLE = re.compile(r"^# |^```\{repository-page\}", re.M)
C_HEADER = re.compile(r"^```\{c-header\} (\S+)\n```$", re.M)
links = RepositoryLinks(DOCS, repository_url)


def read_source(app, docname, source):
    page = DOCS / f"{docname}.md"
    if not FIRST_TITLE.search(source[0]):
        source[0] = f"# {make_title(page)}\n\n{source[0]}"
    text, shown = links.read(page, source[0])
    headers = [ROOT / path for path in C_HEADER.findall(text)]
    for file in [*headers, *([shown] if shown else [])]:
        app.env.note_dependency(str(file), docname=docname)
    source[0] = C_HEADER.sub(lambda match: convert_header((ROOT / match[1]).read_text()), text)


def read_docstring(app, what, name, obj, options, lines):
    """Shows indented commands in docstrings of modules as code."""
    if what == "module" and obj.__doc__:
        lines[:] = re.sub(r"\n\n(?=    \S)", "\n\n::\n\n", obj.__doc__).split("\n")


def setup(app):
    app.add_lexer("mlir", MLIRLexer)
    app.connect("source-read", read_source)
    app.connect("autodoc-process-docstring", read_docstring)
