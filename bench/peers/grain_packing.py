"""Peer of the packing benchmark: Grain's packers over the same lists, in its fastest setting."""

import json
import resource
import sys
import time

import grain  # type: ignore[import-not-found,import-untyped,unused-ignore]
import pyarrow as pa

path, algorithm = sys.argv[1:3]
SEQ_LENGTH, BINS = 2048, 64
with pa.OSFile(path) as file:
    documents = pa.ipc.open_file(file).read_all().column("input_ids").combine_chunks()
offsets = documents.offsets.to_numpy()
values = documents.values.to_numpy()


class Documents(grain.sources.RandomAccessDataSource):  # type: ignore[misc,unused-ignore]
    """Views of the documents' tokens, without a copy."""

    def __len__(self) -> int:
        return len(offsets) - 1

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return {"input_ids": values[offsets[index] : offsets[index + 1]][:SEQ_LENGTH]}


dataset = grain.MapDataset.source(Documents()).to_iter_dataset(grain.ReadOptions(num_threads=0))
if algorithm == "first_fit":
    dataset = grain.experimental.FirstFitPackIterDataset(
        dataset, length_struct={"input_ids": SEQ_LENGTH}, num_packing_bins=BINS
    )
else:
    dataset = grain.experimental.ConcatThenSplitIterDataset(
        dataset, length_struct={"input_ids": SEQ_LENGTH}
    )
tokens = 0
used = resource.getrusage(resource.RUSAGE_SELF)
start = time.perf_counter()
for batch in dataset.batch(64):
    tokens += batch["input_ids"].size
seconds = time.perf_counter() - start
now = resource.getrusage(resource.RUSAGE_SELF)
cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps({"tokens": int(tokens), "seconds": seconds, "cpu_seconds": cpu}))
