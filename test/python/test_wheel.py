# Part of the bppsa project, under the MIT License.
"""The package as installed by users: one wheel; no checkout, compiler, linker or LLVM is needed."""

import os
import pathlib
import re
import subprocess
import sys
import venv

import bitstreams
import harness
import numpy as np
import pytest

WHEELS = sorted((harness.BUILD / "wheel").glob("bppsa-*.whl"))
pytestmark = pytest.mark.skipif(not WHEELS, reason="the package is not built: utils/python.sh")
TRAIN = """
import bppsa, numpy as np
model = bppsa.compile("model.onnx", loss="cross-entropy", optimizer="sgd")
rng = np.random.default_rng(0)
x, target = rng.normal(size=(9, 4, 1)).astype(np.float32), np.arange(4)
losses = [model.step({"x": x}, target, lr=0.1) for _ in range(20)]
assert losses[-1] < losses[0]
model.save("trained.onnx")
np.savez("arrays.npz", x=x, logits=model.infer({"x": x})["logits"])
bppsa.build("model.onnx", "trainer", loss="cross-entropy", optimizer="sgd")
for kind in ("shared", "obj"):
    try:
        bppsa.build("model.onnx", "none", emit=kind)
    except bppsa.Error as error:
        assert "no linker was found" in str(error)
    else:
        raise AssertionError(kind)
bppsa.build("model.onnx", "model.html", emit="report")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The interpreter of a virtual environment with only the wheel and NumPy."""
    directory = tmp_path_factory.mktemp("wheel")
    venv.create(directory / "venv", with_pip=False)
    (packages,) = (directory / "venv" / "lib").glob("python*/site-packages")
    install = [sys.executable, "-m", "zipfile", "-e", WHEELS[0], packages]
    subprocess.run(install, check=True)
    for found in pathlib.Path(np.__file__).parents[1].glob("numpy*"):
        (packages / found.name).symlink_to(found)
    return directory / "venv" / "bin" / "python"


def test_training_in_clean_environment(installed, tmp_path):
    (tmp_path / "model.onnx").write_bytes(bitstreams.MODEL.read_bytes())
    run = harness.run(installed, "-I", "-c", TRAIN, cwd=tmp_path, env={"PATH": ""})
    harness.check_succeeded(run)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"model.onnx", "trained.onnx", "trainer", "arrays.npz", "model.html"}
    import onnxruntime

    session = onnxruntime.InferenceSession(str(tmp_path / "trained.onnx"))
    with np.load(tmp_path / "arrays.npz") as arrays:
        (expected,) = session.run(None, {"x": arrays["x"]})
        np.testing.assert_allclose(arrays["logits"], expected, rtol=1e-5, atol=1e-6)
        np.savez(tmp_path / "data.npz", x=arrays["x"], target=np.arange(4))
    files = ["--data", "data.npz", "--save", "again.onnx", "--quiet", "--epochs", "20"]
    train = harness.run(tmp_path / "trainer", "train", *files, cwd=tmp_path, env={"PATH": ""})
    harness.check_succeeded(train)
    assert (tmp_path / "again.onnx").exists()


@pytest.mark.skipif(
    not (harness.BUILD / "lib/libbppsa_mpi.a").exists(), reason="the compiler was built without Open MPI"
)
def test_distributed_programs(tmp_path):
    """The wheel contains the libraries that `--distributed=mpi` links."""
    code = f"import bppsa; bppsa.build({str(bitstreams.MODEL)!r}, 'trainer', distributed='mpi')"
    environment = {**os.environ, "PYTHONPATH": str(harness.BUILD / "python")}
    harness.check_succeeded(harness.run(sys.executable, "-c", code, cwd=tmp_path, env=environment))
    run = harness.run(tmp_path / "trainer", "train", "--help", cwd=tmp_path)
    assert "--exchange" in harness.check_succeeded(run).stdout


def test_size():
    assert WHEELS[0].stat().st_size < 90e6


def dynamic_section(path, what):
    lines = harness.check_succeeded(harness.run("readelf", "-dW", path)).stdout
    return set(re.findall(rf"\({what}\).*\[(.*)\]", lines))


def test_libraries_depend_on_system_libraries_only():
    folder = harness.BUILD / "python" / "bppsa"
    files = [*folder.glob("*.so"), *(folder / "lib").glob("*.so*")]
    assert len(files) == 3
    own = {path.name for path in files}
    system = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "libz.so.1"}
    for path in files:
        needed = dynamic_section(path, "NEEDED")
        assert needed <= own | system, path.name
        for place in dynamic_section(path, "RUNPATH") | dynamic_section(path, "RPATH"):
            assert place.startswith("$ORIGIN"), path.name


def test_library_exports_only_c_api():
    library = harness.BUILD / "python" / "bppsa" / "lib" / "libbppsa.so"
    listing = harness.check_succeeded(harness.run("readelf", "--dyn-syms", "-W", library)).stdout
    shown = {
        line.split()[7].split("@")[0]
        for line in listing.splitlines()
        if re.match(r"\s*\d+:", line) and line.split()[4] in ("GLOBAL", "WEAK") and line.split()[6] != "UND"
    }
    assert shown and all(re.match("bppsa[A-Z]", name) for name in shown), sorted(shown)[:10]


def test_version():
    import bppsa

    code = "import bppsa._native as native; print(native.version(), end='')"
    run = harness.run(sys.executable, "-c", code, env={"PYTHONPATH": str(harness.BUILD / "python")})
    assert harness.check_succeeded(run).stdout == bppsa.__version__
    assert f"-{bppsa.__version__}-" in WHEELS[0].name


def test_types():
    """test_torch.py checks the modules that need PyTorch."""
    package = harness.ROOT / "python" / "bppsa"
    names = "__init__ compiler errors fit plot program vjp _native jax/__init__ jax/functions".split()
    harness.check_types(*(next(package.glob(f"{name}.py*")) for name in names))


def test_import_loads_few_modules():
    """`import bppsa` loads no other package and few modules; submodules are loaded on first use."""
    code = """
import importlib, sys, typing
before = set(sys.modules)
import bppsa
assert {name for name in set(sys.modules) - before} == {"bppsa"}, set(sys.modules) - before
bppsa.Error
assert not {"numpy", "torch", "jax", "matplotlib", "tqdm"} & set(sys.modules)
bppsa.compile
assert not {"torch", "jax", "matplotlib", "tqdm", "onnx"} & set(sys.modules)
"""
    environment = {"PYTHONPATH": str(harness.BUILD / "python")}
    harness.check_succeeded(harness.run(sys.executable, "-c", code, env=environment))


def test_help_is_readable():
    code = "import bppsa; help(bppsa.Program); help(bppsa.compile); print(bppsa.options()['loss'])"
    run = harness.run(sys.executable, "-c", code, env={"PYTHONPATH": str(harness.BUILD / "python")})
    text = harness.check_succeeded(run).stdout
    for words in ("step(self", "Runs a training step", "Compiles ``model`` to a program", "cross-entropy"):
        assert words in text


def test_build_and_check(tmp_path):
    """`build` writes the same file as the command line; `check` reports unsupported operators."""
    code = f"""
import bppsa, onnx
from onnx import helper, TensorProto
path = {str(bitstreams.MODEL)!r}
bppsa.build(path, "trainer", loss="cross-entropy", backward="sequential")
assert bppsa.check(path) and bppsa.check(onnx.load(path))
listed = bppsa.check(path).initializers
assert {{entry.kind for entry in listed}} == {{"trained"}} and all(entry.reason for entry in listed)
assert [entry.name for entry in listed] == [tensor.name for tensor in onnx.load(path).graph.initializer]
assert f"{{listed[0].name}} ({{listed[0].elements}} elements): {{listed[0].reason}}" in str(bppsa.check(path))
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
nodes = [helper.make_node("Tan", ["x"], ["y"], name="first"), helper.make_node("Acos", ["y"], ["z"])]
model = helper.make_model(helper.make_graph(nodes, "graph", [value("x")], [value("z")]))
found = bppsa.check(model, loss="mse")
assert not found and "'Tan'" in str(found) and "Sin and Cos" in str(found) and "'Acos'" in str(found)
assert "<table>" in found._repr_html_() and "first" in found._repr_html_()
try:
    bppsa.compile(model, loss="mse")
except bppsa.Error as error:
    assert "'Tan'" in str(error)
else:
    raise AssertionError
for options, message in (
    (dict(losss="mse"), "did you mean 'loss'"),
    (dict(loss="mes"), "mes"),
    (dict(emit="obj"), "emit"),
    (dict(bind={{"x": object()}}), "an option must be"),
):
    try:
        bppsa.compile(path, **options)
    except bppsa.Error as error:
        assert message in str(error), error
    else:
        raise AssertionError(options)
"""
    environment = {"PYTHONPATH": str(harness.BUILD / "python"), "PATH": "/usr/bin:/bin"}
    run = harness.run(sys.executable, "-c", code, cwd=tmp_path, env=environment)
    harness.check_succeeded(run)
    assert harness.run(tmp_path / "trainer", "info").returncode == 0
