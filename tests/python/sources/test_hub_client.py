"""How the Hub's API is asked: with patience that ends, and by whom it may be."""

from __future__ import annotations

import json
import threading
import time

import pytest
from easydata.sources.hub.client import HubClient, HubIsSilent, unless_stopped
from easydata.sources.hub.index import HubIndex
from fault_server import FaultServer
from faults import Rule
from hub_server import HubServer

huggingface_hub = pytest.importorskip("huggingface_hub", minversion="2.0")


def test_work_is_given_or_its_error() -> None:
    def fail() -> None:
        raise KeyError("what")

    assert unless_stopped(lambda: 5, lambda: False, 10) == 5
    with pytest.raises(KeyError, match="what"):
        unless_stopped(fail, lambda: False, 10)


@pytest.mark.parametrize("how", ["stopped", "too long"])
def test_work_that_takes_long_is_left_to_itself(how: str) -> None:
    done = threading.Event()
    begin = time.monotonic()
    error = InterruptedError if how == "stopped" else TimeoutError
    with pytest.raises(error):
        unless_stopped(lambda: done.wait(30), lambda: how == "stopped", 0.1)
    assert time.monotonic() - begin < 1
    done.set()


def test_a_list_goes_on_at_the_same_host_only() -> None:
    page = json.dumps([{"id": 1}]).encode()
    with FaultServer({"/api/more": page}) as server, FaultServer({"/api/more": page}) as other:
        for host, pages in ((server, 2), (other, 1)):
            link = {"Link": f'<{host.url}/api/more>; rel="next"'}
            server.rules = [Rule("status", status=200, headers=link, body=page, path="/api/first")]
            found = HubClient(server.url, "hf_secret", 5).pages("/api/first", {})
            assert [next(found) for _ in range(pages)] == [[{"id": 1}]] * pages
            if host is other:
                with pytest.raises(ValueError, match="continues at another host"):
                    next(found)
            else:
                assert list(found) == []
        assert all(each.authorized for each in server.log)
        assert other.log == []


def test_what_the_hub_says_of_the_next_time_is_kept(hub_here: HubServer) -> None:
    hub_here.repo("datasets", "org/name", {"a.jsonl": b"{}\n"})
    headers = {"RateLimit": '"api";r=0;t=7', "Retry-After": "9", "X-Other": "1"}
    hub_here.rules = [Rule("status", status=429, headers=headers)]
    with pytest.raises(HubIsSilent, match="status 429") as raised:
        HubIndex({}).list("datasets", "org/name", "main")
    assert raised.value.status == 429
    assert raised.value.headers == {"ratelimit": '"api";r=0;t=7', "retry-after": "9"}


def test_lists_are_those_of_huggingface_hub(hub_here: HubServer) -> None:
    """Whatever their pages, odd names, and what is kept apart."""
    files = {"data/c #?%é+.txt": b"odd", "b.bin": b"\0" * 99, "x/y/z.jsonl": b"{}\n"}
    hub_here.repo("datasets", "org/name", files)
    commit = huggingface_hub.HfApi(endpoint=hub_here.endpoint).dataset_info("org/name").sha
    listed = huggingface_hub.HfApi(endpoint=hub_here.endpoint, token=False).list_repo_tree(
        "org/name", recursive=True, revision=commit, repo_type="dataset"
    )
    expected = sorted(
        (each.path, each.size, each.lfs.sha256 if each.lfs else each.blob_id)
        for each in listed
        if hasattr(each, "blob_id")
    )
    hub_here.page_size = 2
    assert HubIndex({}).list("datasets", "org/name", "") == (commit, expected)
    assert {path for path, _, _ in expected} == {*files, ".gitattributes"}
