"""Fixtures of the tests of other machines."""

from run_outputs import outputs

__all__ = ["outputs"]
