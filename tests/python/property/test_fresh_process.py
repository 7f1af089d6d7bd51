"""A position is good in a process that knows nothing but the configuration."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

from build_pipeline import Data, loader_of
from pipeline_specs import LoadSpec, MixSpec, PackSpec, PipelineSpec, SourceSpec

PIPELINES = {
    "packed mix": PipelineSpec(
        (
            SourceSpec(0, "python", 60, shards=3, shuffle=("rows", 3, 300, "before")),
            SourceSpec(1, "list", 17, "bimodal", steps=(("expand", 5),)),
            SourceSpec(2, "list", 31, text=True, nulls=True, steps=(("keep", 4),)),
        ),
        MixSpec(((0, (0.5, 0.3, 0.2)),), stop="all_exhausted", block_size=7),
        PackSpec(16, "first_fit", window=9),
        LoadSpec(6, epochs=2),
    ),
    "rows": PipelineSpec(
        (SourceSpec(0, "list", 60, shuffle=("grain", 5, None, "before")),),
        None,
        None,
        LoadSpec(4, shuffle_rows=7),
    ),
}
SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from build_pipeline import Data, loader_of
from test_fresh_process import PIPELINES
data = Data(Path(sys.argv[2]))
for name, states in json.load(sys.stdin).items():
    for state in states:
        with loader_of(PIPELINES[name], data) as loader:
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            for batch in loader:
                pass
            print(name, loader.digest(), sep=":")
"""


def test_five_steps_in_a_fresh_process(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    data = Data(tmp_path / "here")
    states, expected = {}, []
    for name, spec in PIPELINES.items():
        digests, saved = [0], []
        with loader_of(spec, data) as loader:
            saved.append(loader.state_dict())
            for _ in loader:
                saved.append(loader.state_dict())
                digests.append(int(loader.digest(), 16))
        steps = [len(digests) * part // 5 for part in range(5)]
        assert len(set(steps)) == 5
        states[name] = [saved[step] for step in steps]
        # Digests of the parts of a stream add up.
        rests = [(digests[-1] - digests[step]) % 2**64 for step in steps]
        expected += [f"{name}:{rest:016x}" for rest in rests]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(tmp_path / "there")],
        input=json.dumps(states),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == expected


def test_sixteen_sources_take_four_kibibytes(tmp_path: Path) -> None:
    data = Data(tmp_path)
    sources = tuple(
        SourceSpec(place, "parquet", 8, text=True, shuffle=("rows", 0, None, "before"))
        for place in range(16)
    )
    weights = tuple((place + 0.5) / 128 for place in range(16))
    mix = MixSpec(((0, weights),), stop="restart")
    spec = PipelineSpec(sources, mix, PackSpec(16), LoadSpec(6))
    with loader_of(spec, data) as loader:
        for _ in itertools.islice(loader, 120):
            assert len(json.dumps(loader.state_dict())) <= 4096
