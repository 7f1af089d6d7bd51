#include "tokenizers/decode/text_decoder.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "easydata/exec/parallel_for.h"
#include "tokenizers/decode/id_column.h"

namespace easydata::tokenizers {
namespace {

// Rows that one thread decodes, and their texts one after the other.
struct Task {
  int64_t begin = 0;
  int64_t end = 0;
  std::string texts;
  std::vector<int64_t> ends;  // of rows in texts
};

template <typename TextArray>
Result<std::shared_ptr<arrow::Array>> JoinTasks(const std::vector<Task>& tasks,
                                                const arrow::Array& lists, int64_t bytes) {
  using Offset = typename TextArray::offset_type;
  const int64_t length = lists.length();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets,
                        arrow::AllocateBuffer((length + 1) * static_cast<int64_t>(sizeof(Offset))));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> data, arrow::AllocateBuffer(bytes));
  auto* ends = reinterpret_cast<Offset*>(offsets->mutable_data());
  *ends++ = 0;
  int64_t base = 0;
  for (const Task& task : tasks) {
    if (!task.texts.empty()) {
      std::memcpy(data->mutable_data() + base, task.texts.data(), task.texts.size());
    }
    for (const int64_t end : task.ends) *ends++ = static_cast<Offset>(base + end);
    base += static_cast<int64_t>(task.texts.size());
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (lists.null_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(validity, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(length)));
    std::memset(validity->mutable_data(), 0, static_cast<size_t>(validity->size()));
    for (int64_t row = 0; row < length; ++row) {
      if (lists.IsValid(row)) arrow::bit_util::SetBit(validity->mutable_data(), row);
    }
  }
  return std::make_shared<TextArray>(length, std::move(offsets), std::move(data),
                                     std::move(validity), lists.null_count());
}

}  // namespace

TextDecoder::TextDecoder(const Model* model, const AddedTokens* added,
                         std::unique_ptr<const Decoder> decoder)
    : model_(model), added_(added), decoder_(std::move(decoder)) {}

TextDecoder::Entry TextDecoder::LookUp(int32_t id) const {
  std::string_view token;
  if (const AddedToken* added = added_->FindId(id); added != nullptr) {
    token = added->pattern;
  } else if (const auto known = model_->IdToToken(id); known.has_value()) {
    token = *known;
  } else {
    return {};
  }
  return {token.data() == nullptr ? "" : token.data(), static_cast<uint32_t>(token.size()),
          added_->IsSpecial(token)};
}

void TextDecoder::FillTable() const {
  int64_t limit = model_->id_limit();
  for (const AddedToken& token : added_->tokens()) {
    limit = std::max<int64_t>(limit, int64_t{token.id} + 1);
  }
  // Ids that leave large gaps are looked up one by one.
  const auto count = model_->size() + static_cast<int64_t>(added_->tokens().size());
  if (limit > 4 * count + (1 << 16)) return;
  table_.resize(static_cast<size_t>(limit));
  for (int64_t id = 0; id < limit; ++id) {
    table_[static_cast<size_t>(id)] = LookUp(static_cast<int32_t>(id));
  }
}

std::optional<std::string_view> TextDecoder::Token(int32_t id, bool skip_special_tokens) const {
  std::call_once(table_once_, [this] { FillTable(); });
  if (id < 0) return std::nullopt;
  Entry entry;
  if (table_.empty()) {
    entry = LookUp(id);
  } else if (static_cast<size_t>(id) < table_.size()) {
    entry = table_[static_cast<size_t>(id)];
  }
  if (entry.data == nullptr || (skip_special_tokens && entry.special)) return std::nullopt;
  return std::string_view(entry.data, entry.size);
}

Status TextDecoder::DecodeIds(std::span<const int32_t> ids, bool skip_special_tokens,
                              std::vector<std::string_view>* tokens, std::string* text) const {
  tokens->clear();
  for (const int32_t id : ids) {
    if (const auto token = Token(id, skip_special_tokens)) tokens->push_back(*token);
  }
  if (decoder_ != nullptr) return decoder_->Decode(*tokens, text);
  text->clear();
  for (size_t i = 0; i < tokens->size(); ++i) {
    if (i > 0) text->push_back(' ');
    text->append((*tokens)[i]);
  }
  return Status::OK();
}

Result<std::string> TextDecoder::Decode(std::span<const int32_t> ids,
                                        bool skip_special_tokens) const {
  std::vector<std::string_view> tokens;
  std::string text;
  ARROW_RETURN_NOT_OK(DecodeIds(ids, skip_special_tokens, &tokens, &text));
  return text;
}

Result<std::shared_ptr<arrow::Array>> TextDecoder::DecodeBatch(const arrow::Array& lists,
                                                               bool skip_special_tokens,
                                                               int num_threads) const {
  ARROW_ASSIGN_OR_RAISE(const IdColumn rows, IdColumn::Make(lists));
  const int64_t length = lists.length();
  std::vector<Task> tasks(
      static_cast<size_t>(std::clamp<int64_t>(length, 1, std::max(num_threads, 1))));
  // Each thread gets about as many ids.
  const int64_t first = length == 0 ? 0 : rows.offset(0);
  const int64_t num_ids = length == 0 ? 0 : rows.offset(length) - first;
  int64_t row = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].begin = row;
    const int64_t goal =
        first + num_ids / static_cast<int64_t>(tasks.size()) * static_cast<int64_t>(i + 1);
    while (row < length && (i + 1 == tasks.size() || rows.offset(row + 1) <= goal)) ++row;
    tasks[i].end = row;
  }
  const auto work = [&](size_t number) -> Status {
    Task* const task = &tasks[number];
    std::vector<std::string_view> tokens;
    std::string text;
    task->ends.reserve(static_cast<size_t>(task->end - task->begin));
    for (int64_t r = task->begin; r < task->end; ++r) {
      if (lists.IsValid(r)) {
        const Status status = DecodeIds(rows.row(r), skip_special_tokens, &tokens, &text);
        if (!status.ok()) {
          return status.WithMessage("row ", r, ": ", status.message());
        }
        task->texts.append(text);
      }
      task->ends.push_back(static_cast<int64_t>(task->texts.size()));
    }
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(exec::ParallelFor(tasks.size(), static_cast<int>(tasks.size()), work));
  int64_t bytes = 0;
  for (const Task& task : tasks) {
    bytes += static_cast<int64_t>(task.texts.size());
  }
  if (bytes > std::numeric_limits<int32_t>::max()) {
    return JoinTasks<arrow::LargeStringArray>(tasks, lists, bytes);
  }
  return JoinTasks<arrow::StringArray>(tasks, lists, bytes);
}

}  // namespace easydata::tokenizers
