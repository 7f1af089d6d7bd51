"""The date that a template writes is part of the plan: a resumed run has the same."""

import datetime
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from data_folders import OWN
from easydata.tokenizers import template_date
from easydata.tokenizers.template_engine import engine_of
from easydata.trainers import SFTPreprocessTransform
from small_data import jsonl

import easydata
from easydata import (
    AsyncDataLoader,
    ChatTemplateTransform,
    DatasetConfig,
    HFDatasetShardedSource,
    JsonShardedSource,
    LoadStageConfig,
    PadSpec,
    Pipeline,
    PipelineConfig,
    TokenizerConfig,
)

CLOCK = (
    "Today: {{ strftime_now('%d %b %Y') }}|"
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}<|im_end|>{% endfor %}"
)
# Beyond the native engine: Jinja2 renders it.
IN_JINJA = CLOCK + "{% for k in {'a': 1}.items() | list | sort(attribute='0') %}{% endfor %}"
ROWS = [
    {"messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a"}]}
    for n in range(8)
]
TOKENIZER = str(OWN / "tokenizers" / "split")


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the day on which a process begins."""

    def begin(day: str) -> None:
        monkeypatch.setattr(template_date, "build_date", lambda: day)

    begin("2024-03-01")
    return begin


def decoded(ids: Any) -> str:
    return easydata.Tokenizer(TOKENIZER).decode([int(each) for each in ids])


def tokenized(template: str, **options: Any) -> AsyncDataLoader:
    config = PipelineConfig(
        datasets=[DatasetConfig(ROWS, tokenizer=TOKENIZER, chat_template=template, **options)],
        load=LoadStageConfig(batch_size=2),
    )
    return Pipeline.from_config(config).source().tokenize().load().build()


def trained(template: str, **options: Any) -> AsyncDataLoader:
    sft = SFTPreprocessTransform(
        TOKENIZER, 64, chat_template=template, fixed_shapes=False, **options
    )
    return AsyncDataLoader(HFDatasetShardedSource(ROWS).transform(sft), 2)


def rendered(template: str, **options: Any) -> AsyncDataLoader:
    class Named:
        special_tokens: dict[str, str] = {}  # noqa: RUF012
        chat_templates = {"default": template}  # noqa: RUF012

    transform = ChatTemplateTransform(Named(), output_field="text", **options)
    return AsyncDataLoader(HFDatasetShardedSource(ROWS).transform(transform), 2)


def text_of(batch: dict[str, Any]) -> str:
    return batch["text"][0] if "text" in batch else decoded(batch["input_ids"][0])


LOADERS = {"tokenize": tokenized, "sft": trained, "transform": rendered}


@pytest.mark.parametrize("template", [CLOCK, IN_JINJA], ids=["native", "jinja2"])
@pytest.mark.parametrize("kind", LOADERS)
def test_a_resumed_run_has_the_date_of_the_first(today: Any, kind: str, template: str) -> None:
    with LOADERS[kind](template) as first:
        batches = iter(first)
        assert "Today: 01 Mar 2024|" in text_of(next(batches))
        state = json.loads(json.dumps(first.state_dict()))
        rest = [text_of(batch) for batch in batches]
        assert state["template_date"] == "2024-03-01"
    today("2025-07-02")
    with LOADERS[kind](template) as fresh:
        assert "Today: 02 Jul 2025|" in text_of(next(iter(fresh)))
    with LOADERS[kind](template) as resumed:
        next(iter(resumed))
        resumed.load_state_dict(state)
        assert [text_of(batch) for batch in resumed] == rest
        assert resumed.state_dict()["template_date"] == "2024-03-01"


@pytest.mark.parametrize("kind", LOADERS)
def test_a_date_that_is_given_holds(today: Any, kind: str) -> None:
    with LOADERS[kind](CLOCK, template_date="2020-05-17") as first:
        batch = next(iter(first))
        state = first.state_dict()
    assert "Today: 17 May 2020|" in text_of(batch)
    assert "template_date" not in state
    with (
        LOADERS[kind](CLOCK, template_date="2020-05-18") as other,
        pytest.raises(ValueError, match=r"chat_template|callable"),
    ):
        other.load_state_dict(state)
    with pytest.raises(ValueError, match="template_date must be a date such as"):
        next(iter(LOADERS[kind](CLOCK, template_date="tomorrow")))


def test_templates_without_a_clock_have_no_date(today: Any) -> None:
    plain = CLOCK.replace("{{ strftime_now('%d %b %Y') }}", "never")
    for kind in LOADERS.values():
        with kind(plain) as loader:
            next(iter(loader))
            state = loader.state_dict()
            assert "template_date" not in state
        today("2031-01-01")
        with kind(plain) as other:
            other.load_state_dict(state)
        with pytest.raises(ValueError, match="template_date has no effect"):
            next(iter(kind(plain, template_date="2000-01-01")))


def test_ranks_and_lanes_keep_it(today: Any) -> None:
    def rank(number: int) -> AsyncDataLoader:
        sft = SFTPreprocessTransform(TOKENIZER, 64, chat_template=CLOCK, fixed_shapes=True)
        source = HFDatasetShardedSource(ROWS).transform(sft)
        padding = dict.fromkeys(("input_ids", "attention_mask"), PadSpec(length=64))
        return AsyncDataLoader(
            source, 4, rank=number, world_size=2, lanes=2, steps=4, padding=padding
        )

    states = []
    for number in range(2):
        if number == 1:
            today("2024-03-02")
        with rank(number) as loader:
            next(iter(loader))
            states.append(loader.state_dict())
    with pytest.raises(ValueError, match=r"template_date.*2024-03-02 in states\[1\]"):
        easydata.merge_states(states)
    today("2024-03-01")
    with rank(1) as loader:
        next(iter(loader))
        states[1] = loader.state_dict()
    assert easydata.merge_states(states)["template_date"] == "2024-03-01"


def test_an_output_that_was_interrupted_goes_on_with_it(today: Any, tmp_path: Path) -> None:
    rows = [{**ROWS[n % 8], "n": n} for n in range(600)]
    source = jsonl(str(tmp_path / "a.jsonl"), rows)

    def save(*, stop: bool) -> Any:
        def fail(row: dict[str, Any]) -> dict[str, Any]:
            if stop and row["n"] == 500:
                raise RuntimeError("stopped")
            return row

        config = TokenizerConfig(TOKENIZER, chat_template=CLOCK)
        rows = JsonShardedSource(source).transform(fail)
        made = easydata.TokenizedShardedSource(rows, TOKENIZER, config)
        return easydata.save_dataset(made, tmp_path / "out", max_shard_rows=100)

    with pytest.raises(RuntimeError, match="stopped"):
        save(stop=True)
    today("2025-07-02")
    assert save(stop=False).kept_shards >= 1
    metadata = json.loads((tmp_path / "out" / ".metadata.json").read_text())
    assert metadata["template_date"] == "2024-03-01"
    source_of_rows = easydata.ParquetShardedSource(str(tmp_path / "out" / "*.parquet"))
    texts = {decoded(row["input_ids"]).split("|")[0] for row in source_of_rows}
    assert texts == {"Today: 01 Mar 2024"}


def test_each_dataset_of_a_mix_that_was_interrupted_goes_on_with_it(
    today: Any, tmp_path: Path
) -> None:
    rows = [{**ROWS[n % 8], "n": n} for n in range(300)]
    source = jsonl(str(tmp_path / "a.jsonl"), rows)

    def save(*, stop: bool) -> Any:
        def fail(row: dict[str, Any]) -> dict[str, Any]:
            if stop and row["n"] == 250:
                raise RuntimeError("stopped")
            return row

        config = TokenizerConfig(TOKENIZER, chat_template=CLOCK)
        rows = JsonShardedSource(source).transform(fail)
        made = {
            name: easydata.TokenizedShardedSource(rows, TOKENIZER, config) for name in ("a", "b")
        }
        mixed = easydata.MixedShardedSource(made, stop_strategy="all_exhausted")
        return easydata.save_dataset(mixed, tmp_path / "out", max_shard_rows=100)

    with pytest.raises(RuntimeError, match="stopped"):
        save(stop=True)
    today("2025-07-02")
    assert save(stop=False).kept_shards >= 1
    source_of_rows = easydata.ParquetShardedSource(str(tmp_path / "out" / "*.parquet"))
    texts = {decoded(row["input_ids"]).split("|")[0] for row in source_of_rows}
    assert texts == {"Today: 01 Mar 2024"}


def test_a_pickled_transform_keeps_it(today: Any) -> None:
    sft = SFTPreprocessTransform(TOKENIZER, 64, chat_template=CLOCK, fixed_shapes=False)
    today("2025-07-02")
    again = pickle.loads(pickle.dumps(sft))
    assert "01 Mar 2024" in decoded(again(ROWS[0])["input_ids"])


def test_engines_agree_on_a_time() -> None:
    form = "{{ strftime_now('%Y-%m-%d %H:%M:%S %a %j') }}"
    given = {"messages": []}
    for date in ("2024-02-29", "1999-12-31T23:59:58"):
        now = datetime.datetime.fromisoformat(date).strftime("%Y-%m-%d %H:%M:%S %a %j")
        native, jinja = engine_of(form, date), engine_of(form + IN_JINJA[len(CLOCK) :], date)
        assert (native.engine, jinja.engine) == ("native", "jinja2")
        for engine in (native, jinja):
            assert engine.render(given) == now
            assert engine.trace(given)[0] == now
