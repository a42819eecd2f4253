# Part of the bppsa project, under the MIT License.
"""bppsa compiles ONNX models into trainable programs.

    m = bppsa.compile("gru.onnx", loss="cross-entropy", optimizer="adam")
    loss = m.step({"x": x}, target, lr=1e-3)

``compile`` creates a program in this process and ``build`` writes a file. ``load`` opens a shared
library written by ``build``. ``check`` reports whether a model is supported. ``bppsa.torch``,
``bppsa.jax`` and ``bppsa.plot`` integrate PyTorch, JAX and Matplotlib. ``python -m bppsa.data``
writes seeded training sets and ``python -m bppsa.models`` the example models.

Importing the package requires only the standard library; its modules are imported on first use.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from bppsa.compiler import Check, Initializer, build, check, compile, options
    from bppsa.errors import CompileWarning, DivergedError, Error
    from bppsa.fit import Epoch
    from bppsa.program import ArrayInfo, Program, load

__version__ = "0.1.0"

_MODULES = {
    "compiler": ("Check", "Initializer", "build", "check", "compile", "options"),
    "errors": ("CompileWarning", "DivergedError", "Error"),
    "fit": ("Epoch",),
    "program": ("ArrayInfo", "Program", "load"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES = ("data", "jax", "models", "plot", "torch")

__all__ = [
    "ArrayInfo",
    "Check",
    "Initializer",
    "CompileWarning",
    "DivergedError",
    "Epoch",
    "Error",
    "Program",
    "build",
    "check",
    "compile",
    "load",
    "options",
]


def __getattr__(name: str) -> typing.Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"bppsa.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"bppsa.{name}")
    raise AttributeError(f"module 'bppsa' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
