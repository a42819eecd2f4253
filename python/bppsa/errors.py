# Part of the bppsa project, under the MIT License.
"""What the package raises."""


class Error(Exception):
    """A model, an option, an array or a file that cannot be used: one line that says which, what
    was found, what is accepted and the remedy.  Whatever the call was for has not changed."""


class DivergedError(Error):
    """A loss or a gradient is infinite or not a number.  Parameters are those before the step."""


class CompileWarning(UserWarning):
    """What the compiler warns of in a model that it compiles."""


for _kind in (Error, DivergedError, CompileWarning):
    _kind.__module__ = "bppsa"
