#pragma once

#include <string>
#include <vector>

/// Lists the formats of data files in the order of the docs: FORMAT(Id, "name") for each.
///
/// It is the only list of them. It gives the choices of DatasetConfig::type and, in data_format.h,
/// the declaration of kIdFormat, which the format's own file defines.
#define EASYDATA_DATA_FORMATS(FORMAT) \
  FORMAT(Json, "json")                \
  FORMAT(Jsonl, "jsonl")              \
  FORMAT(Parquet, "parquet")          \
  FORMAT(Csv, "csv")                  \
  FORMAT(Tsv, "tsv")                  \
  FORMAT(Arrow, "arrow")              \
  FORMAT(Txt, "txt")                  \
  FORMAT(ArrayRecord, "array_record") \
  FORMAT(Bin, "bin")                  \
  FORMAT(Npy, "npy")

namespace easydata::source {

/// The names of the formats, then `others`.
inline std::vector<std::string> DataFormatNames(const std::vector<std::string>& others = {}) {
#define EASYDATA_NAME(Id, name) name,
  std::vector<std::string> names = {EASYDATA_DATA_FORMATS(EASYDATA_NAME)};
#undef EASYDATA_NAME
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

}  // namespace easydata::source
