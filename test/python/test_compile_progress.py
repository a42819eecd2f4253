# Part of the bppsa project, under the MIT License.
"""The `progress` argument of `compile` and `build`."""

import signal
import sys
import types

import bitstreams
import pytest

pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")
import bppsa  # noqa: E402

FRONT = ["import", "loss", "differentiate", "scan"]


def test_callback_gets_phases():
    parts = []
    bppsa.compile(bitstreams.MODEL, O=0, progress=lambda *part: parts.append(part))
    assert parts == [(phase, done, 4) for done, phase in enumerate(FRONT)]


def test_callback_cancels_compilation(tmp_path):
    with pytest.raises(bppsa.Error, match="cancelled"):
        bppsa.compile(bitstreams.MODEL, progress=lambda phase, done, total: phase != "scan")

    def fail(phase, done, total):
        raise KeyError(phase)

    with pytest.raises(KeyError, match="import"):
        bppsa.build(bitstreams.MODEL, tmp_path / "trainer", progress=fail)
    assert not list(tmp_path.iterdir())


def test_ctrl_c():
    """Ctrl-C stops a compilation at the next phase."""

    def interrupt(phase, done, total):
        assert phase == "import"
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        bppsa.compile(bitstreams.MODEL, progress=interrupt)


def test_text_without_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    bppsa.compile(bitstreams.MODEL, O=0, progress=True)
    assert capsys.readouterr().err.splitlines() == [f"{FRONT[i]}  {i + 1}/4" for i in range(4)]


def test_tqdm_bar(monkeypatch):
    """With tqdm, `progress` shows a progress bar."""
    bars = []

    class Bar:
        def __init__(self, unit):
            self.n, self.total, self.phases, self.is_open = 0, None, [], True
            bars.append(self)

        def set_description(self, phase, refresh):
            self.phases.append(phase)

        def update(self, parts):
            self.n += parts

        def close(self):
            self.is_open = False

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    bppsa.compile(bitstreams.MODEL, O=0, progress=True)
    (bar,) = bars
    assert bar.phases == FRONT and (bar.n, bar.total) == (4, 4) and not bar.is_open
