"""TokenizedShardedSource and its relatives: EasyDeL's recorded tokens, and more."""

import functools
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from data_folders import CHAT_TOKENIZERS, tokenizer_folder
from easydata.core.config import DatasetConfig, TokenizerConfig
from easydata.sources import JsonShardedSource, ParquetShardedSource
from easydata.tokenizers.chat_template import ChatTemplate
from easydata.transforms import (
    LimitedShardedSource,
    TokenizedShardedSource,
    TokenizerManager,
    TokenizeTransform,
    batched_tokenize_iterator,
    compute_tokenizer_hash,
    tokenize_dataset_config,
)
from python_rows import Rows

from easydata import ShardedDataSource, Tokenizer


@pytest.fixture(scope="module")
def gpt2(own_tokenizers: Path) -> Tokenizer:
    return loaded(own_tokenizers / "byte-level")


@pytest.fixture(scope="module")
def qwen(own_tokenizers: Path) -> Tokenizer:
    return loaded(own_tokenizers / "split")


@functools.cache
def loaded(folder: Path) -> Tokenizer:
    return Tokenizer(folder)


def config(**options: Any) -> TokenizerConfig:
    return TokenizerConfig(name_or_path="given", **options)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> JsonShardedSource:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return JsonShardedSource(str(path))


GOLDEN = Path("data/golden/easydel/tokenization.json")
TOKENIZERS = (
    "gpt2",
    "qwen2.5",
    "llama3.1",
    "gemma",
    "deepseek-v3",
    "t5-small",
    "bert-base-uncased",
    "tiny-bytelevel",
)


@pytest.mark.parametrize("form", ["jsonl", "parquet", "python"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_recorded_tokens(shared: Path, tmp_path: Path, name: str, form: str) -> None:
    golden = json.loads((shared / GOLDEN).read_text())
    tokenizer = loaded(shared / "data/tokenizers" / name)
    cases = [case for case in golden["cases"] if case["tokenizer"] == name]
    assert cases
    for number, case in enumerate(cases):
        options: dict[str, Any] = {}
        if "format_callback" in case:
            rows = [{"q": text, "meta": i} for i, text in enumerate(golden["texts"][:5])]
            options["format_callback"] = lambda row: {**row, "q": row["q"].upper()}
            options["format_fields"] = case["format_fields"]
        else:
            texts = golden["texts"][:: case["text_step"]]
            rows = [{"text": text, "meta": i} for i, text in enumerate(texts)]
            options["additional_fields"] = case["additional_fields"]
            if form == "parquet":
                # A schema tells that no row has it; JSON rows may.
                options["additional_fields"] = ["meta"]
        source: ShardedDataSource[Any] = Rows(rows)
        if form == "jsonl":
            source = jsonl(tmp_path / f"{number}.jsonl", rows)
        elif form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{number}.parquet")
            source = ParquetShardedSource(str(tmp_path / f"{number}.parquet"))
        tokenized = TokenizedShardedSource(
            source, tokenizer, config(**case["config"]), case["content_field"], **options
        )
        made = list(tokenized)
        assert [sorted(row) for row in made] == [case["columns"]] * len(case["rows"])
        for got, expected, row in zip(made, case["rows"], rows, strict=True):
            assert got["input_ids"] == expected["input_ids"]
            assert type(got["input_ids"]) is list
            if "attention_mask" in case["columns"]:
                ones = [1] * len(got["input_ids"])
                assert got["attention_mask"] == expected.get("attention_mask", ones)
            if "meta" in case["columns"]:
                assert got["meta"] == row["meta"]


def test_callback_may_change_its_row_and_the_source_stays(gpt2: Tokenizer) -> None:
    """D22: EasyDeL's format_fields pop from the rows of the source."""
    rows = [{"q": "one", "n": 1}, {"q": "two", "n": 2}]
    source = Rows(rows)

    def callback(row: dict[str, Any]) -> dict[str, Any]:
        row["q"] += "!"
        return row

    options: dict[str, Any] = {"format_callback": callback, "format_fields": {"q": "text"}}
    for _ in range(2):
        tokenized = TokenizedShardedSource(source, gpt2, config(), **options)
        assert [gpt2.decode(row["input_ids"]) for row in tokenized] == ["one!", "two!"]
    assert rows == [{"q": "one", "n": 1}, {"q": "two", "n": 2}]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_moved_field_wins(gpt2: Tokenizer, tmp_path: Path, form: str) -> None:
    rows = [{"text": "old", "body": "new"}, {"text": "old", "body": "newer"}]
    source: ShardedDataSource[Any] = jsonl(tmp_path / "a.jsonl", rows)
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
        source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    tokenized = TokenizedShardedSource(source, gpt2, config(), format_fields={"body": "text"})
    assert [gpt2.decode(row["input_ids"]) for row in tokenized] == ["new", "newer"]


MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello <b>"}]


@pytest.mark.parametrize("name", CHAT_TOKENIZERS)
@pytest.mark.parametrize("field", ["messages", "conversations", "conversation", "dialog"])
def test_messages_are_rendered_and_get_no_second_begin_token(
    tmp_path: Path, name: str, field: str
) -> None:
    folder = tokenizer_folder(name)
    rows = [{"id": i, field: MESSAGES} for i in range(3)]
    content_field = "dialog" if field == "dialog" else "text"
    source = jsonl(tmp_path / "a.jsonl", rows)
    tokenized = TokenizedShardedSource(
        source, loaded(folder), config(), content_field, additional_fields=["id"]
    )
    tokenizer = loaded(folder)
    expected = tokenizer.encode(ChatTemplate.of_folder(folder)(MESSAGES), add_special_tokens=False)
    assert [row["input_ids"] for row in tokenized] == [expected.tolist()] * 3
    assert [row["id"] for row in tokenized] == [0, 1, 2]
    bos = tokenizer.bos_token_id
    if bos is not None:
        assert next(iter(tokenized))["input_ids"].count(bos) == 1


def test_messages_of_a_parquet_file(qwen: Tokenizer, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"messages": MESSAGES, "n": 1}]), tmp_path / "a.parquet")
    source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    rendered = ChatTemplate(qwen.chat_templates, qwen.special_tokens)(MESSAGES)
    expected = qwen.encode(rendered, add_special_tokens=False).tolist()
    for field in ("messages", "text"):
        (row,) = TokenizedShardedSource(source, qwen, config(), field, additional_fields=["n"])
        assert (row["input_ids"], row["n"]) == (expected, 1)
    as_text = source.apply_chat_template(qwen)
    assert list(as_text) == [{"n": 1, "text": rendered}]
    assert len(as_text) == 1


def test_text_where_messages_were_is_an_error(qwen: Tokenizer, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"messages": MESSAGES}, {"messages": "text"}])
    with pytest.raises(TypeError, match="first row") as error:
        list(TokenizedShardedSource(source, qwen, config(), "messages"))
    assert any("row 1" in note for note in error.value.__notes__)


def test_content_field_of_messages_without_template_says_so(
    gpt2: Tokenizer, tmp_path: Path
) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"messages": MESSAGES}])
    with pytest.raises(ValueError, match="no chat template") as error:
        list(TokenizedShardedSource(source, gpt2, config(), "messages"))
    assert any("a.jsonl row 0" in note for note in error.value.__notes__)


def test_live_tokenizers(own_tokenizers: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(str(own_tokenizers / "splits"))
    source = jsonl(tmp_path / "a.jsonl", [{"text": "Hello there"}])
    (row,) = TokenizedShardedSource(source, theirs, config())
    assert row["input_ids"] == theirs("Hello there")["input_ids"]
    chat = jsonl(tmp_path / "b.jsonl", [{"messages": MESSAGES}])
    (row,) = TokenizedShardedSource(chat, theirs, config())
    rendered = theirs.apply_chat_template(MESSAGES, tokenize=False)
    assert row["input_ids"] == theirs(rendered, add_special_tokens=False)["input_ids"]
    (row,) = TokenizedShardedSource(source, theirs.backend_tokenizer, config())
    assert row["input_ids"] == theirs("Hello there")["input_ids"]


@pytest.mark.parametrize("bad", [{}, {"text": None}])
def test_row_without_text(gpt2: Tokenizer, tmp_path: Path, bad: dict[str, Any]) -> None:
    rows = [{"text": "a"}, {"text": ""}, {"tetx": "b", **bad}, {"text": "c"}]
    source = jsonl(tmp_path / "a.jsonl", rows)
    with pytest.raises(ValueError, match=r"a\.jsonl row 2: the row has no text in field 'text'"):
        list(TokenizedShardedSource(source, gpt2, config()))
    kept = TokenizedShardedSource(source, gpt2, config(), on_error="skip")
    assert [gpt2.decode(row["input_ids"]) for row in kept] == ["a", "", "c"]
    with pytest.raises(TypeError, match="not known"):
        len(kept)
    file = tmp_path / "bad.jsonl"
    aside = TokenizedShardedSource(
        source, gpt2, config(), on_error="quarantine", quarantine_path=file
    )
    assert [gpt2.decode(row["input_ids"]) for row in aside] == ["a", "", "c"]
    (line,) = map(json.loads, file.read_text().splitlines())
    assert (line["row"], "no text" in line["error"]) == (2, True)
    with pytest.raises(ValueError, match="quarantine_path"):
        TokenizedShardedSource(source, gpt2, config(), on_error="quarantine")


def test_typo_in_a_typed_column_names_the_nearest(gpt2: Tokenizer, tmp_path: Path) -> None:
    pq.write_table(pa.table({"content": ["a"], "n": [1]}), tmp_path / "a.parquet")
    source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    with pytest.raises(KeyError, match=r"did you mean.*content"):
        list(TokenizedShardedSource(source, gpt2, config(), "contnet"))
    with pytest.raises(TypeError, match="int64"):
        list(TokenizedShardedSource(source, gpt2, config(), "n"))
    selected = source.drop_fields(["n"])
    with pytest.raises(KeyError, match=r"did you mean.*content"):
        list(TokenizedShardedSource(selected, gpt2, config(), "contnet"))


def test_max_length_cuts_and_one_notice_counts(
    gpt2: Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"text": "word " * n} for n in range(1, 30)])
    tokenized = TokenizedShardedSource(source, gpt2, config(max_length=10))
    with caplog.at_level(logging.WARNING, "easydata"):
        first = list(tokenized)
        list(loaded_rows(tokenized, epochs=2))
    assert max(len(row["input_ids"]) for row in first) == 10
    whole = TokenizedShardedSource(source, gpt2, config(max_length=10, truncation=False))
    lost = [len(row["input_ids"]) - 10 for row in whole if len(row["input_ids"]) > 10]
    notices = [r.getMessage() for r in caplog.records]
    # A stream says it at the first cut, and the counts at the end of its first pass.
    end = f"{len(lost)} documents were cut to max_length=10 tokens and lost {sum(lost)} tokens"
    assert notices[1::2] == [end] * 2
    assert ["are being cut to max_length=10" in notice for notice in notices[::2]] == [True] * 2


def test_padding(qwen: Tokenizer, gpt2: Tokenizer, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"text": "one two"}, {"text": "a"}])
    rows = list(TokenizedShardedSource(source, qwen, config(max_length=5, padding="max_length")))
    pad = qwen.pad_token_id
    assert rows[1]["input_ids"][1:] == [pad] * 4
    assert rows[1]["attention_mask"] == [1, 0, 0, 0, 0]
    for padding in (True, "longest", False, "do_not_pad"):
        lengths = [
            len(row["input_ids"])
            for row in TokenizedShardedSource(source, gpt2, config(padding=padding))
        ]
        assert lengths == [2, 1]
    with pytest.raises(ValueError, match="pad token"):
        TokenizedShardedSource(source, gpt2, config(padding="max_length"))


def test_seeking_does_not_tokenize_what_lies_before(gpt2: Tokenizer, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"body": f"row {i}"} for i in range(100)]
    rows[3] = {"body": None}  # would be an error, were it tokenized
    source = jsonl(tmp_path / "a.jsonl", rows)
    tokenized = TokenizedShardedSource(source, gpt2, config(), format_fields={"body": "text"})
    got = tokenized.open_shard_at_row(tokenized.shard_names[0], 97)
    assert [gpt2.decode(row["input_ids"]) for row in got] == ["row 97", "row 98", "row 99"]
    assert len(tokenized) == 100


def test_limit_counts_without_tokenizing(gpt2: Tokenizer, tmp_path: Path) -> None:
    """D19: EasyDeL tokenizes everything to count it."""
    calls = 0

    class Counting(Rows):
        def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
            for row in self.rows:
                nonlocal calls
                calls += 1
                yield row

    source = Counting([{"text": f"t{i}"} for i in range(50)])
    limited = LimitedShardedSource(TokenizedShardedSource(source, gpt2, config()), 20)
    assert len(limited) == 20
    assert calls == 20
    assert len(list(limited)) == 20
    assert len(list(loaded_rows(limited))) == 20


def test_batch_size_and_workers_do_not_change_the_result(gpt2: Tokenizer, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"text": f"text {i} " * (i % 7)} for i in range(500)])
    plain = list(TokenizedShardedSource(source, gpt2, config()))
    for size, workers in ((1, 1), (7, 2), (10_000, 0)):
        tokenized = TokenizedShardedSource(
            source, gpt2, config(), batch_size=size, num_workers=workers
        )
        assert list(tokenized) == plain


def test_manager(own_tokenizers: Path, gpt2: Tokenizer, qwen: Tokenizer) -> None:
    manager = TokenizerManager()
    named = TokenizerConfig(name_or_path=str(own_tokenizers / "byte-level"), max_length=3)
    tokenizer = manager.get_tokenizer(named)
    assert manager.get_tokenizer(named) is tokenizer
    assert tokenizer.fingerprint == gpt2.fingerprint
    with pytest.raises(NotImplementedError, match="use_fast"):
        manager.get_tokenizer(named, use_fast=False)
    ids = gpt2.encode("one two three four").tolist()
    assert manager.tokenize_text(tokenizer, "one two three four", named) == {
        "input_ids": ids[:3],
        "attention_mask": [1, 1, 1],
    }
    longest = config(padding="longest")
    made = manager.tokenize_batch(qwen, ["one two three", "a"], longest)
    assert made["attention_mask"] == [[1, 1, 1], [1, 0, 0]]
    assert made["input_ids"][1][1:] == [qwen.pad_token_id] * 2
    with pytest.raises(FileNotFoundError, match="nope"):
        manager.get_tokenizer(TokenizerConfig(name_or_path=str(own_tokenizers / "nope")))


def test_batched_iterator(gpt2: Tokenizer) -> None:
    rows = [{"text": f"text {i}", "n": i} if i % 2 else {"text": f"text {i}"} for i in range(10)]
    plain = [row["input_ids"] for row in TokenizedShardedSource(Rows(rows), gpt2, config())]
    for batch_size in (1, 3, 100):
        made = list(
            batched_tokenize_iterator(
                Rows(rows), gpt2, config(), batch_size=batch_size, additional_fields=["n"]
            )
        )
        assert [row["input_ids"] for row in made] == plain
        assert [row["n"] for row in made] == [None if i % 2 == 0 else i for i in range(10)]
    with pytest.raises(ValueError, match='did you mean "text"'):
        list(batched_tokenize_iterator(Rows(rows), gpt2, config(), "txt"))


def test_dataset_config(own_tokenizers: Path, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [{"body": "one two three four", "n": 1}, {"n": 2}])
    folder = str(own_tokenizers / "byte-level")
    dataset = DatasetConfig(
        data_files=str(tmp_path / "a.jsonl"),
        tokenizer=TokenizerConfig(name_or_path=folder, max_length=2),
        tokenizer_kwargs={"use_fast": True},
        content_field="body",
        additional_fields=["n"],
        on_error="skip",
    )
    (row,) = tokenize_dataset_config(source, dataset)
    assert (len(row["input_ids"]), row["n"]) == (2, 1)
    dataset.tokenizer = None
    (row,) = tokenize_dataset_config(source, dataset, global_tokenizer=folder)
    assert row["input_ids"] == loaded(Path(folder)).encode("one two three four").tolist()
    with pytest.raises(ValueError, match="names no tokenizer"):
        tokenize_dataset_config(source, dataset)


def test_hash_is_of_the_content(own_tokenizers: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    text = (own_tokenizers / "word-piece/tokenizer.json").read_text()
    (tmp_path / "copy/tokenizer.json").write_text(text)
    name = compute_tokenizer_hash(str(tmp_path / "copy"))
    assert len(name) == 16
    assert int(name, 16) >= 0
    assert name == compute_tokenizer_hash(str(own_tokenizers / "word-piece"))
    assert name != compute_tokenizer_hash(str(own_tokenizers / "byte-level"))


def test_single_rows(gpt2: Tokenizer, tmp_path: Path) -> None:
    rows = [{"text": "one two", "n": 1, "x": 0}, {"text": "", "n": 2}]
    transform = TokenizeTransform(gpt2, config(max_length=1), additional_fields=["n"])
    source = jsonl(tmp_path / "a.jsonl", rows)
    expected = list(
        TokenizedShardedSource(source, gpt2, config(max_length=1), additional_fields=["n"])
    )
    assert [transform(row) for row in rows] == expected
    assert list(source.transform(transform)) == expected
    with pytest.raises(TypeError, match="holds int"):
        transform({"text": 3})


def test_empty_source(gpt2: Tokenizer, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "a.jsonl", [])
    assert list(TokenizedShardedSource(source, gpt2, config())) == []
