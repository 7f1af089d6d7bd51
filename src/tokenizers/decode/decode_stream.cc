#include "tokenizers/decode/decode_stream.h"

#include <string_view>
#include <utility>

namespace easydata::tokenizers {
namespace {

// Text that may still change: the character may be cut in half.
bool IsIncomplete(std::string_view text) { return text.ends_with("\xEF\xBF\xBD"); }

}  // namespace

DecodeStream::DecodeStream(std::shared_ptr<const TextDecoder> decoder, bool skip_special_tokens,
                           std::span<const int32_t> ids)
    : decoder_(std::move(decoder)), skip_special_tokens_(skip_special_tokens) {
  // A decoder that makes something of nothing needs them all.
  const Result<std::string> nothing = decoder_->Decode({}, skip_special_tokens);
  drops_empty_ = nothing.ok() && nothing->empty();
  Hold(ids);
}

void DecodeStream::Hold(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    if (!drops_empty_ || decoder_->HasToken(id, skip_special_tokens_)) ids_.push_back(id);
  }
}

Result<std::optional<std::string>> DecodeStream::Step(std::span<const int32_t> ids) {
  if (prefix_.empty() && !ids_.empty()) {
    ARROW_ASSIGN_OR_RAISE(std::string prefix, Decode());
    if (!IsIncomplete(prefix)) {
      prefix_ = std::move(prefix);
      prefix_end_ = ids_.size();
    }
  }
  const size_t num_before = ids_.size();
  Hold(ids);
  if (drops_empty_ && ids_.size() == num_before) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(const std::string text, Decode());
  if (text.size() <= prefix_.size() || IsIncomplete(text)) return std::nullopt;
  if (!text.starts_with(prefix_)) {
    return Status::Invalid("streaming decode cannot continue: with id ",
                           ids.empty() ? int32_t{-1} : ids.back(), " the text \"", prefix_,
                           "\", handed out before, would become \"", text,
                           "\"; decode these ids all at once");
  }
  std::string made = text.substr(prefix_.size());
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(prefix_end_));
  prefix_end_ = ids_.size();
  ARROW_ASSIGN_OR_RAISE(prefix_, Decode());
  return made;
}

}  // namespace easydata::tokenizers
