#include "easydata/pack/pack_tokens.h"

#include <string>

#include "easydata/config/option_error.h"

namespace easydata::pack {
namespace {

Status Wrong(const std::string& problem) { return config::OptionError("packing", problem); }

/// "; leave it out, and the tokenizer's own, 50256, is taken".
std::string Instead(const Vocabulary& vocabulary) {
  if (!vocabulary.eos_id.has_value()) return "; set it to a special token of that tokenizer";
  return "; leave it out, and documents are closed by the tokenizer's own, " +
         std::to_string(*vocabulary.eos_id);
}

Status CheckLimit(const char* option, int32_t id, const Vocabularies& vocabularies) {
  const std::string problem = vocabularies.ProblemOf(id);
  return problem.empty() ? Status::OK() : Wrong(std::string(option) + ": " + problem);
}

Status CheckEnd(int32_t id, const Vocabularies& vocabularies) {
  ARROW_RETURN_NOT_OK(CheckLimit("eos_token_id", id, vocabularies));
  for (const VocabularyPtr& vocabulary : vocabularies.known) {
    if (id == vocabulary->eos_id || !vocabulary->IsOrdinary(id)) continue;
    std::string token;
    if (vocabulary->token_of != nullptr) {
      if (const auto text = vocabulary->token_of(id); text.has_value())
        token = " \"" + *text + "\"";
    }
    return Wrong("eos_token_id: " + std::to_string(id) + " is an ordinary token" + token +
                 ", of which text is made, and ends no document, in " + vocabulary->Shown() +
                 Instead(*vocabulary));
  }
  return Status::OK();
}

/// The EOS of all documents; nothing where each has its own.
Result<std::optional<int32_t>> EndOf(const Vocabularies& vocabularies) {
  std::optional<int32_t> end;
  bool differ = false;
  for (const VocabularyPtr& vocabulary : vocabularies.known) {
    if (!vocabulary->eos_id.has_value()) {
      return Wrong("eos_token_id: must be named: no EOS token is known of the tokenizer " +
                   vocabulary->Shown() + "; set the id that closes a document");
    }
    differ |= end.has_value() && end != vocabulary->eos_id;
    end = vocabulary->eos_id;
  }
  if (vocabularies.has_unknown) {
    return Wrong(
        std::string("eos_token_id: must be named: nothing says which tokenizer ") +
        (vocabularies.known.empty() ? "the tokens are" : "some of the tokens are") +
        " of, so their EOS is not known; set the id that closes a document (tokens that easydata "
        "wrote say it, and tokenizing says it)");
  }
  return differ ? std::nullopt : end;
}

}  // namespace

Result<PackSettings> WithTokenIds(PackSettings options, const Vocabularies& vocabularies) {
  const bool adds_eos = StrategyOf(options.strategy).adds_eos;
  if (!adds_eos) {
    // Nothing is closed: it is what the plan says, no more.
    if (!options.eos_token_id.has_value()) {
      options.eos_token_id = EndOf(vocabularies).ValueOr(std::nullopt);
    }
  } else if (options.eos_token_id.has_value()) {
    ARROW_RETURN_NOT_OK(CheckEnd(*options.eos_token_id, vocabularies));
  } else {
    ARROW_ASSIGN_OR_RAISE(options.eos_token_id, EndOf(vocabularies));
  }
  if (options.pad_token_id.has_value()) {
    ARROW_RETURN_NOT_OK(CheckLimit("pad_token_id", *options.pad_token_id, vocabularies));
  } else {
    options.pad_token_id = vocabularies.pad_id().value_or(0);
  }
  return options;
}

}  // namespace easydata::pack
