"""Tokenizers: text to ids and back, exactly as the `tokenizers` library does it, but fast."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from easydata import _native

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["Tokenizer"]

_CONFIG_NAME = "tokenizer_config.json"
_FILE_NAME = "tokenizer.json"
_TOKEN_NAMES = (
    "bos_token",
    "eos_token",
    "pad_token",
    "unk_token",
    "sep_token",
    "cls_token",
    "mask_token",
)


class Tokenizer:
    """A tokenizer.json file at work.

    Ids equal those of the `tokenizers` library on the same file for every text. Byte-level BPE
    files with the split patterns of GPT-2, Llama 3 and Qwen 2 run on the native engine, all others
    on that library, behind the same methods; `engine` tells which, `describe()` why. Thread-safe.

    Args:
        source: A folder that holds a tokenizer.json (its tokenizer_config.json gives special
            tokens and chat template), the path of a tokenizer.json file, a live
            `tokenizers.Tokenizer` or fast `transformers` tokenizer (what its backend serializes to
            is what runs), or another `Tokenizer`.
        view: "json" runs the file as it is. "transformers", what `AutoTokenizer` would make of the
            folder, comes with a later issue.

    Raises:
        FileNotFoundError: `source` is a path that does not exist.
        ValueError: The file is not a tokenizer that the `tokenizers` library would load.
        NotImplementedError: `view="transformers"` for a path.
        ImportError: The file needs the `tokenizers` library, which is not installed.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Tokenizer | Any,
        view: Literal["json", "transformers"] = "json",
    ) -> None:
        if view not in ("json", "transformers"):
            raise ValueError(f'view must be "json" or "transformers"; got {view!r}')
        self._tokens: dict[str, str] = {}
        self._chat_templates: dict[str, str] = {}
        self._why_not_native: str | None = None
        self._view: str = view
        if isinstance(source, Tokenizer):
            self.__dict__.update(source.__dict__)
            return
        if isinstance(source, (str, os.PathLike)):
            if view == "transformers":
                raise NotImplementedError(
                    'view="transformers" of a path comes with a later issue: pass the live '
                    "AutoTokenizer"
                )
            path = _find_file(Path(source))
            self._name = str(source)
            text = path.read_bytes()
            self._read_folder(path.parent)
        else:
            self._name, text = _serialize(source)
            self._read_live(source)
        self._json = text
        self._encoder = self._make_encoder(text)

    @property
    def encoder(self) -> _native.TextEncoder:
        """The engine's object, which stages hold."""
        return self._encoder

    @property
    def engine(self) -> Literal["native", "huggingface"]:
        """Which engine runs the file."""
        return cast(Literal["native", "huggingface"], self._encoder.engine)

    @property
    def fingerprint(self) -> str:
        """Hash of the tokenizer.json's content, white space apart."""
        return self._encoder.fingerprint

    @property
    def vocab_size(self) -> int:
        """The number of tokens, added ones included."""
        return self._encoder.vocab_size

    @property
    def name(self) -> str:
        """What it was made from, as it was given; of a live object its name or class."""
        return self._name

    @property
    def chat_template(self) -> str | None:
        """The Jinja2 text of the chat template (of several the one named default), if any."""
        return self._chat_templates.get("default")

    @property
    def chat_templates(self) -> Mapping[str, str]:
        """All chat templates by name."""
        return dict(self._chat_templates)

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """Special tokens by role, {"eos_token": "</s>"}, as far as the configuration names them."""
        return dict(self._tokens)

    @property
    def bos_token(self) -> str | None:
        """The token that begins a text, if the configuration names one."""
        return self._tokens.get("bos_token")

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text, if the configuration names one."""
        return self._tokens.get("eos_token")

    @property
    def pad_token(self) -> str | None:
        """The token that fills rows up, if the configuration names one."""
        return self._tokens.get("pad_token")

    @property
    def unk_token(self) -> str | None:
        """The token for what the vocabulary lacks, if the configuration names one."""
        return self._tokens.get("unk_token")

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

    def token_to_id(self, token: str) -> int | None:
        """Id of a token as the file spells it; None when there is none."""
        return self._encoder.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        """Token of an id as the file spells it; None when there is none."""
        return self._encoder.id_to_token(token_id)

    def encode(
        self, text: str, add_special_tokens: bool = True, *, max_length: int | None = None
    ) -> npt.NDArray[np.int32]:
        """Ids of one text.

        Args:
            text: The text.
            add_special_tokens: Let the file's post-processor add its special tokens.
            max_length: Largest number of ids, special tokens included; the text's end is cut off.
                None: no limit.

        Returns:
            int32 array of shape [ids].

        Raises:
            ValueError: `text` holds lone surrogates.
        """
        return self._encoder.encode(text, add_special_tokens, _length(max_length))

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
            max_length: Largest number of ids per text, special tokens included. None: no limit.

        Returns:
            Arrow array list<int32>, one list per text; large_list<int32> when there are more than
            2^31 - 1 ids.

        Raises:
            ValueError: A text is not valid UTF-8; the message names its row.
            TypeError: `texts` is something else.
        """
        if num_threads is not None and num_threads < 1:
            raise ValueError(f"num_threads must be at least 1; got {num_threads}")
        encoded, _ = self._encoder.encode_batch(
            texts, add_special_tokens, _length(max_length), num_threads
        )
        return encoded

    def decode(
        self, ids: Sequence[int] | npt.NDArray[np.integer[Any]], skip_special_tokens: bool = False
    ) -> str:
        """The text that ids stand for.

        Ids without a token are passed over. Bytes that make no UTF-8 (a character cut in half)
        become U+FFFD.
        """
        import numpy as np

        wide = np.asarray(ids)
        if wide.size == 0:
            wide = wide.astype(np.int32)
        if wide.ndim != 1 or not np.issubdtype(wide.dtype, np.integer):
            raise TypeError(
                f"ids must be integers in one dimension; got {wide.dtype} of shape {wide.shape}"
            )
        if wide.size and (wide.min() < 0 or wide.max() > np.iinfo(np.int32).max):
            raise ValueError(
                f"ids must lie between 0 and 2^31 - 1; got {wide.min()} to {wide.max()}"
            )
        return self._encoder.decode(np.ascontiguousarray(wide, dtype=np.int32), skip_special_tokens)

    def describe(self) -> dict[str, Any]:
        """What runs, for people to read: engine, and why; sizes, special tokens, fingerprint."""
        described: dict[str, Any] = {"name": self._name, "view": self._view, "engine": self.engine}
        if self._why_not_native is not None:
            described["why_not_native"] = self._why_not_native
        described.update(self._encoder.details())
        described["vocab_size"] = self.vocab_size
        described["special_tokens"] = {
            role: {"token": token, "id": self.token_to_id(token)}
            for role, token in self._tokens.items()
        }
        described["chat_templates"] = sorted(self._chat_templates)
        described["fingerprint"] = self.fingerprint
        return described

    def __repr__(self) -> str:
        return f"Tokenizer({self._name!r}, engine={self.engine!r}, vocab_size={self.vocab_size})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in self.__dict__.items() if key != "_encoder"}
        return _restore, (state,)

    def _role_id(self, role: str) -> int | None:
        token = self._tokens.get(role)
        return None if token is None else self.token_to_id(token)

    def _make_encoder(self, text: bytes) -> _native.TextEncoder:
        try:
            return _native.native_tokenizer(text)
        except NotImplementedError as error:
            self._why_not_native = str(error)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None
        try:
            import tokenizers
        except ImportError:
            raise ImportError(
                f"{self._name}: {self._why_not_native}; the library that does is missing: "
                "pip install 'easydata[hf]'"
            ) from None
        try:
            live = tokenizers.Tokenizer.from_str(text.decode())
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise ValueError(
                f"{self._name}: the tokenizers library refuses this file: {error}"
            ) from None
        return _native.huggingface_tokenizer(live, text)

    def _read_folder(self, folder: Path) -> None:
        config = _read_object(folder / _CONFIG_NAME)
        for source in (_read_object(folder / "special_tokens_map.json"), config):
            for role in _TOKEN_NAMES:
                token = _token_text(source.get(role))
                if token is not None:
                    self._tokens[role] = token
        template = config.get("chat_template")
        if isinstance(template, str):
            self._chat_templates["default"] = template
        elif isinstance(template, list):
            self._chat_templates.update((entry["name"], entry["template"]) for entry in template)
        file = folder / "chat_template.jinja"
        if file.is_file():
            self._chat_templates["default"] = file.read_text(encoding="utf-8")

    def _read_live(self, source: Any) -> None:
        for role in _TOKEN_NAMES:
            token = _token_text(getattr(source, role, None))
            if token is not None:
                self._tokens[role] = token
        template = getattr(source, "chat_template", None)
        if isinstance(template, str):
            self._chat_templates["default"] = template
        elif isinstance(template, dict):
            self._chat_templates.update(template)


def _restore(state: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer.__new__(Tokenizer)
    tokenizer.__dict__.update(state)
    tokenizer._encoder = tokenizer._make_encoder(state["_json"])
    return tokenizer


def _length(max_length: int | None) -> int:
    if max_length is None:
        return 0
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1; got {max_length}")
    return max_length


def _find_file(path: Path) -> Path:
    """The tokenizer.json that a path means."""
    if path.is_file():
        return path
    if path.is_dir():
        file = path / _FILE_NAME
        if file.is_file():
            return file
        present = ", ".join(sorted(entry.name for entry in path.iterdir())[:10]) or "nothing"
        raise FileNotFoundError(
            f"tokenizer folder {path} holds no {_FILE_NAME}; save the tokenizer there with "
            f"save_pretrained(); it holds: {present}"
        )
    parent = path.parent
    names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(str(parent / name) for name in near)}?" if near else ""
    raise FileNotFoundError(
        f"tokenizer {path} does not exist (names on the Hub come with a later issue: download it "
        f"and give the folder){hint}"
    )


def _serialize(source: Any) -> tuple[str, bytes]:
    """Name and JSON text of a live tokenizer."""
    backend = getattr(source, "backend_tokenizer", source)
    if not callable(getattr(backend, "to_str", None)):
        raise TypeError(
            "tokenizer must be a folder, the path of a tokenizer.json, a tokenizers.Tokenizer or a "
            f"fast transformers tokenizer; got {type(source).__name__}"
        )
    if getattr(backend, "encode_special_tokens", False):
        raise NotImplementedError(
            "a live tokenizer with encode_special_tokens (split_special_tokens) set comes with a "
            "later issue"
        )
    name = getattr(source, "name_or_path", None) or type(source).__name__
    return str(name), backend.to_str().encode()


def _read_object(path: Path) -> dict[str, Any]:
    """A JSON object out of a file; empty when there is no such file."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold a JSON object; got {type(value).__name__}")
    return value


def _token_text(value: Any) -> str | None:
    """The text of a special token, given as such, as an AddedToken or as its JSON form."""
    if isinstance(value, dict):
        value = value.get("content")
    content = getattr(value, "content", value)
    return content if isinstance(content, str) else None
