"""Every diagnostic of the dialect's verifiers and parsers has a test."""

import re

import harness

SOURCES = harness.ROOT / "lib" / "Dialect" / "BPPSA" / "IR"
TESTS = (harness.ROOT / "test" / "Dialect" / "BPPSA").rglob("*errors.mlir")
STATEMENT = re.compile(r"emit(?:Op)?Error\((?:loc|structureLoc)?,?[^;]*;", re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def test_every_diagnostic_has_a_test():
    tested = "".join(test.read_text() for test in TESTS)
    untested = []
    for source in sorted(SOURCES.glob("*.cpp")):
        for statement in STATEMENT.findall(source.read_text()):
            # Neighbouring literals are one text; the longest text names the diagnostic.
            joined = re.sub(r'"\s*\n\s*"', "", statement)
            texts = LITERAL.findall(joined)
            if texts and max(texts, key=len).strip() not in tested:
                untested.append(f"{source.name}: {max(texts, key=len)}")
    assert not untested
