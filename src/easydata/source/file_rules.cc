#include "easydata/source/file_rules.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "easydata/base/utc_time.h"
#include "easydata/stream/fingerprint.h"

namespace easydata::source {
namespace {

/// Names below the folder that all files lie in never count by themselves.
bool AreNamesBelowFolder(const ComparedNode&) { return true; }

/// Whether the files are those of the state, wherever they lie.
bool AreSameFiles(const ComparedNode& source) { return source.IsSame("names"); }

/// The same where shards were asked for, and those are all files.
bool AreAllOfSameFiles(const ComparedNode& source) {
  return source.Saved("files") != nullptr && source.Current("files") != nullptr &&
         *source.Saved("shards") == *source.Saved("files") &&
         *source.Current("shards") == *source.Current("files") && AreSameFiles(source);
}

/// Whether files of the streams that follow each other lie elsewhere, and are the same.
bool AreFilesElsewhere(const ComparedNode& concat) {
  bool is_any_elsewhere = false;
  for (const ComparedNode& source : concat.Upstream()) {
    if (source.Saved("files") == nullptr || source.Current("files") == nullptr) continue;
    if (source.IsSame("files")) continue;
    if (!source.MayDiffer("files")) return false;
    is_any_elsewhere = true;
  }
  return is_any_elsewhere;
}

std::string ShowOfFile(const std::string& option, const nlohmann::json& value) {
  if (option == "bytes") return value.dump() + " bytes";
  return value.is_number_integer() ? UtcTime(value.get<int64_t>()) : value.dump();
}

/// How the files of a source changed whose names did not.
std::string DescribeChangedFiles(const ComparedNode& source, const std::string& option) {
  const nlohmann::json& saved = *source.Saved(option);
  const nlohmann::json& now = source.node->options->at(option);
  const nlohmann::json& paths = source.node->options->at("files");
  const auto [begin, end] = FindChangedItems(saved, *source.Current(option), now);
  if (end > paths.size() || begin >= end) return source.options + option + " changed";
  std::string text =
      source.stream.empty() ? "" : source.stream.substr(0, source.stream.size() - 1) + " ";
  const std::string first = paths[begin].get<std::string>();
  const bool is_one = begin + 1 == end;
  text += is_one ? first
                 : "one of the " + std::to_string(end - begin) + " files from " + first + " to " +
                       paths[end - 1].get<std::string>();
  text += " changed since the state was saved";
  if (is_one) {
    const bool is_known = saved.is_array() && begin < saved.size();
    text += is_known ? ", from " + ShowOfFile(option, saved[begin]) + " to " : ", to ";
    text += ShowOfFile(option, now[begin]);
  }
  if (option != "mtimes") return text;
  return text +
         " (a copy has another time, too: where only the time is another, give the source "
         "identity=\"size\" to resume)";
}

/// The commits on the Hub at which the state's files are, if they are others now: " (name ...)".
std::string ShowSavedRevisions(const ComparedNode& source) {
  const nlohmann::json* const saved = source.Saved("revisions");
  if (saved == nullptr || !saved->is_array() || source.IsSame("revisions")) return "";
  std::string text;
  for (const nlohmann::json& revision : *saved) {
    if (revision.is_string()) text += (text.empty() ? "" : ", ") + revision.get<std::string>();
  }
  return text.empty() ? "" : " (name their revision: " + text + ")";
}

std::string ExplainChangedFiles(const ComparedNode& source, const std::string& option) {
  return "the saved state is of other files: " + DescribeChangedFiles(source, option) +
         "; resume with the files it was saved with" + ShowSavedRevisions(source) +
         ", or start anew";
}

/// Of files on the Hub, where there are others by name at another commit.
std::string ExplainOtherFiles(const ComparedNode& source, const std::string&) {
  const std::string revisions = ShowSavedRevisions(source);
  const nlohmann::json& now = source.node->options->at("files");
  if (revisions.empty() || now.empty()) return "";
  return "the saved state is of other files than are there now: not of " +
         now.front().get<std::string>() + (now.size() > 1 ? " and those beside it" : "") +
         "; resume with the files it was saved with" + revisions + ", or start anew";
}

/// What is only there for messages.
bool MayAlwaysDiffer(const ComparedNode&) { return true; }

// Names of files tell more than what those were when they were listed; of that, the most telling
// comes first.
constexpr OptionRule kFileRules[] = {
    {.option = "names", .may_lack = true, .may_differ = AreNamesBelowFolder},
    {.option = "files", .may_differ = AreSameFiles, .explain = ExplainOtherFiles},
    {.option = "revisions", .may_lack = true, .may_differ = MayAlwaysDiffer, .is_kept = true},
    {.option = "shards", .may_differ = AreAllOfSameFiles},
    {.option = "bytes", .rank = 1, .explain = ExplainChangedFiles},
    {.option = "hashes", .may_lack = true, .rank = 2, .explain = ExplainChangedFiles},
    {.option = "tags", .may_lack = true, .rank = 3, .explain = ExplainChangedFiles},
    {.option = "mtimes", .may_lack = true, .rank = 4, .explain = ExplainChangedFiles},
};

constexpr OptionRule kShardNameRules[] = {
    {.option = "shard_names", .may_differ = AreFilesElsewhere},
};

}  // namespace

std::span<const OptionRule> FileRules() { return kFileRules; }

std::span<const OptionRule> ShardNameRules() { return kShardNameRules; }

}  // namespace easydata::source
