#include "easydata/source/record_reader.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/files/compression.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/read_ahead.h"

namespace easydata::source {
namespace {

constexpr int64_t kStep = 256 << 10;

class RecordReader : public ShardReader {
 public:
  RecordReader(std::function<Result<std::unique_ptr<RecordCutter>>(int64_t)> open,
               std::shared_ptr<const RecordDecoder> decoder, const ShardPosition& from,
               int64_t first_line, const ReadContext& context)
      : open_(std::move(open)),
        decoder_(std::move(decoder)),
        position_(from),
        first_line_(first_line),
        context_(context) {}

  Result<ShardPosition> Start() override {
    if (!position_.exact || position_.at == 0) {
      position_.at = 0;
      position_.line = first_line_;
    }
    if (position_.at == kNoMorePieces) return position_;
    ARROW_ASSIGN_OR_RAISE(auto made, open_(position_.at));
    auto cutter = std::shared_ptr<RecordCutter>(std::move(made));
    ahead_ = std::make_unique<ReadAhead<RecordPiece>>(
        context_.pool, 2,
        [cutter, counted = int64_t{0},
         count = context_.count_bytes]() mutable -> Result<std::optional<RecordPiece>> {
          RecordPiece piece;
          auto more = cutter->Next(&piece);
          count(cutter->bytes_read() - std::exchange(counted, cutter->bytes_read()));
          ARROW_RETURN_NOT_OK(more.status());
          if (!*more) return std::nullopt;
          return piece;
        });
    begin_ = position_.at;
    if (position_.at == 0) ARROW_RETURN_NOT_OK(FindRow());
    position_.exact = true;
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    std::optional<RecordPiece> piece = std::exchange(found_, std::nullopt);
    const int64_t skip = piece.has_value() ? position_.skip : 0;
    if (!piece.has_value()) {
      if (ahead_ == nullptr) return std::nullopt;
      ARROW_ASSIGN_OR_RAISE(piece, ahead_->Next());
      if (!piece.has_value()) return std::nullopt;
    }
    BlockTask task;
    task.next_at = task.next_piece = piece->end;
    task.file_bytes = piece->file_bytes;
    if (skip == 0) task.piece = PieceId{0, begin_};
    begin_ = piece->end;
    auto held = std::make_shared<RecordPiece>(std::move(*piece));
    task.decode = [held, skip, decoder = decoder_]() -> Result<DecodedBlock> {
      const auto records = static_cast<int64_t>(held->records.size());
      ARROW_ASSIGN_OR_RAISE(auto block, decoder->DecodeFirst(records, *held, skip));
      block.num_lines = held->num_lines();
      if (block.broken.ok()) {
        block.broken = held->broken;
        block.breaks_at_line = held->breaks_at_line;
      }
      return block;
    };
    return task;
  }

  void Cancel() override {
    if (ahead_ != nullptr) ahead_->Cancel();
  }

 private:
  Status FindRow() {
    int64_t row = 0;
    while (row < position_.row) {
      ARROW_ASSIGN_OR_RAISE(auto piece, ahead_->Next());
      if (!piece.has_value()) return Status::OK();
      const int64_t rows = static_cast<int64_t>(piece->records.size());
      if (row + rows > position_.row || !piece->broken.ok()) {
        position_.skip = position_.row - row;
        found_ = std::move(piece);
        return Status::OK();
      }
      row += rows;
      begin_ = piece->end;
      position_.line += piece->num_lines();
    }
    return Status::OK();
  }

  const std::function<Result<std::unique_ptr<RecordCutter>>(int64_t)> open_;
  const std::shared_ptr<const RecordDecoder> decoder_;
  ShardPosition position_;
  const int64_t first_line_;
  const ReadContext context_;
  std::unique_ptr<ReadAhead<RecordPiece>> ahead_;
  std::optional<RecordPiece> found_;
  int64_t begin_ = 0;  // of the next piece
};

}  // namespace

int64_t RecordPiece::num_lines() const { return RecordLines(*this).Before(size); }

int64_t RecordLines::Before(int64_t offset) {
  const std::string_view text(piece_.text.data() + offset_, static_cast<size_t>(offset - offset_));
  lines_ += std::count(text.begin(), text.end(), '\n');
  for (size_t i = 0; piece_.ends_lines_at_returns; ++i) {
    i = text.find('\r', i);
    if (i == std::string_view::npos) break;
    if (i + 1 == text.size() || text[i + 1] != '\n') ++lines_;
  }
  offset_ = offset;
  return lines_;
}

Result<DecodedBlock> RecordDecoder::RecordsBefore(int64_t records, const RecordPiece& piece,
                                                  int64_t skip, const Status& error) const {
  if (records == 0) return error;
  ARROW_ASSIGN_OR_RAISE(auto block, DecodeFirst(records, piece, skip));
  if (block.broken.ok()) block.broken = error;
  return block;
}

Result<std::unique_ptr<TextWindow>> TextWindow::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const files::Codec& codec, int64_t at,
    bool is_look, const files::TextEncoding& encoding) {
  auto out = std::make_unique<TextWindow>();
  out->at_ = at;
  if (codec.is_none() && encoding.is_utf8()) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
    ARROW_ASSIGN_OR_RAISE(out->stream_, arrow::io::RandomAccessFile::GetStream(
                                            file, std::min(at, size), size - std::min(at, size)));
  } else {
    ARROW_ASSIGN_OR_RAISE(
        out->stream_, files::ReadDecompressed(
                          std::move(file), codec,
                          is_look ? files::MemberCheck::kAtEnd : files::MemberCheck::kBeforeUse));
    out->encoded_ = out->stream_;
    ARROW_ASSIGN_OR_RAISE(out->stream_, files::DecodeText(std::move(out->stream_), encoding));
    std::vector<char> dropped(std::min<int64_t>(at, kStep));
    while (out->bytes_read_ < at) {
      const int64_t step = std::min<int64_t>(at - out->bytes_read_, kStep);
      ARROW_ASSIGN_OR_RAISE(const int64_t got, out->stream_->Read(step, dropped.data()));
      if (got == 0) break;
      out->bytes_read_ += got;
    }
  }
  if (at == 0) {
    while (out->used_ < 3 && out->Grow()) {
    }
    if (out->text().starts_with("\xef\xbb\xbf")) out->Consume(3);
  }
  return out;
}

bool TextWindow::Grow() {
  if (ended_ || !broken_.ok()) return false;
  if (used_ > kMaxLineBytes) {
    broken_ = Status::Invalid("a record is longer than 2 GiB; cut it, or take the file out");
    return false;
  }
  const int64_t step = std::max<int64_t>(kStep, used_ / 2);
  broken_ = exec::CatchExceptions([&] {
    if (static_cast<int64_t>(buffer_.size()) < used_ + step) buffer_.resize(used_ + step);
    return Status::OK();
  });
  if (!broken_.ok()) return false;
  auto got = stream_->Read(step, buffer_.data() + used_);
  if (!got.ok()) {
    broken_ = got.status();
    return false;
  }
  if (*got == 0) {
    ended_ = true;
    return false;
  }
  used_ += *got;
  bytes_read_ += *got;
  return true;
}

bool TextWindow::Has(int64_t i) {
  while (i >= used_) {
    if (!Grow()) return false;
  }
  return true;
}

int64_t TextWindow::Newline(int64_t i) {
  if (i <= newline_) return newline_;
  searched_ = std::max(i, searched_);
  const size_t found = text().find('\n', searched_);
  if (found != std::string_view::npos) newline_ = static_cast<int64_t>(found);
  searched_ = static_cast<int64_t>(std::min(found, text().size()));
  return searched_;
}

void TextWindow::Consume(int64_t bytes) {
  newline_ = -1;
  searched_ = 0;
  // Without any bytes there may be no buffer.
  if (bytes < used_) std::memmove(buffer_.data(), buffer_.data() + bytes, used_ - bytes);
  used_ -= bytes;
  at_ += bytes;
}

void TakePiece(TextWindow* window, int64_t size, RecordPiece* piece) {
  piece->text.resize(size + kChunkPadding);
  if (size > 0) std::memcpy(piece->text.data(), window->text().data(), size);
  piece->size = size;
  window->Consume(size);
  piece->end = window->at();
  piece->file_bytes = window->file_bytes();
}

std::unique_ptr<ShardReader> MakeRecordReader(
    std::function<Result<std::unique_ptr<RecordCutter>>(int64_t at)> open,
    std::shared_ptr<const RecordDecoder> decoder, const ShardPosition& from, int64_t first_line,
    const ReadContext& context) {
  return std::make_unique<RecordReader>(std::move(open), std::move(decoder), from, first_line,
                                        context);
}

Result<int64_t> CountRecords(RecordCutter* cutter) {
  int64_t rows = 0;
  for (;;) {
    RecordPiece piece;
    ARROW_ASSIGN_OR_RAISE(const bool more, cutter->Next(&piece));
    if (!more) return rows;
    ARROW_RETURN_NOT_OK(piece.broken);
    rows += static_cast<int64_t>(piece.records.size());
  }
}

}  // namespace easydata::source
