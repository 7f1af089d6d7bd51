"""What servers do to a writer: the same bytes, or one error and nothing that looks finished."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from faults import Rule
from store_outputs import StoredOutput, big_rows, impatient, local_files, proxied, save, small_rows
from stores import S3Store

ANY = ""  # method of a request


@pytest.fixture(params=["seaweed", "gcs"])
def output(request: pytest.FixtureRequest) -> StoredOutput:
    return StoredOutput(request.getfixturevalue(request.param))


RECOVERABLE = {
    "status 503, any request in three": Rule("status", status=503, method=ANY, probability=0.3),
    "status 500 of uploads": Rule("status", status=500, method="PUT|POST", probability=0.5),
    "status 429 once, with Retry-After": Rule(
        "status", status=429, headers={"Retry-After": "1"}, method="PUT|POST", times=1
    ),
    "closed before answers": Rule("close", method=ANY, probability=0.3),
    "reset in mid-upload": Rule("cut_request", at=1000, method="PUT|POST", probability=0.3),
    "done, and the answer lost": Rule("lost", method="PUT|POST|DELETE", probability=0.5),
    "refused": Rule("refuse", times=2),
    "stalled": Rule("stall_headers", method="PUT|POST", skip=3, times=2),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", list(RECOVERABLE))
def test_what_passes_changes_nothing(output: StoredOutput, how: str, tmp_path: Path) -> None:
    save(small_rows(), tmp_path / "out")
    with proxied(output, RECOVERABLE[how]) as proxy:
        options = output.options_at(proxy.url, retry_delay=0.01, retries=30, stall_timeout=0.5)
        for overwrite in (False, True):
            save(small_rows(), output.uri, overwrite=overwrite, storage_options=options)
            assert output.files() == local_files(tmp_path / "out")
            assert output.is_clean()
        assert any(each.fault for each in proxy.log)


@pytest.mark.parametrize("how", ["lost", "close", "status", "reset"])
def test_a_lock_is_not_lost_with_an_answer(output: StoredOutput, how: str) -> None:
    about_lock = "lock" if isinstance(output.store, S3Store) else "ifGenerationMatch"
    where = {"path": about_lock} if about_lock == "lock" else {"query": about_lock}
    for skip in range(2):  # the one that puts it, the one that tries whether it is kept
        rule = Rule(how, method="PUT|POST", skip=skip, times=1, **where)
        with proxied(output, rule) as proxy:
            options = output.options_at(proxy.url, retry_delay=0.01)
            save(small_rows(), output.uri, overwrite=True, storage_options=options)
            assert [each.fault for each in proxy.log].count(how) == 1
        assert output.is_clean()


STORM = [
    Rule("status", status=503, method=ANY, probability=0.06),
    Rule("status", status=500, method=ANY, probability=0.06),
    Rule("close", method=ANY, probability=0.06),
    Rule("lost", method=ANY, probability=0.06),
    Rule("cut_request", at=500, method="PUT|POST", probability=0.06),
    Rule("refuse", probability=0.1),
]


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_changes_nothing(output: StoredOutput, seed: int, tmp_path: Path) -> None:
    save(small_rows(), tmp_path / "out")
    with proxied(output, *STORM, seed=seed) as proxy:
        options = output.options_at(proxy.url, retry_delay=0.01, retries=30, stall_timeout=0.5)
        for _ in range(3):
            save(small_rows(), output.uri, overwrite=True, storage_options=options)
            assert output.files() == local_files(tmp_path / "out")
            assert output.is_clean()
        assert sum(each.fault is not None for each in proxy.log) > 10


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fault", ["lost", "close", "cut_request", "status"])
def test_uploads_in_parts_go_on(output: StoredOutput, fault: str, tmp_path: Path) -> None:
    rows = big_rows(40)
    save(rows, tmp_path / "out", max_shard_size=10**9)
    # Of Google's store each part takes two requests: many in a row fail, and waits double.
    path = "shard-" if isinstance(output.store, S3Store) else "upload"
    rule = Rule(fault, method="PUT|POST", path=path, probability=0.6, at=3_000_000)
    with proxied(output, rule, seed=3) as proxy:
        options = output.options_at(proxy.url, retry_delay=0.001, retries=30)
        save(rows, output.uri, max_shard_size=10**9, storage_options=options)
        assert any(each.fault for each in proxy.log)
    assert output.files() == local_files(tmp_path / "out")
    assert output.is_clean()


DENIED = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>revoked</Message></Error>'


@pytest.mark.parametrize("skip", [0, 4, 8, 12, 16])
def test_revoked_credentials_leave_the_earlier_output(output: StoredOutput, skip: int) -> None:
    save(small_rows(), output.uri, storage_options=output.options)
    before = output.files()
    denied = Rule(
        "status",
        status=403,
        body=DENIED,
        headers={"x-amz-request-id": "R4711", "Content-Type": "application/xml"},
        method=ANY,
        skip=skip,
    )
    begin = time.monotonic()
    with proxied(output, denied) as proxy, pytest.raises(PermissionError) as error:
        save(
            small_rows(seed=1),
            output.uri,
            overwrite=True,
            storage_options=output.options_at(proxy.url, **impatient()),
        )
    assert time.monotonic() - begin < 5
    said = str(error.value)
    assert output.bucket in said
    assert "status 403 (AccessDenied: revoked), request id R4711" in said
    left = {name: data for name, data in output.files().items() if ".easydata" not in name}
    assert left == before, "the old output, whole"
    # Who has credentials again goes on.
    save(small_rows(seed=1), output.uri, overwrite=True, storage_options=output.options)
    assert output.is_clean()
    assert output.files() != before


def test_a_store_that_stops_at_any_request(output: StoredOutput, tmp_path: Path) -> None:
    # What is there never looks finished before it is, and the job, run again, ends as if nothing
    # had been.
    new = small_rows(300, seed=1)
    save(new, tmp_path / "new")
    after = local_files(tmp_path / "new")
    for overwrite in (False, True):
        output.prefix = f"{output.above}/stops-{overwrite}"
        before = {}
        if overwrite:
            save(small_rows(), output.uri, storage_options=output.options)
            before = output.files()
        for skip in range(200):
            gone = Rule("status", status=403, method=ANY, skip=skip)
            with proxied(output, gone) as proxy:
                options = output.options_at(proxy.url, **impatient())
                try:
                    save(new, output.uri, overwrite=overwrite, storage_options=options)
                    break
                except PermissionError:
                    pass
            _check_no_halves(output.files(), before, after)
            save(new, output.uri, overwrite=overwrite, storage_options=output.options)
            assert output.files() == after, skip
            assert output.is_clean(), skip
            output.clear()
            if overwrite:
                save(small_rows(), output.uri, storage_options=output.options)
                assert output.files() == before
        assert 15 < skip < 199, "it was done in between"
        assert output.files() == after


def _check_no_halves(found: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> None:
    for name, data in found.items():
        if ".easydata" in name:
            continue
        assert data in (old.get(name), new.get(name)), f"{name} is neither the old nor the new one"
    metadata = found.get(".metadata.json")
    if metadata is not None:
        whole = old if metadata == old.get(".metadata.json") else new
        assert all(found.get(name) == data for name, data in whole.items())


def test_what_the_store_does_not_copy_is_copied_by_reading(
    seaweed: S3Store, tmp_path: Path
) -> None:
    output = StoredOutput(seaweed)
    rows = big_rows(20)
    save(rows, tmp_path / "out", max_shard_size=10**9)
    save(small_rows(), output.uri, storage_options=output.options)
    # One shard is said to be larger than what S3 copies.
    huge = Rule("longer", method="HEAD", path=r"easydata/shard-", at=6 << 30, times=1)
    with proxied(output, huge) as proxy:
        options = output.options_at(proxy.url)
        save(rows, output.uri, max_shard_size=10**9, overwrite=True, storage_options=options)
        assert [each.fault for each in proxy.log].count("longer") == 1
        parts = [each.path for each in proxy.log if "partNumber" in each.query]
    assert parts[2:] == [f"/{output.bucket}/{output.prefix}/shard-00000.jsonl"] * 2
    assert output.files() == local_files(tmp_path / "out")
    assert output.is_clean()


def test_many_shards_at_once(output: StoredOutput, tmp_path: Path) -> None:
    rows = small_rows(12 * 1024, seed=5)
    save(rows, tmp_path / "out", num_shards=12)
    save(rows, output.uri, num_shards=12, storage_options=output.options)
    assert output.files() == local_files(tmp_path / "out")
    assert output.is_clean()
