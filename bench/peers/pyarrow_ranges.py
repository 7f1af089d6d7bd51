"""pyarrow.fs reading an object in ranges of 8 MB by four threads.

Arguments: the address of a server that speaks S3, "bucket/key", the megabytes to read, and key and
secret, or none.
"""

import json
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.fs

endpoint, path, megabytes, *secrets = sys.argv[1:]
size, in_flight = 8 << 20, 4
pa.set_io_thread_count(in_flight)
files = pyarrow.fs.S3FileSystem(
    anonymous=not secrets,
    access_key=secrets[0] if secrets else None,
    secret_key=secrets[1] if secrets else None,
    endpoint_override=endpoint,
    region="us-east-1",
)
with files.open_input_file(path) as file, ThreadPoolExecutor(in_flight) as threads:
    file.read_at(size, 0)
    offsets = range(0, int(megabytes) << 20, size)
    used = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    total = sum(threads.map(lambda at: len(file.read_at(size, at)), offsets))
    seconds = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_SELF)
cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps({"bytes": total, "seconds": seconds, "cpu_seconds": cpu}))
