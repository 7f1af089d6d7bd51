"""Examples in streams: counted, refused, restored at every step, packed, saved, configured."""

import json
import logging
import pickle
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import difference
from chat_rows import OPTIONS, ROWS, Row, assistant, chat, tokenizer, user
from data_folders import OWN
from easydata.trainers import SFTPreprocessTransform
from easydata.transforms.trainer_examples import named_transform

import easydata
from easydata import AsyncDataLoader, DatasetConfig, Pipeline, PipelineConfig

KINDS = sorted(ROWS)


def write(path: Path, rows: list[Row]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def source_of(path: Path, rows: list[Row]) -> Any:
    return easydata.JsonShardedSource([write(path, rows)])


def transform_of(kind: str, **options: Any) -> Any:
    choice = {"name": kind, **OPTIONS[kind], **options}
    return named_transform(choice, tokenizer())


def packed_rows(*args: Any, **options: Any) -> list[Row]:
    """Packed rows as lists."""
    rows = easydata.PackedShardedSource(*args, **options)
    return [{name: values.tolist() for name, values in row.items()} for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_streams_give_what_single_rows_give(kind: str, tmp_path: Path) -> None:
    """Of JSONL and of typed columns, whole and in parts."""
    transform = transform_of(kind)
    expected = [made for row in ROWS[kind] for made in transform.examples(row)]
    assert len(expected) > 40
    made = list(source_of(tmp_path / "rows.jsonl", ROWS[kind]).transform(transform))
    assert made == expected
    same = [row for row in ROWS[kind] if row.keys() == ROWS[kind][0].keys()][:20]
    try:
        table = pa.Table.from_pylist(same)
    except pa.ArrowInvalid:
        table = pa.Table.from_pylist(same[:10])
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=7)
    typed = list(easydata.ParquetShardedSource([str(path)]).transform(transform))
    assert typed == [each for row in table.to_pylist() for each in transform.examples(row)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_restore(kind: str, tmp_path: Path) -> None:
    rows = [row for row in ROWS[kind] for _ in range(2)]
    source = source_of(tmp_path / "rows.jsonl", rows).transform(transform_of(kind))

    def loader(num_threads: int = 2) -> AsyncDataLoader:
        return AsyncDataLoader(source, 8, num_threads=num_threads)

    whole = list(loader())
    assert len(whole) > 10
    running = loader()
    iterator = iter(running)
    for step in range(len(whole) + 1):
        state = json.loads(json.dumps(running.state_dict()))
        restored = loader(1 + step % 3)
        restored.load_state_dict(state)
        assert restored.state_dict() == state
        assert difference(list(restored), whole[step:]) is None, f"restored at step {step}"
        restored.close()
        next(iterator, None)
    running.close()


@pytest.mark.parametrize("kind", ["sft", "dpo", "kto"])
def test_rows_in_error_are_left_out_and_counted(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = ROWS[kind]
    bad = [{"unknown": 1}, {"messages": [], "prompt": 5, "chosen": 1, "rejected": 2}]
    rows = [*good[:5], bad[0], *good[5:9], bad[1], *good[9:]]
    path = write(tmp_path / "rows.jsonl", rows)
    expected = [made for row in good for made in transform_of(kind).examples(row)]
    with pytest.raises((KeyError, ValueError, TypeError), match=r"rows\.jsonl row 5"):
        list(easydata.JsonShardedSource([path]).transform(transform_of(kind)))
    for on_error in ("skip", "quarantine"):
        aside = tmp_path / f"{kind}-aside.jsonl"
        config = PipelineConfig(
            datasets=[
                DatasetConfig(
                    data_files=path,
                    name="rows",
                    tokenizer=tokenizer(),
                    transform={"name": kind, **OPTIONS[kind]},
                    on_error=on_error,
                    quarantine_path=str(aside) if on_error == "quarantine" else None,
                )
            ]
        )
        with caplog.at_level(logging.WARNING, "easydata"):
            caplog.clear()
            made = list(Pipeline.from_config(config).source().build())
        assert made == expected
        assert "row 5" in caplog.text
        assert "left out" in caplog.text
        if on_error == "quarantine":
            kept = [json.loads(line) for line in aside.read_text().splitlines()]
            assert len(kept) == 2
            assert "unknown" in json.dumps(kept[0])


def test_what_is_left_out_or_cut_is_counted_by_reason(tmp_path: Path) -> None:
    rows = [
        *({"messages": chat(i, 1 + i // 6)} for i in range(10)),
        {"messages": [user("Anybody there?")]},
        {"messages": [user("x " * 60), assistant("y")]},
    ]
    source = source_of(tmp_path / "rows.jsonl", rows)
    transform = SFTPreprocessTransform(tokenizer(), 60, mask_prompt=True, fixed_shapes=False)
    with AsyncDataLoader(source.transform(transform), 2, drop_last=False) as loader:
        made = list(loader)
        stats = loader.stats()
    whole = [SFTPreprocessTransform(tokenizer(), None, fixed_shapes=False)(row) for row in rows]
    lengths = [len(each["input_ids"]) for each in whole]
    assert sum(len(batch["input_ids"]) for batch in made) == 10
    (counts,) = stats["sources"].values()
    assert counts["dropped"]["no_loss"] == 2
    assert counts["dropped"]["truncated"] == sum(length > 60 for length in lengths) == 5


def test_transforms_are_pickled_and_described() -> None:
    for kind in KINDS:
        transform = transform_of(kind)
        row = ROWS[kind][0]
        copy = pickle.loads(pickle.dumps(transform))
        assert copy.examples(row) == transform.examples(row)
        assert repr(copy) == repr(transform)
        assert type(transform).__name__ in repr(transform)


# A rendered chat was closed by a second end of turn, or by EOS behind the template's own end.
def test_packers_add_no_end_to_chats(tmp_path: Path) -> None:
    chats = source_of(tmp_path / "chats.jsonl", [{"messages": chat(i)} for i in range(30)])
    texts = source_of(tmp_path / "texts.jsonl", [{"text": f"Line {i}."} for i in range(30)])
    config = easydata.TokenizerConfig(name_or_path="own")
    made = [
        easydata.TokenizedShardedSource(each, tokenizer(), config, content_field=field)
        for each, field in ((chats, "messages"), (texts, "text"))
    ]
    end = tokenizer().eos_token_id
    mixed = easydata.MixedShardedSource(
        {"chats": made[0], "texts": made[1]}, seed=1, stop_strategy="all_exhausted"
    )
    packed = easydata.PackedShardedSource(mixed, 64, end, shuffle=False)
    rows = list(packed)
    text = "".join(
        tokenizer().decode(
            [i for i, one in zip(row["input_ids"], row["attention_mask"], strict=True) if one]
        )
        for row in rows
    )
    assert "<|im_end|>\n<|im_end|>" not in text
    assert "<|im_end|><|im_end|>" not in text
    assert text.count("<|im_start|>assistant") >= 30
    for i in range(30):
        assert f"Line {i}.<|im_end|>" in text


def test_packed_examples_keep_labels_and_masks(tmp_path: Path) -> None:
    rows = [{"messages": chat(i, 1 + i % 3)} for i in range(60)]
    source = source_of(tmp_path / "rows.jsonl", rows)
    masked = SFTPreprocessTransform(tokenizer(), None, mask_prompt=True, fixed_shapes=False)
    labelled = SFTPreprocessTransform(
        tokenizer(), None, mask_prompt=True, fixed_shapes=False, labels=True
    )
    end = tokenizer().eos_token_id
    options: Row = {"strategy": "best_fit", "shuffle": False}
    made = packed_rows(source.transform(masked), 96, end, labels=True, **options)
    same = packed_rows(source.transform(labelled), 96, end, **options)
    for one, other in zip(made, same, strict=True):
        assert one["labels"] == other["labels"]
        expected = [
            token if mask == 1 else -100
            for token, mask in zip(one["input_ids"], one["assistant_masks"], strict=True)
        ]
        assert one["labels"] == expected
    trained = sum(label != -100 for row in made for label in row["labels"])
    examples = [masked(row) for row in rows]
    assert trained == sum(sum(each["assistant_masks"]) for each in examples)


def test_packed_rows_as_trl_wants_them(tmp_path: Path) -> None:
    rows = [{"messages": chat(i, 1 + i % 3)} for i in range(60)]
    transform = SFTPreprocessTransform(tokenizer(), None, layout="trl")
    source = source_of(tmp_path / "rows.jsonl", rows).transform(transform)
    packed = packed_rows(
        source, 96, strategy="best_fit", shuffle=False, seq_lengths=True, ignore_first_label=True
    )
    assert len(packed) > 10
    for row in packed:
        lengths = row["seq_lengths"]
        assert sum(lengths) == len(row["input_ids"]) == 96
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        assert [row["labels"][at] for at in starts] == [-100] * len(starts)
        assert [row["position_ids"][at] for at in starts] == [0] * len(starts)
        used = sum(row["attention_mask"])
        assert used == 96 or starts[-1] == used
        inner = [at for at in range(used) if at not in starts]
        assert [row["labels"][at] for at in inner] == [row["input_ids"][at] for at in inner]


def test_an_eos_of_the_packer_is_trained_as_the_token_before_it(tmp_path: Path) -> None:
    rows = [
        {"input_ids": [5, 6], "labels": [5, -100], "loss_mask": [1, 0]},
        {"input_ids": [7, 8], "labels": [-100, 8], "loss_mask": [0, 1]},
    ]
    (row,) = packed_rows(source_of(tmp_path / "rows.jsonl", rows), 6, 1, shuffle=False)
    assert row["input_ids"] == [5, 6, 1, 7, 8, 1]
    assert row["labels"] == [5, -100, -100, -100, 8, 1]
    assert row["loss_mask"] == [1, 0, 0, 0, 1, 1]


def test_a_config_writes_examples(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", [{"messages": chat(i)} for i in range(30)])
    (tmp_path / "sft.yaml").write_text(
        f"""
datasets:
  - data_files: {rows}
    name: chats
    tokenizer: {tokenizer().name}
    transform:
      name: sft
      max_length: 64
      mask_prompt: true
      fixed_shapes: false
save:
  output_dir: {tmp_path / "out"}
  format: parquet
""",
        encoding="utf-8",
    )
    config = PipelineConfig.from_file(tmp_path / "sft.yaml")
    assert config.validate() == []
    assert PipelineConfig.from_dict(config.to_dict()) == config
    Pipeline.from_config(config).source().tokenize().save().build()
    table = pa.concat_tables(
        pq.read_table(path) for path in sorted((tmp_path / "out").rglob("*.parquet"))
    )
    assert table.num_rows == 30
    transform = SFTPreprocessTransform(tokenizer(), 64, mask_prompt=True, fixed_shapes=False)
    expected = [transform({"messages": chat(i)}) for i in range(30)]
    assert [{name: row[name] for name in expected[0]} for row in table.to_pylist()] == expected


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        ("stf", 'is no transform.*did you mean "sft"'),
        ({"name": "sft", "max_lenght": 5}, "max_lenght"),
        ({"name": "sft", "max_length": 0}, "at least 1"),
        ({"max_length": 5}, "must have a name"),
        ({"name": "dpo", "layout": "trl", "max_prompt_length": 3}, 'is for layout="easydel"'),
    ],
)
def test_configs_say_what_is_wrong(transform: Any, said: str) -> None:
    config = PipelineConfig(
        datasets=[DatasetConfig(data_files="x.jsonl", tokenizer="t", transform=transform)]
    )
    assert any(re.search(said, each) for each in config.validate())


def test_a_dataset_may_have_a_template_of_its_own(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", [{"messages": chat(i)} for i in range(3)])
    template = tmp_path / "own.jinja"
    template.write_text("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    for given in (str(template), template.read_text()):
        config = PipelineConfig(
            datasets=[
                DatasetConfig(
                    data_files=rows,
                    tokenizer=tokenizer(),
                    content_field="messages",
                    chat_template=given,
                )
            ]
        )
        made = list(Pipeline.from_config(config).source().tokenize().build())
        assert tokenizer().decode(made[0]["input_ids"]).startswith("[user]When does ferry 0")


def test_rows_of_which_none_gives_an_example_are_an_error(tmp_path: Path) -> None:
    rows = [{"messages": [user("Anybody there?")]} for _ in range(6)]
    rows.append({"messages": [user("x"), assistant("")]})
    transform = SFTPreprocessTransform(
        tokenizer(), 60, mask_prompt=True, fixed_shapes=False, empty_answers="skip"
    )
    source = source_of(tmp_path / "rows.jsonl", rows).transform(transform)
    said = r"none of the 7 rows.* gives an example: of 6, nothing of it is trained on"
    with pytest.raises(ValueError, match=said):
        list(source)
    with AsyncDataLoader(source, 2) as loader, pytest.raises(ValueError, match=said):
        next(iter(loader))
    assert list(source_of(tmp_path / "none.jsonl", []).transform(transform)) == []
    bad = [{"messages": [{"role": "martian", "content": "x"}, assistant("y")]}] * 3
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in bad))
    dataset = DatasetConfig(
        str(path),
        tokenizer=str(OWN / "tokenizers" / "split"),
        chat_template="{% for m in messages if m.role != 'martian' %}{{ m.content }}{% endfor %}",
        transform={"name": "sft", "fixed_shapes": False},
        on_error="skip",
    )
    with pytest.raises(ValueError, match=r"none of the 3 rows.*it is in error: refused"):
        list(Pipeline.from_config(PipelineConfig(datasets=[dataset])).source().build())
