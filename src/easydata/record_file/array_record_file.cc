#include "easydata/record_file/array_record_file.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "easydata/files/damaged_read.h"
#include "easydata/record_file/array_record_layout.h"

namespace easydata::record_file {
namespace {

// Two records that lie nearer than this are read at once, with what is between them.
constexpr int64_t kHole = 8 << 10;
constexpr int64_t kMostAtOnce = 4 << 20;

constexpr int64_t kSignatureBytes = 64;

Status WithWhat(const char* what, const Status& how) {
  return how.WithMessage("its ", what, " is damaged: ", how.message());
}

Result<std::shared_ptr<arrow::Buffer>> ReadAll(arrow::io::RandomAccessFile* file, int64_t begin,
                                               int64_t end) {
  ARROW_ASSIGN_OR_RAISE(auto bytes, file->ReadAt(begin, end - begin));
  if (bytes->size() < end - begin)
    return Status::Invalid("the file ends at byte ", begin + bytes->size());
  return bytes;
}

/// Reads and decodes a chunk of the file's own.
Result<Records> ReadOwnChunk(arrow::io::RandomAccessFile* file, int64_t begin, int64_t end) {
  ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAll(file, begin, end));
  ChunkHeader header;
  ARROW_ASSIGN_OR_RAISE(const auto data, ParseChunk(bytes, begin, &header));
  return DecodeRecords(header, data);
}

/// Where the footer begins, by the last block.
Result<int64_t> FooterOffset(arrow::io::RandomAccessFile* file, int64_t size) {
  const int64_t begin = size - kPostscriptBytes;
  ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAll(file, begin, size));
  ChunkHeader header;
  ARROW_ASSIGN_OR_RAISE(const auto data, ParseChunk(bytes, begin, &header));
  ARROW_ASSIGN_OR_RAISE(const Records records, DecodeRecords(header, data));
  if (records.size() != kPostscriptCopies) {
    return Status::Invalid("it has ", records.size(), " records in place of ", kPostscriptCopies);
  }
  ARROW_ASSIGN_OR_RAISE(const int64_t offset, DecodePostscript(records[0]));
  if (records[1] != records[0] || records[2] != records[0]) {
    return Status::Invalid("its three records differ");
  }
  // Behind it there is padding up to the file's end.
  const int64_t rest = EndOfChunk(begin, header.data_size, header.num_records);
  ARROW_ASSIGN_OR_RAISE(const auto padding,
                        ParseChunk(arrow::SliceBuffer(bytes, rest - begin), rest, &header));
  const auto* const zeros = padding->data();
  if (header.type != ChunkType::kPadding ||
      std::any_of(zeros, zeros + padding->size(), [](uint8_t byte) { return byte != 0; })) {
    return Status::Invalid("there is something after it");
  }
  if (offset < kSignatureBytes || offset >= begin) {
    return Status::Invalid("it tells of a footer at byte ", offset, " of ", size);
  }
  return offset;
}

}  // namespace

Result<std::shared_ptr<const ArrayRecordFile>> ArrayRecordFile::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file, bool keeps) {
  return files::ReadTwiceIfDamaged(
      file.get(), [&]() -> Result<std::shared_ptr<const ArrayRecordFile>> {
        std::shared_ptr<ArrayRecordFile> opened(new ArrayRecordFile(file));
        ARROW_RETURN_NOT_OK(opened->ReadFooter());
        if (keeps) {
          ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
          opened->windows_ = std::make_unique<const FileWindows>(file.get(), size);
        }
        return opened;
      });
}

Status ArrayRecordFile::ReadFooter() {
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
  if (size < 2 * kPostscriptBytes || size % kBlockBytes != 0) {
    return Status::Invalid("it has ", size,
                           " bytes, and an ArrayRecord file is a multiple of 65536, twice that at "
                           "least: it was cut, or written to, or is another thing");
  }
  ARROW_ASSIGN_OR_RAISE(const auto begin, ReadAll(file_.get(), 0, kSignatureBytes));
  if (begin->ToString() != SignatureBytes()) {
    return Status::Invalid(
        "it does not begin as Riegeli files do: it is damaged, or another thing");
  }
  const auto offset = FooterOffset(file_.get(), size);
  if (!offset.ok()) return WithWhat("postscript", offset.status());
  const auto footer = ReadOwnChunk(file_.get(), *offset, size - kPostscriptBytes);
  if (!footer.ok()) return WithWhat("footer", footer.status());
  const Status taken = TakeFooter(*footer, *offset);
  return taken.ok() ? taken : WithWhat("footer", taken);
}

Status ArrayRecordFile::TakeFooter(const Records& footer, int64_t footer_offset) {
  if (footer.size() == 0) return Status::Invalid("it is empty");
  ARROW_ASSIGN_OR_RAISE(FooterHead head, DecodeFooterHead(footer[0]));
  if (head.num_chunks != footer.size() - 1) {
    return Status::Invalid("it tells of ", head.num_chunks, " chunks and lists ",
                           footer.size() - 1);
  }
  offsets_.reserve(static_cast<size_t>(head.num_chunks) + 1);
  firsts_.reserve(static_cast<size_t>(head.num_chunks) + 1);
  int64_t records = 0;
  int64_t least = kSignatureBytes;
  bool is_regular = true;
  for (int64_t k = 0; k < head.num_chunks; ++k) {
    ARROW_ASSIGN_OR_RAISE(const FooterEntry entry, DecodeFooterEntry(footer[k + 1]));
    const bool is_last = k + 1 == head.num_chunks;
    if (entry.chunk_offset < least || entry.chunk_offset >= footer_offset) {
      return Status::Invalid("it has chunk ", k, " at byte ", entry.chunk_offset,
                             ", where it cannot be");
    }
    if (entry.num_records < 1 || entry.num_records > head.num_records - records) {
      return Status::Invalid("it has ", entry.num_records, " records in chunk ", k,
                             ", which cannot be");
    }
    if (k == 0) group_size_ = entry.num_records;
    is_regular = is_regular &&
                 (is_last ? entry.num_records <= group_size_ : entry.num_records == group_size_);
    offsets_.push_back(entry.chunk_offset);
    firsts_.push_back(records);
    records += entry.num_records;
    least = entry.chunk_offset + kChunkHeaderBytes;
  }
  if (records != head.num_records) {
    return Status::Invalid("it tells of ", head.num_records, " records, and its chunks have ",
                           records);
  }
  offsets_.push_back(footer_offset);
  firsts_.push_back(records);
  if (is_regular) firsts_ = {};
  num_records_ = records;
  writer_options_ = std::move(head.writer_options);
  vocabulary_ = std::move(head.vocabulary);
  return Status::OK();
}

RecordChunk ArrayRecordFile::chunk(int64_t k) const {
  RecordChunk out{offsets_[k], offsets_[k + 1], k * group_size_, group_size_};
  if (firsts_.empty()) {
    out.num_records = std::min(group_size_, num_records_ - out.first_record);
  } else {
    out.first_record = firsts_[k];
    out.num_records = firsts_[k + 1] - firsts_[k];
  }
  return out;
}

int64_t ArrayRecordFile::ChunkOf(int64_t record) const {
  if (firsts_.empty()) return record / group_size_;
  return std::upper_bound(firsts_.begin(), firsts_.end(), record) - firsts_.begin() - 1;
}

Status ArrayRecordFile::Damaged(int64_t k, const Status& how) const {
  const RecordChunk region = chunk(k);
  const int64_t last = region.first_record + region.num_records - 1;
  std::string records = "record " + std::to_string(region.first_record);
  if (region.num_records > 1) {
    records = "records " + std::to_string(region.first_record) + " to " + std::to_string(last);
  }
  return how.WithMessage("chunk ", k, " at byte ", region.begin, " (", records,
                         ") cannot be read: ", how.message());
}

Result<Records> ArrayRecordFile::Decode(int64_t k,
                                        const std::shared_ptr<arrow::Buffer>& bytes) const {
  const RecordChunk region = chunk(k);
  ChunkHeader header;
  ARROW_ASSIGN_OR_RAISE(const auto data, ParseChunk(bytes, region.begin, &header));
  ARROW_ASSIGN_OR_RAISE(Records records, DecodeRecords(header, data));
  if (records.size() != region.num_records) {
    return Status::Invalid("it has ", records.size(), " records, where the footer says ",
                           region.num_records);
  }
  return records;
}

Result<Records> ArrayRecordFile::ReadChunk(int64_t k) const {
  const RecordChunk region = chunk(k);
  auto records = files::ReadTwiceIfDamaged(file_.get(), [&]() -> Result<Records> {
    ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAll(file_.get(), region.begin, region.end));
    return Decode(k, bytes);
  });
  if (records.ok() || files::IsFileError(records.status())) return records;
  return Damaged(k, records.status());
}

Status ArrayRecordFile::ReadChunks(
    int64_t begin, int64_t end, const std::function<Status(int64_t, Result<Records>)>& each) const {
  if (begin >= end) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAll(file_.get(), offsets_[begin], offsets_[end]));
  for (int64_t k = begin; k < end; ++k) {
    ARROW_RETURN_NOT_OK(each(k, DecodeOrReadAgain(k, bytes, offsets_[k] - offsets_[begin])));
  }
  return Status::OK();
}

Result<Records> ArrayRecordFile::DecodeOrReadAgain(int64_t k,
                                                   const std::shared_ptr<arrow::Buffer>& bytes,
                                                   int64_t at) const {
  auto records = Decode(k, arrow::SliceBuffer(bytes, at, offsets_[k + 1] - offsets_[k]));
  // By itself, and twice where that may help; else for its error.
  return records.ok() ? records : ReadChunk(k);
}

Status ArrayRecordFile::Read(std::span<const int64_t> wanted,
                             const std::function<Status(size_t, std::string_view)>& each) const {
  for (const int64_t record : wanted) {
    if (record < 0 || record >= num_records_) {
      return Status::IndexError("there is no record ", record, ": the file has ", num_records_);
    }
  }
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!std::is_sorted(wanted.begin(), wanted.end())) {
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  }
  const auto chunk_of = [&](size_t i) { return ChunkOf(wanted[order[i]]); };
  RecordScratch scratch;
  Records alone;
  for (size_t i = 0; i < order.size();) {
    if (group_size_ == 1 && windows_ != nullptr) {
      const int64_t record = wanted[order[i]];
      ARROW_ASSIGN_OR_RAISE(const auto kept,
                            windows_->View(offsets_[record], offsets_[record + 1]));
      if (!kept.empty()) {
        ARROW_ASSIGN_OR_RAISE(const auto lone, RecordOf(record, record, kept, &scratch, &alone));
        ARROW_RETURN_NOT_OK(each(order[i], lone));
        ++i;
        continue;
      }
    }
    // Chunks from `first` to `last` are read at once: they lie close to one another.
    const int64_t first = chunk_of(i);
    int64_t last = first;
    size_t end = i;
    for (; end < order.size(); ++end) {
      const int64_t k = chunk_of(end);
      const bool is_near = k == last || (offsets_[k] - offsets_[last + 1] <= kHole &&
                                         offsets_[k + 1] - offsets_[first] <= kMostAtOnce);
      if (!is_near) break;
      last = k;
    }
    std::shared_ptr<arrow::Buffer> bytes;
    if (last != first) {
      ARROW_ASSIGN_OR_RAISE(bytes, ReadAll(file_.get(), offsets_[first], offsets_[last + 1]));
    }
    Records records;
    int64_t held = -1;
    for (; i < end; ++i) {
      const int64_t record = wanted[order[i]];
      const int64_t k = ChunkOf(record);
      if (group_size_ == 1) {
        const std::string_view of_chunk =
            bytes == nullptr ? std::string_view()
                             : std::string_view(*bytes).substr(
                                   static_cast<size_t>(offsets_[k] - offsets_[first]),
                                   static_cast<size_t>(offsets_[k + 1] - offsets_[k]));
        ARROW_ASSIGN_OR_RAISE(const auto lone, RecordOf(record, k, of_chunk, &scratch, &records));
        ARROW_RETURN_NOT_OK(each(order[i], lone));
        continue;
      }
      if (k != held) {
        const int64_t at = offsets_[k] - offsets_[first];
        ARROW_ASSIGN_OR_RAISE(records,
                              bytes == nullptr ? ReadChunk(k) : DecodeOrReadAgain(k, bytes, at));
        held = k;
      }
      ARROW_RETURN_NOT_OK(each(order[i], records[record - chunk(k).first_record]));
    }
  }
  return Status::OK();
}

Result<std::string_view> ArrayRecordFile::RecordOf(int64_t record, int64_t k,
                                                   std::string_view bytes, RecordScratch* scratch,
                                                   Records* held) const {
  const RecordChunk region = chunk(k);
  if (bytes.empty() && windows_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(bytes, windows_->View(region.begin, region.end));
  }
  if (bytes.empty() && region.end - region.begin <= kBlockBytes) {
    scratch->chunk.resize(static_cast<size_t>(region.end - region.begin));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, file_->ReadAt(region.begin, region.end - region.begin,
                                                           scratch->chunk.data()));
    bytes = std::string_view(scratch->chunk).substr(0, static_cast<size_t>(got));
  }
  if (const auto lone = LoneRecord(bytes, region.begin, scratch); lone.has_value()) return *lone;
  ARROW_ASSIGN_OR_RAISE(*held, ReadChunk(k));
  return (*held)[record - region.first_record];
}

Result<std::string_view> ArrayRecordFile::ReadRecord(int64_t record, RecordScratch* scratch,
                                                     Records* held) const {
  if (record < 0 || record >= num_records_) {
    return Status::IndexError("there is no record ", record, ": the file has ", num_records_);
  }
  const int64_t k = ChunkOf(record);
  if (chunk(k).num_records == 1) return RecordOf(record, k, {}, scratch, held);
  ARROW_ASSIGN_OR_RAISE(*held, ReadChunk(k));
  return (*held)[record - chunk(k).first_record];
}

Status ArrayRecordFile::WillNeed(int64_t begin, int64_t end) const {
  if (begin >= end) return Status::OK();
  return file_->WillNeed({{offsets_[begin], offsets_[end] - offsets_[begin]}});
}

}  // namespace easydata::record_file
