"""Checks that every diagnostic of the dialects' verifiers and parsers has a test."""

import re

import harness
import pytest

STATEMENT = re.compile(r"emit(?:Op)?Error\((?:loc|structureLoc)?,?[^;]*;", re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


@pytest.mark.parametrize("dialect", ["BPPSA", "BGPU"])
def test_every_diagnostic_has_a_test(dialect):
    tests = (harness.ROOT / "test" / "Dialect" / dialect).rglob("*errors.mlir")
    tested = "".join(test.read_text() for test in tests)
    untested = []
    for source in sorted((harness.ROOT / "lib" / "Dialect" / dialect / "IR").glob("*.cpp")):
        for statement in STATEMENT.findall(source.read_text()):
            # Adjacent string literals form one text; the longest text identifies the diagnostic.
            joined = re.sub(r'"\s*\n\s*"', "", statement)
            texts = LITERAL.findall(joined)
            if texts and max(texts, key=len).strip() not in tested:
                untested.append(f"{source.name}: {max(texts, key=len)}")
    assert not untested
