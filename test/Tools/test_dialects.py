"""Each dialect is small and has a page that explains its design."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIALECTS = {"bgpu": "BGPU", "bppsa": "BPPSA", "dist": "Dist", "jacobian": "Jacobian"}


def test_all_dialects_are_listed():
    pages = (ROOT / "docs/generated").glob("*Dialect.md")
    assert sorted(page.name for page in pages) == sorted(f"{name}Dialect.md" for name in DIALECTS.values())


@pytest.mark.parametrize("name, folder", DIALECTS.items())
def test_dialect_is_small_and_explained(name, folder):
    page = (ROOT / f"docs/generated/{folder}Dialect.md").read_text()
    ops = re.findall(rf"^### `{name}\.\w+` \(", page, re.M)
    assert 1 <= len(ops) <= 25
    rationale = (ROOT / f"docs/Dialects/{folder}/Rationale{folder}.md").read_text()
    assert len(rationale.splitlines()) <= 100
