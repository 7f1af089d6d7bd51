"""Records what Grain does: permutations, shuffles, mixes, packed rows.

    python3 -m venv /tmp/grain && /tmp/grain/bin/pip install grain==0.2.18 numpy==2.4.6
    /tmp/grain/bin/python tests/data/record_grain.py [--check]

The files it writes to golden/grain have the form of those in ../shared/data/golden/grain, so that
the same tests read both.
"""

import argparse
import hashlib
import json
import platform
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grain
import numpy as np

HERE = Path(__file__).resolve().parent
Json = dict[str, Any]
DATASET = 1_000_000


# Permutations


def index_shuffles() -> Iterator[Json]:
    for seed in (0, 1, 42, 2**31, 2**32 - 1):
        for n in (1, 2, 3, 5, 16, 17, 64, 65, 100, 257):
            yield permutation(n, seed, 4)
    for rounds in (6, 8, 16):
        yield permutation(100, 7, rounds)
    for n in (10_000, 100_003):
        yield permutation(n, 3, 4)
    for n in (2**31 - 1, 10**12, 2**40 + 1):
        indices = sorted({0, 1, 2, n // 3, n // 2, n - 2, n - 1})
        samples = [[i, index(i, n, 9, 4)] for i in indices]
        yield {"n": n, "max_index": n - 1, "seed": 9, "rounds": 4, "samples": samples}


def index(i: int, n: int, seed: int, rounds: int) -> int:
    return int(grain.experimental.index_shuffle(i, max_index=n - 1, seed=seed, rounds=rounds))


def permutation(n: int, seed: int, rounds: int) -> Json:
    order = [index(i, n, seed, rounds) for i in range(n)]
    case: Json = {"n": n, "max_index": n - 1, "seed": seed, "rounds": rounds}
    if n <= 300:
        return {**case, "order": order}
    return {
        **case,
        "order_head": order[:40],
        "order_tail": order[-10:],
        "distinct": len(set(order)),
    }


# Shuffles


def numbers(dataset: Any) -> list[int]:
    return [int(dataset[i]) for i in range(len(dataset))]


def shuffles() -> Iterator[Json]:
    rows = grain.MapDataset.range
    for n in (1, 5, 20, 65):
        for seed in (0, 42):
            case = {"n": n, "seed": seed, "epochs": 3}
            order = numbers(rows(n).shuffle(seed=seed).repeat(3))
            yield {"name": "range(n).shuffle(seed=s).repeat(E)", **case, "order": order}
            order = numbers(rows(n).seed(seed).shuffle().repeat(3))
            yield {"name": "range(n).seed(s).shuffle().repeat(E)", **case, "order": order}
    for n, seed in ((20, 7), (33, 2**32 - 1)):
        case = {"n": n, "seed": seed}
        made = rows(n).seed(seed).shuffle().shuffle()
        yield {"name": "range(n).seed(s).shuffle().shuffle()", **case, "order": numbers(made)}
        made = rows(n)[n // 4 : n].seed(seed).shuffle().repeat(2)
        name = "range(n)[n//4:n].seed(s).shuffle().repeat(2)"
        yield {"name": name, **case, "order": numbers(made)}
        made = rows(n).seed(seed).repeat(2).shuffle()
        yield {"name": "range(n).seed(s).repeat(2).shuffle()", **case, "order": numbers(made)}
        for host in range(2):
            made = rows(n).seed(seed).shuffle().repeat(2)[host::2]
            case = {"n": n, "seed": seed, "host": host, "hosts": 2}
            name = "seed(s).shuffle().repeat(2)[h::H]"
            yield {"name": name, **case, "order": numbers(made)}
    for n, window, seed in ((40, 8, 1), (41, 8, 5)):
        case = {"n": n, "window": window, "seed": seed}
        made = grain.experimental.WindowShuffleMapDataset(rows(n), window_size=window, seed=seed)
        yield {"name": "window_shuffle map", **case, "order": numbers(made)}
        stream = grain.experimental.WindowShuffleIterDataset(
            rows(n).to_iter_dataset(), window_size=window, seed=seed
        )
        yield {"name": "window_shuffle iter", **case, "order": [int(row) for row in stream]}


# Mixes


def mixes() -> Iterator[Json]:
    for lengths, weights in (
        ([30, 30], [1, 1]),
        ([50, 20, 10], [0.5, 0.3, 0.2]),
        ([10, 90], [0.1, 0.9]),
        ([25, 25, 25, 25, 25], [1, 2, 3, 4, 5]),
        ([40, 7], [3, 5]),
        ([12, 12, 12], None),
        ([100, 3], [0.9999, 0.0001]),
        ([17], [1.0]),
    ):
        parts = [
            grain.MapDataset.source(range(d * DATASET, d * DATASET + length))
            for d, length in enumerate(lengths)
        ]
        mixed = grain.MapDataset.mix(parts, weights)
        endless = grain.MapDataset.mix([part.repeat() for part in parts], weights)
        streamed = [
            int(row)
            for row in grain.IterDataset.mix([part.to_iter_dataset() for part in parts], weights)
        ]
        yield {
            "lengths": lengths,
            "weights": weights,
            "map_len": len(mixed),
            "map": numbers(mixed)[:200],
            "map_repeated_first_300": [int(endless[i]) for i in range(300)],
            "iter_total": len(streamed),
            "iter": streamed[:200],
        }
    parts = [
        grain.MapDataset.source(range(d * DATASET, d * DATASET + 50)).repeat() for d in range(2)
    ]
    uneven = grain.MapDataset.mix(parts, [1e-6, 1])
    yield {"weights": [1e-6, 1], "first_60": [int(uneven[i]) for i in range(60)]}
    for weights in ([0, 1], [1, 0]):
        try:
            grain.MapDataset.mix(parts, weights)[0]
        except ValueError as error:
            yield {"weights": weights, "error": f"ValueError: {error}"}


# Packed rows


def document(number: int, length: int) -> Any:
    return np.array([(7 * j + 31 * number) % 997 + 1 for j in range(length)], dtype=np.int32)


def packed_rows(algorithm: str, options: Json, length: Any, elements: list[Json]) -> Any:
    parent = grain.MapDataset.source(elements).to_iter_dataset(
        grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    )
    packer = {
        "first_fit": grain.experimental.FirstFitPackIterDataset,
        "best_fit": grain.experimental.BestFitPackIterDataset,
        "concat_then_split": grain.experimental.ConcatThenSplitIterDataset,
    }[algorithm]
    options = dict(options)
    if "bos_handling" in options:
        options["bos_handling"] = grain.experimental.BOSHandling[options["bos_handling"]]
    return packer(parent, length_struct=length, **options)


def segment_lengths(row: Json) -> list[int]:
    segments = row["tokens_segment_ids"]
    return [int((segments == s).sum()) for s in range(1, int(segments.max(initial=0)) + 1)]


def packed(algorithm: str, options: Json, length: int, doc_lengths: list[int]) -> Json:
    case = {"algorithm": algorithm, "L": length, "options": options, "doc_lengths": doc_lengths}
    elements = [{"tokens": document(i, size)} for i, size in enumerate(doc_lengths)]
    dataset = packed_rows(algorithm, options, {"tokens": length}, elements)
    iterator = iter(dataset)
    rows, states = [], {}
    try:
        for row in iterator:
            rows.append(row)
            if len(rows) in (1, 3, 10):
                states[str(len(rows))] = json.loads(json.dumps(iterator.get_state(), default=str))
    except ValueError as error:
        # Where jax is installed, Grain names features by its keys.
        text = re.sub(r"DictKey\(key=('\w+')\)", r"\1", str(error))
        return {**case, "error": f"ValueError: {text}"}
    sha = hashlib.sha256()
    for row in rows:
        for name in sorted(row):
            sha.update(np.ascontiguousarray(row[name], dtype="<i4").tobytes())
    lengths = [segment_lengths(row) for row in rows]
    firsts = []
    for row, sizes in zip(rows, lengths, strict=True):
        starts = [int(np.argmax(row["tokens_segment_ids"] == s + 1)) for s in range(len(sizes))]
        firsts.append([int(row["tokens"][start]) for start in starts])
    case |= {"states": states, "row_count": len(rows), "segment_lengths": lengths}
    case |= {"first_tokens": firsts, "sha256_int32le_rowwise_keys_sorted": sha.hexdigest()}
    if rows and length < 100 and len(rows) < 16:
        names = ("tokens", "tokens_segment_ids", "tokens_positions")
        case["rows"] = {name: [row[name].tolist() for row in rows] for name in names}
    return case


def packings() -> Iterator[Json]:
    rng = random.Random(3)
    draw = lambda count, most: [rng.randint(1, most) for _ in range(count)]  # noqa: E731
    for algorithm in ("first_fit", "best_fit"):
        for bins in (1, 2, 5, 16):
            plain = {"num_packing_bins": bins, "shuffle_bins": False}
            yield packed(algorithm, plain, 24, draw(30, 24))
            yield packed(algorithm, plain, 24, draw(200, 12))
            for seed in (0, 7):
                shuffled = {"num_packing_bins": bins, "seed": seed, "shuffle_bins": True}
                yield packed(algorithm, shuffled, 24, draw(60, 20))
        plain = {"num_packing_bins": 8, "shuffle_bins": False}
        yield packed(algorithm, plain, 2048, [rng.randint(1, 2048) for _ in range(150)])
        yield packed(algorithm, {**plain, "max_sequences_per_bin": 2}, 24, draw(60, 9))
        aligned = {**plain, "pack_alignment_struct": {"tokens": 4}}
        yield packed(algorithm, aligned, 32, draw(40, 15))
        yield packed(algorithm, {**plain, "padding_struct": {"tokens": 3}}, 32, draw(20, 20))
        for few in ([], [24], [3, 4, 5]):
            yield packed(algorithm, plain, 24, few)
        # Document 30 is one longer than a bin.
        yield packed(algorithm, plain, 24, [*draw(30, 24), 25, 3])
    for length in (16, 24):
        yield packed("concat_then_split", {}, length, draw(40, 40))
        whole = {"split_full_length_features": False}
        yield packed("concat_then_split", whole, length, [*draw(20, 30), length, length, 5])
        begun = {
            "bos_handling": "REPLACE_FIRST_TOKEN_WITH_BOS",
            "bos_features": ["tokens"],
            "bos_token_id": 1199,
        }
        yield packed("concat_then_split", begun, length, draw(25, 40))
    yield packed("concat_then_split", {}, 2048, draw(60, 4000))


def several_features() -> Iterator[Json]:
    rng = random.Random(4)
    inputs = [rng.randint(1, 12) for _ in range(40)]
    targets = [rng.randint(1, 12) for _ in range(40)]
    elements = [
        {"inputs": document(i, a), "targets": document(i + 500, b), "doc": np.int64(i)}
        for i, (a, b) in enumerate(zip(inputs, targets, strict=True))
    ]
    for algorithm in ("first_fit", "best_fit"):
        for length in ({"inputs": 24, "targets": 24}, {"inputs": 32, "targets": 16}):
            for meta in ([], ["doc"]):
                options = {"num_packing_bins": 3, "shuffle_bins": False}
                given = [{k: v for k, v in e.items() if meta or k != "doc"} for e in elements]
                if meta:
                    options["meta_features"] = meta
                whole = {**length, **dict.fromkeys(meta, 99)}
                rows = list(packed_rows(algorithm, options, whole, given))
                for row in rows if meta else ():  # as many as documents, behind them is padding
                    row["doc"] = row["doc"][: row["inputs_segment_ids"].max()]
                yield {
                    "algorithm": algorithm,
                    "L": length,
                    "options": options,
                    "inputs_lengths": inputs,
                    "targets_lengths": targets,
                    "rows": {
                        name: [np.asarray(row[name]).tolist() for row in rows] for name in rows[0]
                    },
                }
    for length, same in (
        ({"inputs": 16, "targets": 24}, False),
        ({"inputs": 20, "targets": 20}, False),
        ({"inputs": 20, "targets": 20}, True),
    ):
        inputs = [rng.randint(1, 36) for _ in range(25)]
        targets = inputs if same else [rng.randint(1, 20) for _ in range(25)]
        first = 0 if same else 500
        given = [
            {"inputs": document(i, a), "targets": document(i + first, b)}
            for i, (a, b) in enumerate(zip(inputs, targets, strict=True))
        ]
        rows = list(packed_rows("concat_then_split", {}, length, given))
        yield {
            "algorithm": "concat_then_split",
            "L": length,
            "options": {},
            "inputs_lengths": inputs,
            "targets_lengths": targets,
            "token_rule": "targets identical to inputs" if same else "targets: document i + 500",
            "rows": {name: [np.asarray(row[name]).tolist() for row in rows] for name in rows[0]},
            "inputs_tokens_in": sum(inputs),
            "targets_tokens_in": sum(targets),
            "targets_tokens_out": sum(int((r["targets_segment_ids"] > 0).sum()) for r in rows),
        }


RECORDERS = {
    "index_shuffle": index_shuffles,
    "shuffle": shuffles,
    "mix": mixes,
    "packing": packings,
    "packing_multi_feature": several_features,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is checked in")
    check = parser.parse_args().check
    folder = HERE / "golden" / "grain"
    folder.mkdir(parents=True, exist_ok=True)
    versions = {"grain": "0.2.18", "numpy": np.__version__, "python": platform.python_version()}
    status = 0
    for name, record in RECORDERS.items():
        cases = ",\n".join(json.dumps(case, separators=(",", ":")) for case in record())
        text = f'{{"made_with":{json.dumps(versions)},"cases":[\n{cases}\n]}}\n'
        path = folder / f"{name}.json"
        if not check:
            path.write_text(text)
        elif json.loads(path.read_text())["cases"] != json.loads(text)["cases"]:
            print(f"{path.name} would come out otherwise", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
