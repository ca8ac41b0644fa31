"""The one place that touches numba, so that the rest of the code stays plainly typed.

Compiled functions are cached on disk. Whoever uses one calls it once at construction, never first
inside a control step.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile to machine code at the first call with given types; results are IEEE-exact."""
    return cast(Function, numba.njit(cache=True, fastmath=False)(function))


def compiled_unchecked(function: Function) -> Function:
    """The same, but a division by zero is infinite, as in numpy, and raises nothing: the check
    keeps a loop from becoming vector instructions. For long loops over floats."""
    return cast(Function, numba.njit(cache=True, fastmath=False, error_model="numpy")(function))


def compiled_inline(function: Function) -> Function:
    """The same, as a part of whatever calls it, however long it is: a loop with a call in it does
    not become vector instructions."""
    options = {"cache": True, "fastmath": False, "error_model": "numpy", "forceinline": True}
    return cast(Function, numba.njit(**options)(function))
