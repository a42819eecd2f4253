# Part of the bppsa project, under the MIT License.
"""Exceptions and warnings of the package."""


class Error(Exception):
    """A model, an option, an array or a file cannot be used.

    The message is one line with the problem, the accepted values and the remedy. The failed call
    has not changed anything unless its documentation states otherwise.
    """


class DivergedError(Error):
    """A loss or a gradient is infinite or NaN. The parameters are those before the step."""


class CompileWarning(UserWarning):
    """A warning of the compiler about a model."""


for _kind in (Error, DivergedError, CompileWarning):
    _kind.__module__ = "bppsa"
