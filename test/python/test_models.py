# Part of the bppsa project, under the MIT License.
"""The committed example models are valid, runnable and reproducible by their scripts."""

import pathlib

import pytest

from bppsa.models import __main__ as command

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def test_every_example_has_a_script():
    assert {path.stem for path in EXAMPLES.glob("*.onnx")} == set(command.MAKERS)


@pytest.mark.parametrize("name", command.MAKERS)
def test_example_passes_the_checker_and_runs(name):
    model = onnx.load(EXAMPLES / f"{name}.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    size = {"T": 6, "B": 3}
    rng = np.random.default_rng(1)
    arrays = {
        given.name: rng.standard_normal([size.get(d, d) for d in given.shape]).astype(np.float32)
        for given in session.get_inputs()
    }
    assert "x" in arrays
    for output, value in zip(session.get_outputs(), session.run(None, arrays)):
        assert list(value.shape) == [size.get(d, d) for d in output.shape]
        assert np.all(np.isfinite(value)) and np.ptp(value) > 0


@pytest.mark.parametrize("name", command.MAKERS)
def test_example_contains_no_local_paths(name):
    data = (EXAMPLES / f"{name}.onnx").read_bytes()
    for trace in (b"/home", b"/tmp", b"/root", b"site-packages", b".py"):
        assert trace not in data


@pytest.mark.parametrize(
    "name", [name for name, maker in command.MAKERS.items() if maker in ("keras", "streaming")]
)
def test_scripts_reproduce_committed_files(tmp_path, name):
    assert command.main([name, "--out", str(tmp_path)]) == 0
    made, committed = (onnx.load(where / f"{name}.onnx") for where in (tmp_path, EXAMPLES))
    # LAPACK's order of summation depends on the processor, which changes last bits of the
    # denoiser's pseudo-inverse.
    for tensors in zip(made.graph.initializer, committed.graph.initializer, strict=True):
        np.testing.assert_allclose(*map(onnx.numpy_helper.to_array, tensors), rtol=1e-5, atol=1e-7)
    for model in (made, committed):
        for tensor in model.graph.initializer:
            tensor.ClearField("raw_data")
    assert made == committed


@pytest.mark.parametrize(
    "name", [name for name, maker in command.MAKERS.items() if maker == "pytorch"]
)
def test_pytorch_modules_match_committed_files(name):
    torch = pytest.importorskip("torch")
    from bppsa.models import pytorch

    example = pytorch.EXAMPLES[name]
    x = pytorch._sample(example, steps=9, batch=2, seed=1)
    with torch.no_grad():
        expected = pytorch.build(example)(x).numpy()
    session = onnxruntime.InferenceSession((EXAMPLES / f"{name}.onnx").read_bytes())
    (found,) = session.run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


def test_image_module_matches_committed_file():
    torch = pytest.importorskip("torch")
    from bppsa.models import images

    x = images.sample("lenet5", batch=3, seed=1)
    with torch.no_grad():
        expected = images.build("lenet5")(x).numpy()
    session = onnxruntime.InferenceSession((EXAMPLES / "lenet5.onnx").read_bytes())
    (found,) = session.run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


def test_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["no_such_model"])
    assert stop.value.code == 2 and "no_such_model" in capsys.readouterr().err
