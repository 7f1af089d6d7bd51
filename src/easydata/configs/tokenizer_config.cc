#include "easydata/configs/tokenizer_config.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace easydata::configs {
namespace {

constexpr NamedValue<TokenizerView> kViews[] = {{"json", TokenizerView::kJson},
                                                {"transformers", TokenizerView::kTransformers}};

// Options of the engine that follow from others: a dataset's columns and what becomes of its bad
// rows, the stage's bounds, and here max_length and padding.
constexpr std::string_view kSaidElsewhere[] = {"content_field", "additional_fields", "skip_missing",
                                               "batch_size",    "num_workers",       "max_length",
                                               "pad_to",        "pad_token_id",      "pad_left"};

}  // namespace

config::FieldList TokenizerConfig::Fields() {
  using C = TokenizerConfig;
  config::FieldList shared = config::FieldsOf(&C::options);
  std::erase_if(shared, [](const config::Field& field) {
    return std::find(std::begin(kSaidElsewhere), std::end(kSaidElsewhere),
                     std::string_view(field.name)) != std::end(kSaidElsewhere);
  });
  config::FieldList fields = {
      config::Field{
          "name_or_path", &C::name_or_path,
          "Folder with a tokenizer.json, path of a tokenizer.json, or name of a model on the "
          "Hub; or a tokenizer "
          "object."}
          .Required(),
      config::Field{"max_length", &C::max_length,
                    "Tokens kept of a document; see truncation. Unset: the tokenize stage's."}
          .AtLeast(1)
          .ReadsAs(kDefaultMaxLength)
          .ActsAt({"tokenize"}),
      config::Field{"truncation", &C::truncation,
                    "Cut documents at max_length; without it they keep their length."}
          .ActsAt({"tokenize"}),
      config::Field{
          "padding", &C::padding,
          "\"max_length\" fills every document up to max_length; anything else leaves it as it "
          "is, since documents "
          "are tokenized one by one."}
          .OneOf({"max_length", "longest", "do_not_pad"})
          .ActsAt({"tokenize"}),
      config::Chosen(shared, {"add_special_tokens"})[0].ActsAt({"tokenize.text"}),
      config::Chosen(shared, {"return_attention_mask"})[0],
      config::Field{
          "trust_remote_code", &C::trust_remote_code,
          "Taken for compatibility: a tokenizer is read from its tokenizer.json, and code that "
          "comes with it is "
          "never run."}
          .ForCompatibility("code that comes with a tokenizer is never run"),
      config::Field{"view", &C::view,
                    "Which tokenizer of a folder runs: its tokenizer.json as it is, or what "
                    "AutoTokenizer of the installed transformers makes of the folder."},
      config::Field{"split_special_tokens", &C::split_special_tokens,
                    "Read text that spells special tokens as text like any other, as transformers' "
                    "option of this name does. Unset: as the tokenizer itself says."},
      config::Field{"chat_template", &C::chat_template,
                    "Chat template in place of the tokenizer's own: the text, or the path of a "
                    "file."}
          .ActsAt({"map.chat_template", "examples"}),
      config::Field{"template_date", &C::template_date,
                    "The date that a chat template prints (strftime_now), such as "
                    "\"2026-11-27\"; unset: the day of the first build, which saved states and "
                    "the output's metadata keep."}
          .ActsAt({"map.chat_template", "examples"}),
      config::Field{"chat_template_kwargs", &C::chat_template_kwargs,
                    "Further variables for the chat template, such as enable_thinking; a row's own "
                    "field of this name takes precedence."}
          .ActsAt({"map.chat_template", "examples"}),
  };
  return config::Joined({std::move(fields), shared});
}

std::span<const NamedValue<TokenizerView>> NamesOf(TokenizerView) { return kViews; }

}  // namespace easydata::configs
