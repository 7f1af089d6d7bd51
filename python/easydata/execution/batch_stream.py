"""What a loader and several loaders in turn have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

from easydata.core.async_dataset import NO_LENGTH
from easydata.execution.collate import Batch
from easydata.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from easydata.reports.batch_description import BatchDescription

NO_PICKLE = (
    "{what} cannot be pickled or copied: it has threads of its own and a place in a stream; make a "
    "loader there from the same source and options, and hand over state_dict() to resume"
)


class BatchStream:
    """Batches with a place in a stream, made by threads that close() ends."""

    def __len__(self) -> int:
        """Not for a stream: torch's DataLoader and trainers ask for it.

        Raises:
            TypeError: Always; it says what to hand them instead.
        """
        raise TypeError(NO_LENGTH)

    def __bool__(self) -> bool:
        """True: a loader is there, whatever is in it."""
        return True

    def describe(
        self, batch: Batch, *, tokenizer: Tokenizer | None = None, rows: int = 2
    ) -> BatchDescription:
        """Tells what is in a batch of tokens: print it, or show it in a notebook.

        Each row's segments are shown with their text and how much of it is trained on; with
        `pack(segment_sources=True)`, with the dataset, file and row that they come from, too.

        Args:
            batch: A batch of this loader, or part of one.
            tokenizer: Makes text of tokens; None: the one that the loader's source was made with.
            rows: How many rows are shown.

        Raises:
            ValueError: No column of the batch has tokens.
        """
        # lazy: needs numpy, which takes its time to import
        from easydata.reports.batch_description import describe_batch

        known = [tokenizer] if tokenizer is not None else self._tokenizers()
        return describe_batch(batch, known, rows)

    def _tokenizers(self) -> list[Tokenizer]:
        """Those that the tokens come from, as far as they are known."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends the threads; batches that were handed out stay valid."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RestOfPass(Iterator[Batch]):
    """The batches up to the end of a pass; an error comes again with each further call.

    Args:
        loader: What it is of.
        take: Gives the next batch, or None at the end of the pass.
    """

    def __init__(self, loader: BatchStream, take: Callable[[], Batch | None]) -> None:
        self._loader, self._take = loader, take
        self._ended = False

    def __reduce__(self) -> str:
        raise TypeError(NO_PICKLE.format(what="an iterator of a loader"))

    def __repr__(self) -> str:
        return f"iter({self._loader!r})"

    def __next__(self) -> Batch:
        batch = None if self._ended else self._take()
        if batch is None:
            self._ended = True
            raise StopIteration
        return batch
