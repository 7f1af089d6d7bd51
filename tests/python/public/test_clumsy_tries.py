"""Tries of the kinds that newcomers made (look 3), and what the answer to each must name.

Each row is what is typed, then what is said of what is wrong, where it is, and what to do. No try
is silent, is told Python's own words, or waits for more than five seconds. Those that no newcomer
made yet are in clumsy_options.py.
"""

from pathlib import Path
from typing import Any

import pytest
from clumsy import Try, answer, in_folder_of_tries
from clumsy_options import UNTRIED

TRIES: list[Try] = [
    # Methods of sources (N18).
    ('list(src.select_fields("text"))', ("select_fields()", "'text'", "write ['text']")),
    ('list(src.select_fields(["txt"]))', ("'txt'", "no row has it", 'did you mean "text"')),
    ('list(src.drop_fields("text"))', ("drop_fields()", "'text'", "write ['text']")),
    ('list(src.drop_fields(["txt"]))', ("'txt'", "no row has it", 'did you mean "text"')),
    ('list(src.rename_fields({"id": "text"}))', ("'id' onto 'text'", "drop_fields(['text'])")),
    ('list(src.rename_fields({"idd": "x"}))', ("'idd'", "no row has it", 'did you mean "id"')),
    ('list(src.rename_fields("id"))', ("rename_fields()", "{old name: new name}", "'id'")),
    ("list(src.map(lambda row: None))", ("map()", "None", "filter()", "a.jsonl row 0")),
    ("list(src.map(lambda row: 'x'))", ("map()", "a str", "{**row,", "a.jsonl row 0")),
    ("list(src.map(FilterNonEmpty))", ("map()", "class FilterNonEmpty", "FilterNonEmpty(...)")),
    ("list(src.transform(FilterNonEmpty))", ("class FilterNonEmpty", "FilterNonEmpty(...)")),
    ("list(src.filter(FilterNonEmpty))", ("filter()", "FilterNonEmpty", "FilterNonEmpty(...)")),
    ('list(src.transform("filter_non_empty"))', ("transform()", "'filter_non_empty'", "configs")),
    ('list(src.transform([FilterNonEmpty(["text"])]))', ("a list", "ChainedTransform([...])")),
    ("list(src.apply_chat_template(tok))", ("no conversation", "'messages'", "text, id")),
    ("src.apply_chat_template(None)", ("ChatTemplateTransform", "tokenizer", "folder")),
    ('src["text"]', ("source['text']", "number of a row", "source.head(3)")),
    ("src.split(0.05)", ("split()", '{"train": 0.98, "validation": 0.02}', "float")),
    ('src.split({"train": 0.9})', ("parts", "0.9", "name a part for the rest")),
    ("src.batch(2)", ("'batch'", "AsyncDataLoader(source, batch_size=...)")),
    ("src.train_test_split(0.1)", ("'train_test_split'", 'split({"train": 0.9, "test": 0.1})')),
    ("len(src.filter(bool))", ("number of rows is not known", "FilterTransform", "sum(1 for")),
    # Chats and pairs.
    ('tok.apply_chat_template("hi")', ("messages", "a text", '[{"role": "user", "content"')),
    ('tok.apply_chat_template({"role": "user"})', ("messages", "one message", '[{"role"')),
    (
        'SFTPreprocessTransform(tok, 64)({"messages": [{"role": "usr", "content": "x"}, '
        '{"role": "assistant", "content": "x"}]})',
        ("messages[0]", "'usr'", "role_mapping="),
    ),
    (
        'SFTPreprocessTransform(tok, 64)({"messages": [{"rol": "user", "content": "x"}]})',
        ("messages[0]", "no role", "role and content", "'rol'"),
    ),
    ("SFTPreprocessTransform(tok, 64, mask_promt=True)", ("'mask_promt'", '"mask_prompt"')),
    ('SFTPreprocessTransform(tok, "64")', ("max_length", "whole number", "'64'")),
    ("DPOPreprocessTransform(tok, max_length=8)", ("max_length", "max_prompt_length", "layout")),
    ("list(chats.transform(DPOPreprocessTransform(tok)))", ("row 0", "'chosen'", "'messages'")),
    (
        'DPOPreprocessTransform(tok)({"prompt": "a", "chosen": "b", "rejected": "b"})',
        ("'chosen' and 'rejected'", "same", "leave such rows out"),
    ),
    (
        'DPOPreprocessTransform(tok)({"prompt": "a", "chosen": "b", "rejected": ""})',
        ("'rejected'", "says nothing", 'empty_answers="skip"'),
    ),
    (
        'KTOPreprocessTransform(tok)({"prompt": "a", "completion": "b", "label": "yes"})',
        ("'label'", "true or false"),
    ),
    ('GRPOPreprocessTransform(tok)({"promt": "a"})', ("'prompt'", "did you mean", "'promt'")),
    # Loaders, mixes and packing.
    ("loader(src, batchsize=4)", ("'batchsize'", '"batch_size"')),
    ("loader(dataset())", ("a dataset", "config", "create_source(config)")),
    ('loader("a.jsonl")', ("dataset", "text", "create_source()")),
    ("loader(src, batch_size=3, world_size=2)", ("batch_size", "multiple of world_size (2)", "3")),
    ("loader(src, world_size=2, rank=2)", ("rank", "less than world_size (2)", "2")),
    ("len(loader(src))", ("loader", "no length", "easydata.torch")),
    ("list(loader(src, batch_size=100))", ("no batch", "8 rows", "drop_last=False")),
    (
        'first(loader(toks, padding={"input_idss": PadSpec(0)}))',
        ("padding", "'input_idss'", 'did you mean "input_ids"'),
    ),
    ('loader(toks, padding={"input_ids": {"len": 4}})', ("'input_ids'", "'len'", "length")),
    (
        'first(loader(toks, padding={"input_ids": PadSpec(length=2)}))',
        ("tokens.jsonl row 0", "'input_ids'", "3", "max_length"),
    ),
    (
        'first(loader(src, sharding_map={"idd": object()}))',
        ("sharding_map", "'idd'", 'did you mean "id"'),
    ),
    ('loader(src).load_state_dict({"x": 1})', ("not a state of a loader", "state_dict()")),
    (
        "loader(src).load_state_dict(loader(toks).state_dict())",
        ("another stream", "tokens.jsonl", "a.jsonl", "configuration"),
    ),
    (
        'MixedShardedSource({"a": src, "b": src}, {"a": 1, "bb": 2})',
        ("weights", "'bb'", 'did you mean "b"'),
    ),
    ("MixedShardedSource([src, src], [1, -1])", ("weights", "dataset_1", "negative", "0 or more")),
    ("MixedShardedSource(src)", ("mix", "dict by name", "list", "JsonShardedSource")),
    ("first(PackedShardedSource(src, 16))", ("eos_token_id", "must be named", "set the id")),
    # Tables and rows in memory, files (N13).
    ("rows({'text': ['a', 'b'], 'id': [1]})", ("different lengths", "'text' has 2", "'id' has 1")),
    ("rows({'text': 'a'})", ("'text'", "a list", "[row]")),
    ("rows(np.zeros((2, 3)))", ("numpy.ndarray", "no table", '{"input_ids": array}')),
    ('rows("zzz.jsonl")', ("zzz.jsonl", "a.jsonl", "ooked in")),
    ('rows(["a.jsonl", "a.csv"])', ("several formats", "1 csv, 1 jsonl", "'*.csv'")),
    ('rows("cut.jsonl.gz")', ("cut.jsonl.gz row", "cut short", "get it again")),
    ('rows("no.parquet")', ("no.parquet", "not a whole Parquet file", "get it again")),
    ('rows("s4://bucket/a.jsonl")', ("s4://", "no scheme", "s3, gs, http")),
    ("verify(src)", ("verify()", "a folder", "JsonShardedSource")),
    ('Tokenizer("emptydir")', ("emptydir", "tokenizer.json", "save_pretrained()")),
    ('tok("text")', ("no function", "encode()", "encode_batch()")),
    ('DatasetConfig("a.jsonl", tokeniser="x")', ("'tokeniser'", 'did you mean "tokenizer"')),
    ("PipelineConfig(datasets=dataset())", ("datasets", "a list", "[DatasetConfig(...)]")),
    # The command line; what speaks of flags may name them in other words.
    ("$ easydata tokenise a.jsonl", ("tokenise", "tokenize")),
    ("$ easydata tokenize a.jsonl", ("no tokenizer", "--tokenizer")),
    ("$ easydata tokenize a.jsonl --tokeniser tok", ("--tokeniser", "--tokenizer")),
    (
        "$ easydata tokenize zzz.jsonl --tokenizer tok --output-dir c",
        ("zzz.jsonl", "did you mean a.jsonl"),
    ),
    (
        "$ easydata tokenize a.jsonl --tokenizer tok --output-dir c --columns a,b",
        ("'a", "no row has it", "text"),
    ),
    ("$ easydata tokenize a.jsonl --config config.yaml", ("DATA", "--config")),
    ("$ easydata tokenize --config typo.yaml", ("datasets[0]", "tokeniser", '"tokenizer"')),
    ("$ easydata verify zzz", ("zzz", "ooked in")),
]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, tiny: str) -> Any:
    with in_folder_of_tries(tmp_path_factory.mktemp("tries"), tiny) as names:
        yield names


@pytest.mark.parametrize("tries", [TRIES, UNTRIED], ids=["made", "not made yet"])
def test_there_are_many(tries: list[Try]) -> None:
    assert len(tries) >= 60
    assert len(dict(tries)) == len(tries)


@pytest.mark.parametrize(
    ("typed", "said"), TRIES + UNTRIED, ids=[typed for typed, _ in TRIES + UNTRIED]
)
def test_a_clumsy_try_is_answered(typed: str, said: list[str], known: Any) -> None:
    told = answer(typed, known)
    assert [each for each in said if each not in told] == [], f"{typed}\nsaid: {told}"


def test_right_tries_are_done(known: Any, tmp_path: Path) -> None:
    """Tries that look clumsy, and are plainly right."""
    done = {
        'src.select_fields(["id"]).head(1)': [{"id": 0}],
        "len(src.take(100))": 8,
        'rows({"text": ["a"]})': [{"text": "a"}],
        'rows([{"text": "a"}])': [{"text": "a"}],
        'list(create_source("a.csv"))[0]': {"id": "1", "text": "one"},
        'list(FilterNonEmpty("text")._fields)': ["text"],
    }
    for typed, made in done.items():
        assert eval(typed, dict(known)) == made, typed
