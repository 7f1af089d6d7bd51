"""What goes to other machines as a description: pickled, with code by name and without secrets."""

from __future__ import annotations

import io
import json
import pickle
import types
from collections.abc import Mapping
from typing import Any

from easydata import _native
from easydata.execution.units.job import secret_options
from easydata.sources.token_stores import Keeping
from easydata.transforms.identity import import_name


def sent(value: Any, what: str) -> bytes:
    """The bytes of an object for other processes.

    Args:
        value: The object.
        what: What it is, for errors.

    Raises:
        TypeError: It holds code that others cannot import, or something that is of this process.
        ValueError: It holds a secret.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, what).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(error, _RefusedError):
            raise TypeError(str(error)) from None
        raise TypeError(f"{what} cannot be sent to other processes: {error}") from error
    return file.getvalue()


def received(data: bytes) -> Any:
    """What sent() was called on."""
    return pickle.loads(data)


class _RefusedError(TypeError):
    """Something is not sent, and the message says what to do."""


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, what: str) -> None:
        super().__init__(file, protocol=5)
        self._what = what

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType | type):
            self._look_at_code(value)
        elif isinstance(value, _native.FileListing):
            _, _, options, addresses = value.__getstate__()
            self._look_for_secrets(json.loads(options))
            if addresses:
                raise ValueError(
                    f"{self._what} has an address with a secret in it, which is not sent to other "
                    "machines: give them credentials of their own (docs/guide/stores.md); the "
                    f"address is {_native.shown_address(addresses[0])}"
                )
        elif isinstance(value, Keeping):
            self._look_for_secrets(value.storage_options or {})
        return NotImplemented

    def _look_at_code(self, value: Any) -> None:
        if value.__module__ == "builtins" or import_name(value) is not None:
            return
        is_of_script = value.__module__ == "__main__" and "<" not in value.__qualname__
        kind = "of the script that runs" if is_of_script else "without a name of its own"
        raise _RefusedError(
            f"{self._what} calls {value.__qualname__}, {'code' if is_of_script else 'a function'} "
            f"{kind}, which other processes cannot import: put it into a module, and import it "
            "from there"
        )

    def _look_for_secrets(self, options: Mapping[str, Any]) -> None:
        for said in secret_options(options, "storage_options"):
            raise ValueError(f"{self._what}: {said}")
