#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/config/field.h"
#include "easydata/files/text_encoding.h"

namespace easydata::source {

/// How delimiter-separated files are written down, as users say it.
struct CsvOptions {
  static constexpr const char* kName = "CsvOptions";
  static constexpr const char* kDoc = "How delimiter-separated files are written down.";
  static constexpr const char* kNodes[] = {"source.csv"};

  std::optional<std::string> delimiter;
  std::string quotechar = "\"";
  std::string encoding = "utf-8";
  std::optional<bool> header;
  std::optional<std::vector<std::string>> column_names;
  std::optional<std::string> comment;

  static config::FieldList Fields();
  /// Those of a source's JSON; what is not in it, or null, has its default. May throw
  /// nlohmann::json::type_error.
  static CsvOptions Of(const nlohmann::json& options);
  void Check(const std::string& path, config::Problems* problems) const;
};

/// The same as a reader uses it.
struct CsvDialect {
  char delimiter = ',';
  /// What a field with delimiters or line ends in it stands between; none: nothing is quoted.
  std::optional<char> quote = '"';
  files::TextEncoding encoding;
  /// Whether the first record names the columns; unset: unless `column_names` does.
  std::optional<bool> header;
  /// Empty: the first record has them.
  std::vector<std::string> column_names;
  /// Lines that begin with it are left out; empty: none are.
  std::string comment;

  bool has_header() const { return header.value_or(column_names.empty()); }
  /// Adds what is not as it is without options.
  void Describe(nlohmann::json* out) const;
};

/// Invalid, naming the option, where one has no meaning. `delimiter`: where the options name none.
Result<CsvDialect> MakeCsvDialect(const CsvOptions& options, char delimiter);

}  // namespace easydata::source
