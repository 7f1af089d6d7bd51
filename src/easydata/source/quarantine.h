#pragma once

#include <cstdint>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// A JSONL file to which rows that could not be read are added, each with its place and what is
/// wrong with it:
/// {"source", "shard", "row", "error", "content"}. Bytes that are not UTF-8 are replaced in
/// `content`.
class Quarantine {
 public:
  explicit Quarantine(std::string path) : path_(std::move(path)) {}

  Status Add(const std::string& source, const std::string& shard, int64_t row,
             const std::string& error, const std::string& content);

 private:
  const std::string path_;
};

}  // namespace easydata
