#include "easydata/source/token_values.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "easydata/source/row_runs.h"

namespace easydata::source {
namespace {

/// Calls `use` with the tokens of a buffer, as what they are.
template <typename Use>
auto WithTokens(TokenType type, const arrow::Buffer& bytes, Use use) {
  const auto as = [&]<typename T>(T) {
    return use(std::span<const T>(reinterpret_cast<const T*>(bytes.data()),
                                  static_cast<size_t>(bytes.size()) / sizeof(T)));
  };
  switch (type) {
    case TokenType::kUint8:
      return as(uint8_t{});
    case TokenType::kUint16:
      return as(uint16_t{});
    case TokenType::kUint32:
      return as(uint32_t{});
    case TokenType::kUint64:
      return as(uint64_t{});
    case TokenType::kInt8:
      return as(int8_t{});
    case TokenType::kInt16:
      return as(int16_t{});
    case TokenType::kInt32:
      return as(int32_t{});
    case TokenType::kInt64:
      break;
  }
  return as(int64_t{});
}

template <typename T>
constexpr bool kFits = sizeof(T) < 4 || std::same_as<T, int32_t>;

/// The first that is no int32; the end where all are.
template <typename T>
size_t FirstUnfit(std::span<const T> tokens) {
  if constexpr (kFits<T>) return tokens.size();
  bool all_fit = true;
  for (const T token : tokens) all_fit &= std::in_range<int32_t>(token);
  if (all_fit) return tokens.size();
  return std::find_if(tokens.begin(), tokens.end(),
                      [](T token) { return !std::in_range<int32_t>(token); }) -
         tokens.begin();
}

}  // namespace

bool HasToken(TokenType type, int64_t token) {
  return WithTokens(type, arrow::Buffer(""),
                    [&]<typename T>(std::span<const T>) { return std::in_range<T>(token); });
}

int64_t FindToken(TokenType type, const arrow::Buffer& bytes, int64_t from, int64_t token) {
  return WithTokens(type, bytes, [&]<typename T>(std::span<const T> tokens) -> int64_t {
    const auto found = std::find(tokens.begin() + from, tokens.end(), static_cast<T>(token));
    return found == tokens.end() ? -1 : found - tokens.begin();
  });
}

void FindTokens(TokenType type, const arrow::Buffer& bytes, int64_t token,
                std::vector<int64_t>* ends) {
  WithTokens(type, bytes, [&]<typename T>(std::span<const T> tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == static_cast<T>(token)) ends->push_back(static_cast<int64_t>(i) + 1);
    }
  });
}

int64_t CountTokens(TokenType type, const arrow::Buffer& bytes, int64_t token) {
  return WithTokens(type, bytes, [&]<typename T>(std::span<const T> tokens) -> int64_t {
    return std::count(tokens.begin(), tokens.end(), static_cast<T>(token));
  });
}

Result<DecodedBlock> DecodeTokens(const TokenFile& file, const TokenBlock& block,
                                  const std::shared_ptr<arrow::Schema>& schema, int64_t skip,
                                  OnError on_error) {
  DecodedBlock out;
  out.broken = block.broken;
  RowRuns runs;
  std::vector<int32_t> offsets = {0};
  const int64_t most = block.ends.empty() ? 0 : block.ends.back();
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(most * static_cast<int64_t>(sizeof(int32_t))));
  auto* to = reinterpret_cast<int32_t*>(values->mutable_data());
  WithTokens(file.type(), *block.bytes, [&]<typename T>(std::span<const T> tokens) {
    for (size_t row = 0; row < block.ends.size(); ++row, ++out.num_rows) {
      if (out.num_rows < skip) continue;
      const int64_t begin = row == 0 ? 0 : block.ends[row - 1];
      const auto of_row = tokens.subspan(begin, block.ends[row] - begin);
      const size_t unfit = FirstUnfit(of_row);
      if (unfit < of_row.size()) {
        BadRow bad;
        bad.row = out.num_rows;
        bad.reason = "no token";
        const int64_t byte =
            block.at + (begin + static_cast<int64_t>(unfit)) * static_cast<int64_t>(sizeof(T));
        bad.message = "byte " + std::to_string(byte) + ": " + std::to_string(of_row[unfit]) +
                      " is no token: it does not fit an int32; its file may be of another dtype";
        if (on_error == OnError::kRaise) {
          ++out.num_rows;
          out.stopped = std::move(bad);
          return;
        }
        for (const T token : of_row) {
          bad.content += (bad.content.empty() ? "[" : ", ") + std::to_string(token);
        }
        bad.content += "]";
        out.bad.push_back(std::move(bad));
        continue;
      }
      to = std::transform(of_row.begin(), of_row.end(), to,
                          [](T token) { return static_cast<int32_t>(token); });
      offsets.push_back(offsets.back() + static_cast<int32_t>(of_row.size()));
      runs.Add(out.num_rows);
    }
  });
  const auto rows = static_cast<int64_t>(offsets.size()) - 1;
  const auto tokens = std::make_shared<arrow::Int32Array>(
      offsets.back(), std::shared_ptr<arrow::Buffer>(std::move(values)));
  const auto lists = std::make_shared<arrow::ListArray>(
      arrow::list(arrow::int32()), rows, arrow::Buffer::FromVector(std::move(offsets)), tokens);
  arrow::ArrayVector columns(schema->num_fields(), lists);
  out.rows = arrow::RecordBatch::Make(schema, rows, std::move(columns));
  out.runs = runs.Take();
  return out;
}

}  // namespace easydata::source
