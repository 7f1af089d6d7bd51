#include "easydata/stream/vocabulary.h"

#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>

#include "easydata/json/bounded_json.h"
#include "easydata/stream/columns.h"

namespace easydata {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownFingerprint = 12;
constexpr json::JsonBounds kBounds{8, 1'000'000};  // what a file may say
constexpr size_t kMostRanges = 4096;               // of added tokens, which a file is believed

Json IdOrNull(const std::optional<int32_t>& id) { return id.has_value() ? Json(*id) : Json(); }

std::optional<int32_t> IdOf(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto id = value.get<int64_t>();
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(id);
}

std::optional<int32_t> IdOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : IdOf(*found);
}

VocabularyPtr FromJson(const Json& value, const std::string& file) {
  if (!value.is_object()) return nullptr;
  const auto fingerprint = value.find("fingerprint");
  if (fingerprint == value.end() || !fingerprint->is_string()) return nullptr;
  auto out = std::make_shared<Vocabulary>();
  out->fingerprint = fingerprint->get<std::string>();
  if (const auto name = value.find("name"); name != value.end() && name->is_string()) {
    out->name = name->get<std::string>();
  }
  if (const auto limit = value.find("id_limit");
      limit != value.end() && limit->is_number_integer()) {
    out->id_limit = limit->get<int64_t>();
  }
  out->eos_id = IdOf(value, "eos_token_id");
  out->bos_id = IdOf(value, "bos_token_id");
  out->pad_id = IdOf(value, "pad_token_id");
  out->file = file;
  const auto added = value.find("added");
  if (added == value.end() || !added->is_array() || added->size() > kMostRanges) return out;
  for (const Json& range : *added) {
    if (!range.is_array() || range.size() != 2) continue;
    const auto first = IdOf(range[0]);
    const auto last = IdOf(range[1]);
    if (first.has_value() && last.has_value()) out->added.emplace_back(*first, *last);
  }
  return out;
}

std::string Ends(const JoinedVocabularies& joined) {
  std::string ends;
  for (const VocabularyPtr& vocabulary : joined.all.known) {
    ends += (ends.empty() ? "" : ", ") +
            (vocabulary->eos_id.has_value() ? std::to_string(*vocabulary->eos_id) : "none");
  }
  return ends;
}

/// A vocabulary, and the stream that brought it first.
struct Brought {
  VocabularyPtr vocabulary;
  std::string stream;
};

Status Refused(const Brought& one, const Brought& other) {
  return Status::Invalid(
      one.stream, " and ", other.stream,
      " have tokens of two tokenizers: an id means one token here and another there; tokenize the "
      "text of both with one, or set allow_vocabularies=True, where that is meant: ",
      one.vocabulary->Shown(), " and ", other.vocabulary->Shown());
}

}  // namespace

bool Vocabulary::IsOrdinary(int32_t id) const {
  if (added.empty() || (id_limit > 0 && id >= id_limit)) return false;
  return std::none_of(added.begin(), added.end(),
                      [id](const auto& range) { return range.first <= id && id <= range.second; });
}

bool Vocabulary::IsLike(const Vocabulary& other) const {
  return fingerprint == other.fingerprint && eos_id == other.eos_id && bos_id == other.bos_id &&
         pad_id == other.pad_id;
}

std::string Vocabulary::Shown() const {
  const std::string hash = "fingerprint " + fingerprint.substr(0, kShownFingerprint);
  std::string shown = name.empty() ? "a tokenizer of " + hash : "'" + name + "' (" + hash + ")";
  if (is_stored()) shown += ", as " + file + " says";
  return shown;
}

std::vector<std::pair<int32_t, int32_t>> RangesOf(std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  std::vector<std::pair<int32_t, int32_t>> ranges;
  for (const int32_t id : ids) {
    if (!ranges.empty() && id <= ranges.back().second + 1) {
      ranges.back().second = id;
    } else {
      ranges.emplace_back(id, id);
    }
  }
  return ranges;
}

std::optional<int32_t> Vocabularies::pad_id() const {
  for (const VocabularyPtr& vocabulary : known) {
    if (vocabulary->pad_id.has_value()) return vocabulary->pad_id;
    if (vocabulary->eos_id.has_value()) return vocabulary->eos_id;
  }
  return std::nullopt;
}

std::optional<int64_t> Vocabularies::id_limit() const {
  std::optional<int64_t> limit;  // others may have more: they do not make an id one of these
  for (const VocabularyPtr& vocabulary : known) {
    if (vocabulary->id_limit <= 0) return std::nullopt;
    limit = std::max(limit.value_or(0), vocabulary->id_limit);
  }
  return limit;
}

std::string Vocabularies::ProblemOf(int64_t id) const {
  const auto limit = id_limit();
  if (!limit.has_value() || id < *limit) return "";
  std::string names;
  for (const VocabularyPtr& vocabulary : known) {
    names += (names.empty() ? "" : " and of ") + vocabulary->Shown();
  }
  return std::to_string(id) + " is no id of the tokenizer: its ids end at " +
         std::to_string(*limit - 1) + "; the tokens are of " + names;
}

void Vocabularies::Add(const VocabularyPtr& vocabulary) {
  const auto same = std::find_if(known.begin(), known.end(), [&](const VocabularyPtr& other) {
    return other->IsLike(*vocabulary);
  });
  if (same == known.end()) known.push_back(vocabulary);
}

VocabularyFunction AllOf(VocabularyPtr vocabulary) {
  if (vocabulary == nullptr) return nullptr;
  return [all = Vocabularies{{std::move(vocabulary)}, false}]() -> Result<Vocabularies> {
    return all;
  };
}

bool MayHaveTokens(const arrow::Schema& schema) {
  return std::any_of(schema.fields().begin(), schema.fields().end(), [](const auto& field) {
    return IsList(*field->type()) && arrow::is_integer(field->type()->field(0)->type()->id());
  });
}

nlohmann::json ToJson(const Vocabulary& vocabulary) {
  Json added = Json::array();
  for (const auto& [first, last] : vocabulary.added) added.push_back({first, last});
  return {{"fingerprint", vocabulary.fingerprint},
          {"name", vocabulary.name},
          {"id_limit", vocabulary.id_limit},
          {"eos_token_id", IdOrNull(vocabulary.eos_id)},
          {"bos_token_id", IdOrNull(vocabulary.bos_id)},
          {"pad_token_id", IdOrNull(vocabulary.pad_id)},
          {"added", std::move(added)}};
}

std::string VocabularyText(const Vocabularies& vocabularies) {
  if (vocabularies.known.empty()) return "";
  Json list = Json::array();
  for (const VocabularyPtr& vocabulary : vocabularies.known) list.push_back(ToJson(*vocabulary));
  if (vocabularies.has_unknown) list.push_back(nullptr);
  return list.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Vocabularies VocabulariesFromText(std::string_view text, const std::string& file) {
  Vocabularies out;
  if (text.empty()) return out;
  const auto parsed = json::ParseBoundedJson(text, kBounds);
  if (!parsed.ok() || !parsed->is_array()) return out;
  const Json& list = *parsed;
  // Of several nobody knows which document is of which.
  out.has_unknown = list.size() != 1;
  for (const Json& value : list) {
    if (auto vocabulary = FromJson(value, file); vocabulary != nullptr) {
      out.Add(vocabulary);
    } else {
      out.has_unknown = true;
    }
  }
  return out;
}

Result<JoinedVocabularies> JoinVocabularies(const std::vector<JoinedStream>& streams, bool allow) {
  JoinedVocabularies out;
  out.all.has_unknown = streams.empty();
  std::vector<Brought> brought;
  std::string unknown;
  std::string said;
  bool ids_differ = false;
  bool ends_differ = false;
  for (const JoinedStream& stream : streams) {
    Vocabularies of_stream;
    if (stream.vocabularies != nullptr) {
      ARROW_ASSIGN_OR_RAISE(of_stream, stream.vocabularies());
    }
    const Vocabulary* only = of_stream.only();
    out.ends.push_back(only == nullptr ? std::nullopt : only->eos_id);
    if (of_stream.has_unknown) {
      out.all.has_unknown = true;
      unknown += (unknown.empty() ? "" : ", ") + stream.name;
    }
    const size_t before = brought.size();
    for (const VocabularyPtr& vocabulary : of_stream.known) {
      for (size_t i = 0; i < before; ++i) {
        const Vocabulary& other = *brought[i].vocabulary;
        ends_differ |= other.eos_id != vocabulary->eos_id;
        if (other.fingerprint == vocabulary->fingerprint) continue;
        ids_differ = true;
        if (!allow && (other.is_stored() || vocabulary->is_stored())) {
          return Refused(brought[i], {vocabulary, stream.name});
        }
      }
      brought.push_back({vocabulary, stream.name});
      const size_t known = out.all.known.size();
      out.all.Add(vocabulary);
      if (out.all.known.size() == known) continue;
      said += (said.empty() ? "" : ", ") + stream.name + " has " + vocabulary->Shown();
    }
  }
  // Within one stream they may differ as well: its documents say it themselves.
  if (!ends_differ) out.ends.clear();
  if (!allow && (ids_differ || ends_differ)) {
    out.notice = std::string(ids_differ ? "the tokenizers differ, so that one id means several "
                                          "tokens in this stream: "
                                        : "the tokenizers name different EOS tokens: ") +
                 said + "; packing closes each document with its own EOS (" + Ends(out) + ")";
  }
  if (!unknown.empty() && !out.all.known.empty()) {
    out.notice += (out.notice.empty() ? "" : ". ") +
                  std::string("nothing says which tokenizer the tokens of ") + unknown +
                  " are of; they go with those of " + out.all.known.front()->Shown() +
                  " as if they were of the same";
  }
  return out;
}

config::FieldList VocabularyOptions::Fields() {
  using O = VocabularyOptions;
  return {config::Field{
      "allow_vocabularies", &O::allow_vocabularies,
      "Let tokens that were made before be of another tokenizer than the others, though an id then "
      "means several tokens in one stream; else they are an error. Tokenizers that datasets name "
      "may differ: a warning says so."}};
}

NoticeFunction ToldOnce(NoticeFunction notice) {
  if (notice == nullptr) return nullptr;
  return [notice = std::move(notice),
          told = std::make_shared<std::atomic<bool>>(false)](const std::string& text) {
    if (!told->exchange(true)) notice(text);
  };
}

std::function<Result<JoinedVocabularies>()> JoinedOnce(std::vector<JoinedStream> streams,
                                                       JoinOptions options) {
  const bool allow = options.vocabularies.allow_vocabularies;
  auto ask = AskedOnce<JoinedVocabularies>(
      [streams = std::move(streams), allow] { return JoinVocabularies(streams, allow); });
  // Told when nobody has to wait for it: who is told may wait for others.
  return [ask = std::move(ask),
          notice = ToldOnce(std::move(options.notice))]() -> Result<JoinedVocabularies> {
    ARROW_ASSIGN_OR_RAISE(auto joined, ask());
    if (notice != nullptr && !joined.notice.empty()) notice(joined.notice);
    return joined;
  };
}

VocabularyFunction AllOf(std::function<Result<JoinedVocabularies>()> joined) {
  return [joined = std::move(joined)]() -> Result<Vocabularies> {
    ARROW_ASSIGN_OR_RAISE(auto all, joined());
    return std::move(all.all);
  };
}

}  // namespace easydata
