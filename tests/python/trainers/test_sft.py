"""SFTPreprocessTransform: what rows may be, what is trained on, what is refused."""

import copy
import json
import pickle
from typing import Any

import pytest
from chat_rows import Row, assistant, chat, tokenizer, trained, user
from easydata.trainers import SFTPreprocessTransform

import easydata


def sft(max_length: int | None = None, **options: Any) -> SFTPreprocessTransform:
    options.setdefault("fixed_shapes", False)
    return SFTPreprocessTransform(
        tokenizer(options.pop("with_tokenizer", "split")), max_length, **options
    )


def text_of(example: Row) -> str:
    return tokenizer().decode(example["input_ids"])


RENDERED = (
    "<|im_start|>system\nBe brief.<|im_end|>\n"
    "<|im_start|>user\nWhen does ferry 0 leave on day 0?<|im_end|>\n"
    "<|im_start|>assistant\nAt 0 o'clock, as ever.<|im_end|>\n"
)


@pytest.mark.parametrize(
    "row",
    [
        {"messages": chat()},
        {"messages": json.dumps(chat())},
        {"conversations": chat()},
        {"conversation": json.dumps(chat())},
        {"text": chat()},
        {"text": json.dumps(chat())},
        {
            "conversations": [
                {"from": {"user": "human", "assistant": "gpt"}[m["role"]], "value": m["content"]}
                for m in chat()
            ]
        },
        {
            "messages": [
                {**m, "content": [{"type": "text", "text": m["content"]}], "name": None}
                for m in chat()
            ]
        },
        {"prompt": chat()[:1], "completion": chat()[1:]},
        {"prompt": chat()[0]["content"], "completion": chat()[1:]},
        {"prompt": json.dumps(chat()[:1]), "completion": json.dumps(chat()[1:])},
    ],
    ids=lambda row: "+".join(f"{name}:{type(value).__name__}" for name, value in row.items()),
)
def test_chats_in_all_their_forms(row: Row) -> None:
    made = sft()(row)
    assert list(made) == ["input_ids", "attention_mask"]
    assert text_of(made) == RENDERED
    assert made["attention_mask"] == [1] * len(made["input_ids"])


def test_text_ends_in_one_eos() -> None:
    for text in ("At seven.", "At seven.<|im_end|>"):
        assert text_of(sft()({"text": text})) == "At seven.<|im_end|>"
    assert text_of(sft(add_eos=False)({"text": "At seven."})) == "At seven."
    assert text_of(sft(text_field="body")({"body": "x", "text": "y"})) == "x<|im_end|>"


def test_formats_are_decided_row_by_row() -> None:
    made = [
        sft()(row)
        for row in ({"text": "a"}, {"messages": chat()}, {"prompt": "b", "completion": "c"})
    ]
    assert [text_of(each) for each in made] == ["a<|im_end|>", RENDERED, "bc<|im_end|>"]


def test_a_text_gets_no_second_bos() -> None:
    transform = sft(with_tokenizer="splits")
    plain = tokenizer("splits").encode("At seven.").tolist()
    begun = tokenizer("splits").encode("At seven.", add_special_tokens=False).tolist()
    bos = tokenizer("splits").bos_token_id
    made = transform({"text": "At seven."})["input_ids"]
    if plain[0] == bos:
        assert made[:2] == [bos, begun[0]]
    again = transform({"text": "<｜begin｜>At seven."})["input_ids"]
    assert again.count(bos) == 1


# D47: chats whose template has no generation blocks had no mask at all.
def test_the_mask_is_what_the_model_writes() -> None:
    made = sft(mask_prompt=True)({"messages": chat(turns=2)})
    assert list(made) == ["input_ids", "attention_mask", "assistant_masks"]
    assert trained(made) == "At 0 o'clock, as ever.<|im_end|>At 1 o'clock, as ever.<|im_end|>"


def test_generation_blocks_say_what_is_trained() -> None:
    template = (
        "{% for m in messages %}{% if m.role == 'assistant' %}[a]{% generation %}{{ m.content }}!"
        "{% endgeneration %}{% else %}[u]{{ m.content }}{% endif %}{% endfor %}"
    )
    made = sft(mask_prompt=True, chat_template=template)({"messages": chat(turns=2)})
    assert trained(made) == "At 0 o'clock, as ever.!At 1 o'clock, as ever.!"
    last = sft(mask_prompt=True, chat_template=template, train_on="last")
    assert trained(last({"messages": chat(turns=2)})) == "At 1 o'clock, as ever.!"


def test_which_turns_are_trained() -> None:
    last = sft(mask_prompt=True, train_on="last")({"messages": chat(turns=3)})
    assert trained(last) == "At 2 o'clock, as ever.<|im_end|>"
    weighted = chat(turns=3)
    weighted[1]["weight"] = 0
    weighted[3]["train"] = False
    weighted[5]["weight"] = 1.0
    assert (
        trained(sft(mask_prompt=True)({"messages": weighted})) == "At 2 o'clock, as ever.<|im_end|>"
    )
    weighted[5]["weight"] = 2
    with pytest.raises(TypeError, match="'weight' must be 0 or 1"):
        sft(mask_prompt=True)({"messages": weighted})


@pytest.mark.parametrize("no", [0, 0.0, False])
@pytest.mark.parametrize("key", ["weight", "train", "loss_weight", "loss"])
def test_a_message_says_whether_it_is_trained(key: str, no: float) -> None:
    weighted = chat(turns=3)
    weighted[1][key] = no
    weighted[3][key] = None
    weighted[5][key] = 1 - no
    made = sft(mask_prompt=True)({"messages": weighted})
    assert trained(made) == "At 1 o'clock, as ever.<|im_end|>At 2 o'clock, as ever.<|im_end|>"
    weighted[5][key] = 0.5
    with pytest.raises(TypeError, match=f"'{key}' must be 0 or 1 .*no weights between"):
        sft(mask_prompt=True)({"messages": weighted})


def test_an_example_of_each_turn() -> None:
    made = list(sft(expand_turns=True)({"messages": chat(turns=3)}))
    assert [trained(each) for each in made] == [
        f"At {turn} o'clock, as ever.<|im_end|>" for turn in range(3)
    ]
    assert [text_of(each).count("<|im_start|>assistant") for each in made] == [1, 2, 3]


def test_labels_are_the_trained_ids() -> None:
    made = sft(mask_prompt=True, labels=True)({"messages": chat()})
    expected = [
        token if one else -100
        for token, one in zip(made["input_ids"], made["assistant_masks"], strict=True)
    ]
    assert made["labels"] == expected
    text = sft(labels=True)({"text": "a b c"})
    assert text["labels"] == text["input_ids"]


def test_completions_are_masked() -> None:
    made = sft(mask_prompt=True)({"prompt": "Ferry 1:", "completion": " at one."})
    assert list(made) == ["input_ids", "attention_mask", "completion_mask"]
    assert trained(made, mask="completion_mask") == " at one.<|im_end|>"
    chats = sft(mask_prompt=True)({"prompt": chat()[:1], "completion": chat()[1:]})
    assert trained(chats, mask="completion_mask") == "At 0 o'clock, as ever.<|im_end|>\n"


# D13, D47: shapes are EasyDeL's by default, at either side, and the mask of padding is 0.
@pytest.mark.parametrize("side", ["left", "right"])
def test_fixed_shapes(side: str) -> None:
    transformers = pytest.importorskip("transformers")
    live = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizer().name) + "/tokenizer.json",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side=side,
    )
    transform = SFTPreprocessTransform(live, 24, mask_prompt=True, labels=True)
    made = transform({"prompt": "Ferry 1:", "completion": " at one."})
    assert {name: len(values) for name, values in made.items()} == dict.fromkeys(made, 24)
    used = sum(made["attention_mask"])
    padding = slice(0, 24 - used) if side == "left" else slice(used, 24)
    pad = tokenizer().pad_token_id
    assert made["input_ids"][padding] == [pad] * (24 - used)
    for name, value in (("attention_mask", 0), ("completion_mask", 0), ("labels", -100)):
        assert made[name][padding] == [value] * (24 - used)
    assert trained(made, mask="completion_mask") == " at one.<|im_end|>"


def test_what_is_too_long_is_cut_with_its_masks() -> None:
    whole = sft(mask_prompt=True, labels=True)({"messages": chat(turns=3)})
    most = len(whole["input_ids"]) - 9
    start = sft(most, mask_prompt=True, labels=True)({"messages": chat(turns=3)})
    end = sft(most, mask_prompt=True, labels=True, truncation_mode="keep_end")(
        {"messages": chat(turns=3)}
    )
    for name, values in whole.items():
        assert start[name] == values[:most]
        assert end[name] == values[-most:]
    assert (
        sft(most, truncation=False)({"messages": chat(turns=3)})["input_ids"] == whole["input_ids"]
    )


# D47: a prompt that fills all there is left a row of zeros.
def test_rows_without_a_label_are_left_out() -> None:
    row = {"prompt": "a b c d e f g h i j k l m n o p", "completion": " q"}
    assert sft(8, mask_prompt=True)(row) is None
    assert sft(8)(row) is not None
    assert sft(mask_prompt=True)({"messages": [user("Anybody there?")]}) is None


def test_rows_of_tokens_stay() -> None:
    assert sft()({"input_ids": [1, 2, 3], "text": "x"}) == {
        "input_ids": [1, 2, 3],
        "attention_mask": [1, 1, 1],
    }
    with pytest.raises(ValueError, match="'labels' has 2 values for the 3 of input_ids"):
        sft()({"input_ids": [1, 2, 3], "labels": [1, 2]})


def test_a_function_may_make_the_text() -> None:
    assert text_of(sft(formatting_func=lambda row: row["a"] + "!")({"a": "x"})) == "x!<|im_end|>"
    assert text_of(sft(formatting_func=lambda row: {"text": "y"})({})) == "y<|im_end|>"
    with pytest.raises(TypeError, match="formatting_func returned int"):
        sft(formatting_func=lambda row: 1)({})


TOOL = {"type": "function", "function": {"name": "departures", "parameters": {"type": "object"}}}


def test_tools_and_options_of_a_row_reach_the_template() -> None:
    template = "{{ tools | tojson }}|{{ style }}|{% for m in messages %}{{ m.content }}{% endfor %}"
    transform = sft(chat_template=template, chat_template_kwargs={"style": "brief"})
    row = {"messages": chat(), "tools": [TOOL]}
    assert text_of(transform(row)).startswith('[{"type": "function"')
    assert text_of(transform({**row, "tools": json.dumps([TOOL])})) == text_of(transform(row))
    assert text_of(transform({"messages": chat()})).startswith("null|brief|")
    own = {"messages": chat(), "chat_template_kwargs": {"style": "long"}}
    assert text_of(transform(own)).startswith("null|long|")


@pytest.mark.parametrize("field", ["tools", "chat_template_kwargs"])
@pytest.mark.parametrize("text", ['{"a": tru', "[{bad", '{"a": NaN}'])
def test_a_field_that_is_no_json_is_named(field: str, text: str) -> None:  # X18
    row = {"messages": chat(), field: text}
    for run in (
        lambda: sft()(row),
        lambda: list(easydata.create_source(easydata.DatasetConfig([row])).transform(sft())),
    ):
        with pytest.raises(ValueError, match=f"field '{field}' holds text that is not JSON"):
            run()


def test_arguments_of_calls_are_parsed_as_the_template_wants() -> None:
    template = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
        "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    )
    call = {"type": "function", "function": {"name": "f", "arguments": '{"day": 1}'}}
    row = {"messages": [user("x"), assistant("y", tool_calls=[call])]}
    assert text_of(sft(chat_template=template)(row)) == 'xy{"day": 1}'
    assert text_of(sft(chat_template=template, parse_arguments=True)(row)) == 'xy{"day": 1}'
    as_text = text_of(sft(chat_template=template, parse_arguments=False)(row))
    assert as_text == 'xy"{\\"day\\": 1}"'


@pytest.mark.parametrize(
    ("row", "error", "said"),
    [
        ({}, KeyError, "the row has no messages .'messages'.*it has none"),
        ({"mesages": "x"}, KeyError, r"no messages.*did you mean messages\? It has 'mesages'"),
        ({"messages": []}, ValueError, "field 'messages' holds an empty conversation"),
        ({"messages": "[]"}, ValueError, "an empty conversation"),
        ({"messages": "[not JSON"}, ValueError, "text that is no JSON list of messages"),
        ({"messages": [1]}, TypeError, r"messages\[0\] is a number"),
        ({"messages": [{"content": "x"}]}, ValueError, r"messages\[0\] names no role"),
        (
            {"conversations": [{"from": "martian", "value": "x"}]},
            ValueError,
            "from 'martian', which is no known role; known are assistant, bot",
        ),
        (
            {"messages": [user([{"type": "image", "url": "x"}])]},
            ValueError,
            "a part of type 'image'; only text can be rendered",
        ),
        ({"text": 5}, TypeError, "field 'text' holds something else, expected text"),
        ({"prompt": "x", "completion": 5}, TypeError, "field 'completion' holds something else"),
        ({"messages": chat(), "tools": 5}, TypeError, "field 'tools' holds a number"),
    ],
)
def test_bad_rows_are_refused_by_name(row: Row, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        sft()(row)


def test_roles_may_be_named() -> None:
    row = {"conversations": [{"from": "martian", "value": "x"}, {"from": "gpt", "value": "y"}]}
    assert "<|im_start|>user\nx" in text_of(sft(role_mapping={"martian": "user"})(row))


def test_a_chat_that_a_template_empties_is_an_error() -> None:
    template = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
    with pytest.raises(ValueError, match=r"leaves out the 'content' of messages\[1\]"):
        sft(chat_template=template)({"messages": chat()})


def test_masks_that_cannot_be_told_are_refused() -> None:
    twice = "{% for m in messages %}{{ m.content }} {% endfor %}" * 2
    with pytest.raises(ValueError, match=r"prints messages\[1\] twice"):
        sft(mask_prompt=True, chat_template=twice)({"messages": chat()})
    nested = (
        "{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}"
        "{{ messages[0].content }}{% endif %}{% endfor %}"
    )
    with pytest.raises(ValueError, match=r"prints messages\[0\] within the turn of messages\[1\]"):
        sft(mask_prompt=True, chat_template=nested)({"messages": chat()})
    outside = "{{ messages[0].content }}{{ messages[1].content }}"
    with pytest.raises(ValueError, match=r"messages\[1\] outside of a loop over messages"):
        sft(mask_prompt=True, chat_template=outside)({"messages": chat()})
    assert text_of(sft(chat_template=outside)({"messages": chat()})).startswith("When")


def test_a_missing_template_is_said() -> None:
    with pytest.raises(
        ValueError, match="the tokenizer has no chat template; give one as chat_template="
    ):
        sft(with_tokenizer="byte-level")({"messages": chat()})


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match='train_on="last" needs mask_prompt=True'):
        sft(train_on="last")
    with pytest.raises(ValueError, match='fixed_shapes=True is for layout="easydel"'):
        sft(layout="trl", fixed_shapes=True)
    with pytest.raises(ValueError, match="max_length"):
        sft(0)
    with pytest.raises(FileNotFoundError, match=r"there is no file 'gone\.jinja'"):
        sft(chat_template="gone.jinja")


def test_fixed_shapes_cannot_be_packed(tmp_path: Any) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": f"row {i}"}) + "\n" for i in range(20)))
    source = easydata.JsonShardedSource([str(path)])
    padded = source.transform(SFTPreprocessTransform(tokenizer(), 16))
    with pytest.raises(ValueError, match=r"fixed shapes cannot be packed.*fixed_shapes=False"):
        next(iter(easydata.PackedShardedSource(padded, 32, 0)))
    ragged = source.transform(SFTPreprocessTransform(tokenizer(), 16, fixed_shapes=False))
    assert len(next(iter(easydata.PackedShardedSource(ragged, 32)))["input_ids"]) == 32


def test_copies_share_what_examples_are_made_with() -> None:
    """A mixture may have thousands, and each would compile and probe its template."""
    transform = SFTPreprocessTransform(tokenizer(), 64)
    skipping = transform._refusing("skip", None)
    assert skipping is not transform
    assert skipping._maker is copy.copy(transform)._maker is transform._maker
    assert pickle.loads(pickle.dumps(transform))._maker is not transform._maker
