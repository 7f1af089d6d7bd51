#include "reference_tokenizer/post_processor.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reference_tokenizer/normalizer.h"
#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;

int32_t IdOfPair(const json& component, const char* key) {
  const json& pair = component.at(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_unsigned()) {
    throw NotCovered(std::string("an odd ") + key);
  }
  return pair[1].get<int32_t>();
}

Encoding Surround(const Encoding& encoding, const Ids& before, const Ids& behind) {
  Encoding out;
  out.ids = before;
  out.ids.insert(out.ids.end(), encoding.ids.begin(), encoding.ids.end());
  out.ids.insert(out.ids.end(), behind.begin(), behind.end());
  for (const Encoding& part : encoding.overflow) {
    out.overflow.push_back(Surround(part, before, behind));
  }
  return out;
}

// BERT and RoBERTa: they differ in what stands between the two texts of a pair.
PostProcessor MakeBertProcessor(const json& component, bool roberta) {
  const Ids cls = {IdOfPair(component, "cls")};
  const Ids sep = {IdOfPair(component, "sep")};
  return {[=](bool pair) -> size_t { return pair ? (roberta ? 4 : 3) : 2; },
          [=](std::vector<Encoding> encodings, bool add_special_tokens) {
            if (!add_special_tokens) return encodings;
            for (size_t i = 0; i < encodings.size(); ++i) {
              const Ids before = i == 0 ? cls : roberta ? sep : Ids();
              encodings[i] = Surround(encodings[i], before, sep);
            }
            return encodings;
          }};
}

struct TemplatePiece {
  bool is_text;
  size_t text;  // 0: A, 1: B
  Ids ids;
};

std::vector<TemplatePiece> TemplateAt(const json& component, const char* key) {
  std::vector<TemplatePiece> pieces;
  for (const json& piece : component.at(key)) {
    if (piece.contains("Sequence")) {
      pieces.push_back({true, StringAt(piece["Sequence"], "id") == "A" ? 0u : 1u, {}});
      continue;
    }
    const std::string id = StringAt(piece.at("SpecialToken"), "id");
    const json& tokens = component.at("special_tokens");
    if (!tokens.contains(id)) throw NotCovered("a template of a token that it does not list");
    pieces.push_back({false, 0, tokens[id].at("ids").get<Ids>()});
  }
  return pieces;
}

PostProcessor MakeTemplate(const json& component) {
  const std::vector<TemplatePiece> templates[] = {TemplateAt(component, "single"),
                                                  TemplateAt(component, "pair")};
  const std::vector<TemplatePiece> single = templates[0], pair = templates[1];
  return {[=](bool is_pair) {
            size_t added = 0;
            for (const TemplatePiece& piece : is_pair ? pair : single) added += piece.ids.size();
            return added;
          },
          [=](const std::vector<Encoding>& encodings, bool add_special_tokens) {
            if (encodings.empty() || encodings.size() > 2) {
              throw LibraryFailure("a template of more than two texts");
            }
            std::vector<Encoding> out;
            for (const TemplatePiece& piece : encodings.size() == 2 ? pair : single) {
              if (piece.is_text) {
                if (piece.text >= encodings.size()) throw LibraryFailure("no second text");
                out.push_back(encodings[piece.text]);
              } else if (add_special_tokens) {
                out.push_back({piece.ids, {}});
              }
            }
            return out;
          }};
}

PostProcessor MakeProcessorSequence(const json& component) {
  std::vector<PostProcessor> steps;
  for (const json& step : component.at("processors")) steps.push_back(MakePostProcessor(step));
  return {[=](bool pair) {
            size_t added = 0;
            for (const PostProcessor& step : steps) added += step.added(pair);
            return added;
          },
          [=](std::vector<Encoding> encodings, bool add_special_tokens) {
            for (const PostProcessor& step : steps) {
              encodings = step.process(std::move(encodings), add_special_tokens);
            }
            return encodings;
          }};
}

Encoding TruncatedTo(const Encoding& encoding, size_t length, const Truncation& truncation) {
  const Ids& ids = encoding.ids;
  if (length >= ids.size()) return encoding;
  if (length == 0) return {{}, {encoding}};
  if (truncation.stride >= length) throw LibraryFailure("stride is not less than the length");
  std::vector<Encoding> parts;
  const size_t step = length - truncation.stride;
  const auto take = [&](size_t begin, size_t end) {
    parts.push_back({Ids(ids.begin() + static_cast<ptrdiff_t>(begin),
                         ids.begin() + static_cast<ptrdiff_t>(end)),
                     {}});
  };
  if (truncation.left) {
    for (size_t end = ids.size();; end -= step) {
      take(end > length ? end - length : 0, end);
      if (end <= length) break;
    }
  } else {
    for (size_t begin = 0;; begin += step) {
      take(begin, std::min(begin + length, ids.size()));
      if (begin + length >= ids.size()) break;
    }
  }
  Encoding first = parts[0];
  first.overflow.assign(parts.begin() + 1, parts.end());
  return first;
}

void PadOne(Encoding* encoding, size_t length, const Padding& padding) {
  for (Encoding& part : encoding->overflow) PadOne(&part, length, padding);
  if (encoding->ids.size() >= length) return;
  const size_t count = length - encoding->ids.size();
  encoding->ids.insert(padding.left ? encoding->ids.begin() : encoding->ids.end(), count,
                       padding.id);
}

}  // namespace

PostProcessor MakePostProcessor(const json& component) {
  if (component.is_null()) {
    return {[](bool) -> size_t { return 0; },
            [](std::vector<Encoding> encodings, bool) { return encodings; }};
  }
  // Told apart by their members, whatever their type says.
  if (component.contains("sep") && component.contains("cls")) {
    return MakeBertProcessor(
        component, component.contains("trim_offsets") && component.contains("add_prefix_space"));
  }
  if (component.contains("add_prefix_space")) return MakePostProcessor(nullptr);  // ByteLevel
  if (component.contains("single")) return MakeTemplate(component);
  if (component.contains("processors")) return MakeProcessorSequence(component);
  throw NotCovered("a post-processor of another kind");
}

Encoding Merge(const std::vector<Encoding>& encodings) {
  Encoding merged;
  const auto append = [](Encoding to, const Encoding& from) {
    to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
    return to;
  };
  for (const Encoding& next : encodings) {
    std::vector<Encoding> overflow;
    for (const Encoding& part : merged.overflow) {
      overflow.push_back(append(part, next));
      for (const Encoding& other : next.overflow) overflow.push_back(append(part, other));
    }
    for (const Encoding& other : next.overflow) {
      overflow.push_back(append({merged.ids, {}}, other));
    }
    merged = append(merged, next);
    merged.overflow = std::move(overflow);
  }
  return merged;
}

Truncation MakeTruncation(const json& component) {
  Truncation truncation;
  truncation.max_length = component.at("max_length").get<size_t>();
  truncation.stride = component.at("stride").get<size_t>();
  truncation.strategy = StringAt(component, "strategy");
  truncation.left = component.contains("direction") && StringAt(component, "direction") == "Left";
  return truncation;
}

void Truncate(std::vector<Encoding>* encodings, const Truncation& truncation, size_t max_length) {
  Encoding& first = encodings->front();
  Encoding* second = encodings->size() > 1 ? &(*encodings)[1] : nullptr;
  if (max_length == 0) {
    for (Encoding& encoding : *encodings) encoding = TruncatedTo(encoding, 0, truncation);
    return;
  }
  size_t n1 = first.ids.size();
  size_t n2 = second == nullptr ? 0 : second->ids.size();
  if (n1 + n2 <= max_length) return;
  const size_t excess = n1 + n2 - max_length;
  if (truncation.strategy == "LongestFirst") {
    if (second == nullptr) {
      first = TruncatedTo(first, max_length, truncation);
      return;
    }
    const bool swap = n1 > n2;
    if (swap) std::swap(n1, n2);
    n2 = n1 > max_length ? n1 : std::max(n1, max_length - n1);
    if (n1 + n2 > max_length) {
      n1 = max_length / 2;
      n2 = n1 + max_length % 2;
    }
    if (swap) std::swap(n1, n2);
    first = TruncatedTo(first, n1, truncation);
    *second = TruncatedTo(*second, n2, truncation);
    return;
  }
  Encoding* target = truncation.strategy == "OnlyFirst" ? &first : second;
  if (target == nullptr) throw LibraryFailure("no second text to truncate");
  if (target->ids.size() <= excess) throw LibraryFailure("a text too short to truncate");
  *target = TruncatedTo(*target, target->ids.size() - excess, truncation);
}

Padding MakePadding(const json& component) {
  Padding padding;
  const json& strategy = component.at("strategy");
  padding.is_fixed = strategy.is_object();
  if (padding.is_fixed) padding.fixed = strategy.at("Fixed").get<size_t>();
  padding.left = StringAt(component, "direction") == "Left";
  const auto multiple = component.find("pad_to_multiple_of");
  if (multiple != component.end() && !multiple->is_null())
    padding.multiple = multiple->get<size_t>();
  padding.id = component.at("pad_id").get<int32_t>();
  return padding;
}

void Pad(std::vector<Encoding>* batch, const Padding& padding) {
  size_t length = padding.fixed;
  if (!padding.is_fixed) {
    for (const Encoding& encoding : *batch) length = std::max(length, encoding.ids.size());
  }
  if (padding.multiple > 0 && length % padding.multiple > 0) {
    length += padding.multiple - length % padding.multiple;
  }
  for (Encoding& encoding : *batch) PadOne(&encoding, length, padding);
}

}  // namespace easydata::tokenizers::reference
