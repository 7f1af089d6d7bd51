#include "tokenizers/normalize/normalizer.h"

#include <string_view>
#include <utility>
#include <vector>

#include "tokenizers/component_json.h"
#include "tokenizers/normalize/alignment.h"
#include "tokenizers/normalize/bert_normalizer.h"
#include "tokenizers/normalize/byte_level.h"
#include "tokenizers/normalize/charsmap.h"
#include "tokenizers/normalize/lowercase.h"
#include "tokenizers/normalize/nmt.h"
#include "tokenizers/normalize/precompiled.h"
#include "tokenizers/normalize/prepend.h"
#include "tokenizers/normalize/replace.h"
#include "tokenizers/normalize/sequence.h"
#include "tokenizers/normalize/strip.h"
#include "tokenizers/normalize/strip_accents.h"
#include "tokenizers/normalize/unicode_form.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;
using Made = Result<std::unique_ptr<const Normalizer>>;

constexpr std::string_view kNormalizerName = "normalizer";

// Deeper nesting than any file has.
constexpr int kMaxNormalizers = 64;

Made Make(element component, int depth);

template <typename T, typename... Args>
Made New(Args&&... args) {
  return std::unique_ptr<const Normalizer>(std::make_unique<T>(std::forward<Args>(args)...));
}

Made MakeBert(object component) {
  BertOptions options;
  ARROW_ASSIGN_OR_RAISE(options.clean_text, BoolAt(component, "clean_text", kNormalizerName));
  ARROW_ASSIGN_OR_RAISE(options.handle_chinese_chars,
                        BoolAt(component, "handle_chinese_chars", kNormalizerName));
  ARROW_ASSIGN_OR_RAISE(options.lowercase, BoolAt(component, "lowercase", kNormalizerName));
  ARROW_ASSIGN_OR_RAISE(options.strip_accents,
                        BoolOr(component, "strip_accents", options.lowercase, kNormalizerName));
  return New<BertNormalizer>(options);
}

Made MakeStrip(object component) {
  ARROW_ASSIGN_OR_RAISE(const bool left, BoolAt(component, "strip_left", kNormalizerName));
  ARROW_ASSIGN_OR_RAISE(const bool right, BoolAt(component, "strip_right", kNormalizerName));
  return New<Strip>(left, right);
}

Made MakeSequence(object component, int depth) {
  ARROW_ASSIGN_OR_RAISE(const auto list, ArrayAt(component, "normalizers", kNormalizerName));
  std::vector<std::unique_ptr<const Normalizer>> parts;
  for (element item : list) {
    ARROW_ASSIGN_OR_RAISE(auto part, Make(item, depth + 1));
    parts.push_back(std::move(part));
  }
  return New<NormalizerSequence>(std::move(parts));
}

Made MakePrecompiled(object component) {
  ARROW_ASSIGN_OR_RAISE(const std::string_view text,
                        StringAt(component, "precompiled_charsmap", kNormalizerName));
  const std::optional<std::string> bytes = DecodeBase64(text);
  if (!bytes) return Unsupported("precompiled_charsmap that is not base64");
  ARROW_ASSIGN_OR_RAISE(Charsmap map, Charsmap::Parse(*bytes));
  return New<Precompiled>(std::move(map));
}

Made MakeReplace(object component) {
  ARROW_ASSIGN_OR_RAISE(const object pattern, ObjectAt(component, "pattern", kNormalizerName));
  ARROW_ASSIGN_OR_RAISE(const std::string_view content,
                        StringAt(component, "content", kNormalizerName));
  if (pattern.size() != 1) return Unsupported("normalizer Replace without one pattern");
  if (HasKey(pattern, "String")) {
    ARROW_ASSIGN_OR_RAISE(const std::string_view text,
                          StringAt(pattern, "String", kNormalizerName));
    return New<ReplaceString>(text, content);
  }
  ARROW_ASSIGN_OR_RAISE(const std::string_view text, StringAt(pattern, "Regex", kNormalizerName));
  if (text == " {2,}") return New<ReplaceSpaceRuns>(content);
  ARROW_ASSIGN_OR_RAISE(auto regex, Regex::Compile(text));
  return New<ReplaceRegex>(std::move(regex), content);
}

Made MakePrepend(object component) {
  ARROW_ASSIGN_OR_RAISE(const std::string_view prefix,
                        StringAt(component, "prepend", kNormalizerName));
  return New<Prepend>(std::string(prefix));
}

// A component whose type says nothing is what its keys say. BertNormalizer is one of them: the
// reference knows it by another name.
Made MakeUntyped(object component, int depth) {
  if (HasKey(component, "clean_text")) return MakeBert(component);
  if (HasKey(component, "strip_left")) return MakeStrip(component);
  if (HasKey(component, "normalizers")) return MakeSequence(component, depth);
  if (HasKey(component, "precompiled_charsmap")) {
    return Unsupported("normalizer with a precompiled_charsmap and without its type");
  }
  if (HasKey(component, "pattern")) return MakeReplace(component);
  if (HasKey(component, "prepend")) return MakePrepend(component);
  return Unsupported("normalizer ", TypeOf(component));
}

Made Make(element value, int depth) {
  ARROW_ASSIGN_OR_RAISE(const object component, AsObject(value, kNormalizerName));
  if (depth > kMaxNormalizers)
    return Unsupported("normalizers nested more than ", kMaxNormalizers, " deep");
  for (auto [key, unused] : component) {
    int count = 0;
    for (auto [other, also_unused] : component) count += other == key ? 1 : 0;
    if (count > 1) return Unsupported("normalizer with the key ", key, " given twice");
  }
  const std::string_view type = TypeOf(component);
  if (type == "NFC") return New<UnicodeForm>(UnicodeForm::kNfc);
  if (type == "NFD") return New<UnicodeForm>(UnicodeForm::kNfd);
  if (type == "NFKC") return New<UnicodeForm>(UnicodeForm::kNfkc);
  if (type == "NFKD") return New<UnicodeForm>(UnicodeForm::kNfkd);
  if (type == "Lowercase") return New<Lowercase>();
  if (type == "StripAccents") return New<StripAccents>();
  if (type == "Nmt") return New<Nmt>();
  if (type == "ByteLevel") return New<ByteLevelNormalizer>();
  if (type == "Bert") return MakeBert(component);
  if (type == "Strip") return MakeStrip(component);
  if (type == "Sequence") return MakeSequence(component, depth);
  if (type == "Precompiled") return MakePrecompiled(component);
  if (type == "Replace") return MakeReplace(component);
  if (type == "Prepend") return MakePrepend(component);
  return MakeUntyped(component, depth);
}

class InsertionRefuser final : public Normalizer {
 public:
  explicit InsertionRefuser(std::unique_ptr<const Normalizer> normalizer)
      : normalizer_(std::move(normalizer)) {}

  bool IsInert(std::string_view text) const override { return normalizer_->IsInert(text); }
  Status Normalize(std::string_view text, std::string* out) const override {
    size_t inserted = 0;
    ARROW_RETURN_NOT_OK(normalizer_->NormalizeTracked(text, &inserted, out));
    return inserted == 0 ? Status::OK() : ReferenceCrashes();
  }

 private:
  const std::unique_ptr<const Normalizer> normalizer_;
};

}  // namespace

Status Normalizer::NormalizeTracked(std::string_view text, size_t* inserted,
                                    std::string* out) const {
  return *inserted == 0 || text.empty() ? Normalize(text, out) : ReferenceCrashes();
}

Status Normalizer::NormalizeWithOrigin(std::string_view text, size_t* origin,
                                       std::string* out) const {
  ARROW_RETURN_NOT_OK(Normalize(text.substr(0, *origin), out));
  *origin = out->size();
  return Normalize(text, out);
}

std::unique_ptr<const Normalizer> RefuseInsertions(std::unique_ptr<const Normalizer> normalizer) {
  if (normalizer == nullptr || !normalizer->may_insert()) return normalizer;
  return std::make_unique<InsertionRefuser>(std::move(normalizer));
}

Made MakeNormalizer(element component) {
  if (component.is_null()) return std::unique_ptr<const Normalizer>();
  return Make(component, 0);
}

}  // namespace easydata::tokenizers
