# Part of the bppsa project, under the MIT License.
"""Plots of loss curves, and the compiler's report on scan plans, costs and Jacobian patterns."""

import collections.abc
import dataclasses
import html
import json
import os
import pathlib
import typing

from bppsa import _native
from bppsa.compiler import Model, _option_list, _source, _tell
from bppsa.errors import Error
from bppsa.fit import Epoch
from bppsa.program import Path

#: A file of JSON lines written by ``--log`` or ``fit(log=...)``, or the result of ``fit``.
Log = typing.Union[Path, collections.abc.Sequence[Epoch]]


def read_log(log: Log) -> list[dict[str, typing.Any]]:
    """Returns a dict for each epoch of the log. Raises ``bppsa.Error`` if the file is not a log."""
    if not isinstance(log, (str, os.PathLike)):
        return [dataclasses.asdict(record) for record in typing.cast(list[Epoch], log)]
    try:
        lines = pathlib.Path(log).read_text().splitlines()
        records = [json.loads(line) for line in lines if line]
    except (OSError, ValueError) as error:
        raise Error(f"{os.fspath(log)}: is not a log of JSON lines ({error})") from None
    if not all(isinstance(record, dict) and "epoch" in record for record in records):
        raise Error(f"{os.fspath(log)}: has lines that do not describe epochs")
    return records


def losses(*logs: Log, axes: typing.Any = None) -> typing.Any:
    """Plots ``loss`` (solid) and ``val_loss`` (dashed) of each log over the epochs with Matplotlib.

    Returns the given or newly created axes.
    """
    from matplotlib import pyplot

    axes = pyplot.subplots()[1] if axes is None else axes
    for number, log in enumerate(logs):
        records = read_log(log)
        name = pathlib.Path(log).stem if isinstance(log, (str, os.PathLike)) else f"run {number + 1}"
        color = f"C{number}"
        for key, style in (("loss", "-"), ("val_loss", "--")):
            points = [(r["epoch"], r[key]) for r in records if r.get(key) is not None]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=color, label=f"{name} {key}")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.legend()
    return axes


@dataclasses.dataclass(frozen=True)
class Report:
    """An HTML page, which notebooks display."""

    page: str

    def save(self, path: Path) -> None:
        pathlib.Path(path).write_text(self.page)

    def _repr_html_(self) -> str:
        page = html.escape(self.page, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0"></iframe>'


def report(model: Model, **options: typing.Any) -> Report:
    """Returns the compiler's report on a model: scan plans, their costs, and Jacobian patterns.

    See ``bppsa.compile`` for ``options``, which include ``report_length`` and ``report_batch``.
    """
    path, content = _source(model)
    said: list[tuple[int, str]] = []
    with _option_list({**options, "emit": "report"}) as pairs:
        try:
            page = _native.compile_to_bytes(path, content, pairs, said, None)
        finally:
            _tell(path, said)
    return Report(page.decode())
