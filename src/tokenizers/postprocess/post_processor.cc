#include "tokenizers/postprocess/post_processor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kPostProcessorName = "post_processor";

// Stands for the text in a list of ids.
constexpr int32_t kText = -1;

// What the reference calls an Encoding: a processor takes a list of them and makes a new one.
using Encoding = std::vector<int32_t>;

// One element of a template: a text (0 or 1 of those it is given) or a special token.
struct Piece {
  int text = -1;
  std::string token;
  std::optional<std::vector<int32_t>> ids;  // of the token; nothing when it is not defined
};

std::optional<int32_t> AsId(element value) {
  const auto id = AsUnsigned(value, std::numeric_limits<int32_t>::max());
  return id ? std::optional(static_cast<int32_t>(*id)) : std::nullopt;
}

bool IsU32(const std::optional<element>& value) {
  return value && AsUnsigned(*value, std::numeric_limits<uint32_t>::max());
}

bool IsBool(object parent, std::string_view key) {
  const std::optional<element> value = Find(parent, key);
  return value && value->is_bool();
}

bool HasRepeatedKey(object parent) {
  std::unordered_set<std::string_view> seen;
  for (auto [key, value] : parent) {
    if (!seen.insert(key).second) return true;
  }
  return false;
}

// ["[SEP]", 102]: the id.
std::optional<int32_t> TokenPair(object parent, std::string_view key) {
  const std::optional<element> value = Find(parent, key);
  array pair;
  if (!value || value->get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      !pair.at(0).is_string()) {
    return std::nullopt;
  }
  return AsId(pair.at(1).value_unsafe());
}

// A single-text run of processors, evaluated on a placeholder.
class Processor {
 public:
  static Result<Processor> Make(element component) {
    ARROW_ASSIGN_OR_RAISE(object fields, AsObject(component, kPostProcessorName));
    if (HasRepeatedKey(fields))
      return Unsupported(kPostProcessorName, " with a key that is given twice");
    Processor processor;
    if (const auto sep = TokenPair(fields, "sep"), cls = TokenPair(fields, "cls"); sep && cls) {
      processor.kind_ = Kind::kBert;
      processor.sep_ = *sep;
      processor.cls_ = *cls;
      return processor;
    }
    const std::string_view type = TypeOf(fields);
    if (type == "ByteLevel" && IsBool(fields, "add_prefix_space") &&
        IsBool(fields, "trim_offsets") &&
        (IsBool(fields, "use_regex") || !HasKey(fields, "use_regex"))) {
      return processor;
    }
    if (HasKey(fields, "single")) {
      ARROW_RETURN_NOT_OK(processor.ReadTemplates(fields));
      return processor;
    }
    if (type != "Sequence") return Unsupported(kPostProcessorName, " ", type);
    processor.kind_ = Kind::kSequence;
    ARROW_ASSIGN_OR_RAISE(array steps, ArrayAt(fields, "processors", kPostProcessorName));
    for (element step : steps) {
      ARROW_ASSIGN_OR_RAISE(processor.steps_.emplace_back(), Make(step));
    }
    return processor;
  }

  int64_t num_added() const {
    int64_t sum = 0;
    switch (kind_) {
      case Kind::kByteLevel:
        break;
      case Kind::kBert:
        return 2;
      case Kind::kTemplate:
        for (const Piece& piece : single_) {
          if (piece.ids) sum += static_cast<int64_t>(piece.ids->size());
        }
        break;
      case Kind::kSequence:
        for (const Processor& step : steps_) sum += step.num_added();
        break;
    }
    return sum;
  }

  // Replaces the encodings as the reference's process_encodings does. Returns why it panics, or "".
  std::string Process(bool add_special_tokens, std::vector<Encoding>* encodings) const {
    switch (kind_) {
      case Kind::kByteLevel:
        break;  // edits offsets only
      case Kind::kBert:
        if (!add_special_tokens) break;
        if (!encodings->empty()) {
          encodings->front().insert(encodings->front().begin(), cls_);
        }
        for (Encoding& encoding : *encodings) encoding.push_back(sep_);
        break;
      case Kind::kTemplate:
        return Apply(add_special_tokens, encodings);
      case Kind::kSequence:
        for (const Processor& step : steps_) {
          if (std::string fault = step.Process(add_special_tokens, encodings); !fault.empty()) {
            return fault;
          }
        }
        break;
    }
    return "";
  }

 private:
  enum class Kind { kByteLevel, kBert, kTemplate, kSequence };

  Status ReadTemplates(object fields) {
    kind_ = Kind::kTemplate;
    ARROW_ASSIGN_OR_RAISE(object tokens, ObjectAt(fields, "special_tokens", kPostProcessorName));
    for (auto [name, definition] : tokens) {
      ARROW_RETURN_NOT_OK(ReadToken(definition).status());
    }
    ARROW_RETURN_NOT_OK(ReadTemplate(fields, "single", tokens, &single_));
    return ReadTemplate(fields, "pair", tokens, &pair_);
  }

  static Result<std::vector<int32_t>> ReadToken(element definition) {
    ARROW_ASSIGN_OR_RAISE(object fields, AsObject(definition, "post_processor's special token"));
    ARROW_RETURN_NOT_OK(StringAt(fields, "id", "post_processor's special token"));
    ARROW_ASSIGN_OR_RAISE(array texts, ArrayAt(fields, "tokens", "post_processor's special token"));
    for (element text : texts) {
      ARROW_RETURN_NOT_OK(AsString(text, "post_processor's special token"));
    }
    ARROW_ASSIGN_OR_RAISE(array values, ArrayAt(fields, "ids", "post_processor's special token"));
    std::vector<int32_t> ids;
    for (element value : values) {
      const std::optional<int32_t> id = AsId(value);
      if (!id)
        return Unsupported(kPostProcessorName,
                           " with an id that is not an integer from 0 to 2^31 - 1");
      ids.push_back(*id);
    }
    if (HasRepeatedKey(fields))
      return Unsupported(kPostProcessorName, " with a key that is given twice");
    return ids;
  }

  static Status ReadTemplate(object fields, std::string_view key, object tokens,
                             std::vector<Piece>* pieces) {
    ARROW_ASSIGN_OR_RAISE(array items, ArrayAt(fields, key, kPostProcessorName));
    for (element item : items) {
      ARROW_ASSIGN_OR_RAISE(object variant, AsObject(item, "post_processor's template"));
      const std::optional<element> special = Find(variant, "SpecialToken");
      const std::optional<element> sequence = Find(variant, "Sequence");
      if (variant.size() != 1 || (!special && !sequence)) {
        return Unsupported(kPostProcessorName, " with an unknown kind of template item");
      }
      ARROW_ASSIGN_OR_RAISE(object named,
                            AsObject(special ? *special : *sequence, "post_processor's template"));
      ARROW_ASSIGN_OR_RAISE(std::string_view id, StringAt(named, "id", kPostProcessorName));
      if (!IsU32(Find(named, "type_id")) || HasRepeatedKey(named)) {
        return Unsupported(kPostProcessorName, " with a template item without its one type_id");
      }
      Piece& piece = pieces->emplace_back();
      if (sequence) {
        if (id != "A" && id != "B")
          return Unsupported(kPostProcessorName, " with a template for text ", id);
        piece.text = id == "A" ? 0 : 1;
        continue;
      }
      piece.token = id;
      if (const std::optional<element> definition = Find(tokens, id)) {
        ARROW_ASSIGN_OR_RAISE(piece.ids, ReadToken(*definition));
      }
    }
    return Status::OK();
  }

  std::string Apply(bool add_special_tokens, std::vector<Encoding>* encodings) const {
    if (encodings->size() != 1 && encodings->size() != 2) {
      return "a template behind another one gets " + std::to_string(encodings->size()) +
             " parts instead of one or two";
    }
    std::vector<Encoding> result;
    for (const Piece& piece : encodings->size() == 1 ? single_ : pair_) {
      if (piece.text >= 0) {
        if (static_cast<size_t>(piece.text) >= encodings->size()) {
          return "the template for single texts asks for a second text, $B";
        }
        result.push_back((*encodings)[static_cast<size_t>(piece.text)]);
      } else if (add_special_tokens) {
        if (!piece.ids) return "special_tokens lacks the template's token " + piece.token;
        result.push_back(*piece.ids);
      }
    }
    *encodings = std::move(result);
    return "";
  }

  Kind kind_ = Kind::kByteLevel;
  int32_t sep_ = 0;
  int32_t cls_ = 0;
  std::vector<Piece> single_;
  std::vector<Piece> pair_;
  std::vector<Processor> steps_;
};

TextLayout MakeLayout(const Processor& processor, bool add_special_tokens) {
  TextLayout layout;
  std::vector<Encoding> encodings = {{kText}};
  layout.fault = processor.Process(add_special_tokens, &encodings);
  if (!layout.fault.empty()) return layout;
  layout.constants.assign(1, {});
  for (const Encoding& encoding : encodings) {
    for (const int32_t id : encoding) {
      if (id == kText) {
        layout.constants.emplace_back();
      } else {
        layout.constants.back().push_back(id);
      }
    }
  }
  return layout;
}

}  // namespace

Result<PostProcessing> MakePostProcessor(element component) {
  PostProcessing post;
  if (component.is_null()) return post;
  ARROW_ASSIGN_OR_RAISE(const Processor processor, Processor::Make(component));
  post.with_special = MakeLayout(processor, true);
  post.without_special = MakeLayout(processor, false);
  post.num_added = processor.num_added();
  return post;
}

Status LayOutText(const TextLayout& layout, size_t begin, IdBuffer* ids) {
  if (!layout.fault.empty()) {
    return Status::Invalid("the tokenizer's post_processor cannot be applied: ", layout.fault,
                           "; correct it in tokenizer.json");
  }
  const std::vector<int32_t> text(ids->data() + begin, ids->data() + ids->size());
  ids->Resize(begin);
  for (size_t i = 0; i < layout.constants.size(); ++i) {
    if (i > 0) ids->Append(text);
    ids->Append(layout.constants[i]);
  }
  return Status::OK();
}

}  // namespace easydata::tokenizers
