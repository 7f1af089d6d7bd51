"""Tokenizers: text to ids and back, exactly as the `tokenizers` library does it, but fast."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, cast, overload

from easydata import _native
from easydata.tokenizers.chat_template import ChatTemplate
from easydata.tokenizers.engine import (
    id_lists_of,
    ids_of,
    kind_of,
    length_of,
    library_errors,
    load_library,
    make_encoder,
    threads_of,
)
from easydata.tokenizers.files import COMPONENTS, Side, TokenizerSource, View, read_source

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Ids = npt.NDArray[np.int32]

__all__ = ["DecodeStream", "Tokenizer"]

# Serializes the use of the library's objects whose truncation a call changes.
_library_lock = threading.Lock()


class Tokenizer:
    """A tokenizer.json file at work.

    Ids equal those of the `tokenizers` library on the same file for every text. The native engine
    runs every file but those with a regular expression that it cannot translate exactly; they run
    on that library, with the same methods. `engine` tells which, `describe()` why. Immutable and
    thread-safe.

    Args:
        source: A folder that holds a tokenizer.json (its tokenizer_config.json gives special
            tokens, chat template and sides), the path of a tokenizer.json file, a name on the Hub
            (`org/name` or `org/name@revision`, where there is no such path), a live
            `tokenizers.Tokenizer` or fast `transformers` tokenizer (what its backend serializes to
            is what runs, and later changes of it do not reach this object), or another
            `Tokenizer`. Of files from before tokenizer.json transformers makes one.
        view: "json" runs the file as it is. "transformers" runs what `AutoTokenizer` of the
            installed transformers makes of the folder, which may be another tokenizer: a warning
            says so. A live object is what it is in either view.
        split_special_tokens: Whether text that spells special tokens is text like any other, as
            transformers' option of this name says; None: as the source says, live tokenizers and
            `view="transformers"` that is, else False. Tokens that are added to a text stay what
            they are.

    Raises:
        FileNotFoundError: `source` is a path that does not exist, or a name of nothing.
        PermissionError: It is a name on the Hub that is gated or private.
        ConnectionError: It is a name on the Hub, which cannot be reached.
        ValueError: The file is not a tokenizer that the `tokenizers` library would load, or
            transformers cannot load the folder.
        ImportError: The file needs the `tokenizers` library, the view transformers, or a name
            huggingface_hub, which is not installed.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Tokenizer | Any,
        view: View = "json",
        split_special_tokens: bool | None = None,
    ) -> None:
        if view not in ("json", "transformers"):
            raise ValueError(f'view must be "json" or "transformers"; got {view!r}')
        if isinstance(source, Tokenizer):
            self.__dict__.update(source.__dict__)
            if split_special_tokens in (None, self.split_special_tokens):
                return
            self.__dict__.pop("_library", None)
        elif isinstance(source, TokenizerSource):  # of a pickle
            self._made_of = source
        else:
            self._made_of = read_source(source, view)
        if split_special_tokens is not None:
            self._made_of = dataclasses.replace(
                self._made_of, split_special_tokens=split_special_tokens
            )
        self._encoder, self._why_not_native = make_encoder(self._made_of)

    @property
    def encoder(self) -> _native.TextEncoder:
        """The engine's object, which stages hold."""
        return self._encoder

    @property
    def engine(self) -> Literal["native", "huggingface"]:
        """Which engine runs the file."""
        return cast(Literal["native", "huggingface"], self._encoder.engine)

    @property
    def view(self) -> View:
        """What of a folder runs: its tokenizer.json, or what transformers makes of it."""
        return self._made_of.view

    @property
    def fingerprint(self) -> str:
        """Hash of the tokenizer.json's content, white space apart."""
        return self._encoder.fingerprint

    def _identity(self) -> list[Any]:
        """What tells it from others, in other processes too; templates are asked for their own."""
        of = self._made_of
        sides = [of.padding_side, of.truncation_side]
        return [self.fingerprint, self.engine, of.split_special_tokens, *sides, dict(of.tokens)]

    @property
    def json(self) -> bytes:
        """The text of the tokenizer.json that runs."""
        return self._made_of.json

    @property
    def id_limit(self) -> int:
        """One more than the largest id; more than `vocab_size` where ids have holes."""
        return self._encoder.id_limit

    @property
    def vocab_size(self) -> int:
        """The number of tokens, added ones included."""
        return self._encoder.vocab_size

    @property
    def name(self) -> str:
        """What it was made from, as it was given; of a live object its name or class."""
        return self._made_of.name

    @property
    def commit(self) -> str | None:
        """The commit of the repository on the Hub that its files are of; None for other files."""
        return self._made_of.commit

    @property
    def padding_side(self) -> Side:
        """Where rows are filled up, as the configuration says; else "right"."""
        return self._made_of.padding_side

    @property
    def truncation_side(self) -> Side:
        """Which end of a text `max_length` cuts off, as the configuration says; else "right"."""
        return self._made_of.truncation_side

    @property
    def split_special_tokens(self) -> bool:
        """Whether text that spells special tokens is text like any other."""
        return self._made_of.split_special_tokens

    @property
    def chat_template(self) -> str | None:
        """The Jinja2 text of the chat template (of several the one named default), if any."""
        return self._made_of.chat_templates.get("default")

    @property
    def chat_templates(self) -> Mapping[str, str]:
        """All chat templates by name."""
        return dict(self._made_of.chat_templates)

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """Special tokens by role, {"eos_token": "</s>"}, as far as the configuration names them."""
        return dict(self._made_of.tokens)

    @property
    def bos_token(self) -> str | None:
        """The token that begins a text, if the configuration names one."""
        return self._made_of.tokens.get("bos_token")

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text, if the configuration names one."""
        return self._made_of.tokens.get("eos_token")

    @property
    def pad_token(self) -> str | None:
        """The token that fills rows up, if the configuration names one."""
        return self._made_of.tokens.get("pad_token")

    @property
    def unk_token(self) -> str | None:
        """The token for what the vocabulary lacks, if the configuration names one."""
        return self._made_of.tokens.get("unk_token")

    @property
    def bos_token_id(self) -> int | None:
        """Id of `bos_token`."""
        return self._role_id("bos_token")

    @property
    def eos_token_id(self) -> int | None:
        """Id of `eos_token`."""
        return self._role_id("eos_token")

    @property
    def pad_token_id(self) -> int | None:
        """Id of `pad_token`."""
        return self._role_id("pad_token")

    @property
    def unk_token_id(self) -> int | None:
        """Id of `unk_token`."""
        return self._role_id("unk_token")

    @functools.cached_property
    def _vocabulary(self) -> _native.Vocabulary:
        """What plans and files keep of it: what its ids mean."""
        ids = [self.token_to_id(token) for token in self._made_of.tokens.values()]
        return _native.Vocabulary(
            self._encoder,
            name=_short_name(self.name),
            eos_id=self.eos_token_id,
            bos_id=self.bos_token_id,
            pad_id=self.pad_token_id,
            special=[token_id for token_id in ids if token_id is not None],
        )

    def token_to_id(self, token: str) -> int | None:
        """Id of a token as the file spells it; None when there is none."""
        return self._encoder.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        """Token of an id as the file spells it; None when there is none."""
        return self._encoder.id_to_token(token_id)

    @overload
    def encode(
        self,
        text: str,
        add_special_tokens: bool = ...,
        *,
        max_length: int | None = ...,
        return_offsets: Literal[False] = ...,
    ) -> Ids: ...

    @overload
    def encode(
        self,
        text: str,
        add_special_tokens: bool = ...,
        *,
        max_length: int | None = ...,
        return_offsets: Literal[True],
    ) -> tuple[Ids, npt.NDArray[np.int64]]: ...

    def encode(
        self,
        text: str,
        add_special_tokens: bool = True,
        *,
        max_length: int | None = None,
        return_offsets: bool = False,
    ) -> Ids | tuple[Ids, npt.NDArray[np.int64]]:
        """Ids of one text.

        Args:
            text: The text.
            add_special_tokens: Let the file's post-processor add its special tokens.
            max_length: Largest number of ids, special tokens included; what is too much of the text
                is cut off at its end, or at its start where `truncation_side` is "left". None: as
                the file's own truncation says, if it has one.
            return_offsets: Also tell where in the text each id comes from. The `tokenizers` library
                computes that, at its speed.

        Returns:
            int32 array of shape [ids]; with offsets a pair of it and an int64 array of shape
            [ids, 2], begin and end of each in characters (0, 0 for what is not of the text).

        Raises:
            ValueError: `text` holds lone surrogates, or the reference fails on it.
            ImportError: Offsets need the `tokenizers` library, which is not installed.
        """
        if not isinstance(text, str):
            several = isinstance(text, (list, tuple))
            cure = "several texts take encode_batch()" if several else "a text is a str"
            raise TypeError(f"encode(): text must be one text, not a {type(text).__name__}; {cure}")
        ids = self._encoder.encode(text, add_special_tokens, length_of(max_length))
        if not return_offsets:
            return ids
        return ids, self._offsets(text, add_special_tokens, max_length, ids)

    def encode_batch(
        self,
        texts: Iterable[str | None] | pa.Array | pa.ChunkedArray,
        add_special_tokens: bool = True,
        num_threads: int | None = None,
        *,
        max_length: int | None = None,
    ) -> pa.Array:
        """Ids of many texts.

        Args:
            texts: Sequence of str, or Arrow array or chunked array of string or large_string. A
                null (None) gives a null.
            add_special_tokens: Let the file's post-processor add its special tokens.
            num_threads: Threads to work on; None: one per core. It never changes the result.
            max_length: Largest number of ids per text, special tokens included, as for `encode`.

        Returns:
            Arrow array list<int32>, one list per text; large_list<int32> when there are more than
            2^31 - 1 ids.

        Raises:
            ValueError: A text is not valid UTF-8; the message names its row.
            TypeError: `texts` is something else.
        """
        encoded, _ = self._encoder.encode_batch(
            texts, add_special_tokens, length_of(max_length), threads_of(num_threads)
        )
        return encoded

    def decode(
        self, ids: Sequence[int] | npt.NDArray[np.integer[Any]], skip_special_tokens: bool = False
    ) -> str:
        """The text that ids stand for.

        Ids without a token are passed over. Bytes that make no UTF-8 (a character cut in half)
        become U+FFFD.

        Args:
            ids: Integers from 0 to 2^31 - 1, in one dimension.
            skip_special_tokens: Pass over special tokens, too.

        Raises:
            ValueError: An id is out of range, or the reference fails on these ids.
            TypeError: `ids` is something else.
        """
        return self._encoder.decode(ids_of(ids), skip_special_tokens)

    def decode_batch(
        self,
        batch: Iterable[Sequence[int] | npt.NDArray[np.integer[Any]] | None]
        | npt.NDArray[np.integer[Any]]
        | pa.Array
        | pa.ChunkedArray,
        skip_special_tokens: bool = False,
        num_threads: int | None = None,
    ) -> pa.Array:
        """The texts that many rows of ids stand for.

        Args:
            batch: Rows of ids: a sequence of sequences, an array of two dimensions, or an Arrow
                array or chunked array of lists of integers. A null (None) gives a null.
            skip_special_tokens: Pass over special tokens.
            num_threads: Threads to work on; None: one per core. It never changes the result.

        Returns:
            Arrow array of string; large_string when there are more than 2^31 - 1 bytes.

        Raises:
            ValueError: An id is out of range, or the reference fails on a row: the message names
                it.
            TypeError: `batch` is something else.
        """
        return self._encoder.decode_batch(
            id_lists_of(batch), skip_special_tokens, threads_of(num_threads)
        )

    def decode_stream(
        self, skip_special_tokens: bool = False, ids: Sequence[int] = ()
    ) -> DecodeStream:
        """Decodes ids as they come, as a model generates them.

        Args:
            skip_special_tokens: Pass over special tokens.
            ids: Ids that are there already, such as the prompt's: not part of what `step` gives,
                which continues them.
        """
        held = ids_of(ids).tolist()
        if self.engine == "native":
            return DecodeStream(self._encoder.decode_stream(skip_special_tokens, held).step)
        from tokenizers.decoders import DecodeStream as LibraryStream

        library = self._library
        stream = LibraryStream(ids=held, skip_special_tokens=skip_special_tokens)

        def step(more: list[int]) -> str | None:
            with library_errors("decode these ids"):
                text: str | None = stream.step(library, more)
                return text

        return DecodeStream(step)

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]] | Sequence[Sequence[Mapping[str, Any]]],
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        tokenize: bool = True,
        max_length: int | None = None,
        **template_options: Any,
    ) -> Any:
        """A conversation, or each of several, as the chat template writes it.

        Args:
            messages: A conversation: dicts with `role`, `content` and what else the template reads;
                or a sequence of conversations.
            tools: JSON schemas of functions, or functions with type hints and a docstring.
            documents: Texts for retrieval templates.
            chat_template: A template to use instead of the tokenizer's own, or the name of one of
                `chat_templates`.
            add_generation_prompt: Open an assistant's turn at the end.
            tokenize: Return ids, not text. No special tokens are added to those of the template.
            max_length: Largest number of ids, as for `encode`.
            template_options: Other names that the template reads, and `continue_final_message`: the
                text ends with the last message's content (True), or with its field of that name.

        Returns:
            int32 array of shape [ids], or str when `tokenize` is False; of several conversations
            an Arrow array list<int32>, or a list of str.

        Raises:
            ValueError: There is no template, or it refuses these messages.
            TypeError: An option of transformers' method that this one does not have.
        """
        if foreign := sorted(_FOREIGN_OPTIONS.intersection(template_options)):
            raise TypeError(
                f"apply_chat_template has no option {', '.join(foreign)}: it returns ids, or with "
                "tokenize=False text"
            )
        self._refuse_misspelt(template_options, chat_template)
        if not messages:
            raise ValueError("the conversation is empty: there is no message to render")
        if isinstance(messages, Mapping | str):
            kind = "one message" if isinstance(messages, Mapping) else "a text"
            raise TypeError(
                f"messages must be a list of messages, not {kind}; write "
                '[{"role": "user", "content": ...}]'
            )
        several = not isinstance(messages[0], Mapping)
        conversations = cast(
            "Sequence[Sequence[Mapping[str, Any]]]", messages if several else [messages]
        )
        texts = [
            self._chat_renderer()(
                conversation,
                tools=tools,
                documents=documents,
                chat_template=chat_template,
                add_generation_prompt=add_generation_prompt,
                **template_options,
            )
            for conversation in conversations
        ]
        if tokenize:
            if several:
                return self.encode_batch(texts, add_special_tokens=False, max_length=max_length)
            return self.encode(texts[0], add_special_tokens=False, max_length=max_length)
        return texts if several else texts[0]

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not as a function.

        Raises:
            TypeError: Always; it names the methods.
        """
        raise TypeError(
            "a tokenizer of EasyData is no function: encode() takes one text, encode_batch() many, "
            "apply_chat_template() a conversation; padding is the loader's"
        )

    # What other libraries call it, and what it is called here.
    _names_elsewhere: ClassVar[Mapping[str, str]] = {
        "batch_decode": "decode_batch()",
        "batch_encode_plus": "encode_batch()",
        "encode_plus": "encode()",
        "pad": "the loader's: AsyncDataLoader(..., padding={column: PadSpec(...)})",
        "tokenize": "encode(), of which decode([id]) is the text of each",
        "vocab": "vocab_size, and token_to_id() of each",
    }

    def _refuse_misspelt(self, given: Mapping[str, Any], chat_template: str | None) -> None:
        """Raises TypeError for an option of ours with another letter, which no template reads."""
        texts = [chat_template or "", *self.chat_templates.values()]
        for name in given:
            hint = _native.did_you_mean(name, _TEMPLATE_OPTIONS)
            if hint and name not in _TEMPLATE_OPTIONS and not any(name in text for text in texts):
                raise TypeError(
                    f"apply_chat_template has no option {name!r}, and the template does not read "
                    f"it{hint}"
                )

    def describe(self) -> dict[str, Any]:
        """What runs, for people to read.

        Returns:
            The view taken; the commit of files from the Hub; the engine, and why it is not the
            native one; under "steps" what each step of the file is and which engine runs it; sizes,
            special tokens, fingerprint.
        """
        made_of = self._made_of
        described: dict[str, Any] = {"name": self.name, "view": self.view, "engine": self.engine}
        if self.commit is not None:
            described["commit"] = self.commit
        if self._why_not_native is not None:
            described["why_not_native"] = self._why_not_native
        described["steps"] = self._steps()
        described["vocab_size"] = self.vocab_size
        described["special_tokens"] = {
            role: {"token": token, "id": self.token_to_id(token)}
            for role, token in made_of.tokens.items()
        }
        described["padding_side"] = self.padding_side
        described["truncation_side"] = self.truncation_side
        described["split_special_tokens"] = made_of.split_special_tokens
        described["chat_templates"] = sorted(made_of.chat_templates)
        described["fingerprint"] = self.fingerprint
        return described

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, engine={self.engine!r}, vocab_size={self.vocab_size})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self._made_of,)

    def _role_id(self, role: str) -> int | None:
        token = self._made_of.tokens.get(role)
        return None if token is None else self.token_to_id(token)

    def _chat_renderer(self) -> ChatTemplate:
        return ChatTemplate(self._made_of.chat_templates, self._made_of.tokens)

    def _steps(self) -> dict[str, dict[str, str]]:
        file = json.loads(self._made_of.json)
        steps: dict[str, dict[str, str]] = {}
        for step in COMPONENTS:
            kind = kind_of(file.get(step))
            steps[step] = {"is": kind} if kind == "none" else {"is": kind, "engine": self.engine}
        for step, what in self._encoder.details().items():
            if step not in steps:
                steps[step] = {"is": what, "engine": self.engine}
        for step in ("truncation", "padding"):
            if file.get(step) is not None:
                steps[step] = {"is": json.dumps(file[step]), "engine": self.engine}
        steps["offsets"] = {"is": "on request", "engine": "huggingface"}
        return steps

    def _offsets(
        self, text: str, add_special_tokens: bool, max_length: int | None, ids: Ids
    ) -> npt.NDArray[np.int64]:
        import numpy as np

        library = self._library
        with _library_lock:
            own = library.truncation
            if max_length is not None:
                library.enable_truncation(max_length, direction=self.truncation_side)
            try:
                with library_errors("encode this text"):
                    encoding = library.encode(text, add_special_tokens=add_special_tokens)
            finally:
                if max_length is not None:
                    library.no_truncation()
                    if own is not None:
                        library.enable_truncation(**own)
        if encoding.ids != ids.tolist():
            raise RuntimeError(
                f"{self.name}: the engine's ids of this text are not those of the tokenizers "
                "library, whose offsets would not fit them; please report it with the text"
            )
        return np.asarray(encoding.offsets, np.int64).reshape(-1, 2)

    @functools.cached_property
    def _library(self) -> Any:
        """The library's own object for this file."""
        return load_library(self._made_of, "offsets need the tokenizers library")


class DecodeStream:
    """Ids to text as they come: the texts of all steps make the text of all ids.

    Serves one thread at a time. `Tokenizer.decode_stream()` makes it.
    """

    def __init__(self, step: Callable[[list[int]], str | None]) -> None:
        self._step = step

    def __reduce__(self) -> str:
        raise TypeError(
            "a decode stream cannot be pickled or copied: it stands within a text; keep the ids, "
            "and give them to a new one, tokenizer.decode_stream(ids=...)"
        )

    def step(self, ids: int | Sequence[int]) -> str | None:
        """The text that one more id, or several, complete.

        None as long as there is none: a character is not whole yet, or the token stands for
        nothing.

        Raises:
            ValueError: An id is out of range, or text that was given out before would be another
                with these ids.
        """
        return self._step(ids_of([ids] if isinstance(ids, int) else ids).tolist())


# What transformers' apply_chat_template takes and this one does not: never passed on to templates.
_TEMPLATE_OPTIONS = (
    "tools",
    "documents",
    "chat_template",
    "add_generation_prompt",
    "continue_final_message",
    "tokenize",
    "max_length",
)
_FOREIGN_OPTIONS = frozenset(
    (
        "padding",
        "return_assistant_tokens_mask",
        "return_dict",
        "return_tensors",
        "sanitize_control_tokens",
        "tokenizer_kwargs",
        "truncation",
    )
)


def _short_name(name: str) -> str:
    """What people call a tokenizer, the same on all machines: the last folder of a path."""
    if not os.path.exists(name):
        return name
    path = pathlib.Path(os.path.abspath(name))
    return path.parent.name if path.is_file() else path.name
