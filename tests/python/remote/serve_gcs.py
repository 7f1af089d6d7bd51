"""Serves gcp-storage-emulator in memory on a port of 127.0.0.1, with a thread per connection."""

from __future__ import annotations

import logging
import sys
from functools import partial
from http.server import ThreadingHTTPServer

from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage


def main() -> None:
    logging.disable(logging.CRITICAL)
    handler = partial(RequestHandler, Storage(use_memory_fs=True))
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()


if __name__ == "__main__":
    main()
