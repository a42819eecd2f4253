"""Progress callbacks of a compilation, and cancellation from a callback."""

import capi
import harness
import pytest

MODEL = harness.ROOT / "examples/bitstream_rnn.onnx"
FRONT = ["import", "loss", "differentiate", "scan"]


class Listener:
    """Records the phases and cancels the compilation in the phase `last`."""

    def __init__(self, last=None):
        self.last, self.parts = last, []

    def __call__(self, phase, done, total):
        self.parts.append((phase, done, total))
        return phase != self.last


def test_phases_of_an_in_process_program():
    listener = Listener()
    capi.Program.compile(MODEL, progress=listener, O=0)
    assert listener.parts == [(phase, done, 4) for done, phase in enumerate(FRONT)]


def test_phases_of_a_file(tmp_path):
    listener = Listener()
    capi.compile_to_file(MODEL, tmp_path / "trainer", listener, O=0, mcpu="native")
    phases, begun, known = zip(*listener.parts)
    code = phases.count("code")
    assert code > 2 and list(phases) == [*FRONT, "kernels", *["code"] * code, "link"]
    assert list(begun) == list(range(len(begun))) and known[-1] == len(begun)
    assert list(known) == sorted(known)


@pytest.mark.parametrize("last", ["import", "scan", "kernels", "code", "link"])
def test_cancellation(tmp_path, last):
    """A cancelled compilation writes no file and calls no further callback; the next one works."""
    listener = Listener(last)
    with pytest.raises(capi.Failure, match="the compilation was cancelled") as failure:
        capi.compile_to_file(MODEL, tmp_path / "trainer", listener, O=0, mcpu="native")
    assert failure.value.status == capi.CANCELLED
    assert listener.parts[-1][0] == last and not list(tmp_path.iterdir())
    if last == "scan":
        with pytest.raises(capi.Failure, match="cancelled"):
            capi.Program.compile(MODEL, progress=Listener(last), O=0)
        assert capi.Program.compile(MODEL, O=0).names(capi.INPUT) == ["x"]
