#include <optional>
#include <utility>
#include <vector>

#include "tokenizers/component_json.h"
#include "tokenizers/pretokenize/character_steps.h"
#include "tokenizers/pretokenize/known_patterns.h"
#include "tokenizers/pretokenize/metaspace_steps.h"
#include "tokenizers/pretokenize/pattern_steps.h"
#include "tokenizers/pretokenize/pre_tokenizer.h"
#include "tokenizers/pretokenize/rewriting_steps.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;
using Step = std::unique_ptr<const PreTokenizer>;

constexpr std::string_view kPreTokenizerName = "pre_tokenizer";
constexpr int kMaxSequences = 32;

class StepSequence final : public PreTokenizer {
 public:
  explicit StepSequence(std::vector<Step> steps) : steps_(std::move(steps)) {}

  Status PreTokenize(PieceText* piece) const override {
    for (const Step& step : steps_) ARROW_RETURN_NOT_OK(step->PreTokenize(piece));
    return Status::OK();
  }

 private:
  const std::vector<Step> steps_;
};

// The components of a Sequence, of Sequences in it as well.
Status Flatten(element value, int depth, std::vector<object>* components) {
  if (depth > kMaxSequences) return Unsupported(kPreTokenizerName, " in Sequences in Sequences");
  ARROW_ASSIGN_OR_RAISE(object component, AsObject(value, kPreTokenizerName));
  if (TypeOf(component) != "Sequence") {
    components->push_back(component);
    return Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(array parts, ArrayAt(component, "pretokenizers", kPreTokenizerName));
  for (element part : parts) ARROW_RETURN_NOT_OK(Flatten(part, depth + 1, components));
  return Status::OK();
}

Result<SplitBehavior> BehaviorOf(object component) {
  ARROW_ASSIGN_OR_RAISE(std::string_view name, StringAt(component, "behavior", kPreTokenizerName));
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return Unsupported(kPreTokenizerName, " with behavior ", name);
}

// The value of a key that holds one character.
Result<char32_t> CharacterAt(object component, std::string_view key) {
  ARROW_ASSIGN_OR_RAISE(std::string_view text, StringAt(component, key, kPreTokenizerName));
  if (text.empty()) return Unsupported(kPreTokenizerName, " with an empty ", key);
  const utf8::CodePoint c = utf8::Decode(text.data());
  if (static_cast<size_t>(c.length) != text.size()) {
    return Unsupported(kPreTokenizerName, " with a ", key, " of several characters");
  }
  return c.value;
}

Result<Step> MakeSplit(object component) {
  ARROW_ASSIGN_OR_RAISE(SplitBehavior behavior, BehaviorOf(component));
  ARROW_ASSIGN_OR_RAISE(bool invert, BoolAt(component, "invert", kPreTokenizerName));
  ARROW_ASSIGN_OR_RAISE(object pattern, ObjectAt(component, "pattern", kPreTokenizerName));
  const bool is_regex = HasKey(pattern, "Regex");
  if (pattern.size() != 1 || is_regex == HasKey(pattern, "String")) {
    return Unsupported(kPreTokenizerName, " Split whose pattern is neither String nor Regex");
  }
  ARROW_ASSIGN_OR_RAISE(std::string_view text,
                        StringAt(pattern, is_regex ? "Regex" : "String", kPreTokenizerName));
  if (is_regex || text.empty()) return MakeRegexSplit(text, behavior, invert);
  return MakeLiteralSplit(text, behavior, invert);
}

Result<PrependScheme> PrependSchemeOf(object component) {
  PrependScheme scheme = PrependScheme::kAlways;
  if (HasKey(component, "prepend_scheme")) {
    ARROW_ASSIGN_OR_RAISE(std::string_view name,
                          StringAt(component, "prepend_scheme", kPreTokenizerName));
    if (name == "never") {
      scheme = PrependScheme::kNever;
    } else if (name == "first") {
      scheme = PrependScheme::kFirst;
    } else if (name != "always") {
      return Unsupported(kPreTokenizerName, " Metaspace with prepend_scheme ", name);
    }
  }
  // Of older files. The reference refuses false beside another scheme.
  ARROW_ASSIGN_OR_RAISE(bool add_prefix_space,
                        BoolOr(component, "add_prefix_space", true, kPreTokenizerName));
  if (!add_prefix_space && scheme != PrependScheme::kNever) {
    return Unsupported(kPreTokenizerName,
                       " Metaspace with add_prefix_space false and a prepend_scheme");
  }
  return scheme;
}

class PlanMaker {
 public:
  explicit PlanMaker(bool leave_bytes) : leave_bytes_(leave_bytes) {}

  // Adds the component at `i`, or several that are one step. Returns where to go on.
  Result<size_t> Add(const std::vector<object>& components, size_t i) {
    if (const auto known = FindKnownSteps(components, i)) {
      if (i == 0) first_pattern_ = known->pattern;
      steps_.push_back(MakeScannerSplit(known->pattern));
      regex_is_done_ = known->includes_regex;
      return i + known->count;
    }
    if (TypeOf(components[i]) == "WhitespaceSplit" && i + 2 == components.size() &&
        TypeOf(components[i + 1]) == "Metaspace") {
      ARROW_RETURN_NOT_OK(AddMetaspace(components[i + 1], /*behind_white_space=*/true));
      return i + 2;
    }
    ARROW_RETURN_NOT_OK(Add(components[i], i + 1 == components.size()));
    return i + 1;
  }

  PreTokenizerPlan Finish() {
    if (steps_.size() == 1) {
      plan_.steps = std::move(steps_[0]);
    } else if (!steps_.empty()) {
      plan_.steps = std::make_unique<StepSequence>(std::move(steps_));
    }
    return std::move(plan_);
  }

 private:
  Status Add(object component, bool is_last) {
    const std::string_view type = TypeOf(component);
    if (type == "ByteLevel") return AddByteLevel(component, is_last);
    if (type == "Metaspace") return AddMetaspace(component, /*behind_white_space=*/false);
    ARROW_ASSIGN_OR_RAISE(Step step, MakeCuttingStep(type, component));
    steps_.push_back(std::move(step));
    return Status::OK();
  }

  Status AddByteLevel(object component, bool is_last) {
    ARROW_ASSIGN_OR_RAISE(bool add_prefix_space,
                          BoolAt(component, "add_prefix_space", kPreTokenizerName));
    ARROW_RETURN_NOT_OK(BoolAt(component, "trim_offsets", kPreTokenizerName));
    bool use_regex = true;
    if (HasKey(component, "use_regex")) {
      ARROW_ASSIGN_OR_RAISE(use_regex, BoolAt(component, "use_regex", kPreTokenizerName));
    }
    if (regex_is_done_) use_regex = false;
    regex_is_done_ = false;
    plan_.has_byte_level = true;
    plan_.maps_bytes = leave_bytes_ && is_last;
    if (plan_.maps_bytes) FindScanner(add_prefix_space, use_regex);
    if (Step step = MakeByteLevel(add_prefix_space, use_regex, !plan_.maps_bytes)) {
      steps_.push_back(std::move(step));
    }
    return Status::OK();
  }

  // Whether the steps so far and a ByteLevel after them are one scanner.
  void FindScanner(bool add_prefix_space, bool use_regex) {
    if (steps_.empty() && use_regex) {
      plan_.scanner = {SplitPattern::kGpt2, add_prefix_space};
    } else if (steps_.size() == 1 && first_pattern_ && !use_regex && !add_prefix_space) {
      plan_.scanner = {*first_pattern_, false};
    }
  }

  // `behind_white_space`: and a WhitespaceSplit before it.
  Status AddMetaspace(object component, bool behind_white_space) {
    ARROW_ASSIGN_OR_RAISE(char32_t replacement, CharacterAt(component, "replacement"));
    ARROW_ASSIGN_OR_RAISE(PrependScheme scheme, PrependSchemeOf(component));
    ARROW_ASSIGN_OR_RAISE(bool split, BoolOr(component, "split", true, kPreTokenizerName));
    if (const auto text = Find(component, "str_rep")) {
      ARROW_RETURN_NOT_OK(AsString(*text, "str_rep"));
    }
    if (behind_white_space) {
      constexpr char32_t kAscii = 0x80;
      if (scheme == PrependScheme::kAlways && replacement >= kAscii) {
        steps_.push_back(MakeMetaspaceWords(replacement, split));
        return Status::OK();
      }
      steps_.push_back(MakeWhitespaceSplit());
    }
    if (scheme == PrependScheme::kFirst) plan_.asks_for_origin = true;
    steps_.push_back(MakeMetaspace(replacement, scheme, split));
    return Status::OK();
  }

  static Result<Step> MakeCuttingStep(std::string_view type, object component) {
    if (type == "Split") return MakeSplit(component);
    if (type == "Whitespace") return MakeWhitespace();
    if (type == "WhitespaceSplit") return MakeWhitespaceSplit();
    if (type == "BertPreTokenizer") return MakeBertPreTokenizer();
    if (type == "UnicodeScripts") return MakeUnicodeScripts();
    if (type == "Digits") {
      ARROW_ASSIGN_OR_RAISE(bool individual,
                            BoolAt(component, "individual_digits", kPreTokenizerName));
      return MakeDigits(individual);
    }
    if (type == "Punctuation") {
      SplitBehavior behavior = SplitBehavior::kIsolated;
      if (HasKey(component, "behavior")) {
        ARROW_ASSIGN_OR_RAISE(behavior, BehaviorOf(component));
      }
      return MakePunctuation(behavior);
    }
    if (type == "CharDelimiterSplit") {
      ARROW_ASSIGN_OR_RAISE(char32_t delimiter, CharacterAt(component, "delimiter"));
      return MakeCharDelimiterSplit(delimiter);
    }
    if (type == "FixedLength") {
      constexpr int64_t kDefaultLength = 5;
      int64_t length = kDefaultLength;
      if (HasKey(component, "length")) {
        ARROW_ASSIGN_OR_RAISE(length, IntAt(component, "length", kPreTokenizerName));
      }
      if (length <= 0) return Unsupported(kPreTokenizerName, " FixedLength of ", length);
      return MakeFixedLength(static_cast<size_t>(length));
    }
    return Unsupported(kPreTokenizerName, type.empty() ? " without a type" : " ", type);
  }

  const bool leave_bytes_;
  PreTokenizerPlan plan_;
  std::vector<Step> steps_;
  std::optional<SplitPattern> first_pattern_;  // of the first step, if it is a scanner
  bool regex_is_done_ = false;                 // of the ByteLevel to come
};

}  // namespace

Result<PreTokenizerPlan> MakePreTokenizer(element component, bool leave_bytes) {
  if (component.is_null()) return PreTokenizerPlan();
  std::vector<object> components;
  ARROW_RETURN_NOT_OK(Flatten(component, 0, &components));
  PlanMaker maker(leave_bytes);
  for (size_t i = 0; i < components.size();) {
    ARROW_ASSIGN_OR_RAISE(i, maker.Add(components, i));
  }
  return maker.Finish();
}

}  // namespace easydata::tokenizers
