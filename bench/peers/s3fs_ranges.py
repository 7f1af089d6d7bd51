"""s3fs reading an object in ranges of 8 MB, four under way.

Arguments: the address of a server that speaks S3, "bucket/key", the megabytes to read, and key and
secret, or none.
"""

import json
import resource
import sys
import time

import s3fs

endpoint, path, megabytes, *secrets = sys.argv[1:]
size, in_flight = 8 << 20, 4
files = s3fs.S3FileSystem(
    anon=not secrets,
    key=secrets[0] if secrets else None,
    secret=secrets[1] if secrets else None,
    endpoint_url=endpoint,
    client_kwargs={"region_name": "us-east-1"},
    config_kwargs={"s3": {"addressing_style": "path"}},
)
files.cat_file(path, 0, size)
offsets = list(range(0, int(megabytes) << 20, size))
used = resource.getrusage(resource.RUSAGE_SELF)
start = time.perf_counter()
total = 0
for at in range(0, len(offsets), 16):  # not all of it in memory
    some = offsets[at : at + 16]
    ends = [begin + size for begin in some]
    pieces = files.cat_ranges([path] * len(some), some, ends, batch_size=in_flight)
    total += sum(len(piece) for piece in pieces)
seconds = time.perf_counter() - start
now = resource.getrusage(resource.RUSAGE_SELF)
cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps({"bytes": total, "seconds": seconds, "cpu_seconds": cpu}))
