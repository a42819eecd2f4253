"""docs/generated is up to date with the ODS files, and docs/Reference/Passes.md lists all passes."""

import re

import harness

GENERATED = harness.ROOT / "docs" / "generated"


def test_generated_pages_are_current(tmp_path):
    script = harness.ROOT / "utils" / "generate-docs.sh"
    harness.check_succeeded(harness.run(script, tmp_path))
    found = {page.name: page.read_text() for page in GENERATED.iterdir()}
    fresh = {page.name: page.read_text() for page in tmp_path.iterdir()}
    stale = sorted(name for name in found | fresh if found.get(name) != fresh.get(name))
    assert not stale, "run utils/generate-docs.sh"


def test_every_pass_is_in_the_list():
    pages = "".join(page.read_text() for page in GENERATED.glob("*Passes.md"))
    passes = set(re.findall(r"^### `-([^`]+)`", pages, re.M))
    listed = set(re.findall(r"^\| `([^`]+)` \|", (GENERATED.parent / "Reference" / "Passes.md").read_text(), re.M))
    assert passes and passes == listed
