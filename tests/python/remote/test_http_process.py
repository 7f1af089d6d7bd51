"""Reading from web servers and what happens to the process: forks, the end, Ctrl-C."""

from __future__ import annotations

import time

import pytest
from fault_server import FaultServer, Rule
from reading_programs import DATA, check_ctrl_c, check_forks, started


def test_a_forked_process_reads_by_itself() -> None:
    with FaultServer({"/rows.jsonl": DATA}) as server:
        check_forks(server.url + "/rows.jsonl")


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise ValueError", "os.fork()"])
def test_a_process_ends_while_it_reads(end: str) -> None:
    code = f"""
threading.Thread(target=read, daemon=True).start()
time.sleep(0.5)
{end}
"""
    stall = Rule("stall_body", at=20, seconds=60, skip=1)
    with FaultServer({"/rows.jsonl": DATA}, [stall]) as server:
        begin = time.monotonic()
        process = started(code, server.url + "/rows.jsonl")
        _, error = process.communicate(timeout=60)
        assert time.monotonic() - begin < 20
    expected = {"sys.exit(3)": 3, "raise ValueError": 1}.get(end, 0)
    assert process.returncode == expected, error


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_ctrl_c_ends_reading(method: str) -> None:
    stall = Rule("stall_headers", seconds=60, method=method)
    with FaultServer({"/rows.jsonl": DATA}, [stall]) as server:
        check_ctrl_c(2, server.url + "/rows.jsonl")


def test_libraries_of_tls_keep_out_of_each_others_way() -> None:
    """A library of pyarrow's exports functions of OpenSSL that the system's own must not find."""
    code = """
assert read() == 20_000
import hashlib, ssl
for name in sorted(hashlib.algorithms_available):
    hashlib.new(name)
assert len(ssl.create_default_context().get_ciphers()) > 0
assert read() == 20_000
print("done")
"""
    with FaultServer({"/rows.jsonl": DATA}) as server:
        process = started(code, server.url + "/rows.jsonl")
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n"), error
