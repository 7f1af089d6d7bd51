#include "easydata/source/data_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/nearest_name.h"
#include "easydata/files/compression.h"
#include "easydata/source/partitioned_source.h"

namespace easydata::source {
namespace {

/// Refuses options that a format does not know.
Status CheckFormatOptions(const DataFormat& format, const nlohmann::json& options) {
  std::vector<std::string> known = {std::string(kHivePartitioning)};
  for (const std::string_view option : format.options) {
    if (!option.empty()) known.emplace_back(option);
  }
  for (auto option = options.begin(); option != options.end(); ++option) {
    if (std::find(known.begin(), known.end(), option.key()) != known.end()) continue;
    return Status::Invalid("files of format \"", format.name, "\" have no option \"", option.key(),
                           "\"", Suggestion(option.key(), known));
  }
  return Status::OK();
}

}  // namespace

const std::vector<const DataFormat*>& DataFormats() {
#define EASYDATA_ADDRESS(Id, name) &k##Id##Format,
  static const std::vector<const DataFormat*> formats = {EASYDATA_DATA_FORMATS(EASYDATA_ADDRESS)};
#undef EASYDATA_ADDRESS
  return formats;
}

const DataFormat* FindFormat(std::string_view name) {
  for (const DataFormat* format : DataFormats()) {
    if (format->name == name) return format;
  }
  for (const DataFormat* format : DataFormats()) {
    for (const std::string_view suffix : format->suffixes) {
      if (!suffix.empty() && suffix.substr(1) == name) return format;
    }
  }
  return nullptr;
}

std::string FormatOfName(std::string_view path) {
  const std::string name = files::UncompressedName(path);
  for (const DataFormat* format : DataFormats()) {
    for (const std::string_view suffix : format->suffixes) {
      if (!suffix.empty() && name.ends_with(suffix)) return std::string(format->name);
    }
  }
  return "";
}

Result<std::shared_ptr<const Source>> MakeSource(std::string_view format,
                                                 std::vector<files::FileInfo> files,
                                                 const nlohmann::json& options) {
  const DataFormat* found = FindFormat(format);
  if (found == nullptr) {
    return Status::Invalid("there is no format \"", format, "\" of data files",
                           Suggestion(format, DataFormatNames()));
  }
  ARROW_RETURN_NOT_OK(CheckFormatOptions(*found, options));
  try {
    if (const auto window = options.find(kZstdMaxWindow); window != options.end()) {
      for (files::FileInfo& file : files) file.zstd_max_window = window->get<int64_t>();
    }
    ARROW_ASSIGN_OR_RAISE(auto source, found->make(std::move(files), options));
    if (options.value(kHivePartitioning, false)) return MakePartitionedSource(std::move(source));
    return source;
  } catch (const nlohmann::json::type_error& error) {
    return Status::TypeError("an option of format \"", found->name,
                             "\" has another type than it must have (", error.what(), ")");
  }
}

}  // namespace easydata::source
