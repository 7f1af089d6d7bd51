"""Peer of `examples`: Jinja2's sandbox, as transformers sets it up, renders chats.

Arguments: an Arrow file of `messages`, a tokenizer, a template (its file, or "" for the
tokenizer's own), passes. The chats are dicts before the time starts, and nothing is done but
`Template.render`.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import pyarrow as pa
from transformers.utils.chat_template_utils import _compile_jinja_template

corpus, tokenizer_path, template, passes = sys.argv[1:5]


def main() -> None:
    """Prints the result of some passes over the file."""
    config = json.loads(Path(tokenizer_path, "tokenizer_config.json").read_text("utf-8"))
    source = Path(template).read_text("utf-8") if template else config["chat_template"]
    compiled = _compile_jinja_template(source)
    with pa.OSFile(corpus) as file:
        table = pa.ipc.open_stream(file).read_all()
    chats = table.column("messages").to_pylist()
    found = hashlib.sha256()
    used = time.process_time()
    for _ in range(int(passes)):
        for messages in chats:
            compiled.render(messages=messages, tools=None, add_generation_prompt=False)
    seconds = time.process_time() - used
    for messages in chats:
        text = compiled.render(messages=messages, tools=None, add_generation_prompt=False)
        found.update(text.encode())
    digest = found.hexdigest()[:16]
    rendered = len(chats) * int(passes)
    print(json.dumps({"chats": rendered, "cpu_seconds": seconds, "digest": digest}))


if __name__ == "__main__":
    main()
