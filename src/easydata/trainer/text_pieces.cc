#include "easydata/trainer/text_pieces.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <utility>

namespace easydata::trainer {
namespace {

// Examples are cut once their parts are known; a limit of the file itself must not cut texts
// before.
constexpr int64_t kNoLimit = int64_t{1} << 30;

}  // namespace

int TextPieces::Add(std::string_view text, bool add_special_tokens, int64_t row) {
  Group& group = groups_[add_special_tokens ? 1 : 0];
  group.texts.append(text);
  group.starts.push_back(static_cast<int64_t>(group.texts.size()));
  group.rows.push_back(row);
  pieces_.push_back({add_special_tokens ? 1 : 0, static_cast<int64_t>(group.rows.size()) - 1});
  return static_cast<int>(pieces_.size()) - 1;
}

Status TextPieces::Encode(const tokenizers::TextEncoder& encoder, int64_t* bad_row) {
  *bad_row = -1;
  ARROW_RETURN_NOT_OK(EncodeGroup(encoder, false, &groups_[0], bad_row));
  return EncodeGroup(encoder, true, &groups_[1], bad_row);
}

void TextPieces::Leave(int64_t row) {
  for (Group& group : groups_) {
    std::string texts;
    std::vector<int64_t> starts = {0};
    for (size_t i = 0; i < group.rows.size(); ++i) {
      if (group.rows[i] != row) {
        texts.append(group.texts, static_cast<size_t>(group.starts[i]),
                     static_cast<size_t>(group.starts[i + 1] - group.starts[i]));
      }
      starts.push_back(static_cast<int64_t>(texts.size()));
    }
    group.texts = std::move(texts);
    group.starts = std::move(starts);
  }
}

std::string_view TextPieces::text(int piece) const {
  const Piece& at = pieces_[static_cast<size_t>(piece)];
  const Group& group = groups_[at.group];
  const int64_t begin = group.starts[static_cast<size_t>(at.index)];
  const int64_t end = group.starts[static_cast<size_t>(at.index) + 1];
  return std::string_view(group.texts)
      .substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

std::span<const int32_t> TextPieces::ids(int piece) const {
  const Piece& at = pieces_[static_cast<size_t>(piece)];
  const arrow::Array& lists = *groups_[at.group].lists;
  const auto span = [&](const auto& typed) -> std::span<const int32_t> {
    const auto& values = static_cast<const arrow::Int32Array&>(*typed.values());
    const auto begin = typed.value_offset(at.index);
    return {values.raw_values() + begin,
            static_cast<size_t>(typed.value_offset(at.index + 1) - begin)};
  };
  if (lists.type_id() == arrow::Type::LIST) {
    return span(static_cast<const arrow::ListArray&>(lists));
  }
  return span(static_cast<const arrow::LargeListArray&>(lists));
}

Status TextPieces::EncodeGroup(const tokenizers::TextEncoder& encoder, bool add_special_tokens,
                               Group* group, int64_t* bad_row) {
  if (group->rows.empty()) return Status::OK();
  const arrow::LargeStringArray texts(
      static_cast<int64_t>(group->rows.size()),
      arrow::Buffer::Wrap(group->starts.data(), group->starts.size()),
      arrow::Buffer::Wrap(group->texts.data(), group->texts.size()));
  tokenizers::EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.max_length = kNoLimit;
  auto encoded = encoder.EncodeBatch(texts, options);
  if (encoded.ok()) {
    group->lists = std::move(*encoded);
    return Status::OK();
  }
  for (int64_t i = 0; i < texts.length(); ++i) {
    const Status one = encoder.EncodeBatch(*texts.Slice(i, 1), options).status();
    if (one.ok()) continue;
    *bad_row = group->rows[static_cast<size_t>(i)];
    return one;
  }
  return encoded.status();
}

}  // namespace easydata::trainer
