"""EasyData in `examples`: a column of chats -> texts, as streams render them, marks kept.

Arguments: an Arrow file of `messages`, a tokenizer, a template (its file, or "" for the
tokenizer's own), passes. Prints the processor time of all threads together: reading the file and
writing the column of texts is in it, making the template is not.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import easydata.sources
from easydata.tokenizers.chat_template import ChatTemplate, renderer_of
from easydata.transforms.messages import _RenderMessages

import easydata
from easydata import _native

corpus, tokenizer_path, template, passes = sys.argv[1:5]


def stream() -> _native.Stream:
    """The texts of the file's chats."""
    own = renderer_of(tokenizer_path)
    assert isinstance(own, ChatTemplate)
    if template:
        own = ChatTemplate({"default": Path(template).read_text("utf-8")}, own.special_tokens)
    step = _RenderMessages(own, "messages", "text", refuses=False)
    engine = own.engine_for()
    assert engine.native is not None, engine.why_not_native
    plan = easydata.ArrowShardedSource(corpus)._plan
    return _native.transformed_rows(plan, [step._plan_step()]).stream({"text": "text"})


def main() -> None:
    """Prints the result of some passes over the file."""
    texts = stream()
    chats = 0
    used = time.process_time()
    for _ in range(int(passes)):
        for batch in _native.iterate_batches(texts):
            chats += batch.num_rows  # type: ignore[attr-defined]
    seconds = time.process_time() - used
    found = hashlib.sha256()
    for batch in _native.iterate_batches(texts):
        for text in batch.column("text").to_pylist():  # type: ignore[attr-defined]
            found.update(text.encode())
    digest = found.hexdigest()[:16]
    print(json.dumps({"chats": chats, "cpu_seconds": seconds, "digest": digest}))


if __name__ == "__main__":
    main()
