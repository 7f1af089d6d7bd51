#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/source/data_formats.h"
#include "easydata/source/source.h"

namespace easydata::source {

/// The option of formats that may be compressed as a whole: the largest window of a frame of zstd.
inline constexpr std::string_view kZstdMaxWindow = "zstd_max_window";

/// The option of all formats: files have the columns that their folders' names say.
inline constexpr std::string_view kHivePartitioning = "hive_partitioning";

/// A format of data files: one row of the registry. Texts are lower case.
struct DataFormat {
  /// Its name for users: DatasetConfig's `type`.
  std::string_view name;
  /// Formats of one kind may stand side by side in a folder ("jsonl" is "json").
  std::string_view kind;
  /// Suffixes of its files, without those of codecs; each is another name of it without the dot.
  std::array<std::string_view, 4> suffixes{};
  /// Its name in the `datasets` library, where it has one.
  std::string_view builder{};
  using Options = std::array<std::string_view, 12>;
  /// Options that `make` knows; the others are refused before.
  Options options{};
  /// Makes a source of files; an option that is missing has its default.
  Result<std::shared_ptr<const Source>> (*make)(std::vector<files::FileInfo> files,
                                                const nlohmann::json& options);
};

#define EASYDATA_DECLARE(Id, name) extern const DataFormat k##Id##Format;
EASYDATA_DATA_FORMATS(EASYDATA_DECLARE)
#undef EASYDATA_DECLARE

/// All formats, in the order of the list.
const std::vector<const DataFormat*>& DataFormats();

/// Finds the format of a name or of a suffix without its dot ("jsonl", "ndjson"); null where there
/// is none.
const DataFormat* FindFormat(std::string_view name);

/// The name of a file's format by its suffix, a codec's suffix left out; empty where it has none.
std::string FormatOfName(std::string_view path);

/// Makes a source of files of a format. Invalid, with near names, for an unknown format or option;
/// TypeError for an option of another type.
Result<std::shared_ptr<const Source>> MakeSource(std::string_view format,
                                                 std::vector<files::FileInfo> files,
                                                 const nlohmann::json& options);

}  // namespace easydata::source
