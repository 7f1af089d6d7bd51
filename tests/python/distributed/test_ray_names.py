"""The manual's names without a cluster: what is refused, and when Ray is imported."""

import sys
from pathlib import Path
from typing import Any

import pytest
from easydata.distributed import (
    RayPreprocessor,
    RayTokenizeWorker,
    parallel_process_shards,
    tokenize_with_ray,
)
from programs import run_python

from easydata import (
    DatasetConfig,
    JsonShardedSource,
    PipelineConfig,
    RayConfig,
    TokenizerConfig,
)

WITHOUT = """
import sys
import easydata, easydata.distributed as d, easydata.distributed.ray_utils as r
names = [getattr(d, name) for name in d.__all__]
assert [getattr(r, name) for name in d.__all__] == names and len(names) == 6
assert "ray" not in sys.modules
assert d.RayTokenizeWorker(sys.argv[1], 4).tokenize_batch(["some words"]).input_ids
assert "ray" not in sys.modules
"""


def test_ray_is_imported_by_those_alone_who_use_it(gpt2: str) -> None:
    run_python("-c", WITHOUT, gpt2)


def test_where_ray_lacks_it_is_said_how_to_get_it(
    gpt2: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    uses: list[Any] = [
        lambda: RayPreprocessor(RayConfig()),
        lambda: tokenize_with_ray([{"text": "a"}], gpt2),
        lambda: parallel_process_shards([{"text": "a"}], list),
        lambda: RayTokenizeWorker.remote(gpt2),
        lambda: RayTokenizeWorker.options(num_cpus=1),
    ]
    for use in uses:
        with pytest.raises(ImportError, match="pip install ray") as refused:
            use()
        assert refused.value.name == "ray"


def test_what_cannot_be_meant_is_refused_before_anything_is_started(
    gpt2: str, tmp_path: Path
) -> None:
    ray = pytest.importorskip("ray")
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    source = JsonShardedSource(path)
    with pytest.raises(ValueError, match="tokenizer_config: there is none"):
        RayPreprocessor(RayConfig()).tokenize_source(source)
    with pytest.raises(TypeError, match=r"the source calls .*lambda.* put it into a module"):
        tokenize_with_ray(source.map(lambda row: row), gpt2)
    with pytest.raises(TypeError, match="put it into a module"):
        parallel_process_shards(source.map(lambda row: row), lambda rows: rows)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tokenize_with_ray(source, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="num_workers"):
        tokenize_with_ray(source, gpt2, num_workers=0)
    assert not ray.is_initialized()
    preprocessor = RayPreprocessor(RayConfig(), TokenizerConfig(gpt2))
    preprocessor.shutdown()
    preprocessor.shutdown()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resources_per_worker": {"GPU": 1}}, "resources_per_worker.GPU needs use_gpu"),
        ({"resources_per_worker": {"CPU": 0}}, "resources_per_worker.CPU must be above 0"),
        ({"resources_per_worker": {"CPU": 1.5}}, "resources_per_worker.CPU must be a whole"),
        ({"resources_per_worker": {"CPU": -1}}, "resources_per_worker.CPU must be a whole"),
        ({"resources_per_worker": {"TPU": "all"}}, "resources_per_worker.TPU must be a whole"),
        ({"address": ""}, "address must name a cluster"),
        ({"num_workers": 0}, "num_workers"),
        ({"object_store_memory": 0}, "object_store_memory"),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, Any], said: str) -> None:
    config = PipelineConfig([DatasetConfig("a.jsonl")], ray=RayConfig(**options))
    assert [each for each in config.validate() if said in each]


def test_what_a_worker_takes() -> None:
    from easydata.distributed.ray_cluster import WorkerNeeds

    def needs(**options: Any) -> tuple[dict[str, Any], int]:
        made = WorkerNeeds.of(RayConfig(**options))
        return made.options(), made.threads

    assert needs() == ({"num_cpus": 1, "num_gpus": 0}, 1)
    assert needs(use_gpu=True) == ({"num_cpus": 1, "num_gpus": 1}, 1)
    given = {"CPU": 2, "GPU": 0.5, "memory": 10**9, "fast_disk": 1}
    assert needs(use_gpu=True, resources_per_worker=given) == (
        {"num_cpus": 2, "num_gpus": 0.5, "memory": 10**9, "resources": {"fast_disk": 1}},
        2,
    )
    assert needs(resources_per_worker={"CPU": 0.5, "GPU": 0})[1] == 1
