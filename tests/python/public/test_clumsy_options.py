"""Tries that no newcomer made yet, over options, columns, files, objects and the command line.

Rows are as those of test_clumsy_tries.py: what is typed, then what the answer must say.
"""

from typing import Any

import pytest
from clumsy import Try, answer, in_folder_of_tries

TRIES: list[Try] = [
    # Values of a wrong type: one place makes sentences of what Python and the binding say.
    ("src.open_shard(0)", ("open_shard()", "shard_name must be text", "not 0")),
    ("src.cache(3)", ("cache()", "path must be text or a path", "not 3")),
    ('JsonShardedSource(["a.jsonl", 3])', ("data_files[1] must be text or a path", "not 3")),
    ('JsonShardedSource(open("a.jsonl"))', ("data_files", "not an open file", "'a.jsonl'")),
    ('LimitedShardedSource(src, "3")', ("max_rows must be a whole number", "not '3'")),
    ("HuggingFaceShardedSource(None)", ("dataset_name must be text", "not None")),
    ('CompositeShardedSource(["a.jsonl"])', ("sources[0]", "ShardedDataSource", "create_source(")),
    ("CompositeShardedSource(src)", ("sources must be a list", "JsonShardedSource")),
    ("src + src", ("CompositeShardedSource([", "MixedShardedSource")),
    ("loader([src, src])", ("list of sources", "CompositeShardedSource", "MixedShardedSource")),
    ('merge_states({"a": 1})', ("states must be a list of dicts", "a dict")),
    ("save_dataset(src, None)", ("save_dataset()", "output_path must be text", "not None")),
    ("save_iterator(3, 'o')", ("iterator must be a list of dicts", "not 3")),
    ("FilterNonEmpty(3)", ("fields must be a list of texts", "not 3")),
    ('RenameFields(["id"])', ("mapping must be a dict", "a list")),
    ('WeightScheduler([(0, {"a": 1})])', ("schedule[0]", "WeightSchedulePoint", "a tuple")),
    ('ChainedTransform(FilterNonEmpty(["a"]))', ("transforms must be a list", "FilterNonEmpty")),
    ('FilterByField("text", "x")', ("FilterByField", "function of a value", "'x'")),
    ('src.map("json:loads")', ("map()", "'json:loads'", "the function itself")),
    ('GreedyPacker(4, 0, 0).add("text")', ("tokens", "whole numbers", "tokenized first")),
    ("GreedyPacker(4, 0, 0).add([1.5])", ("tokens", "whole numbers", "float64")),
    ("list(batch_iterator(src, 'x'))", ("batch_size must be a whole number", "'x'")),
    ('list(CsvShardedSource("a.csv", delimiter=3))', ("delimiter must be text", "not 3")),
    ("Pipeline.from_config(None)", ("from_config()", "PipelineConfig", "not None")),
    ("tok.decode([[1, 2], [3]])", ("ids", "one dimension", "decode_batch()")),
    ("tok.encode_batch('text')", ("texts", "sequence of str", "encode()")),
    # Names that are not there.
    ("src.shard_name", ("'shard_name'", 'did you mean "shard_names"')),
    ("pipe().sorce()", ("'Pipeline'", "'sorce'", 'did you mean "source"')),
    ("PackStageConfig().seq_len", ("'PackStageConfig'", "'seq_len'", '"seq_length"')),
    ("tok.batch_decode([[1]])", ("'batch_decode'", "decode_batch()")),
    ("pipe().source().load(batch_size=2)", ("'batch_size'", "load(LoadStageConfig(batch_size=")),
    (
        'tok.apply_chat_template([{"role": "user", "content": "x"}], add_generation_prompts=True)',
        ("'add_generation_prompts'", "did you mean add_generation_prompt"),
    ),
    ("list(src.iter_shards([5]))", ("shard_indices", "no shard 5", "the source has 1")),
    ("src.select([99])", ("no row 99", "the source has 8")),
    # Options of configs.
    ("rows(num_rows='x')", ("datasets[0].num_rows", "whole number", '"x"')),
    ("rows(columns=[])", ("datasets[0].columns", "one column at least", "unset")),
    ("rows(columns='text')", ("datasets[0].columns", "a list", '"text"')),
    ("tokens(content_field='txt')", ("a.jsonl row 0", "'txt'", "content_field")),
    ("tokens(additional_fields=['idd'])", ("additional_fields", "'idd'", 'did you mean "id"')),
    ("rows(format_fields={'id': 'text'})", ("'id' onto 'text'", "lost", "another name")),
    ("rows(format_callback='no.such:thing')", ("dataset_0", "format_callback", "'no.such:thing'")),
    ("rows(format_callback=FilterNonEmpty)", ("class FilterNonEmpty", "FilterNonEmpty(...)")),
    ("rows(format_callback=lambda row: 'x')", ("a.jsonl row 0", "returned str", "a dict")),
    ("rows(transform={'name': 'sftt'})", ("datasets[0].transform", '"sftt"', '"sft"')),
    ("rows(column_types={'idd': 'string'})", ("'idd'", "no row has it", 'did you mean "id"')),
    ("rows(column_types={'text': 'int64'})", ("a.jsonl row 0", "'text'", "int64", '"row 0"')),
    ("rows(parts={'a': 0.5, 'b': 0.5}, part='c')", ("datasets[0].part", '"c"', "a, b")),
    ("rows(delimiter=';')", ("delimiter", "no effect", "CSV files")),
    ("rows('a.csv', encoding='latin-99')", ("encoding", '"latin-99"', "iconv")),
    ("rows(split='train[:10%]')", ("split", "files have no splits", 'type="hf"')),
    ("rows(field='data')", ("a.jsonl", 'no field "data"', '"text", "id"')),
    ("rows(hive_partitioning=True)", ("hive_partitioning", "NAME=VALUE", "leave it out")),
    ("rows(quarantine_path='q')", ("quarantine_path", 'on_error="quarantine"')),
    ("pipe(pack={'seq_len': 3})", ("pack.seq_len", 'did you mean "seq_length"')),
    ("pipe().source().load().tokenize()", ("tokenize() cannot follow load()", "end")),
    (
        "pipe(dataset(name='a'), dataset(name='a')).source().build()",
        ("datasets[1].name", '"a"', "unique"),
    ),
    # Files.
    ('rows("bad.jsonl")', ("bad.jsonl row 1", "line 2", "byte 10", 'on_error="skip"')),
    ('rows("latin.txt")', ("latin.txt row 0", "line 1", "UTF-8", "byte 4")),
    ('list(ParquetShardedSource("a.jsonl"))', ("a.jsonl", "not a whole Parquet file")),
    ('list(JsonShardedSource("a.parquet"))', ("a.parquet row 0", "JSON object")),
    ('rows("emptydir")', ("emptydir", "which is empty")),
    (
        'list(loader(CsvShardedSource("a.csv", column_names=["x"], header=False)))',
        ("a.csv row 0", "line 1", "2 fields", "the header 1"),
    ),
    ('create_source(["a.jsonl", "chats.jsonl"])', ("several files", "data_files=[...]")),
    # Outputs.
    ('save_dataset(src, "o", columns="text")', ("columns", "a list of names", "['text']")),
    ('save_dataset(src, "o", columns=[])', ("columns", "one column at least", "None")),
    (
        'pipe(save={"output_dir": "o", "columns": []}).source().save().build()',
        ("save.columns", "one column at least", "unset"),
    ),
    ('save_dataset(src, "o", max_shard_size="big")', ("max_shard_size", '"500MB"', "'big'")),
    ('save_dataset(src, "o", compression="zip")', ("compression", '"zip"', '"gzip"')),
    ('save_dataset(src, "a.jsonl")', ("a.jsonl is a file", "folder")),
    ('save_dataset(src, ".")', ("a.jsonl", "output folder", "another folder")),
    ('save_iterator([{"a": 1}, {"a": "x"}], "o")', ("row 1", "'a'", "column_types={'a'")),
    ('push_to_hub("emptydir", "org/x")', ("emptydir", "no finished output", "save_dataset")),
    # The command line.
    ("$ easydata tokenize a.jsonl --tokenizer tok --num-rows many", ("--num-rows", "integer")),
    ("$ easydata tokenize a.jsonl --tokenizer tok --num-rows 0", ("at least 1", "0")),
    ("$ easydata tokenize a.jsonl --tokenizer tok --format xml", ("parquet", "xml")),
    ("$ easydata tokenize a.jsonl --tokenizer tok --output-dir .", ("a.jsonl", "folder")),
    ("$ easydata tokenize bad.jsonl --tokenizer tok --output-dir c", ("bad.jsonl row 1", "line 2")),
    ("$ easydata tokenize --config nosuch.yaml", ("nosuch.yaml",)),
    ("$ easydata tokenize --config bad.yaml", ("YAML", "line 2")),
    ("$ easydata convert a.jsonl --output-dir c --max-shard-size big", ("shard", "500MB", "big")),
    ("$ easydata inspect a.jsonl --rows 0", ("--rows", "1")),
    ("$ easydata stats a.jsonl --shuffel", ("--shuffel", "--shuffle")),
    ("$ easydata cache prune emptydir --max-bytes big", ("--max-bytes", "500MB", "big")),
    ("$ easydata verify tokens.jsonl --vocab-size 3", ("tokens.jsonl", "id 3", "0 to 2")),
    ("$ easydata status a.jsonl", ("a.jsonl", "no output", "--output-dir")),
]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, tiny: str) -> Any:
    with in_folder_of_tries(tmp_path_factory.mktemp("tries"), tiny) as names:
        yield names


def test_there_are_many() -> None:
    assert len(TRIES) >= 60
    assert len(dict(TRIES)) == len(TRIES)


@pytest.mark.parametrize(("typed", "said"), TRIES, ids=[typed for typed, _ in TRIES])
def test_a_clumsy_try_is_answered(typed: str, said: list[str], known: Any) -> None:
    told = answer(typed, known)
    assert [each for each in said if each not in told] == [], f"{typed}\nsaid: {told}"
