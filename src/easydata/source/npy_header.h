#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/token_file_options.h"

namespace easydata::source {

/// What the header of a .npy file says.
struct NpyHeader {
  TokenType type = TokenType::kInt32;
  std::vector<int64_t> shape;  // of one or two dimensions
  int64_t data_begin = 0;
};

/// Reads the header of a .npy file of version 1, 2 or 3. `path` is for errors, which name the byte;
/// NotImplemented for sound files whose rows are not read.
Result<NpyHeader> ReadNpyHeader(arrow::io::RandomAccessFile* file, const std::string& path);

}  // namespace easydata::source
