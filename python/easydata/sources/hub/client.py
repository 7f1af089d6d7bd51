"""How the Hub is asked: by huggingface_hub's client, with our patience, and an end to it."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

T = TypeVar("T")

# How often one that waits looks whether it is to go on.
_LOOK = 0.05


class HubIsSilent(OSError):
    """The Hub did not answer, or said to come again.

    Attributes:
        status: Of its answer; 0: there was none.
        headers: Those of the answer that say when to come again.
    """

    def __init__(self, number: int, message: str, response: Any = None) -> None:
        super().__init__(number, message)
        told = {} if response is None else response.headers
        self.status = 0 if response is None else int(response.status_code)
        self.headers = {name: told[name] for name in ("retry-after", "ratelimit") if name in told}


class HubClient:
    """The Hub's API, with one user's credentials.

    huggingface_hub's own functions for lists wait for ever for an answer, and try again for half a
    minute by themselves; the engine counts its attempts, and waits as it is told.
    """

    def __init__(self, endpoint: str, token: str, stall_timeout: float) -> None:
        # Its utilities are public, and found when they are asked for: types know nothing of them.
        self._utils: Any = importlib.import_module("huggingface_hub.utils")
        self._endpoint = endpoint
        self._headers = self._utils.build_hf_headers(token=token or False, library_name="easydata")
        self._stall_timeout = stall_timeout

    def get(self, address: str, params: Mapping[str, Any] | None = None) -> Any:
        """The answer to one request; errors are those of huggingface_hub."""
        response = self._utils.get_session().get(
            address, params=params, headers=self._headers, timeout=self._stall_timeout
        )
        self._utils.hf_raise_for_status(response)
        return response

    def pages(self, path: str, params: Mapping[str, Any]) -> Iterator[list[Any]]:
        """The pages of a list, each of which names the next one.

        Raises:
            ValueError: An answer is no page.
        """
        address, query = self._endpoint + path, dict(params)
        while address:
            response = self.get(address, query or None)
            page = response.json()
            if not isinstance(page, list):
                raise ValueError("an answer that is no list")
            yield page
            address, query = response.links.get("next", {}).get("url", ""), {}
            if address and not address.startswith(self._endpoint + "/"):
                raise ValueError("a list that continues at another host")


def unless_stopped(work: Callable[[], T], is_stopped: Callable[[], bool], seconds: float) -> T:
    """What `work` gives, on a thread of its own.

    One that is stopped, or takes more time than this, is left to itself: it ends with its request.

    Raises:
        InterruptedError: It was stopped.
        TimeoutError: It took more time.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name="easydata-hub", daemon=True).start()
    until = time.monotonic() + seconds
    while not wait([answer], _LOOK).done:
        if is_stopped():
            raise InterruptedError("stopped while the Hub was asked")
        if time.monotonic() > until:
            raise TimeoutError(f"no answer in {seconds:g} s")
    return answer.result()
