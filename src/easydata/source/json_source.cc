#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/io/compression.h"
#include "easydata/io/local_file.h"
#include "easydata/source/file_list.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/json_rows.h"
#include "easydata/source/line_source.h"
#include "easydata/source/row_runs.h"

namespace easydata {
namespace {

class JsonLines : public LineDecoder {
 public:
  JsonLines(ReadOptions options, std::shared_ptr<arrow::Schema> schema)
      : options_(std::move(options)), schema_(std::move(schema)) {}

  Result<DecodedBlock> Decode(std::string_view text, int64_t skip) const override {
    DecodedBlock block;
    if (text.size() > (size_t{1} << 31) - (1 << 16)) {
      return Status::Invalid("a line is longer than 2 GiB");
    }
    size_t longest = 0;
    ForEachLine(text, [&](std::string_view line) {
      longest = std::max(longest, line.size());
      return true;
    });
    JsonRows rows(options_.columns, schema_, text.size(), longest);
    RowRuns runs;
    Status status;
    ForEachLine(text, [&](std::string_view line) {
      const int64_t number = block.num_lines++;
      if (line.empty() || (line[0] != '{' && IsBlank(line))) return true;
      const int64_t row = block.num_rows++;
      if (row < skip) return true;
      // Windows' line end is white space to JSON, but no part of the row.
      if (line.back() == '\r') line.remove_suffix(1);
      BadRow bad;
      auto added = rows.Append(line, &bad);
      if (!added.ok()) {
        status = added.status();
        return false;
      }
      if (*added) {
        runs.Add(row);
        return true;
      }
      bad.row = row;
      bad.line = number;
      if (options_.on_error == OnError::kRaise) {
        block.stopped = std::move(bad);
        return false;
      }
      bad.content = line;
      block.bad.push_back(std::move(bad));
      return true;
    });
    ARROW_RETURN_NOT_OK(status);
    ARROW_ASSIGN_OR_RAISE(block.rows, rows.Finish());
    block.runs = runs.Take();
    return block;
  }

 private:
  const ReadOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
};

class JsonSource : public Source {
 public:
  JsonSource(FileList files, JsonLayout layout) : files_(std::move(files)), layout_(layout) {
    shards_.resize(files_.paths().size());
  }

  const std::vector<std::string>& shard_names() const override { return files_.paths(); }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns) const override {
    return JsonRowSchema(columns);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto lines, Shard(shard));
    return OpenLineReader(lines, from, true,
                          std::make_shared<JsonLines>(options, std::move(schema)), context);
  }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override { return std::nullopt; }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto lines, Shard(shard));
    return CountLineRows(lines, true, context);
  }

  nlohmann::json Describe() const override { return files_.Describe("json"); }

 private:
  Result<std::shared_ptr<LineShard>> Shard(size_t i) const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (shards_[i] == nullptr) {
      auto shard = std::make_shared<LineShard>();
      shard->path = files_.paths()[i];
      ARROW_ASSIGN_OR_RAISE(shard->codec, DetectCompression(shard->path));
      shards_[i] = std::move(shard);
    }
    return shards_[i];
  }

  const FileList files_;
  const JsonLayout layout_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<LineShard>> shards_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeJsonSource(std::vector<std::string> files,
                                                     JsonLayout layout) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const JsonSource>(std::move(list), layout);
}

}  // namespace easydata
