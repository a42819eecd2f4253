"""The libraries under lib form a DAG, and sources include only headers of their dependencies."""

import functools
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINITION = re.compile(r"^\s*(?:bppsa_add_library|add_library)\((\w+)([^)]*)\)", re.M)
# Interfaces between the compiler and runtime libraries: a file format, and calls of the emulator.
SHARED = {"Emulator/EmulatorInterface.h", "Runtime/ProgramImage.h"}


@functools.cache
def libraries():
    """Returns the folder under lib and the LINK_LIBS of each library of the compiler."""
    found = {}
    for path in ROOT.glob("lib/**/CMakeLists.txt"):
        for name, body in DEFINITION.findall(path.read_text()):
            if "$<" in name or name in found:
                continue
            links = body.split("LINK_LIBS")[1].split() if "LINK_LIBS" in body else []
            objects = re.findall(r"\$<TARGET_OBJECTS:(\w+)>", body)
            found[name] = (path.parent.relative_to(ROOT / "lib").as_posix(), {*links, *objects})
    return {name: (folder, links & found.keys()) for name, (folder, links) in found.items()}


@functools.cache
def reachable(name):
    """Returns `name` and its transitive dependencies."""
    below = {name}
    for link in libraries()[name][1]:
        below |= reachable(link)
    return below


def find_cycle(graph):
    """Returns a dependency cycle, or an empty list if there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return []
        path.append(name)
        for link in sorted(graph[name][1]):
            if cycle := visit(link):
                return cycle
        done.add(path.pop())
        return []

    return next((cycle for name in sorted(graph) if (cycle := visit(name))), [])


@functools.cache
def folders():
    """Returns the libraries of each folder relative to lib."""
    found = {}
    for name, (folder, _) in libraries().items():
        found.setdefault(folder, set()).add(name)
    return found


def owner(path):
    """Returns the libraries of the deepest folder that contains `path`, relative to lib."""
    while path and path not in folders():
        path = os.path.dirname(path)
    return folders().get(path, set())


def included_folders(path):
    """Yields the folders under include/bppsa of the included headers, and the headers."""
    for header in re.findall(r'^#include "bppsa/([^"]+)"', path.read_text(), re.M):
        yield os.path.dirname(header), header


def test_libraries_form_a_dag():
    assert len(libraries()) > 30
    assert find_cycle(libraries()) == []


def test_a_cycle_is_found():
    graph = {"a": ("", {"b"}), "b": ("", {"c"}), "c": ("", {"b"})}
    assert find_cycle(graph) == ["b", "c", "b"]


COMPILER = sorted(name for name in libraries() if name[0].isupper() and name != "BPPSAOnnxProto")


@pytest.mark.parametrize("name", COMPILER)
def test_sources_include_only_dependencies(name):
    folder, below = libraries()[name][0], reachable(name)
    sources = [p for base in ("lib", "include/bppsa") for p in (ROOT / base / folder).rglob("*.[ch]*")]
    wrong = []
    for source in sources:
        relative = source.relative_to(ROOT / ("lib" if "include" not in source.parts[:-1] else "include/bppsa"))
        if name not in owner(relative.parent.as_posix()):
            continue
        for target, header in included_folders(source):
            if owner(target) and not owner(target) & below and header not in SHARED:
                wrong.append(f"{relative} includes {header} of {sorted(owner(target))}")
    assert wrong == []


def test_headers_define_each_type_once():
    """Two types with the same name in a namespace violate the one-definition rule."""
    places = {}
    for path in [*ROOT.glob("lib/**/*.h"), *ROOT.glob("include/**/*.h")]:
        namespace = ""
        for line in path.read_text().splitlines():
            if match := re.match(r"namespace ([\w:]+) \{", line):
                namespace = match[1]
            elif match := re.match(r"(?:struct|class|enum class) (\w+)[^;]*$", line):
                places.setdefault(f"{namespace}::{match[1]}", []).append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
