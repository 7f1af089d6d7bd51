#include "easydata/source/partitioned_source.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/base/hash.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/common_type.h"

namespace easydata::source {
namespace {

constexpr std::string_view kNullPartition = "__HIVE_DEFAULT_PARTITION__";

/// A column, and its value in each shard.
struct PartitionColumn {
  std::shared_ptr<arrow::Field> field;
  std::vector<std::shared_ptr<arrow::Scalar>> values;
  std::vector<std::string> json;  // the member that a row of JSON gets: "\"lang\": \"en\""
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// A name or value as it was before it was made a folder's name.
std::string UnescapedPart(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    const bool is_escape = part[i] == '%' && i + 2 < part.size() && HexDigit(part[i + 1]) >= 0 &&
                           HexDigit(part[i + 2]) >= 0;
    if (!is_escape) {
      out += part[i];
      continue;
    }
    out += static_cast<char>(HexDigit(part[i + 1]) << 4 | HexDigit(part[i + 2]));
    i += 2;
  }
  return IsUtf8(out) ? out : std::string(part);
}

using Parts = std::vector<std::pair<std::string, std::string>>;

/// What the folders of a file's name say, in their order; of two of one name the last.
Parts PartsOf(std::string_view uri) {
  Parts parts;
  size_t begin = 0;
  for (size_t end = uri.find('/'); end != uri.npos; end = uri.find('/', begin)) {
    const std::string_view folder = uri.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = folder.find('=');
    if (equals == folder.npos || equals == 0) continue;
    std::string name = UnescapedPart(folder.substr(0, equals));
    std::erase_if(parts, [&](const auto& part) { return part.first == name; });
    parts.emplace_back(std::move(name), UnescapedPart(folder.substr(equals + 1)));
  }
  return parts;
}

std::optional<int64_t> IntegerOf(const std::string& value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || error != std::errc() || end != value.data() + value.size()) return {};
  return number;
}

const std::string* ValueIn(const Parts& parts, const std::string& name) {
  for (const auto& [known, value] : parts) {
    if (known == name) return &value;
  }
  return nullptr;
}

PartitionColumn ColumnOf(const std::string& name, const std::vector<const std::string*>& values) {
  bool are_integers = true;
  for (const std::string* value : values) {
    are_integers = are_integers && (*value == kNullPartition || IntegerOf(*value).has_value());
  }
  PartitionColumn column;
  column.field = arrow::field(name, are_integers ? arrow::int64() : arrow::utf8());
  for (const std::string* value : values) {
    nlohmann::json json;
    if (*value == kNullPartition) {
      column.values.push_back(arrow::MakeNullScalar(column.field->type()));
    } else if (are_integers) {
      json = *IntegerOf(*value);
      column.values.push_back(arrow::MakeScalar(*IntegerOf(*value)));
    } else {
      json = *value;
      column.values.push_back(arrow::MakeScalar(*value));
    }
    column.json.push_back(nlohmann::json(name).dump() + ": " + json.dump());
  }
  return column;
}

Result<std::vector<PartitionColumn>> FindPartitions(const std::vector<std::string>& uris) {
  std::vector<Parts> parts;
  std::vector<std::pair<std::string, size_t>> names;  // and a file that has it
  for (const std::string& uri : uris) {
    parts.push_back(PartsOf(uri));
    for (const auto& [name, value] : parts.back()) {
      const auto is_it = [&name = name](const auto& known) { return known.first == name; };
      if (std::none_of(names.begin(), names.end(), is_it)) {
        names.emplace_back(name, parts.size() - 1);
      }
    }
  }
  if (names.empty() && !uris.empty()) {
    return Status::Invalid(
        "hive_partitioning: no folder is named NAME=VALUE in the names of the "
        "files, such as ",
        uris.front(), "; leave it out");
  }
  std::vector<PartitionColumn> columns;
  for (const auto& [name, has_it] : names) {
    std::vector<const std::string*> values;
    for (size_t i = 0; i < uris.size(); ++i) {
      values.push_back(ValueIn(parts[i], name));
      if (values.back() != nullptr) continue;
      return Status::Invalid("hive_partitioning: ", uris[i], " lies in no folder ", name,
                             "=..., as ", uris[has_it],
                             " does; name the files that belong together");
    }
    columns.push_back(ColumnOf(name, values));
  }
  return columns;
}

using Partitions = std::shared_ptr<const std::vector<PartitionColumn>>;

const PartitionColumn* FindPartition(const std::vector<PartitionColumn>& columns,
                                     const std::string& name) {
  for (const PartitionColumn& column : columns) {
    if (column.field->name() == name) return &column;
  }
  return nullptr;
}

/// Whether rows are whole objects of JSON, which have no columns.
bool HasWholeRows(const arrow::Schema& schema) {
  return schema.num_fields() == 1 && json::IsRowField(*schema.field(0));
}

/// The rows with members added to each object; of equal names the last one counts.
Result<std::shared_ptr<arrow::RecordBatch>> WithMembers(const arrow::RecordBatch& rows,
                                                        const std::string& members) {
  const auto& texts = static_cast<const arrow::StringArray&>(*rows.column(0));
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.ReserveData(
      texts.total_values_length() + rows.num_rows() * static_cast<int64_t>(members.size() + 4)));
  std::string made;
  for (int64_t i = 0; i < rows.num_rows(); ++i) {
    const std::string_view text = texts.GetView(i);
    const size_t end = text.rfind('}');
    const size_t last = text.find_last_not_of(" \t\r\n", end - 1);
    made.assign(text.substr(0, end));
    if (text[last] != '{') made += ", ";
    made += members;
    made += '}';
    ARROW_RETURN_NOT_OK(builder.Append(made));
  }
  ARROW_ASSIGN_OR_RAISE(auto array, builder.Finish());
  arrow::ArrayVector columns = {std::move(array)};
  return arrow::RecordBatch::Make(rows.schema(), rows.num_rows(), std::move(columns));
}

/// The rows of a shard in `schema`, of which the files have what the folders do not say.
Result<std::shared_ptr<arrow::RecordBatch>> WithPartitions(
    const std::shared_ptr<arrow::RecordBatch>& rows, const std::shared_ptr<arrow::Schema>& schema,
    const std::vector<PartitionColumn>& partitions, size_t shard) {
  if (rows == nullptr) return rows;
  if (HasWholeRows(*schema)) {
    std::string members;
    for (const PartitionColumn& each : partitions) {
      members += (members.empty() ? "" : ", ") + each.json[shard];
    }
    return WithMembers(*rows, members);
  }
  arrow::ArrayVector columns;
  int of_files = 0;
  for (const auto& field : schema->fields()) {
    const PartitionColumn* found = FindPartition(partitions, field->name());
    if (found == nullptr) {
      columns.push_back(rows->column(of_files++));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto column,
                          arrow::MakeArrayFromScalar(*found->values[shard], rows->num_rows()));
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), CastValues(column, field->type()));
  }
  return arrow::RecordBatch::Make(schema, rows->num_rows(), std::move(columns));
}

class PartitionedReader : public ShardReader {
 public:
  PartitionedReader(std::unique_ptr<ShardReader> reader, std::shared_ptr<arrow::Schema> schema,
                    Partitions partitions, size_t shard)
      : reader_(std::move(reader)),
        schema_(std::move(schema)),
        partitions_(std::move(partitions)),
        shard_(shard) {}

  Result<ShardPosition> Start() override { return reader_->Start(); }

  Result<std::optional<BlockTask>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto task, reader_->Next());
    if (!task.has_value()) return task;
    task->decode = [decode = std::move(task->decode), schema = schema_, partitions = partitions_,
                    shard = shard_]() -> Result<DecodedBlock> {
      ARROW_ASSIGN_OR_RAISE(DecodedBlock block, decode());
      ARROW_ASSIGN_OR_RAISE(block.rows, WithPartitions(block.rows, schema, *partitions, shard));
      return block;
    };
    return task;
  }

  void Cancel() override { reader_->Cancel(); }

 private:
  const std::unique_ptr<ShardReader> reader_;
  const std::shared_ptr<arrow::Schema> schema_;
  const Partitions partitions_;
  const size_t shard_;
};

class PartitionedSource : public Source {
 public:
  PartitionedSource(std::shared_ptr<const Source> files, std::vector<PartitionColumn> partitions)
      : files_(std::move(files)),
        partitions_(std::make_shared<const std::vector<PartitionColumn>>(std::move(partitions))) {}

  const std::vector<std::string>& shard_names() const override { return files_->shard_names(); }
  std::shared_ptr<const files::FileSystems> storage() const override { return files_->storage(); }
  bool has_unchecked_text() const override { return files_->has_unchecked_text(); }
  bool has_file_columns() const override { return files_->has_file_columns(); }
  bool casts_columns() const override { return files_->casts_columns(); }
  bool takes_rows() const override { return files_->takes_rows(); }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    ARROW_ASSIGN_OR_RAISE(const auto files, files_->Schema(OfFiles(columns), shard));
    if (!columns.has_value()) {
      if (HasWholeRows(*files)) return files;
      arrow::FieldVector fields = OfFiles(*files)->fields();
      for (const PartitionColumn& each : *partitions_) fields.push_back(each.field);
      return arrow::schema(std::move(fields));
    }
    arrow::FieldVector fields;
    for (const ColumnRequest& column : *columns) {
      const PartitionColumn* found = FindPartition(*partitions_, column.name);
      fields.push_back(found != nullptr ? found->field : files->GetFieldByName(column.name));
    }
    return arrow::schema(std::move(fields));
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    const auto of_files = OfFiles(*schema);
    ReadOptions asked = OfFiles(options);
    if (!asked.columns.has_value() && has_file_columns()) {
      // Not those that the folders say.
      asked.columns.emplace();
      for (const auto& field : of_files->fields()) asked.columns->push_back({field->name()});
    }
    ARROW_ASSIGN_OR_RAISE(auto reader, files_->Open(shard, from, asked, of_files, context));
    return std::make_unique<PartitionedReader>(std::move(reader), std::move(schema), partitions_,
                                               shard);
  }

  Result<std::string> VocabularyText(size_t shard) const override {
    return files_->VocabularyText(shard);
  }
  /// The file's, with what its folders say.
  Result<std::optional<ShardIdentity>> Identity(size_t shard) const override {
    ARROW_ASSIGN_OR_RAISE(auto identity, files_->Identity(shard));
    if (!identity.has_value()) return identity;
    std::string text = ToHex(identity->hash[0]) + ToHex(identity->hash[1]);
    for (const PartitionColumn& each : *partitions_) text += "\n" + each.json[shard];
    identity->hash = Hash128(text);
    return identity;
  }
  std::optional<int64_t> KnownBytes(size_t shard) const override {
    return files_->KnownBytes(shard);
  }
  Result<std::optional<int64_t>> KnownRows(size_t shard) const override {
    return files_->KnownRows(shard);
  }
  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    return files_->CountRows(shard, context);
  }
  Result<Blocks> ListBlocks(size_t shard) const override { return files_->ListBlocks(shard); }
  Result<Blocks> CountBlocks(size_t shard, const ReadContext& context) const override {
    return files_->CountBlocks(shard, context);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(size_t shard,
                                                       const std::shared_ptr<const ShardRef>& ref,
                                                       std::span<const int64_t> rows,
                                                       const ReadOptions& options,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto taken, files_->TakeRows(shard, ref, rows, OfFiles(options),
                                                             OfFiles(*schema), context));
    return WithPartitions(taken, schema, *partitions_, shard);
  }

  nlohmann::json Describe() const override {
    nlohmann::json out = files_->Describe();
    out["hive_partitioning"] = true;
    return out;
  }

 private:
  Columns OfFiles(Columns columns) const {
    if (columns.has_value()) {
      std::erase_if(*columns, [this](const ColumnRequest& column) {
        return FindPartition(*partitions_, column.name) != nullptr;
      });
    }
    return columns;
  }

  ReadOptions OfFiles(ReadOptions options) const {
    options.columns = OfFiles(std::move(options.columns));
    return options;
  }

  std::shared_ptr<arrow::Schema> OfFiles(const arrow::Schema& schema) const {
    arrow::FieldVector fields;
    for (const auto& field : schema.fields()) {
      if (FindPartition(*partitions_, field->name()) == nullptr) fields.push_back(field);
    }
    return arrow::schema(std::move(fields));
  }

  const std::shared_ptr<const Source> files_;
  const Partitions partitions_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakePartitionedSource(std::shared_ptr<const Source> files) {
  ARROW_ASSIGN_OR_RAISE(auto partitions, FindPartitions(files->shard_names()));
  return std::make_shared<const PartitionedSource>(std::move(files), std::move(partitions));
}

}  // namespace easydata::source
