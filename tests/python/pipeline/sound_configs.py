"""Configs and rows that are sound, in the shapes of public projects' documentation."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_folders import OWN

Row = dict[str, Any]
Options = dict[str, Any]

TOKENIZER = str(OWN / "tokenizers" / "split")
# Prints tools, calls and what was thought.
TEMPLATE = """\
{%- for tool in tools or [] %}{{ '<|im_start|>tool\\n' ~ tool | tojson ~ '<|im_end|>\\n' }}
{%- endfor %}
{%- for m in messages %}
{{- '<|im_start|>' ~ m.role ~ '\\n' }}
{%- if m.reasoning_content %}
{{- '<think>\\n' ~ m.reasoning_content ~ '\\n</think>\\n\\n' }}{% endif %}
{{- m.content or '' }}
{%- for call in m.tool_calls or [] %}
{{- '\\n<tool_call>' ~ call.function.name ~ ' ' ~ call.function.arguments | tojson }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
# Prints thoughts behind the last question alone.
THINKING = TEMPLATE.replace("if m.reasoning_content", "if m.reasoning_content and loop.last")


@dataclass
class Case:
    """A pipeline, and what it reads."""

    name: str
    config: Options
    chain: str
    files: dict[str, list[Row] | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.chain.endswith("load"):
            self.config = {"load": {"batch_size": 2}, **self.config}

    def write(self) -> None:
        """Writes its files into the working folder."""
        for path, content in self.files.items():
            text = content if isinstance(content, str) else _lines(content)
            Path(path).write_text(text, encoding="utf-8")


def _lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _user(content: Any, **more: Any) -> Row:
    return {"role": "user", "content": content, **more}


def _assistant(content: Any, **more: Any) -> Row:
    return {"role": "assistant", "content": content, **more}


def _system(content: str) -> Row:
    return {"role": "system", "content": content}


def _call(name: str, arguments: Any, **more: Any) -> Row:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def _human(value: str) -> Row:
    return {"from": "human", "value": value}


def _gpt(value: str) -> Row:
    return {"from": "gpt", "value": value}


FORECAST = {
    "type": "function",
    "function": {
        "name": "tides",
        "description": "Tells when the water is high.",
        "parameters": {
            "type": "object",
            "properties": {"harbour": {"type": "string", "description": "Where"}},
            "required": ["harbour"],
        },
    },
}
ASKED = _user("When may we leave?")
TOLD = _assistant("At nine, with the tide.")
CALLED = [
    _user("When is the water high in Husum?"),
    _assistant(None, tool_calls=[_call("tides", '{"harbour": "Husum"}', id="call_1")]),
    {"role": "tool", "tool_call_id": "call_1", "content": '{"high": "09:10"}'},
    _assistant("At ten past nine."),
]

# Chats: what a row has.
CHATS: dict[str, Row] = {
    "messages": {"messages": [ASKED, TOLD]},
    "several turns": {"messages": [ASKED, TOLD, _user("And tomorrow?"), _assistant("At ten.")]},
    "a system": {"messages": [_system("You answer sailors."), ASKED, TOLD]},
    "a developer": {
        "messages": [{"role": "developer", "content": "You answer sailors."}, ASKED, TOLD]
    },
    "names of speakers": {"messages": [{**ASKED, "name": "ada"}, TOLD]},
    "keys without values": {
        "messages": [
            {**ASKED, "name": None, "tool_calls": None},
            {**TOLD, "name": None, "tool_calls": None, "function_call": None},
        ]
    },
    "parts": {
        "messages": [
            _user([{"type": "text", "text": "When may we"}, {"type": "text", "text": " leave?"}]),
            _assistant([{"type": "text", "text": "At nine."}]),
        ]
    },
    "weights": {
        "messages": [ASKED, _assistant("Now.", weight=0), _user("Sure?"), _assistant("At nine.")]
    },
    "as JSON": {"messages": json.dumps([ASKED, TOLD])},
    "ShareGPT": {"conversations": [_human("Is there wind?"), _gpt("A little, from the west.")]},
    "ShareGPT, system": {
        "id": "talk-7",
        "conversations": [
            {"from": "system", "value": "You are a lighthouse keeper."},
            _human("Is there wind?"),
            _gpt("A little."),
            _human("And fog?"),
            _gpt("None."),
        ],
    },
    "ShareGPT, tools": {
        "conversations": [
            _human("When is the water high?"),
            {"from": "function_call", "value": '{"name": "tides", "arguments": {"harbour": "A"}}'},
            {"from": "observation", "value": '{"high": "09:10"}'},
            _gpt("At ten past nine."),
        ]
    },
    "conversation": {"conversation": [ASKED, TOLD]},
    "tools": {"messages": CALLED, "tools": [FORECAST]},
    "tools as JSON": {"messages": CALLED, "tools": json.dumps([FORECAST])},
    "tools unused": {"messages": [_user("Hello"), _assistant("Hello.")], "tools": [FORECAST]},
    "arguments as objects": {
        "messages": [
            _user("When in Husum?"),
            _assistant("", tool_calls=[_call("tides", {"harbour": "Husum", "days": 2})]),
            {"role": "tool", "name": "tides", "content": "09:10"},
            _assistant("At ten past nine."),
        ],
        "tools": [FORECAST],
    },
    "calls beside each other": {
        "messages": [
            _user("When in Husum, and in Kiel?"),
            _assistant(
                None,
                tool_calls=[
                    _call("tides", '{"harbour": "Husum"}', id="call_1"),
                    _call("tides", '{"harbour": "Kiel"}', id="call_2"),
                ],
            ),
            {"role": "tool", "tool_call_id": "call_1", "content": "09:10"},
            {"role": "tool", "tool_call_id": "call_2", "content": "none"},
            _assistant("At ten past nine, and never."),
        ],
        "tools": [FORECAST],
    },
    "a call at the end": {"messages": CALLED[:2], "tools": [FORECAST]},
    "text beside a call": {
        "messages": [
            CALLED[0],
            _assistant("I shall look.", tool_calls=[_call("tides", '{"harbour": "Husum"}')]),
            {"role": "tool", "content": "09:10"},
            _assistant("At ten past nine."),
        ]
    },
    "an old call": {
        "messages": [
            CALLED[0],
            _assistant(None, function_call={"name": "tides", "arguments": '{"harbour": "Husum"}'}),
            {"role": "function", "name": "tides", "content": "09:10"},
            _assistant("At ten past nine."),
        ]
    },
    "reasoning_content": {
        "messages": [ASKED, _assistant("At nine.", reasoning_content="The tide turns at nine.")]
    },
    "thinking": {"messages": [ASKED, _assistant("At nine.", thinking="The tide turns at nine.")]},
    "<think>": {"messages": [ASKED, _assistant("<think>\nThe tide turns.\n</think>\n\nAt nine.")]},
    "options of the template": {
        "messages": [ASKED, TOLD],
        "chat_template_kwargs": {"enable_thinking": False},
    },
    "system beside": {"system": "You know the ferries.", "conversations": [ASKED, TOLD]},
    "system prompt beside": {"system_prompt": "Be brief.", "messages": [ASKED, TOLD], "id": "f-1"},
    "empty columns beside": {"messages": [ASKED, TOLD], "system": "", "tools": "[]"},
    "alpaca": {"instruction": "Name the next ferry.", "input": "To Husum", "output": "At nine."},
    "alpaca without input": {"instruction": "Name a ferry.", "input": "", "output": "Adler."},
    "alpaca with turns": {
        "system": "You know the ferries.",
        "instruction": "And back?",
        "output": "At four.",
        "history": [["When does it leave?", "At nine."]],
    },
    "query and response": {"query": "When does it leave?", "response": "At nine."},
}

SFT: dict[str, Options] = {
    "all": {"fixed_shapes": False},
    "answers": {"mask_prompt": True, "fixed_shapes": False},
    "padded": {"mask_prompt": True, "max_length": 320},
    "last": {"mask_prompt": True, "train_on": "last", "labels": True, "fixed_shapes": False},
    "trl": {"layout": "trl", "mask_prompt": True},
}


def _dataset(rows: Any, **options: Any) -> Options:
    return {"data_files": rows, "tokenizer": TOKENIZER, **options}


def _chats() -> Iterator[Case]:
    """Chats, for training and as documents."""
    for shape, row in CHATS.items():
        rows = [row] * 4
        for use, options in SFT.items():
            dataset = _dataset(
                "chats.jsonl", chat_template=TEMPLATE, transform={"name": "sft", **options}
            )
            config = {"datasets": [dataset]}
            yield Case(f"sft, {use}: {shape}", config, "source load", {"chats.jsonl": rows})
        dataset = _dataset(rows, chat_template=TEMPLATE)
        yield Case(f"tokenized: {shape}", {"datasets": [dataset]}, "source tokenize load")
    row = {
        "messages": [
            ASKED,
            _assistant("Now.", reasoning_content="It is late."),
            _user("Sure?"),
            _assistant("At nine.", reasoning_content="The tide."),
        ]
    }
    for use in ("all", "answers", "last"):
        transform = {"name": "sft", **SFT[use]}
        dataset = _dataset([row] * 4, chat_template=THINKING, transform=transform)
        yield Case(f"thinking, {use}", {"datasets": [dataset]}, "source load")
    transform = {"name": "sft", "mask_prompt": True, "expand_turns": True, "fixed_shapes": False}
    dataset = _dataset([row] * 4, chat_template=THINKING, transform=transform)
    yield Case("thinking, each turn", {"datasets": [dataset]}, "source load")
    transform = {"name": "sft", "reasoning": "drop", "fixed_shapes": False}
    yield Case(
        "thinking, dropped",
        {"datasets": [_dataset([row] * 4, transform=transform)]},
        "source load",
    )


def _texts() -> Iterator[Case]:
    """Documents: with a tokenizer in a pipeline, packed, and for training."""
    story = "The ferry left Husum at nine, and nobody waved."
    beside: dict[str, Row] = {
        "alone": {},
        "id": {"id": 7},
        "id, url": {"id": "a-7", "url": "https://example.org/7", "timestamp": "2024-05-01"},
        "meta": {"meta": {"source": "log", "language": "en"}, "score": 0.75},
        "counts": {"dump": "2024-10", "token_count": 11, "language_score": 0.98},
    }
    for name, more in beside.items():
        rows: list[Row] = [{"text": f"{story} {i}", **more} for i in range(12)]
        files: dict[str, list[Row] | str] = {"texts.jsonl": rows}
        dataset = _dataset("texts.jsonl")
        config: Options = {"datasets": [dataset], "load": {"batch_size": 4}}
        yield Case(f"text: {name}", config, "source tokenize load", files)
        packed = {**config, "pack": {"seq_length": 16}}
        yield Case(f"text, packed: {name}", packed, "source tokenize pack load", files)
        saved = {"datasets": [dataset], "save": {"output_dir": "out", "num_shards": 2}}
        yield Case(f"text, saved: {name}", saved, "source tokenize save", files)
        kept = _dataset(rows, additional_fields=sorted(more)[:1] or None)
        yield Case(f"text, kept: {name}", {"datasets": [kept]}, "source tokenize load")
        trained = _dataset(rows, transform={"name": "sft", "fixed_shapes": False})
        yield Case(f"sft, text: {name}", {"datasets": [trained]}, "source load")
        unread = {"datasets": [{"data_files": rows}], "save": {"output_dir": "out"}}
        yield Case(f"text, copied: {name}", unread, "source save")
    for name, text in {
        "Alpaca, without an input": (
            "Below is an instruction that describes a task. Write a response.\n\n"
            "### Instruction:\nName a harbour.\n\n### Response:\nHusum"
        ),
        "Alpaca, with an input": (
            "Below is an instruction with an input. Write a response.\n\n"
            "### Instruction:\nSay it shorter.\n\n### Input:\nIt is very cold.\n\n"
            "### Response:\nFreezing."
        ),
        "ChatML": "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n",
        "code": "def tide(hour: int) -> str:\n\treturn 'high' if hour == 9 else 'low'\n",
        "lines and signs": "Grüße\u2028aus Husum \U0001f6f3\ufe0f, 5 \u20ac\x0b",
    }.items():
        rows = [{"text": text}] * 4
        trained = _dataset(rows, transform={"name": "sft", "labels": True, "fixed_shapes": False})
        yield Case(f"sft, text: {name}", {"datasets": [trained]}, "source load")
        documents = {"datasets": [_dataset(rows)], "pack": {"seq_length": 8}}
        yield Case(f"text, packed: {name}", documents, "source tokenize pack load")
    named = [{"content": story, "path": f"log/{i}.md"} for i in range(4)]
    content = _dataset(named, content_field="content", additional_fields=["path"])
    yield Case("content_field", {"datasets": [content]}, "source tokenize load")
    renamed = _dataset(named, format_fields={"content": "text"})
    yield Case("format_fields", {"datasets": [renamed]}, "source tokenize load")
    lines: dict[str, list[Row] | str] = {
        "story.txt": "One line.\nAnother line.\n",
        "table.csv": 'id,text\n1,"One, line"\n2,Another\n',
        "table.tsv": "id\ttext\n1\tOne line\n2\tAnother\n",
        "rows.json": json.dumps([{"text": "One"}, {"text": "Another"}]),
    }
    for path, file in lines.items():
        config = {"datasets": [_dataset(path)]}
        yield Case(f"file: {path}", config, "source tokenize load", {path: file})


PROMPT = [_user("Which way is the harbour?")]
GOOD, BAD = [_assistant("To the west.")], [_assistant("I do not know.")]
PAIRS: dict[str, Row] = {
    "texts": {"prompt": "Which way?", "chosen": " West.", "rejected": " No idea."},
    "texts without a prompt": {"chosen": "Which way? West.", "rejected": "Which way? East."},
    "chats": {"prompt": PROMPT, "chosen": GOOD, "rejected": BAD},
    "chats without a prompt": {"chosen": PROMPT + GOOD, "rejected": PROMPT + BAD},
    "chats with a system": {
        "prompt": [_system("You know the town."), *PROMPT],
        "chosen": GOOD,
        "rejected": BAD,
    },
    "chats of two turns": {
        "prompt": [*PROMPT, _assistant("Where are you?"), _user("At the church.")],
        "chosen": GOOD,
        "rejected": BAD,
    },
    "ids": {"id": 3, "prompt": PROMPT, "chosen": GOOD, "rejected": BAD, "score_chosen": 8.5},
    "one message each": {"conversations": PROMPT, "chosen": GOOD[0], "rejected": BAD[0]},
    "a rejected response": {"messages": PROMPT + GOOD, "rejected_response": "I do not know."},
    "a system and a question": {
        "system": "You know the town.",
        "question": "Which way is the harbour?",
        "chosen": "To the west.",
        "rejected": "I do not know.",
    },
    "an instruction": {"instruction": "Which way?", "chosen": "West.", "rejected": "No idea."},
}
UNPAIRED: dict[str, Row] = {
    "texts": {"prompt": "Which way?", "completion": " West.", "label": True},
    "no": {"prompt": "Which way?", "completion": " No idea.", "label": False},
    "chats": {"prompt": PROMPT, "completion": GOOD, "label": True},
    "whole chats": {"messages": PROMPT + GOOD, "label": True},
    "tagged chats": {"conversations": PROMPT + BAD, "kto_tag": False},
}
ASKING: dict[str, Row] = {
    "texts": {"prompt": "What is 3 + 4?", "answer": "7"},
    "chats": {"prompt": [_user("What is 3 + 4?")], "answer": "7"},
    "chats with a system": {"prompt": [_system("Reckon."), _user("3 + 4?")], "answer": "7"},
    "tools": {"prompt": CALLED[:1], "tools": [FORECAST], "answer": "09:10"},
    "questions": {"question": "What is 3 + 4?", "answer": "7"},
}
TRIPLES: dict[str, Row] = {
    "pairs": {"query": "tide", "positive": "The water is high at nine."},
    "triples": {
        "query": "tide",
        "positive": "The water is high at nine.",
        "negative": "The ferry is white.",
    },
}
COMPLETIONS: dict[str, Row] = {
    "texts": {"prompt": "The capital of Denmark is", "completion": " Copenhagen."},
    "chats": {"prompt": PROMPT, "completion": GOOD},
    "chat and text": {"prompt": [_system("Be brief."), *PROMPT], "completion": "West."},
    "tools": {"prompt": CALLED[:3], "completion": CALLED[3:], "tools": [FORECAST]},
}


def _preferences() -> Iterator[Case]:
    """Rows for trainers other than SFT's."""
    bounds = {"max_prompt_length": 96, "max_completion_length": 32}
    trl: Options = {"layout": "trl", "max_length": 160}
    kinds: list[tuple[str, dict[str, Row], list[Options]]] = [
        ("dpo", PAIRS, [bounds, trl]),
        ("orpo", PAIRS, [bounds]),
        ("cpo", PAIRS, [bounds]),
        ("bco", PAIRS, [bounds]),
        ("reward", PAIRS, [{"max_length": 64}, trl]),
        ("kto", UNPAIRED, [bounds, trl]),
        ("bco", UNPAIRED, [bounds]),
        ("grpo", ASKING, [{"max_prompt_length": 256}, {"fixed_shapes": False}]),
        ("ppo", ASKING, [{"max_prompt_length": 256}]),
        ("embedding", TRIPLES, [{"max_length": 16}, {"max_length": 16, "fixed_shapes": False}]),
        ("sft", COMPLETIONS, [{"fixed_shapes": False}, {"layout": "trl"}, {"max_length": 256}]),
    ]
    for kind, (name, shapes, choices) in enumerate(kinds):
        for number, options in enumerate(choices):
            for shape, row in shapes.items():
                transform: Options = {"name": name, **options}
                if "answer" in row:
                    transform["keep_columns"] = ["answer"]
                if "negative" in row:
                    transform["negative_field"] = "negative"
                dataset = _dataset([row] * 4, transform=transform)
                if name != "embedding":
                    dataset["chat_template"] = TEMPLATE
                config = {"datasets": [dataset]}
                yield Case(f"{kind}.{number}, {name}: {shape}", config, "source load")


def _streams() -> Iterator[Case]:
    """Mixes, packs, loaders and outputs."""
    files: dict[str, list[Row] | str] = {
        f"{name}.jsonl": [{"text": f"{name} {i} went out to sea"} for i in range(64)]
        for name in ("logs", "letters", "songs")
    }
    datasets = [
        _dataset(path, name=path.removesuffix(".jsonl")) for path in ("logs.jsonl", "letters.jsonl")
    ]
    third = [*datasets, _dataset("songs.jsonl", name="songs")]
    chats = _dataset(
        [CHATS["messages"]] * 16,
        name="chats",
        chat_template=TEMPLATE,
        transform={"name": "sft", "labels": False, "fixed_shapes": False},
    )
    halves = {"logs": 0.5, "letters": 0.5}
    ramp = [
        {"step": 0, "weights": {"logs": 0.9, "letters": 0.1}},
        {"step": 400, "weights": {"logs": 0.1, "letters": 0.9}},
    ]
    mixes: dict[str, Options] = {
        "equal": {},
        "weights": {"weights": {"logs": 0.75, "letters": 0.25}, "block_size": 16},
        "first": {"weights": halves, "stop_strategy": "first_exhausted"},
        "all": {"weights": halves, "stop_strategy": "all_exhausted", "seed": 3},
        "tokens": {"weights": halves, "unit": "tokens"},
        "grain": {"weights": halves, "order": "grain"},
        "steps": {"weight_schedule": ramp, "block_size": 16},
        "linear": {"weight_schedule": ramp, "weight_schedule_type": "linear", "block_size": 16},
        "cosine": {"weight_schedule": ramp, "weight_schedule_type": "cosine", "block_size": 8},
    }
    load = {"batch_size": 4, "steps": 6}
    for name, mix in mixes.items():
        config = {"datasets": datasets, "mix": mix, "load": load}
        yield Case(f"mix: {name}", config, "source tokenize mix load", files)
        if "weight_schedule" not in mix:
            packed = {**config, "pack": {"seq_length": 16, "shuffle_buffer_factor": 1}}
            yield Case(f"mix, packed: {name}", packed, "source tokenize mix pack load", files)
    unshuffled = {"seq_length": 16, "shuffle_packed": False}
    ramped = {"datasets": datasets, "mix": mixes["linear"], "pack": unshuffled, "load": load}
    yield Case("mix, packed: linear", ramped, "source tokenize mix pack load", files)
    saved = {"datasets": datasets, "mix": mixes["first"], "save": {"output_dir": "out"}}
    yield Case("mix, saved", saved, "source tokenize mix save", files)
    three = {"datasets": third, "mix": {"weights": {**halves, "songs": 0.0}}, "load": load}
    yield Case("mix: one left out", three, "source tokenize mix load", files)
    both = {"datasets": [chats, {**chats, "name": "more"}], "mix": {}, "load": load}
    yield Case("mix of chats", both, "source mix load", files)
    packs: dict[str, Options] = {
        "greedy": {},
        "pool": {"strategy": "pool", "num_packers": 3},
        "first fit": {"strategy": "first_fit", "pack_window": 32},
        "best fit": {"strategy": "best_fit", "labels": True, "seq_lengths": True},
        "grain": {"strategy": "grain_first_fit"},
        "labels": {"labels": True, "ignore_first_label": True},
        "plain": {"include_segment_ids": False, "shuffle_packed": False},
    }
    for name, pack in packs.items():
        config = {"datasets": datasets[:1], "pack": {"seq_length": 24, **pack}}
        yield Case(f"pack: {name}", config, "source tokenize pack load", files)
        if name not in ("grain", "plain"):
            of_chats = {"datasets": [chats], "pack": {"seq_length": 64, **pack}}
            yield Case(f"pack, chats: {name}", of_chats, "source pack load", files)
    loads: dict[str, Options] = {
        "shuffled": {"batch_size": 4, "shuffle_buffer_size": 32, "seed": 5},
        "epochs": {"batch_size": 8, "epochs": 2, "drop_last": True},
        "a rank": {"batch_size": 4, "rank": 1, "world_size": 2},
        "buckets": {"batch_size": 4, "bucket_batches": 4},
        "padded": {
            "batch_size": 4,
            "padding": {"input_ids": {"length": 32}, "attention_mask": {"length": 32}},
        },
        "a ramp": {"batch_rampup": {0: 2, 4: 4}},
        "threads": {"batch_size": 4, "num_threads": 2, "prefetch_buffer_size": 2},
    }
    for name, options in loads.items():
        config = {"datasets": datasets[:1], "load": options}
        yield Case(f"load: {name}", config, "source tokenize load", files)
    lanes = {"datasets": datasets, "mix": mixes["equal"], "pack": unshuffled}
    lanes["load"] = {"batch_size": 4, "lanes": 2, "steps": 6}
    yield Case("load: lanes", lanes, "source tokenize mix pack load", files)
    saves: dict[str, Options] = {
        "parquet": {"format": "parquet", "compression": "zstd"},
        "arrow": {"format": "arrow"},
        "jsonl": {"format": "jsonl", "compression": "gzip"},
        "sizes": {"max_shard_size": "1MB"},
        "rows": {"max_shard_rows": 10, "shard_prefix": "part"},
    }
    for name, options in saves.items():
        config = {"datasets": datasets[:1], "save": {"output_dir": "out", **options}}
        yield Case(f"save: {name}", config, "source tokenize save", files)
        examples = {"datasets": [chats], "save": {"output_dir": "out", **options}}
        yield Case(f"save, chats: {name}", examples, "source save", files)
    reads: dict[str, Options] = {
        "shuffled": {"shuffle": "rows"},
        "some": {"num_rows": 10},
        "columns": {"columns": ["text"]},
        "skipping": {"on_error": "skip"},
        "cut": {"tokenizer": {"name_or_path": TOKENIZER, "max_length": 64, "truncation": True}},
        "whole": {"tokenizer_kwargs": {"truncation": False, "use_fast": True}},
        "special tokens": {"tokenizer_kwargs": {"add_special_tokens": False}},
    }
    for name, options in reads.items():
        config = {"datasets": [{**datasets[0], **options}]}
        yield Case(f"read: {name}", config, "source tokenize load", files)
    shared = {"datasets": [{"data_files": "logs.jsonl"}], "default_tokenizer": TOKENIZER}
    yield Case("one tokenizer for all", shared, "source tokenize load", files)
    bounded = {**shared, "tokenize": {"max_length": 32, "batch_size": 64}, "seed": 4}
    yield Case("stage options", bounded, "source tokenize load", files)
    rows = [{"input_ids": list(range(5, 5 + n))} for n in (3, 9, 4)] * 4
    tokens = {"datasets": [{"data_files": rows}], "pack": {"seq_length": 8, "eos_token_id": 1}}
    yield Case("tokens, packed", tokens, "source pack load")
    yield Case("tokens", {"datasets": [{"data_files": rows}]}, "source load")


def sound_configs() -> list[Case]:
    """All of them."""
    return [*_chats(), *_texts(), *_preferences(), *_streams()]
