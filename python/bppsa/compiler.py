# Part of the bppsa project, under the MIT License.
"""Compiles models to programs."""

import collections.abc
import contextlib
import dataclasses
import functools
import html
import json
import logging
import numbers
import os
import pathlib
import sys
import tempfile
import typing
import warnings

from bppsa import _native
from bppsa.errors import CompileWarning, Error
from bppsa.program import Path, Program

#: A path, the bytes of a file, an ``onnx.ModelProto``, or the result of ``torch.onnx.export``.
Model = typing.Union[Path, bytes, typing.Any]

#: True to show progress, or a function called with the phase that begins, the number of parts
#: started before, and the number of parts known so far.
Progress = typing.Union[bool, collections.abc.Callable[[str, int, int], typing.Any]]

_NOTE, _WARNING, _ERROR = range(3)
_log = logging.getLogger("bppsa")


def compile(  # noqa: A001 (the name is a contract)
    model: Model, *, progress: Progress = False, **options: typing.Any
) -> Program:
    """Compiles ``model`` to a program in this process for the processor of this machine.

    ``options`` are the options of ``bppsa-compile`` with ``_`` instead of ``-``: ``loss="mse"``,
    ``batch_axis={"x": 1}``; see ``bppsa.options()``. Flags are ``True``, lists are lists, and pairs
    such as ``NAME:AXIS`` are dicts. An array can be passed instead of a ``.npy`` file.

    ``progress=True`` shows a progress bar if tqdm is installed, otherwise lines. If ``progress`` is
    a function, it is called at the start of each part of the compilation, for example
    ``progress("scan", 3, 4)`` if 3 of 4 parts were started before. If it returns ``False`` or
    raises an exception, or on Ctrl-C, the compilation is cancelled. Functions of the program are
    compiled to machine code when they are first called, without progress.

    Raises ``bppsa.Error`` if the model or an option cannot be used. Warnings of the compiler are
    issued as ``bppsa.CompileWarning``.
    """
    path, content = _source(model)
    with _option_list(options) as pairs:
        said: list[tuple[int, str]] = []
        try:
            with _listener(progress) as listener:
                return Program(_native.compile(path, content, pairs, said, listener))
        finally:
            _tell(path, said)


def build(
    model: Model, output: Path, *, progress: Progress = False, **options: typing.Any
) -> pathlib.Path:
    """Compiles ``model`` to the file ``output``, like ``bppsa-compile MODEL -o OUTPUT``.

    The default is an executable that trains the model; ``emit`` selects other formats. Linking
    shared libraries and objects requires a C++ compiler on the ``PATH``. The file is replaced
    atomically. See ``bppsa.compile`` for ``options`` and ``progress``. Returns the path.
    """
    path, content = _source(model)
    with _option_list(options) as pairs:
        said: list[tuple[int, str]] = []
        try:
            with _listener(progress) as listener:
                _native.compile_to_file(path, content, pairs, said, listener, os.fspath(output))
        finally:
            _tell(path, said)
    return pathlib.Path(output)


@dataclasses.dataclass(frozen=True)
class Initializer:
    """An initializer of a model: whether it is trained, and the reason."""

    name: str
    shape: tuple[int, ...]
    elements: int
    #: ``"trained"``, ``"frozen"`` (by an option or unused), ``"constant"`` or ``"statistic"``.
    kind: str
    #: For example ``"recorded as BUFFER"`` or ``"folded from 'A_log' by exp"``.
    reason: str


@dataclasses.dataclass(frozen=True)
class Check:
    """Whether a model can be compiled with given options, and the diagnostics of the compiler."""

    model: str
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    #: In file order; empty if the model is not supported.
    initializers: tuple[Initializer, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.errors

    def __bool__(self) -> bool:
        return self.ok

    def _lines(self) -> list[tuple[str, str]]:
        said = (("error", self.errors), ("warning", self.warnings), ("note", self.notes))
        lines = [(kind, line) for kind, lines in said for line in lines]
        return lines + [
            (entry.kind, f"{entry.name} ({entry.elements} elements): {entry.reason}")
            for entry in self.initializers
        ]

    def __str__(self) -> str:
        verdict = "is supported" if self.ok else "is not supported"
        return "\n".join(
            [f"{self.model}: {verdict}", *(f"  {kind}: {line}" for kind, line in self._lines())]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{kind}</td><td style='text-align:left'>{html.escape(line)}</td></tr>"
            for kind, line in self._lines()
        )
        verdict = "is supported" if self.ok else "is <b>not</b> supported"
        return f"<p><code>{html.escape(self.model)}</code> {verdict}</p><table>{rows}</table>"


def check(model: Model, **options: typing.Any) -> Check:
    """Checks whether ``model`` can be compiled; see ``bppsa.compile`` for ``options``.

    The result is true if the model is supported. Compilation stops after gradients and scan plans.
    """
    path, content = _source(model)
    said: list[tuple[int, str]] = []
    listed: list[dict[str, typing.Any]] = []
    stages = {"compile_to": "scan", "emit": "initializers"}
    with _option_list({**stages, **options}) as pairs:
        try:
            text = _native.compile_to_bytes(path, content, pairs, said, None)
            listed = json.loads(text) if options.get("emit") is None else []
        except Error as error:
            if not any(severity == _ERROR for severity, _ in said):
                said.append((_ERROR, str(error)))
    kinds = [tuple(line for kind, line in said if kind == wanted) for wanted in range(_ERROR + 1)]
    initializers = tuple(
        Initializer(**{**entry, "shape": tuple(entry["shape"])}) for entry in listed
    )
    return Check(path, kinds[_ERROR], kinds[_WARNING], kinds[_NOTE], initializers)


@functools.cache
def options() -> dict[str, str]:
    """Returns a line of help for each option of ``compile``, ``build`` and ``check``, by name."""
    return {name.replace("-", "_"): help for name, _, help, _ in _native.list_options()}


@contextlib.contextmanager
def _listener(
    progress: Progress,
) -> collections.abc.Iterator[collections.abc.Callable[[str, int, int], typing.Any] | None]:
    if not isinstance(progress, bool) or not progress:
        yield progress or None
        return
    bar: typing.Any = None
    with contextlib.suppress(ImportError):
        from tqdm.auto import tqdm

        bar = tqdm(unit="part")

    def show(phase: str, done: int, total: int) -> None:
        if bar is None:
            print(f"{phase}  {done + 1}/{total}", file=sys.stderr)
            return
        bar.total = total
        bar.set_description(phase, refresh=False)
        bar.update(done - bar.n)

    try:
        yield show
        # A cached program has no parts.
        if bar is not None and bar.total:
            bar.update(bar.total - bar.n)
    finally:
        if bar is not None:
            bar.close()


def _source(model: Model) -> tuple[str, bytes | None]:
    """Returns the path of a model, which locates external data, and its bytes if it is not a file.
    """
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        try:
            open(path, "rb").close()
        except OSError as error:
            raise Error(f"{path}: cannot be read: {error.strerror}") from None
        return path, None
    model = getattr(model, "model_proto", model)
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "model.onnx", bytes(model)
    raise Error(
        "a model must be a path, the bytes of an ONNX file or an onnx.ModelProto, found "
        + type(model).__name__
    )


def _tell(path: str, said: list[tuple[int, str]]) -> None:
    for severity, line in said:
        if severity == _WARNING:
            warnings.warn(f"{path}: {line}", CompileWarning, stacklevel=3)
        elif severity == _NOTE:
            _log.info("%s: %s", path, line)


@contextlib.contextmanager
def _option_list(
    options: dict[str, typing.Any],
) -> collections.abc.Iterator[list[tuple[str, str]]]:
    """Yields options as command-line names and values. Arrays are stored in temporary files."""
    forms = {name: (value, repeated) for name, value, _, repeated in _native.list_options()}
    with contextlib.ExitStack() as stack:
        pairs = []
        for key, value in options.items():
            name = key.replace("_", "-")
            form, repeated = forms.get(name, ("", False))
            if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
                value = stack.enter_context(_saved(value))
            words = _words(value, "=" if "=" in form else ":")
            if not repeated and len(words) > 1:
                words = [",".join(words)]
            pairs += [(name, word) for word in words]
        yield pairs


def _words(value: typing.Any, sign: str) -> list[str]:
    """Returns the value of an option for each of its occurrences on the command line."""
    if value is None or value is False:
        return []
    if value is True:
        return [""]
    if isinstance(value, collections.abc.Mapping):
        return [f"{name}{sign}{','.join(_words(word, sign))}" for name, word in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [word for part in value for word in _words(part, sign)]
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    if isinstance(value, numbers.Integral):
        return [str(int(value))]
    if isinstance(value, numbers.Real):
        return [repr(float(value))]
    raise Error(f"an option must be a text, a number or a list of these, found {value!r}")


@contextlib.contextmanager
def _saved(array: typing.Any) -> collections.abc.Iterator[str]:
    import numpy as np

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "array.npy")
        np.save(path, np.asarray(array, dtype=np.float32))
        yield path
