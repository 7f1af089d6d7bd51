#include "easydata/source/shared_listing.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "easydata/exec/parallel_for.h"
#include "easydata/json/bounded_json.h"
#include "easydata/source/shard_error.h"

namespace easydata::source {
namespace {

// Files elsewhere are waited for, not worked on.
constexpr int kFilesAtOnce = 16;

nlohmann::json FileAsJson(const files::FileInfo& file) {
  nlohmann::json told = {file.uri, file.size, file.identity.mtime_ns, file.identity.tag};
  if (file.index != nullptr) told.push_back(FileAsJson(*file.index));
  return told;
}

bool IsFileAsJson(const nlohmann::json& told) {
  return told.is_array() && (told.size() == 4 || (told.size() == 5 && IsFileAsJson(told[4]))) &&
         told[0].is_string() && told[1].is_number_integer() && told[2].is_number_integer() &&
         told[3].is_string();
}

files::FileInfo FileOfJson(const nlohmann::json& told, files::IdentityKind kind,
                           const std::shared_ptr<const files::FileSystems>& storage) {
  files::FileInfo file{told[0].get<std::string>(),
                       told[1].get<int64_t>(),
                       {kind, told[2].get<int64_t>(), told[3].get<std::string>()},
                       storage};
  if (told.size() == 5) {
    file.index = std::make_shared<const files::FileInfo>(FileOfJson(told[4], kind, storage));
  }
  return file;
}

Status OtherColumns() {
  return Status::Invalid("it tells the columns of other files than it lists");
}

}  // namespace

std::string ListingToJson(const std::vector<files::FileInfo>& files) {
  nlohmann::json told = nlohmann::json::array();
  for (const files::FileInfo& file : files) told.push_back(FileAsJson(file));
  return told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<files::FileInfo>> ListingFromJson(
    const std::string& text, files::IdentityKind kind,
    const std::shared_ptr<const files::FileSystems>& storage) {
  constexpr json::JsonBounds kBounds = {4, std::numeric_limits<size_t>::max()};
  const auto told = json::ParseBoundedJson(text, kBounds);
  if (!told.ok() || !told->is_array() || !std::all_of(told->begin(), told->end(), IsFileAsJson)) {
    return Status::Invalid("it is no listing of files that was made here");
  }
  std::vector<files::FileInfo> files;
  for (const nlohmann::json& file : *told) files.push_back(FileOfJson(file, kind, storage));
  return files;
}

Result<SharedColumns> FindColumns(const Source& source) {
  SharedColumns out;
  ARROW_ASSIGN_OR_RAISE(const auto schemas, source.ColumnsOfAll());
  const arrow::Schema* last = nullptr;
  for (const auto& schema : schemas) {
    if (!out.empty() && schema.get() == last) {
      ++out.back().second;
      continue;
    }
    last = schema.get();
    out.emplace_back("", 1);
    if (schema == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(const auto bytes, arrow::ipc::SerializeSchema(*schema));
    out.back().first = bytes->ToString();
  }
  return out;
}

Status RememberColumns(const SharedColumns& columns, const Source& source) {
  if (columns.empty()) return Status::OK();
  std::vector<std::shared_ptr<arrow::Schema>> all;
  for (const auto& [bytes, shards] : columns) {
    std::shared_ptr<arrow::Schema> schema;
    if (!bytes.empty()) {
      arrow::io::BufferReader reader(std::make_shared<arrow::Buffer>(bytes));
      auto read = arrow::ipc::ReadSchema(&reader, nullptr);
      if (!read.ok()) {
        return Status::Invalid("it tells columns that are no schema: ", read.status().message());
      }
      schema = *std::move(read);
    }
    const auto left = static_cast<int64_t>(source.shard_names().size() - all.size());
    if (shards < 0 || shards > left) return OtherColumns();
    all.insert(all.end(), static_cast<size_t>(shards), schema);
  }
  if (all.size() != source.shard_names().size()) return OtherColumns();
  source.RememberColumns(std::move(all));
  return Status::OK();
}

Result<SharedBlocks> FindBlocks(const Source& source) {
  SharedBlocks out(source.shard_names().size());
  ARROW_RETURN_NOT_OK(exec::ParallelFor(out.size(), kFilesAtOnce, [&](size_t i) -> Status {
    auto blocks = source.ListBlocks(i);
    if (IsOfLostShard(blocks.status()) || blocks.status().IsInvalid()) return Status::OK();
    ARROW_RETURN_NOT_OK(blocks.status());
    if (!blocks->row_starts.empty()) out[i] = std::move(blocks->row_starts);
    return Status::OK();
  }));
  return out;
}

Status RememberBlocks(const SharedBlocks& blocks, std::vector<files::FileInfo>* files) {
  if (blocks.size() != files->size()) {
    return Status::Invalid("it tells the blocks of other files than it lists");
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].has_value()) continue;
    const std::vector<int64_t>& starts = *blocks[i];
    if (starts.empty() || starts[0] != 0 || !std::is_sorted(starts.begin(), starts.end())) {
      return Status::Invalid("it tells blocks of files that begin nowhere");
    }
    (*files)[i].row_starts = std::make_shared<const std::vector<int64_t>>(starts);
  }
  return Status::OK();
}

}  // namespace easydata::source
