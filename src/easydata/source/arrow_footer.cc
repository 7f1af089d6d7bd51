#include "easydata/source/arrow_footer.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

namespace easydata::source {
namespace {

static_assert(std::endian::native == std::endian::little, "flatbuffers are little-endian");

Status Nonsense() { return Status::Invalid("its metadata is no sound flatbuffer"); }

/// A table of a flatbuffer; fields are numbered as in Arrow's Message.fbs and File.fbs.
class FlatTable {
 public:
  static Result<FlatTable> Root(std::string_view bytes) {
    FlatTable out(bytes);
    ARROW_ASSIGN_OR_RAISE(const auto offset, out.Load<uint32_t>(0));
    return At(bytes, offset);
  }

  /// The number in field `field`; `missing` where the table leaves it out.
  template <typename T>
  Result<T> Number(int field, T missing) const {
    ARROW_ASSIGN_OR_RAISE(const auto offset, FieldOffset(field));
    return offset.has_value() ? Load<T>(*offset) : Result<T>(missing);
  }

  Result<FlatTable> Table(int field) const {
    ARROW_ASSIGN_OR_RAISE(const auto offset, Target(field));
    if (!offset.has_value()) return Nonsense();
    return At(bytes_, *offset);
  }

  /// The structs of `size` bytes each in a vector; none where the table leaves it out.
  Result<std::string_view> Structs(int field, int64_t size) const {
    ARROW_ASSIGN_OR_RAISE(const auto offset, Target(field));
    if (!offset.has_value()) return std::string_view();
    ARROW_ASSIGN_OR_RAISE(const auto count, Load<uint32_t>(*offset));
    const int64_t begin = *offset + static_cast<int64_t>(sizeof(count));
    const int64_t bytes = static_cast<int64_t>(count) * size;
    if (begin + bytes > Size()) return Nonsense();
    return bytes_.substr(begin, bytes);
  }

 private:
  explicit FlatTable(std::string_view bytes) : bytes_(bytes) {}

  static Result<FlatTable> At(std::string_view bytes, int64_t offset) {
    FlatTable out(bytes);
    out.begin_ = offset;
    ARROW_ASSIGN_OR_RAISE(const auto back, out.Load<int32_t>(offset));
    out.fields_ = offset - back;
    ARROW_ASSIGN_OR_RAISE(out.fields_size_, out.Load<uint16_t>(out.fields_));
    return out;
  }

  int64_t Size() const { return static_cast<int64_t>(bytes_.size()); }

  template <typename T>
  Result<T> Load(int64_t at) const {
    if (at < 0 || at > Size() - static_cast<int64_t>(sizeof(T))) return Nonsense();
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  Result<std::optional<int64_t>> FieldOffset(int field) const {
    const int64_t entry = 4 + 2 * static_cast<int64_t>(field);
    if (entry + 2 > fields_size_) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const auto relative, Load<uint16_t>(fields_ + entry));
    if (relative == 0) return std::nullopt;
    return begin_ + relative;
  }

  Result<std::optional<int64_t>> Target(int field) const {
    ARROW_ASSIGN_OR_RAISE(const auto offset, FieldOffset(field));
    if (!offset.has_value()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const auto relative, Load<uint32_t>(*offset));
    return *offset + static_cast<int64_t>(relative);
  }

  std::string_view bytes_;
  int64_t begin_ = 0;
  int64_t fields_ = 0;
  uint16_t fields_size_ = 0;
};

std::string_view ViewOf(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

template <typename T>
T LoadAt(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// The rows of the batch whose head starts at `offset`: a mark (in files since 2019), the length
/// of the message, the message.
Result<int64_t> RowsAt(arrow::io::RandomAccessFile* file, int64_t offset, int32_t head_size) {
  constexpr int kHeader = 2, kLength = 0;
  if (offset < 0 || head_size < 0) return Nonsense();
  ARROW_ASSIGN_OR_RAISE(const auto buffer, file->ReadAt(offset, head_size));
  std::string_view head = ViewOf(*buffer);
  if (head.size() < 8) return Status::Invalid("the file ends within its head");
  head.remove_prefix(LoadAt<uint32_t>(head, 0) == 0xffffffff ? 8 : 4);
  ARROW_ASSIGN_OR_RAISE(const FlatTable message, FlatTable::Root(head));
  ARROW_ASSIGN_OR_RAISE(const FlatTable batch, message.Table(kHeader));
  ARROW_ASSIGN_OR_RAISE(const int64_t rows, batch.Number<int64_t>(kLength, 0));
  if (rows < 0) return Status::Invalid("it has ", rows, " rows by its head");
  return rows;
}

}  // namespace

Result<std::vector<int64_t>> RowsOfBatches(arrow::io::RandomAccessFile* file) {
  constexpr int kBatches = 3;
  constexpr int64_t kBlock = 24;  // offset, size of the head, size of the body
  constexpr std::string_view kMagic = "ARROW1";
  constexpr int64_t kEnd = static_cast<int64_t>(sizeof(int32_t) + kMagic.size());
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
  if (size < kEnd) return Status::Invalid("it has no footer");
  ARROW_ASSIGN_OR_RAISE(const auto end, file->ReadAt(size - kEnd, kEnd));
  const auto footer_size = LoadAt<int32_t>(ViewOf(*end), 0);
  if (ViewOf(*end).substr(sizeof(int32_t)) != kMagic || footer_size <= 0 ||
      footer_size > size - kEnd) {
    return Status::Invalid("it has no footer");
  }
  ARROW_ASSIGN_OR_RAISE(const auto footer, file->ReadAt(size - kEnd - footer_size, footer_size));
  ARROW_ASSIGN_OR_RAISE(const FlatTable root, FlatTable::Root(ViewOf(*footer)));
  ARROW_ASSIGN_OR_RAISE(const std::string_view blocks, root.Structs(kBatches, kBlock));
  std::vector<int64_t> out;
  int64_t total = 0;
  for (size_t at = 0; at < blocks.size(); at += kBlock) {
    auto rows = RowsAt(file, LoadAt<int64_t>(blocks, at), LoadAt<int32_t>(blocks, at + 8));
    if (!rows.ok()) {
      return rows.status().WithMessage("record batch ", out.size(), ": ", rows.status().message());
    }
    if (__builtin_add_overflow(total, *rows, &total)) return Nonsense();
    out.push_back(*rows);
  }
  return out;
}

}  // namespace easydata::source
