"""The limits of what counts as JSON here."""

from typing import Final

__all__ = ["JSON_DEPTH", "NUMBER_LENGTH", "SAFE_INTEGER"]

JSON_DEPTH: Final = 32
"""How many arrays and objects may stand inside one another; a scalar alone has depth 0."""

SAFE_INTEGER: Final = 2**53 - 1
"""The largest magnitude of an integer: up to here every reader of JSON agrees on the value."""

NUMBER_LENGTH: Final = 400
"""The longest literal of a number with a fraction or an exponent, in characters: the smallest double
written out in full has 345, and comparing decimals must not become slow."""
