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
