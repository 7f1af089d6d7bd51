#include "easydata/source/shard_columns.h"

#include <arrow/type.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/exec/notice.h"
#include "easydata/exec/parallel_for.h"
#include "easydata/source/source.h"
#include "easydata/source/table_columns.h"
#include "easydata/stream/common_type.h"
#include "easydata/stream/rest_column.h"

namespace easydata::source {
namespace {

using SchemaPtr = std::shared_ptr<arrow::Schema>;

/// So many headers are read at a time: most of the time passes with waiting.
constexpr int kReadAtOnce = 16;

/// Whether later shards may have more in a column than this type holds.
bool MayGrow(const arrow::DataType& type) {
  if (type.id() == arrow::Type::NA || type.id() == arrow::Type::STRUCT) return true;
  return std::ranges::any_of(type.fields(),
                             [](const auto& field) { return MayGrow(*field->type()); });
}

bool MayGrow(const arrow::Schema& schema) {
  return std::ranges::any_of(schema.fields(),
                             [](const auto& field) { return MayGrow(*field->type()); });
}

/// Joins the columns of shards.
class Union {
 public:
  explicit Union(const Columns& columns) {
    if (!columns.has_value()) return;
    is_chosen_ = true;
    for (const ColumnRequest& column : *columns) chosen_.push_back(column.name);
  }

  /// Adds the columns of `shard`, and of as many shards as have the same ones.
  Status Add(const arrow::Schema& schema, const std::string& shard, size_t num_shards) {
    num_shards_ += num_shards;
    for (const auto& field : schema.fields()) {
      if (is_chosen_ && std::ranges::find(chosen_, field->name()) == chosen_.end()) continue;
      const auto [found, is_new] = index_.emplace(field->name(), columns_.size());
      if (is_new) {
        columns_.push_back({field, shard, num_shards});
        continue;
      }
      Column& known = columns_[found->second];
      known.num_shards += num_shards;
      auto type = CommonType(known.field->type(), field->type());
      if (type == nullptr) {
        return Status::TypeError("column \"", EscapedText(field->name()), "\" is of type ",
                                 known.field->type()->ToString(), " in ", known.shard,
                                 " and of type ", field->type()->ToString(), " in ", shard,
                                 ", which have none in common; give it one: ", "column_types={\"",
                                 EscapedText(field->name()), "\": \"string\"}, say, or read the ",
                                 "files as two datasets");
      }
      if (type != known.field->type()) known.field = known.field->WithType(std::move(type));
      if (field->nullable()) known.field = known.field->WithNullable(true);
    }
    return Status::OK();
  }

  /// All columns, or the chosen ones in their order, where there are any.
  SchemaPtr Finish() const {
    arrow::FieldVector fields;
    const auto add = [&](const Column& column) {
      const bool lacks = column.num_shards < num_shards_;
      fields.push_back(lacks ? column.field->WithNullable(true) : column.field);
    };
    if (is_chosen_) {
      for (const std::string& name : chosen_) {
        if (const auto found = index_.find(name); found != index_.end()) {
          add(columns_[found->second]);
        }
      }
      return arrow::schema(std::move(fields));
    }
    for (const Column& column : columns_) {
      if (!IsRestField(*column.field)) add(column);
    }
    // Values without a column are behind all that have one.
    for (const Column& column : columns_) {
      if (IsRestField(*column.field)) add(column);
    }
    return arrow::schema(std::move(fields));
  }

  /// What some shards lack, in words; "" for nothing.
  std::string Lacks() const {
    std::string out;
    int shown = 0, more = 0;
    for (const Column& column : columns_) {
      if (column.num_shards == num_shards_) continue;
      if (shown == 5) {
        ++more;
        continue;
      }
      ++shown;
      out += (out.empty() ? "" : ", ") + ("\"" + EscapedText(column.field->name()) + "\" (") +
             std::to_string(column.num_shards) + " of " + std::to_string(num_shards_) +
             " files have it, the first is " + column.shard + ")";
    }
    if (more > 0) out += " and " + std::to_string(more) + " more";
    return out;
  }

 private:
  struct Column {
    std::shared_ptr<arrow::Field> field;
    std::string shard;  // the first that has it
    size_t num_shards;
  };

  bool is_chosen_ = false;
  std::vector<std::string> chosen_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, size_t> index_;
  size_t num_shards_ = 0;
};

/// Tells the user what he has not been told yet, in this process: files have several sources, where
/// rows of them are read in several ways.
void TellOnce(const std::string& message) {
  constexpr size_t kRemembered = 1000;
  static std::mutex mutex;
  static std::set<std::string> told;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (told.size() == kRemembered) told.clear();
    if (!told.insert(message).second) return;
  }
  exec::Notify(message);
}

}  // namespace

Result<SchemaPtr> ShardColumns::OfShard(const Source& source, size_t shard) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (shard < known_.size() && known_[shard] != nullptr) return known_[shard];
  }
  ARROW_ASSIGN_OR_RAISE(SchemaPtr schema, source.Schema(std::nullopt, shard));
  std::lock_guard<std::mutex> lock(mutex_);
  known_.resize(source.shard_names().size());
  for (const SchemaPtr& other : {known_.front(), shard > 0 ? known_[shard - 1] : nullptr}) {
    if (other != nullptr && other->Equals(*schema, /*check_metadata=*/true)) schema = other;
  }
  known_[shard] = schema;
  return schema;
}

Result<std::vector<SchemaPtr>> ShardColumns::OfAll(const Source& source, size_t last) {
  std::vector<SchemaPtr> out(source.shard_names().size());
  const auto look = [&](size_t shard) {
    auto schema = OfShard(source, shard);
    if (schema.ok()) out[shard] = std::move(*schema);
    return schema.status().IsCancelled() ? schema.status() : Status::OK();
  };
  ARROW_RETURN_NOT_OK(exec::ParallelFor(out.size(), kReadAtOnce, [&](size_t shard) {
    return shard == last ? Status::OK() : look(shard);
  }));
  // It stays open for the pass that comes.
  if (last < out.size()) ARROW_RETURN_NOT_OK(look(last));
  return out;
}

void ShardColumns::Remember(std::vector<SchemaPtr> columns) {
  std::lock_guard<std::mutex> lock(mutex_);
  known_ = std::move(columns);
}

Result<SchemaPtr> ShardColumns::Of(const Source& source, const Columns& columns,
                                   const ColumnTypes& types, const std::vector<size_t>& shards) {
  const bool has_types = source.casts_columns() && !types.empty();
  const auto typed = [&](const SchemaPtr& schema) -> Result<SchemaPtr> {
    return has_types ? types.Apply(*schema, /*adds=*/false) : schema;
  };
  const std::vector<std::string>& names = source.shard_names();
  auto of_first = source.Schema(columns, shards.front());
  if (!of_first.ok() && !of_first.status().IsKeyError()) return of_first;
  if (of_first.ok()) {
    ARROW_ASSIGN_OR_RAISE(of_first, typed(*of_first));
  }
  if (source.shard_names().size() == 1) return of_first;
  if (columns.has_value() && of_first.ok() && !MayGrow(**of_first)) return of_first;
  if (!of_first.ok()) {
    ARROW_ASSIGN_OR_RAISE(const SchemaPtr first, OfShard(source, shards.front()));
    for (const ColumnRequest& column : *columns) {
      if (column.kind == ColumnKind::kAny || first->GetFieldIndex(column.name) >= 0) continue;
      return of_first;
    }
  }
  ARROW_ASSIGN_OR_RAISE(const std::vector<SchemaPtr> all, OfAll(source, shards.front()));
  Union joined(columns);
  // Files that follow each other mostly have the same columns.
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end] == all[begin]) ++end;
    if (all[begin] == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(const SchemaPtr schema, typed(all[begin]));
    ARROW_RETURN_NOT_OK(joined.Add(*schema, names[begin], end - begin));
  }
  SchemaPtr out = joined.Finish();
  for (const ColumnRequest& column : columns.value_or(std::vector<ColumnRequest>())) {
    if (out->GetFieldIndex(column.name) < 0) return of_first;
  }
  if (const std::string lacks = joined.Lacks(); !lacks.empty()) {
    TellOnce("columns that some files lack are null there: " + lacks);
  }
  return out;
}

}  // namespace easydata::source
