"""Clusters that are found, and such as are started for the work and end with it."""

from pathlib import Path

import ray
from programs import run_python
from ray_sources import lines

HERE = Path(__file__).parent

_FOUND = """
import ray, sys
from easydata import RayConfig, TokenizerConfig
from easydata.distributed import RayPreprocessor, tokenize_with_ray
from ray_sources import expected, lines
source = lines()
rows = tokenize_with_ray(source, sys.argv[1], num_workers=2)
got = [next(rows)]
assert ray.get_runtime_context().gcs_address == sys.argv[2]
assert [*got, *rows] == expected(source, sys.argv[1])
assert not ray.is_initialized()
for options in ({"object_store_memory": 10**8}, {"address": "auto", "object_store_memory": 10**8}):
    with RayPreprocessor(RayConfig(**options), TokenizerConfig(sys.argv[1])) as preprocessor:
        try:
            next(preprocessor.tokenize_source(source))
        except ValueError as error:
            print(error)
    assert not ray.is_initialized()
"""

_STARTED = """
import ray, sys
from easydata import RayConfig, TokenizerConfig
from easydata.distributed import RayPreprocessor
from ray_sources import expected, lines
source, config = lines(), TokenizerConfig(sys.argv[1])
own = RayConfig(address="local", object_store_memory=10**8, num_workers=2)
with RayPreprocessor(own, config) as first, RayPreprocessor(RayConfig(), config) as second:
    rows = first.tokenize_source(source)
    got = [next(rows)]
    address = ray.get_runtime_context().gcs_address
    assert address != sys.argv[2]
    assert ray.cluster_resources()["object_store_memory"] == 10**8
    others = second.tokenize_source(source)
    next(others)
    assert ray.get_runtime_context().gcs_address == address
    assert [*got, *rows] == expected(source, sys.argv[1])
    first.shutdown()
    assert len(list(others)) == 1199  # who holds it still has it
    large = RayConfig(address="local", resources_per_worker={"CPU": 999})
    with RayPreprocessor(large, config) as none:
        try:
            next(none.tokenize_source(source))
        except ValueError as error:
            print(error)
assert not ray.is_initialized()
"""


def test_one_that_runs_is_found_and_left(gpt2: str) -> None:
    address = ray.get_runtime_context().gcs_address
    done = run_python("-c", _FOUND, gpt2, address, modules=[HERE.parent])
    assert done.stdout.count("object_store_memory: the cluster runs already") == 2
    assert ray.is_initialized()
    assert len(ray.nodes()) == 1


def test_one_that_is_started_ends_with_the_last_who_has_it(gpt2: str) -> None:
    address = ray.get_runtime_context().gcs_address
    done = run_python("-c", _STARTED, gpt2, address, modules=[HERE.parent])
    assert "a worker takes CPU 999, and no node of the cluster has as much" in done.stdout
    assert list(lines())  # the other one is still there
    assert ray.is_initialized()
