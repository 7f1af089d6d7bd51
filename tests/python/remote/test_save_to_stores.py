"""Outputs on object stores are those of local folders, byte for byte, and kept as well."""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest
from programs import run_python
from store_outputs import StoredOutput, big_rows, local_files, proxied, save, small_rows
from stores import S3Store

import easydata


@pytest.fixture(params=["seaweed", "moto", "gcs"])
def output(request: pytest.FixtureRequest) -> StoredOutput:
    return StoredOutput(request.getfixturevalue(request.param))


@pytest.mark.parametrize("format", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("how", [{}, {"num_shards": 3}, {"max_shard_size": 10**9}])
def test_writes_the_bytes_of_a_local_output(
    output: StoredOutput, format: str, how: dict[str, Any], tmp_path: Path
) -> None:
    local = save(small_rows(), tmp_path / "out", format=format, **how)
    stats = save(small_rows(), output.uri, format=format, **how, storage_options=output.options)
    assert output.files() == local_files(tmp_path / "out")
    assert stats.output_paths == [f"{output.uri}/{Path(path).name}" for path in local.output_paths]
    assert (stats.num_examples, stats.total_bytes) == (local.num_examples, local.total_bytes)
    assert output.is_clean()


def test_a_large_shard_is_sent_in_parts_while_it_is_written(
    output: StoredOutput, tmp_path: Path
) -> None:
    rows = big_rows(50)
    save(rows, tmp_path / "out", max_shard_size=10**9)
    with proxied(output) as proxy:
        options = output.options_at(proxy.url)
        save(rows, output.uri, max_shard_size=10**9, storage_options=options)
        log = [each for each in proxy.log if "shard-" in each.path + each.query]
    assert output.files() == local_files(tmp_path / "out")
    assert output.is_clean()
    if isinstance(output.store, S3Store):
        parts = [each for each in log if "partNumber" in each.query]
        assert len(parts) == 4, "50 MB by 16 MiB"
        assert [each.method for each in log if "partNumber" not in each.query] == ["POST", "POST"]


def test_reads_what_it_wrote(output: StoredOutput) -> None:
    save(small_rows(), output.uri, format="parquet", storage_options=output.options)
    source = easydata.ParquetShardedSource(output.uri, storage_options=output.options)
    assert list(source) == small_rows()
    report = easydata.verify(output.uri, storage_options=output.options)
    assert report.ok
    assert sum(file.rows for file in report.files) == 600
    assert all(file.recorded for file in report.files)


def test_verify_finds_what_is_wrong(output: StoredOutput) -> None:
    save(small_rows(), output.uri, storage_options=output.options)
    shard = output.get("shard-00001.jsonl")
    output.put("shard-00001.jsonl", shard[:100] + b"X" + shard[101:])
    output.put("shard-00002.jsonl", b"{}\n")
    output.store.delete(output.bucket, f"{output.prefix}/shard-00003.jsonl")
    output.put("more.jsonl", b'{"n": 1, "text": ""}\n')
    output.put("inner/.easydata/progress.jsonl", b"")
    report = easydata.verify(
        f"{output.uri.removesuffix('/some/out')}/some", storage_options=output.options
    )
    problems = {file.path.removeprefix(output.uri + "/"): file.problem for file in report.damaged}
    assert sorted(problems) == [
        "inner/.easydata",
        "more.jsonl",
        "shard-00001.jsonl",
        "shard-00002.jsonl",
        "shard-00003.jsonl",
    ]
    assert "not those that were written" in problems["shard-00001.jsonl"]
    assert "it has 3 bytes" in problems["shard-00002.jsonl"]
    assert "404" in problems["shard-00003.jsonl"]
    assert "is not part of the output" in problems["more.jsonl"]
    assert "is not finished" in problems["inner/.easydata"]


def test_a_finished_output_is_replaced_when_that_is_said(
    output: StoredOutput, tmp_path: Path
) -> None:
    new = small_rows(300, seed=1)
    save(new, tmp_path / "out")
    save(small_rows(), output.uri, storage_options=output.options)
    before = output.files()
    with pytest.raises(FileExistsError, match="holds a finished output already") as refused:
        save(new, output.uri, storage_options=output.options)
    assert output.uri in str(refused.value)
    assert output.files() == before
    save(new, output.uri, overwrite=True, storage_options=output.options)
    assert output.files() == local_files(tmp_path / "out")
    assert output.is_clean()


def test_what_is_not_ours_is_left_alone(output: StoredOutput) -> None:
    output.put("notes.txt", b"mine")
    output.put("deep/er/notes.txt", b"mine")
    before = output.files()
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match=r"holds deep, which no output of ours names"):
            save(small_rows(), output.uri, overwrite=overwrite, storage_options=output.options)
    assert output.files() == before
    output.prefix = f"{output.above}/another"
    output.put("metadata.json", b'{"mine": 1}')
    output.put(".easydata/what", b"mine")
    with pytest.raises(OSError, match="is nothing that we put there"):
        save(small_rows(), output.uri, overwrite=True, storage_options=output.options)
    output.store.delete(output.bucket, f"{output.prefix}/.easydata/what")
    save(small_rows(), output.uri, overwrite=True, storage_options=output.options)
    assert output.get("metadata.json") == b'{"mine": 1}'
    assert len(output.names()) == 6


def test_a_file_is_no_folder(output: StoredOutput) -> None:
    output.store.put(output.bucket, output.prefix, b"mine")
    with pytest.raises(FileExistsError, match="is a file; an output needs a folder"):
        save(small_rows(), output.uri, storage_options=output.options)


def test_several_datasets_of_a_pipeline(output: StoredOutput, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(small_rows(200, seed=ord(name)), tmp_path / name)
    datasets = [{"name": name, "data_files": f"{tmp_path / name}"} for name in ("a", "b")]

    def run(**options: Any) -> Any:
        stage = {"output_dir": output.uri, "storage_options": output.options, **options}
        return easydata.create_pipeline(datasets, save=stage).source().save().build()

    stats = run(format="jsonl")
    assert stats["a"].output_paths == [f"{output.uri}/a/shard-00000.jsonl"]
    names = [name for name in output.names() if "shard" in name]
    assert names == ["a/shard-00000.jsonl", "b/shard-00000.jsonl"]
    key = output.options.get("secret", "no secret")
    assert all(key.encode() not in data for data in output.files().values())
    with pytest.raises(FileExistsError):
        run(format="jsonl")
    output.store.delete(output.bucket, f"{output.prefix}/b/.metadata.json")
    output.store.delete(output.bucket, f"{output.prefix}/b/shard-00000.jsonl")
    before = output.get("a/.metadata.json")
    run(format="jsonl")
    assert output.get("a/.metadata.json") == before, "what is finished is kept"
    assert sum("b/" in name for name in output.names()) == 2


def test_inputs_do_not_lie_in_the_output(output: StoredOutput) -> None:
    save(small_rows(), output.uri, storage_options=output.options)
    source = easydata.JsonShardedSource(output.uri, storage_options=output.options)
    with pytest.raises(ValueError, match="lies in the output folder"):
        easydata.save_dataset(
            source, output.uri + "/", overwrite=True, storage_options=output.options
        )
    with pytest.raises(ValueError, match="lies in the output folder"):
        easydata.save_dataset(
            source, output.uri.removesuffix("/out"), storage_options=output.options
        )
    assert easydata.verify(output.uri, storage_options=output.options).ok


def test_goes_on_behind_finished_shards(
    output: StoredOutput, caplog: pytest.LogCaptureFixture
) -> None:
    rows = small_rows()

    class Stopping(easydata.ShardedDataSource[Any]):
        fails = True

        @property
        def shard_names(self) -> list[str]:
            return ["rows"]

        @property
        def num_shards(self) -> int:
            return 1

        def open_shard(self, shard: str) -> Any:
            yield from rows[:400]
            if self.fails:
                raise RuntimeError("it went away")
            yield from rows[400:]

    source = Stopping()
    with pytest.raises(RuntimeError, match="it went away"):
        save(source, output.uri, storage_options=output.options)  # type: ignore[arg-type]
    left = output.names()
    assert ".easydata/progress.jsonl" in left
    assert ".easydata/lock" not in left
    assert not output.open_uploads()
    damaged = output.get("shard-00001.jsonl").replace(b"a", b"b", 1)
    output.put("shard-00001.jsonl", damaged)
    source.fails = False
    with caplog.at_level(logging.INFO, "easydata"):
        stats = save(source, output.uri, storage_options=output.options)  # type: ignore[arg-type]
    assert stats.kept_shards == 1
    assert "1 finished shard of an earlier run is kept" in caplog.text
    assert "shard-00001.jsonl is not what was written" in caplog.text
    lines = b"".join(output.get(name) for name in output.names() if "shard" in name).splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert output.is_clean()


@pytest.mark.parametrize(
    "uri", ["https://example.com/out", "http://u:pw@example.com/out?key=secret"]
)
def test_web_servers_take_no_outputs(uri: str) -> None:
    with pytest.raises(NotImplementedError, match="outputs go to s3://, gs:// and local") as error:
        save(small_rows(), uri)
    assert "pw" not in str(error.value)
    assert "secret" not in str(error.value)
    dataset = easydata.DatasetConfig(data_files="x", save_path=uri)
    (said,) = easydata.PipelineConfig(datasets=[dataset]).validate()
    assert "outputs go to s3://, gs:// and local" in said


def test_a_bucket_must_be_there(output: StoredOutput) -> None:
    output.bucket = "no-such-bucket-anywhere"
    with pytest.raises(FileNotFoundError, match="no-such-bucket-anywhere"):
        save(small_rows(), output.uri, storage_options=output.options)


def test_whole_jobs_in_one_call(output: StoredOutput, gpt2: str, tmp_path: Path) -> None:
    save(small_rows(), f"{output.uri}/in", storage_options=output.options)
    save(small_rows(), tmp_path / "in")
    where: list[tuple[Any, dict[str, Any]]] = [
        (tmp_path, {}),
        (output.uri, {"storage_options": output.options}),
    ]
    for folder, options in where:
        easydata.tokenize_and_save(f"{folder}/in", gpt2, f"{folder}/tokens", **options)
        source = easydata.JsonShardedSource(f"{folder}/in", **options)
        easydata.pretokenize(
            source, lambda row: row, f"{folder}/kept", show_progress=False, **options
        )
    assert output.files().keys() == local_files(tmp_path).keys()
    shards = {name: data for name, data in output.files().items() if "shard" in name}
    assert shards == {n: data for n, data in local_files(tmp_path).items() if "shard" in n}
    assert easydata.verify(output.uri, storage_options=output.options).ok


def test_the_command_line_goes_from_store_to_store(moto: S3Store, gpt2: str) -> None:
    output = StoredOutput(moto)
    save(small_rows(), f"{output.uri}/in", storage_options=output.options)
    credentials = {
        "AWS_ACCESS_KEY_ID": output.options["key"],
        "AWS_SECRET_ACCESS_KEY": output.options["secret"],
        "AWS_ENDPOINT_URL": moto.url,
        "AWS_REGION": output.options["region"],
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_python("-m", "easydata.cli", *arguments, variables=credentials, status=None)

    job = ("tokenize", f"{output.uri}/in", "--tokenizer", gpt2, "--output-dir")
    done = run(*job, f"{output.uri}/out")
    assert done.returncode == 0, done.stderr
    assert f", in {output.uri}/out" in done.stdout
    again = run(*job, f"{output.uri}/out", "--max-length", "7")
    assert again.returncode != 0
    assert "holds a finished output already" in again.stderr
    verified = run("verify", output.uri)
    assert verified.returncode == 0, verified.stdout
    assert "5 files, 1.2 k rows" in verified.stdout
    refused = run(*job, "https://example.com/out")
    assert refused.returncode != 0
    assert "outputs go to s3://, gs:// and local folders" in refused.stderr
