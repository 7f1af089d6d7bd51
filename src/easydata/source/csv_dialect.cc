#include "easydata/source/csv_dialect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/config/descriptor.h"

namespace easydata::source {
namespace {

/// A tab as it is written where none can be typed.
constexpr char kWrittenTab[] = "\\t";

std::string Delimiter(const CsvOptions& options) {
  if (!options.delimiter.has_value()) return "";
  return *options.delimiter == kWrittenTab ? "\t" : *options.delimiter;
}

/// A byte above ASCII is a part of a character: to divide at it would cut the character.
bool IsOneAsciiCharacter(const std::string& text) {
  return text.size() == 1 && static_cast<unsigned char>(text[0]) < 0x80;
}

bool HasLineEnd(const std::string& text) { return text.find_first_of("\r\n") != text.npos; }

template <typename T>
void Take(const nlohmann::json& options, const char* name, std::optional<T>* out) {
  const auto found = options.find(name);
  if (found != options.end() && !found->is_null()) *out = found->get<T>();
}

}  // namespace

config::FieldList CsvOptions::Fields() {
  using O = CsvOptions;
  return {
      config::Field{"delimiter", &O::delimiter,
                    "CSV: the one ASCII character between fields; unset: a comma, and a tab (also "
                    "written \"\\t\") where the format is tsv."},
      config::Field{
          "quotechar", &O::quotechar,
          "CSV: the one ASCII character around fields that hold delimiters or line ends; \"\": "
          "nothing is quoted (quoting=csv.QUOTE_NONE)."},
      config::Field{"encoding", &O::encoding,
                    "CSV: how text is encoded, by a name that Python has for it: latin-1, cp1252, "
                    "utf-16, ... A record that cannot be decoded is a row with an error."},
      config::Field{"header", &O::header,
                    "CSV: whether the first record names the columns; unset: unless column_names "
                    "does. With both, column_names takes precedence over the names in the file."},
      config::Field{"column_names", &O::column_names,
                    "CSV: names of the columns, in their order in the file; unset: the first "
                    "record has them."},
      config::Field{"comment", &O::comment,
                    "CSV: lines that begin with this text are left out; within a line it is text."},
  };
}

CsvOptions CsvOptions::Of(const nlohmann::json& options) {
  CsvOptions out;
  std::optional<std::string> quotechar, encoding;
  Take(options, "delimiter", &out.delimiter);
  Take(options, "quotechar", &quotechar);
  Take(options, "encoding", &encoding);
  Take(options, "header", &out.header);
  Take(options, "column_names", &out.column_names);
  Take(options, "comment", &out.comment);
  if (quotechar.has_value()) out.quotechar = *quotechar;
  if (encoding.has_value()) out.encoding = *encoding;
  return out;
}

void CsvOptions::Check(const std::string& path, config::Problems* problems) const {
  const auto add = [&](const char* option, const std::string& text) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, option), text});
  };
  const std::string between = Delimiter(*this);
  if (delimiter.has_value() &&
      (!IsOneAsciiCharacter(between) || HasLineEnd(between) || between == quotechar)) {
    add("delimiter", "must be one ASCII character that is no quote and no line end, not " +
                         config::Shown(*delimiter));
  }
  if (!quotechar.empty() && (!IsOneAsciiCharacter(quotechar) || HasLineEnd(quotechar))) {
    add("quotechar",
        "must be one ASCII character that is no line end, or \"\" where nothing is quoted, not " +
            config::Shown(quotechar));
  }
  if (const auto known = files::TextEncoding::Find(encoding); !known.ok()) {
    add("encoding", "= " + config::Shown(encoding) + ": " + known.status().message());
  }
  if (comment.has_value() && (comment->empty() || HasLineEnd(*comment))) {
    add("comment", "must be text without a line end, not " + config::Shown(*comment));
  }
  if (header == false && !column_names.has_value()) {
    add("header", "is false, so the files name no columns; give their names as column_names");
  }
  if (!column_names.has_value()) return;
  if (column_names->empty()) add("column_names", "must name a column");
  std::vector<std::string> sorted = *column_names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    add("column_names", "names " + config::Shown(*twice) + " twice; name each column another way");
  }
}

void CsvDialect::Describe(nlohmann::json* out) const {
  if (!quote.has_value()) {
    (*out)["quotechar"] = "";
  } else if (*quote != '"') {
    (*out)["quotechar"] = std::string(1, *quote);
  }
  if (!encoding.is_utf8()) (*out)["encoding"] = encoding.name();
  if (header.has_value()) (*out)["header"] = *header;
  if (!column_names.empty()) (*out)["column_names"] = column_names;
  if (!comment.empty()) (*out)["comment"] = comment;
}

Result<CsvDialect> MakeCsvDialect(const CsvOptions& options, char delimiter) {
  ARROW_RETURN_NOT_OK(config::CheckOptions(options));
  CsvDialect out;
  const std::string between = Delimiter(options);
  out.delimiter = between.empty() ? delimiter : between[0];
  out.quote = options.quotechar.empty() ? std::nullopt : std::optional(options.quotechar[0]);
  ARROW_ASSIGN_OR_RAISE(out.encoding, files::TextEncoding::Find(options.encoding));
  out.header = options.header;
  out.column_names = options.column_names.value_or(std::vector<std::string>());
  out.comment = options.comment.value_or("");
  if (out.quote == out.delimiter) {
    return Status::Invalid("quotechar: must be another character than the delimiter, not ",
                           config::Shown(options.quotechar));
  }
  return out;
}

}  // namespace easydata::source
