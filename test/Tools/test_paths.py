"""Repository paths in the documentation exist."""

import re

from harness import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = {
    *("benchmarks", "cmake", "docs", "examples", "include", "lib"),
    *("python", "test", "tools", "unittests", "utils"),
}
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.+-]+(?:/[\w.+*{},-]+)+/?")
# A placeholder for any folder, and files of an installation.
PLACEHOLDER = re.compile(r".*/X|lib/(cmake/bppsa|libbppsa_\w+\.a|bppsa-stub)")


def named_paths(text):
    """Yields the repository paths in code spans, possibly with wildcards or braces."""
    for span in CODE.findall(text):
        for word in span.split():
            path = PATH.match(word.removeprefix("./"))
            if path and path.group().split("/")[0] in FOLDERS:
                yield path.group().rstrip("/.,")


def expand(path):
    """Expands braces: `lib/{A,B}.cpp` names two paths."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [
        expanded
        for choice in found.group(1).split(",")
        for expanded in expand(path[: found.start()] + choice + path[found.end() :])
    ]


def exists(path):
    if PLACEHOLDER.fullmatch(path):
        return True
    return any(ROOT.glob(path)) if "*" in path else (ROOT / path).exists()


def test_paths_in_documentation():
    missing = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        name = page.relative_to(ROOT)
        missing += [
            f"{name}: {path}"
            for named in named_paths(text)
            for path in expand(named)
            if not exists(path)
        ]
        missing += [
            f"{name}: {link}"
            for link in LINK.findall(text)
            if ":" not in link and not (page.parent / link).exists()
        ]
    assert not missing
