"""
The engine of EasyData. Private: what users need is in the package `easydata`.
"""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
    Set
)
import os
from typing import Annotated, Any, Literal

import numpy
from numpy.typing import NDArray


class Cancelled(RuntimeError):
    """Raised by a stream that was closed while it was being read."""

class MissingKey(KeyError):
    """
    A KeyError whose text is a sentence: Python shows that of a plain one as a literal, quotes and backslashes too.
    """

    def __str__(self) -> str: ...

class Lent:
    """A Python object that the engine borrows while somebody holds this."""

class Stream:
    """
    An immutable recipe for a stream of rows. Sources, transforms, mixes and packers make and extend it; loaders, writers and iterators run it.
    """

    @property
    def description(self) -> dict[str, object]:
        """
        What determines the rows that come, as a flat dict. Equal descriptions give equal streams.
        """

    @property
    def has_identity(self) -> bool:
        """
        Whether all of it can be recognised in another process: False with a lambda, a closure.
        """

    def __repr__(self) -> str: ...

def num_threads() -> int:
    """
    How many of the engine's threads there are. By their names there may be more: a thread that a library starts on one of ours takes its name over.
    """

def names_hub_dataset(type: str | None, data_files: Sequence[str]) -> bool:
    """
    Whether a config names a dataset of the Hugging Face Hub, and not files.
    """

def config_descriptors() -> str:
    """Every config and its options, as JSON."""

def option_descriptors() -> str:
    """The options of what is made without a config, as JSON."""

def validate_config(name: str, json: str) -> list[tuple[str, tuple[str, str]]]:
    """
    Everything that is wrong with a config given as JSON: [(kind, (path, sentence))].
    """

def config_hash(name: str, json: str) -> str:
    """16 hexadecimal digits that are equal for configs that say the same."""

def idle_options(json: str, stages: Set[str], rows: Sequence[tuple[str, Stream, bool]]) -> list[tuple[bool, str, str]]:
    """
    The options of a PipelineConfig, given as JSON, that are set and do nothing: [(whether it is refused, path, why)]. `rows`: (dataset, stream, whether it is of this dataset alone).
    """

def config_reference() -> str:
    """The reference page of all configs, in Markdown."""

def suggestion(name: str, candidates: Sequence[str]) -> str:
    """
    '; did you mean "x"?' for the nearest of the candidates, else a list of them.
    """

def did_you_mean(wanted: str, names: Sequence[str]) -> str:
    """
    '; did you mean a or b?' for the nearest one or two of the names, case regarded; else ''.
    """

class DecodeStream:
    """Ids to text as they come; for one thread at a time."""

    def step(self, ids: Sequence[int]) -> str | None:
        """The text that the ids complete, or None."""

    @property
    def num_held(self) -> int:
        """How many ids it holds."""

class TextEncoder:
    """Text to ids; what stages hold. Thread-safe."""

    def encode_batch(self, texts: object, add_special_tokens: bool, max_length: int, num_threads: int | None) -> tuple[object, int]:
        """
        Returns (pyarrow list array of the ids, number of texts that max_length cut).
        """

    def encode(self, text: str, add_special_tokens: bool, max_length: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def decode(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], skip_special_tokens: bool) -> str: ...

    def decode_batch(self, lists: object, skip_special_tokens: bool, num_threads: int | None) -> object:
        """
        The texts of an Arrow array of lists of int32 as an Arrow array of strings.
        """

    def decode_stream(self, skip_special_tokens: bool, ids: Sequence[int]) -> DecodeStream:
        """Native engine only."""

    def token_to_id(self, token: str) -> int | None: ...

    def id_to_token(self, id: int) -> str | None: ...

    def details(self) -> dict[str, str]: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def engine(self) -> str: ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def id_limit(self) -> int: ...

class Vocabulary:
    """What ids of tokens mean: those of one tokenizer."""

    def __init__(self, encoder: TextEncoder, *, name: str, eos_id: int | None, bos_id: int | None, pad_id: int | None, special: Sequence[int]) -> None:
        """
        `special`: ids that the tokenizer's configuration names, beside those of its file.
        """

def native_tokenizer(json: bytes, word_cache_bytes: int = 16777216, kernels: str = '', split_special_tokens: bool = False, truncate_left: bool = False) -> TextEncoder:
    """
    The native engine for a tokenizer.json; NotImplementedError when it does not take the file.
    """

def huggingface_tokenizer(tokenizer: object, json: bytes, truncate_left: bool = False) -> TextEncoder:
    """
    A `tokenizers.Tokenizer` behind the same interface; `json` is what it was made of.
    """

class GrainOrderOptions:
    """A host's share of a dataset's rows, in Grain's order."""

    def __init__(self, *, name: str = "", seed: int | None = 0, part: int = 0, parts: int = 1, num_rows: int | None = None, real_rows: int | None = None, padding_column: str = "") -> None: ...

def user_path(path: str | os.PathLike[str]) -> str:
    """
    The path of this machine that a user has written: in the home folder for ~, of file:/// the path. ValueError for variables of a shell.
    """

class File:
    """An open file, read at positions."""

    @property
    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """Bytes from a position on: fewer where the file ends before."""

class FileListing:
    """Files as they were when they were listed."""

    @property
    def uris(self) -> list[str]: ...

    def size_of(self, index: int) -> int:
        """Bytes of a file."""

    def in_order(self, indices: Sequence[int]) -> FileListing:
        """The files at some indices, in this order."""

    def with_identity(self, identity: str) -> FileListing:
        """
        The same files, told from others by "mtime", "content" (for which each is read, once) or "size".
        """

    def to_json(self) -> str:
        """The listing as JSON, for other processes of the job."""

    @staticmethod
    def from_json(text: str, data_files: Sequence[str], storage_options: object | None = None) -> FileListing:
        """The listing that to_json() wrote of these data_files."""

    def with_columns(self, columns: Sequence[tuple[bytes, int]]) -> FileListing:
        """The same files, with what Source.columns_of_files() found of them."""

    def with_blocks(self, blocks: Sequence[Sequence[int] | None]) -> FileListing:
        """The same files, with what Source.blocks_of_files() found of them."""

    def open(self, index: int) -> File:
        """Opens a file, which must be the listed one."""

    def __len__(self) -> int: ...

    def __getstate__(self) -> tuple[str, str, str, list[str]]: ...

    def __setstate__(self, arg: tuple[str, str, str, Sequence[str]], /) -> None: ...

def list_data_files(data_files: Sequence[str], storage_options: object | None = None, keeps_missing: bool = False) -> tuple[FileListing, list[str]]:
    """
    The files that paths, patterns and folders stand for, and what was left out beside them.
    """

def pinned_hub_address(address: str, storage_options: object | None = None) -> str:
    """
    An address on the Hugging Face Hub by the commit that its revision is now.
    """

def split_hub_address(address: str) -> tuple[str, str]:
    """
    The repository of an address on the Hugging Face Hub, up to a slash, and the path in it.
    """

def hub_tree(address: str, storage_options: object | None = None) -> list[tuple[str, int]]:
    """
    All files of the repository that an address names, by their addresses and bytes, sorted.
    """

def recorded_outputs(listing: FileListing) -> list[dict[str, Any] | None]:
    """
    Of each file what the metadata of the output says that it is a shard of; None where no output of ours names it.
    """

def shown_address(address: str) -> str:
    """An address without what is secret in it; other texts as they are."""

def hash_bytes(bytes: bytes) -> int:
    """XXH3, 64 bits, of bytes."""

def escaped_text(text: bytes) -> str:
    """
    Bytes as messages show them, on one line: control characters and what is no UTF-8 as "\\x1b".
    """

def format_of_name(path: str) -> str:
    """The format that a file's name tells, or an empty string."""

class DataFormat:
    """A format of data files."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """What formats have in common that may stand side by side."""

    @property
    def builder(self) -> str:
        """What the `datasets` library calls it; empty where it does not know it."""

    @property
    def options(self) -> list[str]:
        """The options that make_source() takes for it."""

def data_formats() -> list[DataFormat]:
    """All formats of data files."""

def check_on_error(on_error: object, has_quarantine_path: bool, on_missing: object = 'raise') -> None:
    """Raises ValueError for what on_error and on_missing cannot be."""

def check_identity(identity: object) -> None:
    """Raises ValueError for what identity cannot be."""

def check_sample_by(sample_by: object) -> None:
    """Raises ValueError for what sample_by cannot be."""

def find_format(name: str) -> DataFormat | None:
    """The format of a name, or of a suffix without its dot; None for others."""

class Source:
    """Files that can be read from any row on."""

    @property
    def shard_names(self) -> list[str]: ...

    def stream(self, columns: Mapping[str, str] | None, shards: Sequence[str] | None, start_row: int, options: SourceStageOptions) -> Stream:
        """
        The rows of the shards, from row `start_row` of the first one on, or shuffled.
        """

    def grain_rows(self, options: GrainOrderOptions) -> Stream:
        """A host's share of the rows in Grain's order: GrainRowsPlan()."""

    def columns_of_files(self) -> list[tuple[bytes, int]]:
        """
        The columns of files that state their own, for FileListing.with_columns(): all headers or footers are read.
        """

    def blocks_of_files(self) -> list[list[int] | None]:
        """
        Of each file the rows before its blocks, and all, for FileListing.with_blocks(); None where only reading tells. All footers are read.
        """

    def known_rows(self, shard: int) -> int | None:
        """Rows of a shard where the file says so, else None."""

    def count_rows(self, shard: int) -> int:
        """Rows of a shard, counted where the file does not say."""

def make_source(files: FileListing, format: str, options: dict[str, object]) -> Source:
    """
    A source of files of a format; options that are missing have the format's defaults.
    """

def schema_of(stream: Stream) -> Any:
    """The schema of a stream's batches, as a pyarrow.Schema."""

class RowIterator:
    """Rows of a stream as dicts."""

    def __iter__(self) -> RowIterator: ...

    def __next__(self) -> dict[str, Any]: ...

    def close(self) -> None:
        """Ends the reading behind it; later calls give no rows."""

class BatchIterator:
    """Batches of a stream as pyarrow record batches."""

    def __iter__(self) -> BatchIterator: ...

    def __next__(self) -> object: ...

    @property
    def read_share(self) -> float | None:
        """
        How much of what is gone through was read: an estimate from 0 to 1, or None.
        """

    def close(self) -> None: ...

def iterate_rows(stream: Stream, epoch: int = 0, ahead: bool = True, unit: dict[str, Any] | None = None, num_threads: int = 0) -> RowIterator:
    """
    One pass over a stream, row by row. For a look at the first rows, `ahead=False` reads no further than it must. `unit`: the part of it to read, one of divided(). `num_threads`: on so many of its own; 0: on those that all share who do not say.
    """

def divided(stream: Stream, bytes: int) -> list[dict[str, Any]] | None:
    """
    The units of a stream, in its order, each of about so many bytes of its files, that may be read apart from each other; None where it cannot be divided.
    """

def iterate_batches(stream: Stream, epoch: int = 0, unit: dict[str, Any] | None = None, num_threads: int = 0) -> BatchIterator:
    """
    One pass over a stream, batch by batch; `unit` and `num_threads` as iterate_rows() has them.
    """

class RecordFiles:
    """ArrayRecord files, one after the other."""

    def __init__(self, files: FileListing) -> None: ...

    def __len__(self) -> int: ...

    def read(self, record: int) -> bytes:
        """A record by its number."""

    def read_many(self, records: Sequence[int]) -> list[bytes]:
        """
        Records by their numbers, in this order; what lies near together is read at once.
        """

    def __getstate__(self) -> FileListing: ...

    def __setstate__(self, arg: FileListing, /) -> None: ...

class TokenStore:
    """Keeps blocks of tokens in a folder, or in memory."""

    def __init__(self, folder: str, *, max_bytes: int | None = None, expiry_seconds: int | None = None, compression: str = 'none', memory_blocks: int = 0, storage_options: object | None = None) -> None:
        """
        Opens the store of a folder, which is made where it is not there; "": in memory alone.
        """

    def flush(self) -> None:
        """Waits until what was put is written, or dropped."""

    def stats(self) -> dict[str, int]:
        """What it has done since it was opened."""

def list_store(folder: str, *, storage_options: object | None = None) -> list[dict[str, Any]]:
    """The plans that a store has blocks of, those used last first."""

def verify_store(folder: str, *, storage_options: object | None = None) -> list[tuple[str, str]]:
    """Reads all of a store: names of damaged files, with what is wrong."""

def prune_store(folder: str, *, max_bytes: int | None = None, older_than_seconds: int | None = None) -> int:
    """
    Removes files of a store, those first that were used longest ago: bytes that were freed.
    """

class ColumnTypes:
    """Types of some columns, and of fields in them."""

    def __init__(self, names: Sequence[tuple[str, str]], fills: Sequence[str] = []) -> None: ...

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row with values of these types."""

class RowOp:
    """An operation on columns, done to single rows."""

    def __init__(self, op: str, options: str) -> None: ...

    def __call__(self, row: object) -> dict[str, Any] | None:
        """A new row, or None where it goes. Its values are those of the row."""

class Step:
    """What a plan knows of a step of a chain of transforms."""

    @property
    def gives_columns(self) -> bool:
        """Whether the engine always does it, and columns with types come of it."""

    @property
    def works_on_columns(self) -> bool:
        """Whether it is an operation on whole columns."""

    @property
    def takes_whole_rows(self) -> bool:
        """Whether that is one that works on rows without a schema, too."""

def callable_step(callable: Callable[..., object], *, name: str, text: str, keeps_rows: bool, has_identity: bool, identity: str, expands: bool = False, refuses: bool = False, test: Callable[..., object] | None = None, whole: Step | None = None, reads_all: bool = False, reads_only: Mapping[str, str] | None = None, renames: Sequence[tuple[str, str]] = [], writes: Sequence[str] = [], changes: Sequence[str] = [], reads: Sequence[str] = []) -> Step:
    """
    A step that calls Python for each row: it returns a row or None, or an iterable of rows where it `expands`; where it `refuses`, exceptions that it returns refuse rows. `test`: of a filter. `whole`: the step in its place, upstream of a packer that splits documents. The rest says which fields it reads and gives (transform/field_use.h).
    """

def column_step(called: Step, op: str, options: str) -> Step:
    """
    The step as an operation on columns (transform/column_op.h), which does the same; `options` are JSON.
    """

class Plan:
    """
    A source as the user described it: immutable, it makes the stream of what is asked for.
    """

    def stream(self, columns: Mapping[str, str] | None = None, shards: Sequence[str] | None = None, start_row: int = 0, is_look: bool = False, whole_documents: bool = False) -> Stream:
        """
        The rows of these columns (all by default) and shards, from a row of the first one on where it `can_seek`. A look ahead logs nothing, and puts no row aside. Documents that nobody said to cut are `whole` for a consumer that splits them.
        """

    def peek(self, num_rows: int) -> tuple[list[dict[str, Any]], bool] | None:
        """
        The first rows up to one that cannot be read, and whether there are no others; None where its stream must be read to tell.
        """

    def first_rows_of_forms(self) -> list[dict[str, Any]] | None:
        """
        Of the first 1,000 rows, or those of the first block, the first of each form: those in which other fields hold something. None where its stream must be read to tell.
        """

    def column_names(self) -> list[str] | None:
        """Names of the columns; None where rows have no schema."""

    def field_names(self) -> list[str]:
        """
        Names of the fields that rows have; of rows without a schema, those of the first one.
        """

    def stated_rows(self) -> int | None:
        """
        How many rows there are, where all shards state it without being read; else None.
        """

    @property
    def can_seek(self) -> bool:
        """
        Whether a stream may start at any row of a shard without making those before.
        """

    @property
    def is_at_hand(self) -> bool:
        """Whether many of its rows can be looked at for next to nothing."""

class SourceStageOptions:
    """How a source is read."""

    def __init__(self, *, name: str = "", column_types: Mapping[str, str] | None = None, on_error: Literal["raise", "skip", "quarantine"] = "raise", on_missing: Literal["raise", "skip", "quarantine"] = "raise", quarantine_path: str | None = None, mode: Literal["blocks", "rows", "grain"] = ..., seed: int = 0, window_bytes: int | None = None) -> None: ...

class SourceShuffleOptions:
    """The order of a source's rows."""

    def __init__(self, *, mode: Literal["blocks", "rows", "grain"] = ..., seed: int = 0, window_bytes: int | None = None) -> None: ...

class PartOptions:
    """Which part of a dataset is read."""

    def __init__(self, *, parts: Mapping[str, float] | None = None, part: str | None = None, part_seed: int = 0, part_by: str | None = None) -> None: ...

class TokenizeOptions:
    """How a column of texts becomes tokens."""

    def __init__(self, *, content_field: str = "text", add_special_tokens: bool = True, max_length: int = 0, return_attention_mask: bool = True, pad_to: int = 0, pad_token_id: int = 0, pad_left: bool = False, additional_fields: Iterable[str] = ..., skip_missing: bool = False, batch_size: int = 0, num_workers: int = 0) -> None: ...

class VocabularyOptions:
    """Whether tokens of several tokenizers may be one stream."""

    def __init__(self, *, allow_vocabularies: bool = False) -> None: ...

def file_rows(source: Source, options: SourceStageOptions, report: Callable[[str], object] | None, columns: Sequence[str] | None) -> Plan:
    """Rows of files; of these columns, where they are named."""

def python_rows(open: Callable[..., Iterable[object]], shard_names: Callable[[], Iterable[str]], type_name: str, schema: object | None = None, description: dict[str, object] = {}, name: str = '', num_rows: int | None = None, is_at_hand: bool = False, inputs: Sequence[Plan] = [], order: SourceShuffleOptions | None = None) -> Plan:
    """
    What open(shard name, row) yields: rows as dicts, or Arrow record batches of `schema`. `num_rows`: of the only shard, any row of which is at hand. `is_at_hand`: whether many can be looked at for next to nothing. `inputs`: what the rows are made of. `order`: that which open(..., epoch=) gives them in.
    """

def shuffled_rows(input: Plan, order: SourceShuffleOptions) -> Plan:
    """The rows in a random order, as one shard."""

def limited_rows(input: Plan, *, shards: Sequence[str], max_rows: int, rows_within: Callable[[str], int], rows: Plan | None) -> Plan:
    """
    The first rows. `rows_within` says how many of a shard; `rows` reads the same row by row, which a shuffle needs.
    """

def one_shard(files: Plan, source: Source, name: str, ranges: Sequence[tuple[int, int]] | None = None, rows: Plan | None = None) -> Plan:
    """
    The rows of files as one shard: all, or those from one to before another, by their numbers among those of all files. `rows` reads the same row by row, which a shuffle of ranges needs.
    """

def rows_between(input: Plan, begin: int, end: int | None = None) -> Plan:
    """The rows from one to before another, or to the last, as one shard."""

def selected_rows(source: Source, numbers: Sequence[int], *, name: str, columns: Sequence[str] | None) -> Plan:
    """
    Rows of files by their numbers among those of all files, in this order, as one shard.
    """

def part_rows(input: Plan, part: PartOptions) -> Plan:
    """The rows of one part, in the order in which they come."""

def concatenated_rows(inputs: Sequence[Plan], shards: Sequence[tuple[str, int, str]], rows: Plan, notice: Callable[[str], object] | None, options: VocabularyOptions) -> Plan:
    """
    Shards of several plans: (name, index of the plan, name there). `rows` reads the same row by row. `notice` is told once what is worth a warning of their tokens.
    """

def mixed_rows(inputs: Sequence[Plan], options: MixOptions, notice: Callable[[str], object] | None = None) -> Plan:
    """
    Rows of several plans. `notice` is told once what is worth a warning of their tokens.
    """

def rows_of_vocabulary(rows: Plan, vocabulary: Vocabulary, name: str) -> Plan:
    """
    The rows, whose tokens are of this vocabulary where nobody knows of another one.
    """

def packed_rows(input: Plan, options: PackedOptions, *, most_steps: int = 0) -> Plan:
    """
    Lists of tokens packed into rows of one length. They are shuffled within `most_steps` steps of the loader, or so many rows where there is none; 0: within the window of the options.
    """

def tokenized_rows(texts: Plan, encoder: TextEncoder, report: Callable[[str, str, int, int], object] | None, may_be_whole: bool, vocabulary: Vocabulary, options: TokenizeOptions) -> Plan:
    """The rows with their texts tokenized. `report` as of tokenize()."""

def columns_or_refused(rows: Plan, column: str) -> Plan:
    """
    The columns that are asked for, out of whole rows; rows that do not have them, or no text in `column`, are refused.
    """

def refused_taken_out(input: Plan, quarantine_path: str, report: Callable[[str], object] | None) -> Plan:
    """
    The rows without those that were refused: counted, reported, and put into the file `quarantine_path` unless it is empty.
    """

def transformed_rows(root: Plan, steps: Sequence[Step]) -> Plan:
    """What steps make of the rows, one after the other."""

def made_rows(stream: Stream) -> Plan:
    """The rows of a stream that is made already."""

def reasoning_fields() -> list[str]:
    """
    What a model thought, under the names that templates read it by; the first is the standard one.
    """

def meaningful_fields() -> list[str]:
    """Fields of rows that change what is trained wherever they are read."""

def fields_beside(*, instructions: bool) -> list[str]:
    """
    Fields that are read beside the conversation of a row; of an instruction, its own, too.
    """

def message_fields() -> list[str]:
    """
    Fields in which rows have a conversation, in the order in which they are looked for.
    """

def instruction_fields() -> list[tuple[str, str]]:
    """Fields that make a row an instruction with its answer."""

def read_conversation(value: object | None, field: str, roles: Mapping[str, str] | None, decoded: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """
    The messages that a row holds in `field`. `decoded` makes what it holds of JSON text.
    """

def template_messages(messages: list[Any]) -> list[dict[str, Any]]:
    """
    Messages as templates see them: no keys without a value, what a model thought under all of its names.
    """

class ConversationRenderer:
    """Renders conversations of Python's, whose text must come out."""

    def __init__(self, render: object, *, roles: Mapping[str, str] | None, names: Mapping[str, str], own_roles: Sequence[str], drops_reasoning: bool = False) -> None: ...

    def render(self, row: Mapping[str, Any], field: str, tools: object | None, decoded: Callable[[Any], Any]) -> str:
        """
        The text of the messages that a row holds in `field`, as read_conversation() reads them, with the system message and template options that it has beside them; where `field` is empty, of its instruction and answer.
        """

def render_step(called: Step, plain: JinjaTemplate | None, with_tools: JinjaTemplate | None, *, messages: str, output: str, roles: Mapping[str, str], own_roles: Sequence[str], variables: str) -> Step:
    """
    The step that renders the conversations in column `messages` into column `output`, by template `with_tools` where the row has tools. `variables` are JSON. `called` does the same to a row: those that are not as they should be, or beyond the native engine, are given to it, and all where there are no templates.
    """

class JinjaTemplate:
    """
    A chat template for the native engine. ValueError where Jinja2 refuses its text, NotImplementedError, with what and the line, where it uses what the engine does not have.
    """

    def __init__(self, source: str) -> None: ...

    @property
    def has_generation(self) -> bool: ...

    @property
    def uses_clock(self) -> bool: ...

    def at(self, now: float) -> JinjaTemplate:
        """The same with a clock that stands still at this time of the epoch."""

    def render(self, variables: dict[str, object], *, now: float | None = None) -> str:
        """
        Renders a text. ValueError where the template fails or refuses the values, NotImplementedError where Jinja2 may go on and the engine cannot.
        """

    def probe(self, variables: dict[str, object]) -> str | None:
        """
        The text for a short chat, None where the template refuses it. NotImplementedError where the engine cannot tell; OverflowError where it takes hundreds of times what such chats take: Jinja2, which has no bounds, is not to be asked then.
        """

    def trace(self, variables: dict[str, object], *, messages: str = 'messages', now: float | None = None, fields: bool = False) -> tuple[str, list[tuple[str, int | None, int, int]]]:
        """
        Renders a text, and says what its stretches come from: (kind, number of the message, first byte, end), where kind is "message" (printed while a loop was there), "generation" (by a generation block) or "text" (a text of that message; with `fields` the names of its fields, joined by +, or "other").
        """

def apply_column_op(stream: Stream, op: str, options: str) -> Stream:
    """
    The stream with an operation on columns downstream of it (transform/column_op.h); `options` are JSON.
    """

def tokenize(stream: Stream, encoder: TextEncoder, report: Callable[[str, str, int, int], object] | None, options: TokenizeOptions) -> Stream:
    """
    The stream with its text column tokenized. `report(which, source, documents, tokens)` is told once when the first are cut, and once how many were in all.
    """

class ExampleContext:
    """What examples are made with."""

    def __init__(self, encoder: TextEncoder, *, eos_id: int | None, eos_text: str, bos_id: int | None, bos_text: str, pad_id: int, pad_left: bool, empty_id: int | None, finds_spans: bool, ask: object, special: Sequence[int], plain: object | None, with_tools: object | None, variables: str, render: object | None, has_generation: bool, roles: Mapping[str, str], own_roles: Sequence[str], given: str, frame: str, are_spelled: bool, vocabulary: Vocabulary) -> None: ...

class ExampleMaker:
    """Makes the examples of one kind of trainer."""

    @property
    def name(self) -> str: ...

    @property
    def fields(self) -> list[str]:
        """The fields of rows that are looked at."""

    @property
    def columns(self) -> list[str]:
        """The columns that are made."""

    def examples_of(self, row: object) -> tuple[list[dict[str, Any]], list[tuple[str, int, int]]]:
        """
        The examples of one row, and what was left out or cut of them: (reason, rows, tokens).
        """

    def explain(self, row: object) -> list[tuple[str, list[tuple[str, int, int, str]], str]]:
        """
        The texts that the examples of one row are made of, with their messages: (role, first byte, end, what the template leaves out), and why none can be made.
        """

    def fields_read(self, row: object) -> list[str]:
        """
        Names of the fields of a row that its examples are made of. ValueError where its pair has no prompt, and other fields have text.
        """

    def token_ends(self, text: str, ids: Sequence[int]) -> list[int]:
        """The byte after the last that each id of a text covers."""

class SftOptions:
    """The options of examples for supervised fine-tuning."""

    def __init__(self, *, max_length: int | None = None, text_field: str = "text", messages_field: str = "messages", mask_prompt: bool = False, add_eos: bool = True, truncation: bool = True, truncation_mode: Literal["keep_start", "keep_end"] = "keep_start", labels: bool | None = None, completion_only_loss: bool | None = None, train_on: Literal["all", "last"] = "all", expand_turns: bool = False, layout: Literal["easydel", "trl"] = "easydel", fixed_shapes: bool | None = None, keep_columns: Iterable[str] | None = None, parse_arguments: bool | None = None, reasoning: Literal["error", "drop"] = "error", empty_answers: Literal["error", "skip"] = "error") -> None: ...

    @property
    def keep_columns(self) -> list[str]:
        """Columns to keep."""

def sft_examples(context: ExampleContext, options: SftOptions) -> ExampleMaker:
    """Examples for supervised fine-tuning."""

class PreferenceOptions:
    """The options of examples with a chosen and a rejected answer."""

    def __init__(self, *, max_prompt_length: int | None = None, max_completion_length: int | None = None, add_special_tokens: bool = False, label_pad_token_id: int = -100, max_length: int | None = None, truncation_mode: Literal["keep_start", "keep_end"] = "keep_start", layout: Literal["easydel", "trl"] = "easydel", fixed_shapes: bool | None = None, keep_columns: Iterable[str] | None = None, parse_arguments: bool | None = None, reasoning: Literal["error", "drop"] = "error", empty_answers: Literal["error", "skip"] = "error") -> None: ...

    @property
    def keep_columns(self) -> list[str]:
        """Columns to keep."""

def preference_examples(context: ExampleContext, options: PreferenceOptions) -> ExampleMaker:
    """Examples with a chosen and a rejected answer."""

class UnpairedOptions:
    """The options of examples with one answer, good or bad."""

    def __init__(self, *, max_prompt_length: int | None = None, max_completion_length: int | None = None, add_special_tokens: bool = False, label_pad_token_id: int = -100, max_length: int | None = None, layout: Literal["easydel", "trl"] = "easydel", fixed_shapes: bool | None = None, keep_columns: Iterable[str] | None = None, parse_arguments: bool | None = None, reasoning: Literal["error", "drop"] = "error", empty_answers: Literal["error", "skip"] = "error") -> None: ...

    @property
    def keep_columns(self) -> list[str]:
        """Columns to keep."""

def unpaired_examples(context: ExampleContext, options: UnpairedOptions, embedding: TextEncoder | None = None, embedding_pad_id: int = 0) -> ExampleMaker:
    """
    Examples with one answer, good or bad; their prompts as another tokenizer encodes them, too, where there is one.
    """

class PromptOptions:
    """The options of prompts, which a trainer has answered itself."""

    def __init__(self, *, max_prompt_length: int | None = None, skip_apply_chat_template: bool = False, layout: Literal["easydel", "trl"] = "easydel", fixed_shapes: bool | None = None, keep_columns: Iterable[str] | None = None, parse_arguments: bool | None = None, reasoning: Literal["error", "drop"] = "error", empty_answers: Literal["error", "skip"] = "error") -> None: ...

    @property
    def keep_columns(self) -> list[str]:
        """Columns to keep."""

def prompt_examples(context: ExampleContext, options: PromptOptions) -> ExampleMaker:
    """Prompts that a trainer has answered itself."""

class RewardOptions:
    """The options of answer pairs for reward models."""

    def __init__(self, *, max_length: int | None = None, truncation: bool = True, layout: Literal["easydel", "trl"] = "easydel", fixed_shapes: bool | None = None, keep_columns: Iterable[str] | None = None, parse_arguments: bool | None = None, reasoning: Literal["error", "drop"] = "error", empty_answers: Literal["error", "skip"] = "error") -> None: ...

    @property
    def keep_columns(self) -> list[str]:
        """Columns to keep."""

def reward_examples(context: ExampleContext, options: RewardOptions) -> ExampleMaker:
    """Answer pairs for reward models."""

class EmbeddingOptions:
    """The options of examples for embedding models."""

    def __init__(self, *, max_length: int = 512, query_field: str = "query", positive_field: str = "positive", negative_field: str | None = None, layout: Literal["easydel", "trl"] = "easydel", fixed_shapes: bool | None = None, keep_columns: Iterable[str] | None = None, parse_arguments: bool | None = None, reasoning: Literal["error", "drop"] = "error", empty_answers: Literal["error", "skip"] = "error") -> None: ...

    @property
    def keep_columns(self) -> list[str]:
        """Columns to keep."""

def embedding_examples(context: ExampleContext, options: EmbeddingOptions) -> ExampleMaker:
    """Examples for embedding models."""

def examples_step(called: Step, maker: ExampleMaker, *, template_hash: str, keep: Sequence[str], refuses: bool, quarantine_path: str, reads_all: bool, report: Callable[[str, str, int, int], object] | None, warn: Callable[[str], object] | None, check_first_row: Callable[[Sequence[str]], object]) -> Step:
    """
    The step that makes examples of rows. Where it `refuses`, rows in error are left out, told to `warn`, and put into the file `quarantine_path` unless it is empty; else the first one ends the stream. `check_first_row` raises where the names of the first row's fields show that none makes an example.
    """

class Blocks:
    """What a shard is made of; see Source::ListBlocks."""

    @property
    def count(self) -> int: ...

    @property
    def row_starts(self) -> list[int]: ...

    @property
    def bytes(self) -> int: ...

def blocks_of(source: Source, shard: int, count: bool = False) -> Blocks:
    """
    The blocks of a shard; with `count`, rows are counted where the file does not say.
    """

def block_order(source: Source, seed: int, epoch: int) -> list[tuple[int, int]]:
    """
    (shard, block) in the order in which a pass over shuffled blocks reads them.
    """

def content_bytes(batch: object) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Bytes of content of each row of a pyarrow.RecordBatch, as windows count.
    """

def shuffle_limits() -> dict[str, int]:
    """
    What shuffles hold unless told otherwise: bytes of a window of "rows" and of other windows, bytes and rows that "grain" keeps and gathers at once.
    """

def part_numbers(num_rows: int, options: PartOptions) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Which of counted rows are in a part, in order."""

def shuffle_window(stream: Stream, rows: int, seed: int = 0, key: str = 'shuffle') -> Stream:
    """
    Permutes rows within windows of `rows` rows, or of the bytes that one may take, by (seed, epoch, window).
    """

def repeat(stream: Stream, passes: int | None = None) -> Stream:
    """
    Passes over a stream, one after the other; for ever where `passes` is None.
    """

def window_order(seed: int, epoch: int, window: int, size: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    list(range(size)) as numpy.random.default_rng([seed, epoch, window]) shuffles it.
    """

def shuffled(seed: int, size: int) -> list[int]:
    """list(range(size)) as numpy.random.default_rng(seed) shuffles it."""

def permuted(size: int, seed: int, epoch: int, begin: int, end: int) -> list[int]:
    """
    What indices `begin` to `end` of the order of (seed, epoch) of range(size) hold.
    """

def share_of_rows(num_rows: int, part: int, parts: int) -> tuple[int, int]:
    """The rows [begin, end) of a host's share of a dataset: RowShare::Of()."""

def grain_permuted(size: int, seed: int, epoch: int, begin: int, end: int) -> list[int]:
    """The same of Grain's MapDataset.range(size).shuffle(seed)."""

class WeightSchedule:
    """Mixing weights as a function of the step."""

    def __init__(self, names: Sequence[str], points: list[tuple[int, list[float]]], interpolation: str = 'step') -> None: ...

    def at(self, step: int) -> list[float]:
        """The weights at a step; their sum is 1."""

    @property
    def names(self) -> list[str]: ...

class MixOptions:
    """The options of easydata.MixedShardedSource."""

    def __init__(self, names: Sequence[str], weights: Sequence[float], schedule: WeightSchedule | None, *, block_size: int = 1000, seed: int | None = None, stop_strategy: Literal["restart", "first_exhausted", "all_exhausted"] = "restart", unit: Literal["examples", "tokens"] = "examples", schedule_unit: Literal["steps", "examples"] = "examples", order: Literal["blocks", "grain"] = "blocks", allow_vocabularies: bool = False) -> None: ...

class MixOrder:
    """Which source each example of a mix comes from."""

    def __init__(self, options: MixOptions) -> None: ...

    def next_block(self) -> list[int]:
        """
        The sources of the next block's examples, by their indices among the names.
        """

    def seek(self, n: int) -> list[int]:
        """Goes to example n; returns by source the examples before it."""

    def wanted(self, source: int) -> bool:
        """Whether the source's weight is ever more than 0."""

def mix(streams: Sequence[Stream], options: MixOptions, add_source: bool) -> Stream:
    """Mixes streams."""

class PackedOptions:
    """The options of easydata.PackedShardedSource."""

    def __init__(self, *, seq_length: int = 2048, eos_token_id: int | None = None, pad_token_id: int | None = None, strategy: Literal["greedy", "pool", "first_fit", "best_fit", "grain_first_fit", "grain_best_fit", "grain_concat"] = "greedy", num_packers: int = 4, include_segment_ids: bool = True, input_field: str = "input_ids", shuffle: bool = True, shuffle_buffer_factor: int = 10, seed: int | None = None, overlong: Literal["split", "truncate", "drop", "error"] = "split", token_fields: Iterable[str] | None = None, pack_window: int = 1000, labels: bool = False, ignore_first_label: bool = False, seq_lengths: bool = False, segment_sources: bool = False, balance_groups: int = 1) -> None: ...

    @property
    def names_eos(self) -> bool: ...

    def check_tokens(self, vocabularies: Sequence[Vocabulary]) -> None:
        """
        Raises where the ids that are named, or not, do not fit tokens of these vocabularies.
        """

    @property
    def seq_length(self) -> int: ...

    @property
    def token_fields(self) -> list[str] | None: ...

def pack(stream: Stream, options: PackedOptions, token_fields: Sequence[str], grain_numbers: bool = False) -> Stream:
    """
    Packs lists of tokens into rows of one length, shuffles and balances them. With `grain_numbers` segments count from 1, they and positions are 0 on padding, and there is no attention_mask.
    """

class PackOptions:
    """The options of a packer."""

    def __init__(self, *, seq_length: int = 2048, eos_token_id: int | None = None, pad_token_id: int | None = None, strategy: Literal["greedy", "pool", "first_fit", "best_fit", "grain_first_fit", "grain_best_fit", "grain_concat"] = "greedy", num_packers: int = 4, include_segment_ids: bool = True, overlong: Literal["split", "truncate", "drop", "error"] = "split", token_fields: Iterable[str] | None = None, pack_window: int = 1000, labels: bool = False, ignore_first_label: bool = False, seq_lengths: bool = False, segment_sources: bool = False) -> None: ...

class Packer:
    """Packs documents that are handed in one by one."""

    def __init__(self, options: PackOptions) -> None: ...

    def add(self, tokens: object) -> list[tuple[Any, list[int]]]:
        """Takes a pyarrow array of tokens; gives the rows that it completes."""

    def flush(self) -> list[tuple[Any, list[int]]]:
        """Closes and gives the open rows."""

class LoadOptions:
    """The options of easydata.AsyncDataLoader."""

    def __init__(self, *, batch_size: int = 8, drop_last: bool = True, pad_token_id: int | None = None, rank: int = 0, world_size: int = 1, lanes: int = 1, steps: int | None = None, batch_rampup: Mapping[int, int] | None = None, prefetch_enabled: bool = True, prefetch_buffer_size: int = 4, num_threads: int | None = None, epochs: int | None = None, shuffle_buffer_size: int | None = None, bucket_batches: int | None = None, seed: int | None = None, prefetch_workers: int = 2, prefetch_to_device: bool = False) -> None: ...

class Loader:
    """Hands out a stream in steps; see easydata.AsyncDataLoader."""

    def __init__(self, stream: Stream, options: LoadOptions, padding: Mapping[str, Any] | None = None, padding_may_miss: bool = False) -> None:
        """
        `padding` has a PadSpec by column; with `padding_may_miss` the stream may be without some of them.
        """

    def next(self, pass_number: int | None = None) -> dict[str, Any] | None:
        """
        The next batch, or None at the end of a pass. With `pass_number`, what passes_ended was when somebody began: None, too, where another thread has seen the end. Ctrl-C gets through.
        """

    @property
    def passes_ended(self) -> int: ...

    def wait(self, seconds: float, pass_number: int | None = None) -> bool:
        """
        Whether take() has something to give, after at most about so many seconds.
        """

    def take(self, pass_number: int | None = None) -> dict[str, Any] | None:
        """
        The next batch, or None at the end of a pass; `pass_number` as next() has it.
        """

    def peek(self, columns: Sequence[str]) -> dict[str, Any] | None:
        """
        The arrays of the next batch, if it is ready, and of these columns (none named: of all); the batch is still to come, with the same memory.
        """

    def at(self, step: int) -> dict[str, Any]:
        """The batch of a step, by a reader of its own. Ctrl-C gets through."""

    def steps_up_to(self, most: int) -> int:
        """
        `most`, or the steps up to the end of the pass where they are fewer; as costly as at().
        """

    def state(self) -> dict[str, Any]: ...

    def load_state(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None: ...

    @property
    def stream(self) -> Stream:
        """What batches are made of, with what the loader itself does."""

    def stats(self) -> dict[str, Any]: ...

    def explain(self, training: float | None = None, elsewhere: float = 0.0) -> dict[str, Any]:
        """
        What sets the pace. Of one of several loaders: `training`, the seconds of the trainer's own work, and `elsewhere`, those of waiting for the others.
        """

    def digest(self) -> str: ...

    @property
    def paddings(self) -> dict[str, tuple[float, str]]:
        """
        What rows of each column, of the batches so far, are filled up with, and at which side.
        """

    def close(self) -> None: ...

def whole_number(name: str, value: int) -> int:
    """
    The value of an option as an int; TypeError names it where that is no whole number.
    """

def merge_states(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """
    One state of a loader, of those of all ranks; see easydata.merge_states.
    """

class WriteOptions:
    """The options of easydata.save_dataset."""

    def __init__(self, *, format: Literal["parquet", "arrow", "jsonl", "array_record"] = "parquet", max_shard_size: int = 524288000, num_shards: int | None = None, max_shard_rows: int | None = None, units: int | None = None, column_types: Mapping[str, str] | None = None, shard_column: str | None = None, shard_prefix: str | None = None, encode: Literal["json"] | None = None, writer_options: str | None = None, compression: Literal["none", "gzip", "lz4", "zstd", "snappy", "brotli"] | None = None, overwrite: bool = False, num_threads: int | None = None) -> None: ...

class WriteJob:
    """Writes a stream into a folder of shards."""

    def __init__(self, stream: Stream, options: WriteOptions, output_path: str, columns: Sequence[tuple[str, str]] | None, resumable: bool, sample_all: bool, config: object | None, tokenizers: Mapping[str, tuple[str | None, int]], storage_options: object | None, step_rows: Sequence[tuple[int, int]], template_date: str) -> None:
        """
        `columns`: with their types, "" for those that they have. `sample_all`: the types of free-form rows are those of all of them, not of the first.
        """

    def is_finished(self) -> bool:
        """Whether the finished output of this very job is in the folder."""

    @property
    def is_written(self) -> bool:
        """Whether run() wrote all of it, whatever came of the call after that."""

    def check_inputs(self, stream: Stream) -> None:
        """Raises where a stream reads files of the folder."""

    def run(self, keep_finished: bool = False, progress: Callable[[dict[str, int]], object] | None = None, notice: Callable[[str], object] | None = None) -> dict[str, Any]:
        """
        Writes all of it and says what was written. progress({rows, tokens, bytes, shards, kept_shards}) is called up to ten times a second, notice(text) once where there is something to tell of an earlier run.
        """

    def open_units(self, keep_finished: bool = False) -> dict[str, Any]:
        """
        Makes or resumes an output of units, and locks it: for the one process that coordinates those that write it. Gives {units: how many there are, left: tasks of those that are not written, kept_shards, notice, finished}.
        """

    def add_unit(self, record: dict[str, Any]) -> None:
        """
        Notes in the output what write_unit() gave, here or in another process.
        """

    def finish_units(self) -> dict[str, Any]:
        """
        Ends the output when all units are noted, and says what was written, as run().
        """

    def close_units(self) -> None:
        """Leaves an output that is not finished in a state to resume from."""

    def write_unit(self, task: dict[str, Any], progress: Callable[[dict[str, int]], object] | None = None) -> dict[str, Any]:
        """
        Writes the shard of one unit, a task of open_units() of the same job in any process, and gives its record.
        """

    def fail_unit(self, unit: int, error: str, log: str = '') -> str:
        """
        Says in the output why a unit could not be written, and gives where its log is kept: beside it, or "" where there is none.
        """

def kept_template_date(output_path: str, storage_options: object | None = None) -> str:
    """
    The template_date of the output in a folder, finished or not; empty where there is none.
    """

def output_progress(output_path: str, storage_options: object | None = None) -> dict[str, Any]:
    """
    How far an output is, from its folder alone: of a job that runs, was stopped or is finished.
    """

def unfinished_shards(output_path: str, storage_options: object | None = None) -> int:
    """
    How many shards a job that is run again would keep, of an output that is not finished.
    """

def verify(data: Sequence[str], *, vocab_size: int | None = None, num_threads: int | None = None, storage_options: object | None = None) -> list[dict[str, Any]]:
    """Reads files whole and says what is wrong with each."""

def cached(input: Plan, store: TokenStore) -> Plan:
    """
    The rows of a plan; what it makes of each block of its files is kept in a store, and taken from there.
    """

def why_nothing_is_kept(input: Plan) -> str:
    """
    Why nothing of a plan's rows can be kept, and what to do about it; "" where it can.
    """

def look_for_kept(input: Plan, store: TokenStore, *, whole_documents: bool) -> dict[str, Any]:
    """
    Counts the blocks of a plan's files, and those that a store has; names files of which not all is there. `whole_documents`: as a packer asks for them, which splits them itself.
    """
