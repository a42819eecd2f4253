"""Keys shared by the compiler and programs are declared once, documented, written and read."""

import json
import re

import harness
import models

HEADER = harness.ROOT / "include" / "bppsa" / "Program" / "Keys.h"
PAGE = harness.ROOT / "docs" / "Reference" / "ProgramDescription.md"
# Objects whose keys are names of functions, symbols, hyperparameters, ...
MAPS = {"hyper", "least_sizes", "functions", "first_uses", "classification", "traced_nodes"}
WORKS = {"walk", "column", "carry", "product"}


def declared_keys():
    return dict(re.findall(r'constexpr char (k\w+)\[\] = "(\w+)";', HEADER.read_text()))


def documented_keys():
    """Returns the reader of each key for each object of the page."""
    objects = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        title, body = section.split("\n", 1)
        readers = dict(re.findall(r"^\| `(\w+)` \|.*\| `(\w+)` \|$", body, re.M))
        for name in re.findall(r"`(\w+)`", title) or [""]:
            objects[name] = readers
    return objects


def read_sources(*folders):
    files = [path for folder in folders for path in (harness.ROOT / "lib" / folder).rglob("*.cpp")]
    return "".join(path.read_text() for path in files)


def test_keys_are_documented():
    documented = {key for keys in documented_keys().values() for key in keys}
    assert documented == set(declared_keys().values())


def test_keys_are_written_and_read():
    readers = {}
    for keys in documented_keys().values():
        readers.update(keys)
    written, read = read_sources("Target", "Compiler"), read_sources("Runtime")
    for constant, key in declared_keys().items():
        use = re.compile(rf"\bkeys::{constant}\b")
        assert use.search(written), key
        assert use.search(read) or readers[key] != "load", key


def test_sources_use_declared_keys():
    """The writer and the reader take all keys from the header instead of string literals."""
    key = re.compile(r'(?:\{|\[|\b(?:at|value|find|optionalInteger)\((?:\w+, )?)"(\w+)"')
    for path in ("Target/ModelDescription.cpp", "Runtime/Model.cpp"):
        found = key.findall((harness.ROOT / "lib" / path).read_text())
        assert not set(found) & set(declared_keys().values()), path


def test_losses_and_optimizers_are_in_the_help():
    reference = harness.ROOT / "docs" / "Reference"
    sources = [
        harness.ROOT / "lib" / "Compiler" / "OptionTable.cpp",
        reference / "Compiler.md",
        reference / "Losses.md",
    ]
    for table in ("Losses", "Optimizers"):
        names = re.findall(r"Kind::\w+,\s*\"([\w-]+)\"", (HEADER.parent / f"{table}.h").read_text())
        assert len(names) >= 5
        for source in sources:
            missing = [name for name in names if not re.search(rf"\b{name}\b", source.read_text())]
            assert not missing, source


def walk(value, name, found):
    """Collects the keys of nested objects, grouped by the key of the object."""
    if isinstance(value, list):
        for item in value:
            walk(item, name, found)
    elif isinstance(value, dict):
        if name not in MAPS:
            found.setdefault(name, set()).update(value.keys() - WORKS)
        for key, member in value.items():
            walk(member, name if name in MAPS else key, found)


def describe(tmp_path, cell, *options):
    """Compiles a program and returns it, its content and its description."""
    source, program = tmp_path / "model.onnx", tmp_path / "program"
    source.write_bytes(models.build(models.Spec(cell)).SerializeToString())
    command = [harness.require_tool("bppsa-compile"), source, "-o", program, "-O0", *options]
    harness.check_succeeded(harness.run(*command))
    content = program.read_bytes()
    start = re.search(rb'\{"class(?:ification|_weights)":', content).start()
    description, _ = json.JSONDecoder().raw_decode(content[start:].decode(errors="replace"))
    return program, content, description


def test_description_has_documented_keys(tmp_path):
    program, content, description = describe(
        tmp_path, "RNN", "--check-nan", "--ignore-index=1", "--label-smoothing=0.1"
    )
    found = {}
    walk(description, "", found)
    # The values of these maps are objects.
    for name in ("traced_nodes", "classification"):
        for value in description[name].values():
            for item in value if isinstance(value, list) else [value]:
                found.setdefault(name, set()).update(item)
    documented = documented_keys()
    for name, keys in found.items():
        assert keys <= documented[name].keys(), name
    assert description["schema"] == 1
    # The reader refuses other schemas with one line.
    program.write_bytes(content.replace(b'"schema":1', b'"schema":7'))
    run = harness.run(program, "info")
    assert run.returncode == 1
    assert run.stderr == (
        "error: this program's description of its model cannot be used: found schema 7, expected "
        "schema 1; compile the model again\n"
    )
