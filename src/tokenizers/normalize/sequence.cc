#include "tokenizers/normalize/sequence.h"

#include <algorithm>

namespace easydata::tokenizers {

NormalizerSequence::NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> parts)
    : parts_(std::move(parts)) {
  for (const auto& part : parts_) may_insert_ |= part->may_insert();
}

bool NormalizerSequence::IsInert(std::string_view text) const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const auto& part) { return part->IsInert(text); });
}

Status NormalizerSequence::Normalize(std::string_view text, std::string* out) const {
  if (may_insert_) {
    size_t inserted = 0;
    return NormalizeTracked(text, &inserted, out);
  }
  std::string spare;
  bool changed = false;
  for (const auto& part : parts_) {
    const std::string_view current = changed ? std::string_view(*out) : text;
    if (part->IsInert(current)) continue;
    ARROW_RETURN_NOT_OK(part->Normalize(current, changed ? &spare : out));
    if (changed) out->swap(spare);
    changed = true;
  }
  if (!changed) out->assign(text);
  return Status::OK();
}

Status NormalizerSequence::NormalizeTracked(std::string_view text, size_t* inserted,
                                            std::string* out) const {
  return RunParts(text, &Normalizer::NormalizeTracked, inserted, out);
}

Status NormalizerSequence::NormalizeWithOrigin(std::string_view text, size_t* origin,
                                               std::string* out) const {
  return RunParts(text, &Normalizer::NormalizeWithOrigin, origin, out);
}

Status NormalizerSequence::RunParts(std::string_view text, NormalizeHead normalize, size_t* head,
                                    std::string* out) const {
  // A text that a part leaves as it is keeps its origin, but may not keep what is inserted.
  const bool is_origin = normalize == &Normalizer::NormalizeWithOrigin;
  std::string current(text);
  for (const auto& part : parts_) {
    if ((is_origin || *head == 0) && part->IsInert(current)) continue;
    ARROW_RETURN_NOT_OK((part.get()->*normalize)(current, head, out));
    out->swap(current);
  }
  out->swap(current);
  return Status::OK();
}

}  // namespace easydata::tokenizers
