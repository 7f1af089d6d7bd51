#include "tokenizers/tokenizer_plan.h"

#include <simdjson.h>

#include <string>
#include <unordered_set>

#include "tokenizers/bert_words.h"
#include "tokenizers/byte_level_encoder.h"
#include "tokenizers/component_json.h"
#include "tokenizers/metaspace.h"
#include "tokenizers/model/byte_bpe_model.h"
#include "tokenizers/model/metaspace_bpe_encoder.h"
#include "tokenizers/staged_encoder.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// A component's type for display, with those of its parts.
std::string NameOf(const std::optional<element>& component) {
  if (!component || !component->is_object()) return "none";
  const object fields = component->get_object().value_unsafe();
  std::string name(TypeOf(fields));
  for (const char* key : {"normalizers", "pretokenizers", "processors", "decoders"}) {
    const auto parts = ArrayAt(fields, key, "");
    if (!parts.ok()) continue;
    std::string joined;
    for (const element part : *parts) joined += (joined.empty() ? "" : ", ") + NameOf(part);
    name += "(" + joined + ")";
  }
  return name.empty() ? "(type guessed)" : name;
}

}  // namespace

// The root of the file; null components are absent ones.
struct TokenizerPlan::File {
  std::optional<element> truncation;
  std::optional<element> padding;
  std::optional<element> added_tokens;
  std::optional<element> normalizer;
  std::optional<element> pre_tokenizer;
  std::optional<element> post_processor;
  std::optional<element> decoder;
  std::optional<element> model;

  // The reference refuses keys that it does not know and keys given twice.
  static Result<File> Parse(object root) {
    File file;
    const std::pair<std::string_view, std::optional<element>*> components[] = {
        {"truncation", &file.truncation},
        {"padding", &file.padding},
        {"added_tokens", &file.added_tokens},
        {"normalizer", &file.normalizer},
        {"pre_tokenizer", &file.pre_tokenizer},
        {"post_processor", &file.post_processor},
        {"decoder", &file.decoder},
        {"model", &file.model}};
    std::unordered_set<std::string_view> seen;
    for (const auto [key, value] : root) {
      if (!seen.insert(key).second) return Unsupported("key ", key, " that is given twice");
      bool known = key == "version";
      if (known && (!value.is_string() || value.get_string().value_unsafe() != "1.0")) {
        return Unsupported("version other than 1.0");
      }
      for (const auto& [name, component] : components) {
        if (key != name) continue;
        known = true;
        if (!value.is_null()) *component = value;
      }
      if (!known) return Unsupported("unknown key ", key);
    }
    if (!file.model) return Unsupported("no model");
    return file;
  }
};

Result<std::unique_ptr<const TokenizerPlan>> TokenizerPlan::Make(std::string_view json,
                                                                 const TokenizerOptions& options) {
  std::unique_ptr<TokenizerPlan> plan(new TokenizerPlan);
  ARROW_RETURN_NOT_OK(plan->Init(json, options));
  return std::unique_ptr<const TokenizerPlan>(std::move(plan));
}

Status TokenizerPlan::Init(std::string_view json, const TokenizerOptions& options) {
  kernels_ = options.kernels.empty() ? &BestKernels() : FindKernels(options.kernels.c_str());
  if (kernels_ == nullptr) {
    return Status::Invalid("no such tokenizer kernels in this build or on this processor: ",
                           options.kernels);
  }
  word_cache_bytes_ = options.word_cache_bytes;
  if (json.starts_with("\xEF\xBB\xBF")) {
    return Unsupported("byte order mark before the JSON text, which the reference refuses");
  }
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root);
      error != simdjson::SUCCESS) {
    // The reference reads integers of any length as floating-point numbers.
    if (error == simdjson::NUMBER_ERROR || error == simdjson::BIGINT_ERROR) {
      return Unsupported("a number of more than 64 bits");
    }
    return Status::Invalid("tokenizer.json is not valid JSON (", simdjson::error_message(error),
                           "); save the tokenizer again with save_pretrained()");
  }
  object root_object;
  if (root.get_object().get(root_object) != simdjson::SUCCESS) {
    return Status::Invalid("tokenizer.json is not a JSON object");
  }
  ARROW_ASSIGN_OR_RAISE(const File file, File::Parse(root_object));

  if (file.normalizer) {
    ARROW_ASSIGN_OR_RAISE(normalizer_, MakeNormalizer(*file.normalizer));
  }
  ARROW_RETURN_NOT_OK(MakeModelAndPreTokenizer(file, json));
  std::vector<AddedTokenSpec> added;
  if (file.added_tokens) {
    ARROW_ASSIGN_OR_RAISE(added, ParseAddedTokens(*file.added_tokens));
  }
  ARROW_ASSIGN_OR_RAISE(
      added_, AddedTokens::Make(added, *model_, normalizer_.get(), options.split_special_tokens));
  if (pre_tokenizer_.has_byte_level) normalizer_ = RefuseInsertions(std::move(normalizer_));
  if (file.post_processor) {
    ARROW_ASSIGN_OR_RAISE(post_, MakePostProcessor(*file.post_processor));
  }
  if (file.truncation) {
    ARROW_ASSIGN_OR_RAISE(truncation_, MakeTruncation(*file.truncation));
  }
  if (file.padding) {
    ARROW_ASSIGN_OR_RAISE(padding_, MakePadding(*file.padding));
  }
  std::unique_ptr<const Decoder> decoder;
  if (file.decoder) {
    ARROW_ASSIGN_OR_RAISE(decoder, MakeDecoder(*file.decoder));
  }
  decoder_ = std::make_shared<TextDecoder>(model_.get(), &added_, std::move(decoder));

  steps_.emplace_back("normalizer", NameOf(file.normalizer));
  steps_.emplace_back("pre_tokenizer", NameOf(file.pre_tokenizer));
  steps_.emplace_back("model", NameOf(file.model));
  steps_.emplace_back("post_processor", NameOf(file.post_processor));
  steps_.emplace_back("decoder", NameOf(file.decoder));
  ChooseEncoder(file);
  return Status::OK();
}

// Bytes are mapped to characters only for a model that needs to see those.
Status TokenizerPlan::MakeModelAndPreTokenizer(const File& file, std::string_view json) {
  ModelOptions options;
  options.json = json;
  options.merge = kernels_->merge;
  if (file.pre_tokenizer) {
    ARROW_ASSIGN_OR_RAISE(pre_tokenizer_, MakePreTokenizer(*file.pre_tokenizer, true));
    if (asks_for_origin() && normalizer_ != nullptr && normalizer_->may_insert()) {
      return Unsupported("pre_tokenizer that asks for offsets behind a normalizer that may put ",
                         "text before the first character");
    }
  }
  options.words_are_bytes = pre_tokenizer_.maps_bytes;
  Result<std::unique_ptr<const Model>> model = MakeModel(*file.model, options);
  if (!model.ok() && options.words_are_bytes && model.status().IsNotImplemented()) {
    ARROW_ASSIGN_OR_RAISE(pre_tokenizer_, MakePreTokenizer(*file.pre_tokenizer, false));
    options.words_are_bytes = false;
    model = MakeModel(*file.model, options);
  }
  ARROW_ASSIGN_OR_RAISE(model_, std::move(model));
  return Status::OK();
}

void TokenizerPlan::ChooseEncoder(const File& file) {
  if (ChooseByteLevel() || ChooseMetaspace(file) || ChooseBert(file)) return;
  make_encoder_ = [this](const EncoderTables&) { return MakeStagedEncoder(); };
  AddEncoderStep("step by step, with a word cache");
}

bool TokenizerPlan::ChooseByteLevel() {
  const auto* bytes = dynamic_cast<const ByteBpeModel*>(model_.get());
  if (bytes == nullptr || !pre_tokenizer_.scanner) return false;
  const BpeModel* bpe = &bytes->bpe();
  make_tables_ = [bpe] { return EncoderTables{SafeCuts::Make(*bpe)}; };
  make_encoder_ = [this, bpe](const EncoderTables& tables) {
    const auto& [pattern, add_prefix_space] = *pre_tokenizer_.scanner;
    return std::make_unique<ByteLevelEncoder>(bpe, pattern, add_prefix_space, tables.cuts.get(),
                                              kernels_, word_cache_bytes_);
  };
  AddEncoderStep("byte-level scanner with a word cache");
  return true;
}

bool TokenizerPlan::ChooseMetaspace(const File& file) {
  metaspace_ = MetaspaceBpe::Make(file.normalizer, file.pre_tokenizer, model_.get());
  if (metaspace_ == nullptr || !GuardMetaspaceTokens()) return false;
  encoders_normalize_ = true;
  make_encoder_ = [this](const EncoderTables&) {
    return std::make_unique<MetaspaceBpeEncoder>(metaspace_.get(), kernels_, word_cache_bytes_);
  };
  AddEncoderStep("normalizing scanner with a cache of parts that cannot merge");
  return true;
}

// Normalized added tokens are looked for in normalized text, which is not made. It has "▁" for
// spaces and perhaps one before it, and is the raw text for the rest: so a token can only be where
// the raw text has what follows its leading "▁".
bool TokenizerPlan::GuardMetaspaceTokens() {
  for (const AddedToken& token : added_.tokens()) {
    if (!token.normalized) continue;
    std::string_view core = token.pattern;
    while (core.starts_with(kMetaspaceUtf8)) core.remove_prefix(kMetaspaceUtf8.size());
    if (core.empty() || core.find(kMetaspaceUtf8) != std::string_view::npos) return false;
    guard_tokens_.emplace_back().pattern = core;
  }
  if (guard_tokens_.empty()) return true;
  std::vector<const AddedToken*> tokens;
  for (const AddedToken& token : guard_tokens_) tokens.push_back(&token);
  guard_ = std::make_unique<AddedTokenMatcher>(tokens, false);
  return true;
}

// Normalized added tokens would be looked for in normalized text, which is not made.
bool TokenizerPlan::ChooseBert(const File& file) {
  bert_words_ = BertWords::Make(normalizer_.get(), file.pre_tokenizer);
  if (bert_words_ == nullptr || !added_.normalized().empty()) return false;
  encoders_normalize_ = true;
  make_encoder_ = [this](const EncoderTables&) {
    return std::make_unique<StagedEncoder>(bert_words_.get(), model_.get(), kernels_,
                                           word_cache_bytes_);
  };
  AddEncoderStep("normalizing scanner with a word cache");
  return true;
}

std::unique_ptr<PieceEncoder> TokenizerPlan::MakeStagedEncoder() const {
  return std::make_unique<StagedEncoder>(pre_tokenizer_.steps.get(), model_.get(), kernels_,
                                         word_cache_bytes_);
}

void TokenizerPlan::AddEncoderStep(const char* what) {
  steps_.emplace_back("encoder", std::string(what) + ", " + kernels_->name + " kernels");
}

}  // namespace easydata::tokenizers
