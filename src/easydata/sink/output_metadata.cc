#include "easydata/sink/output_metadata.h"

#include <algorithm>
#include <set>
#include <utility>

#include "easydata/json/bounded_json.h"
#include "easydata/stream/stage.h"

namespace easydata::sink {
namespace {

constexpr json::JsonBounds kBounds{200, 16'000'000};

/// A name for messages: JSON text, whatever characters it has.
std::string Shown(const nlohmann::json& value) {
  constexpr size_t kShown = 200;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  if (text.size() > kShown) text.replace(kShown, std::string::npos, "...");
  return text;
}

Result<int64_t> Count(const nlohmann::json& shard, const char* key) {
  const auto found = shard.find(key);
  if (found == shard.end()) return Status::Invalid(key, " is missing");
  if (!IsWholeNumber(*found) || *found < 0 || found->get<int64_t>() >> 62 != 0) {
    return Status::Invalid(key, " must be a count, not ", Shown(*found));
  }
  return found->get<int64_t>();
}

/// Counts by the name of a `what`; none where the key is missing.
Result<std::map<std::string, int64_t>> CountsByName(const nlohmann::json& shard, const char* key,
                                                    const char* what) {
  std::map<std::string, int64_t> counts;
  const auto found = shard.find(key);
  if (found == shard.end()) return counts;
  if (!found->is_object()) return Status::Invalid(key, " must be counts by ", what);
  for (const auto& [name, count] : found->items()) {
    ARROW_ASSIGN_OR_RAISE(counts[name], Count(*found, name.c_str()));
  }
  return counts;
}

bool IsHash(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Makes the error of a damaged metadata file; says what to do.
Status Damaged(const std::string& path, const std::string& what) {
  return Status::Invalid(path, " is damaged: ", what,
                         "; nothing was read or deleted that it names. Write the output anew, to "
                         "another folder or after this one was moved away");
}

Result<std::vector<ShardRecord>> ShardsOf(const outputs::OutputStore& store,
                                          const nlohmann::json& values) {
  const auto listed = values.find("shards");
  if (listed == values.end() || !listed->is_array()) return Status::Invalid("shards is no list");
  std::vector<ShardRecord> shards;
  std::set<std::string> names;
  for (size_t i = 0; i < listed->size(); ++i) {
    const std::string where = "shards[" + std::to_string(i) + "]: ";
    auto shard = ShardFromJson((*listed)[i]);
    if (!shard.ok()) return Status::Invalid(where, shard.status().message());
    if (!names.insert(shard->name).second) {
      return Status::Invalid(where, shard->name, " is named twice");
    }
    shards.push_back(std::move(*shard));
  }
  // All names first: no file is examined where one of them is wrong.
  for (const ShardRecord& shard : shards) {
    ARROW_RETURN_NOT_OK(CheckOwnFile(store, shard.name));
  }
  return shards;
}

}  // namespace

nlohmann::json ToJson(const ShardRecord& shard) {
  nlohmann::json value = {{"name", shard.name},
                          {"rows", shard.rows},
                          {"tokens", shard.tokens},
                          {"bytes", shard.bytes},
                          {"xxh3", shard.hash}};
  if (!shard.nulls.empty()) value["nulls"] = shard.nulls;
  if (!shard.source_tokens.empty()) value["source_tokens"] = shard.source_tokens;
  return value;
}

std::optional<nlohmann::json> ParseSaved(const std::string& text) {
  auto value = json::ParseBoundedJson(text, kBounds);
  if (!value.ok()) return std::nullopt;
  return std::move(*value);
}

Result<ShardRecord> ShardFromJson(const nlohmann::json& value) {
  if (!value.is_object()) return Status::Invalid("must be an object, not ", Shown(value));
  ShardRecord shard;
  const auto name = value.find("name");
  if (name == value.end() || !name->is_string()) return Status::Invalid("name is no text");
  shard.name = name->get<std::string>();
  if (!IsPlainName(shard.name) || shard.name == kMetadataName || shard.name == kUserMetadataName) {
    return Status::Invalid(Shown(*name), " is not the plain name of a shard of this folder");
  }
  ARROW_ASSIGN_OR_RAISE(shard.rows, Count(value, "rows"));
  ARROW_ASSIGN_OR_RAISE(shard.tokens, Count(value, "tokens"));
  ARROW_ASSIGN_OR_RAISE(shard.bytes, Count(value, "bytes"));
  const auto hash = value.find("xxh3");
  if (hash == value.end() || !hash->is_string() || !IsHash(hash->get<std::string>())) {
    return Status::Invalid("xxh3 must be 16 hexadecimal digits");
  }
  shard.hash = hash->get<std::string>();
  ARROW_ASSIGN_OR_RAISE(shard.nulls, CountsByName(value, "nulls", "column"));
  ARROW_ASSIGN_OR_RAISE(shard.source_tokens, CountsByName(value, "source_tokens", "source"));
  return shard;
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

Status CheckOwnFile(const outputs::OutputStore& store, const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store.KindOf(name));
  if (kind == files::PathKind::kFile || kind == files::PathKind::kNothing) return Status::OK();
  return Status::Invalid(Shown(name), " is ",
                         kind == files::PathKind::kLink ? "a symbolic link" : "not a regular file",
                         ", which is nothing that we wrote");
}

Result<std::optional<OutputMetadata>> ReadOutputMetadata(const outputs::OutputStore& store) {
  const std::string path = store.PathOf(kMetadataName);
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store.KindOf(kMetadataName));
  if (kind == files::PathKind::kNothing) return std::nullopt;
  ARROW_RETURN_NOT_OK(CheckOwnFile(store, kMetadataName));
  ARROW_ASSIGN_OR_RAISE(const std::string text, store.Read(kMetadataName));
  auto values = ParseSaved(text);
  if (!values.has_value()) return Damaged(path, "it is not JSON");
  const bool ours = values->is_object() && values->contains("kind") &&
                    values->at("kind") == kMetadataKind && values->contains("metadata_version");
  if (!ours) return std::nullopt;
  const nlohmann::json& version = values->at("metadata_version");
  if (!IsWholeNumber(version) || version < 1) {
    return Damaged(path, "metadata_version is " + Shown(version));
  }
  if (version > kMetadataVersion) {
    return Status::Invalid(path, " is of a newer version of EasyData (metadata_version ",
                           Shown(version), "); use that one");
  }
  auto shards = ShardsOf(store, *values);
  if (shards.status().IsInvalid()) return Damaged(path, shards.status().message());
  ARROW_RETURN_NOT_OK(shards.status());
  return OutputMetadata{std::move(*shards), std::move(*values)};
}

}  // namespace easydata::sink
