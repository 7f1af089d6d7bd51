#include "easydata/verify/verify_output.h"

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/files/file_system.h"
#include "easydata/json/json_column.h"
#include "easydata/outputs/output_file.h"
#include "easydata/source/data_format.h"
#include "easydata/source/source_stage.h"
#include "easydata/storage/open_file.h"
#include "easydata/stream/column_layout.h"
#include "easydata/stream/columns.h"
#include "easydata/verify/expected_files.h"

namespace easydata::verify {
namespace {

/// What records are, by the metadata of their output: they do not tell it themselves.
nlohmann::json RecordOptionsOf(const nlohmann::json& metadata) {
  const auto encode = metadata.find("encode");
  if (encode != metadata.end() && encode->is_string()) return {{"decode", *encode}};
  const auto columns = metadata.find("columns");
  nlohmann::json options = {{"decode", "bytes"}};
  if (columns != metadata.end() && columns->is_object() && columns->size() == 1 &&
      columns->front().is_string()) {
    const std::string type = columns->front();
    options["column"] = columns->begin().key();
    if (type.find("list") != std::string::npos) options["decode"] = "int32";
    if (type.find("string") != std::string::npos) options["decode"] = "text";
  }
  return options;
}

/// Opens a file by its name. `metadata` is that of its output, or an empty object.
Result<std::shared_ptr<const source::Source>> OpenByName(const files::FileInfo& file,
                                                         const nlohmann::json& metadata) {
  const std::string format = source::FormatOfName(file.uri);
  if (format.empty()) return Status::Invalid("its name tells no format that can be read");
  const bool is_records = format == source::kArrayRecordFormat.name;
  return source::MakeSource(format, {file},
                            is_records ? RecordOptionsOf(metadata) : nlohmann::json::object());
}

/// Columns and their types, as the metadata of an output has them.
using TypesByName = std::map<std::string, std::string>;

/// A type's name, with one name for list items, which formats call differently.
std::string TypeName(std::string name) {
  constexpr std::string_view kParquets = "<element: ";
  for (size_t at; (at = name.find(kParquets)) != std::string::npos;) {
    name.replace(at, kParquets.size(), "<item: ");
  }
  return name;
}

TypesByName TypesOf(const arrow::Schema& schema) {
  TypesByName out;
  for (const auto& field : schema.fields())
    out[field->name()] = TypeName(field->type()->ToString());
  return out;
}

std::string Shown(const TypesByName& types) {
  std::string out;
  for (const auto& [name, type] : types) out += (out.empty() ? "" : ", ") + name + ": " + type;
  return out.empty() ? "none" : out;
}

/// Reads one file, and counts what is in it.
class FileCheck {
 public:
  FileCheck(const ExpectedFile& expected, std::shared_ptr<const storage::Storage> storage,
            std::optional<int64_t> vocab_size, std::shared_ptr<exec::ThreadPool> pool,
            const std::atomic<bool>* cancelled)
      : expected_(expected),
        storage_(std::move(storage)),
        vocab_size_(vocab_size),
        pool_(std::move(pool)),
        cancelled_(cancelled) {
    found_.path = expected.path;
    found_.recorded = expected.record != nullptr;
    found_.problem = expected.problem;
  }

  VerifiedFile Run() {
    if (found_.problem.empty()) {
      const Status status = Check();
      if (!status.ok()) found_.problem = status.message();
    }
    return std::move(found_);
  }

  /// The columns of a file without metadata.
  const std::optional<TypesByName>& types() const { return types_; }

 private:
  Status Check() {
    ARROW_RETURN_NOT_OK(CheckBytes());
    ARROW_RETURN_NOT_OK(ReadRows());
    if (expected_.record == nullptr) return Status::OK();
    const sink::ShardRecord& record = *expected_.record;
    if (found_.rows != record.rows) {
      return Status::Invalid("it has ", found_.rows, " rows, where its metadata says ",
                             record.rows);
    }
    if (records_tokens_ && found_.tokens != record.tokens) {
      return Status::Invalid("it has ", found_.tokens, " tokens, where its metadata says ",
                             record.tokens);
    }
    return Status::OK();
  }

  /// Checks size and hash of the file on the disk.
  Status CheckBytes() {
    const bool is_remote = expected_.path.find("://") != std::string::npos;
    if (is_remote && expected_.listed.has_value()) {
      file_ = *expected_.listed;
    } else {
      ARROW_ASSIGN_OR_RAISE(const files::FileSystem* files, storage_->FileSystemOf(expected_.path));
      ARROW_ASSIGN_OR_RAISE(file_, files->Stat(expected_.path));
    }
    file_.storage = storage_;
    found_.bytes = file_.size;
    if (expected_.record == nullptr) return Status::OK();
    const sink::ShardRecord& record = *expected_.record;
    if (found_.bytes != record.bytes) {
      return Status::Invalid("it has ", found_.bytes, " bytes, where its metadata says ",
                             record.bytes, ": it was cut, or written to");
    }
    ARROW_ASSIGN_OR_RAISE(const std::string found, is_remote ? HashOfObject() : HashOfPath());
    if (found != record.hash) {
      return Status::Invalid("its bytes are not those that were written: XXH3 ", found,
                             ", where its metadata says ", record.hash);
    }
    return Status::OK();
  }

  Result<std::string> HashOfPath() const {
    return outputs::HashOfFile(expected_.path, [this] { return cancelled_->load(); });
  }

  Result<std::string> HashOfObject() const {
    ARROW_ASSIGN_OR_RAISE(const auto file, storage::OpenFile(file_));
    return outputs::HashOfOpenFile(file.get(), file_.size, [this] { return cancelled_->load(); });
  }

  Status ReadRows() {
    static const nlohmann::json kNoMetadata = nlohmann::json::object();
    ARROW_ASSIGN_OR_RAISE(
        auto source,
        OpenByName(file_, expected_.output == nullptr ? kNoMetadata : expected_.output->values));
    ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, source::SourcePlan(std::move(source), {}));
    StageContext context;
    context.pool = pool_;
    context.read_ahead = 2;
    ARROW_ASSIGN_OR_RAISE(auto stage, plan.make(context));
    free_form_ = IsFreeForm(*stage->schema());
    bool checked = false;
    for (;;) {
      if (*cancelled_) return Status::Cancelled("verifying was cancelled");
      ARROW_ASSIGN_OR_RAISE(const auto batch, stage->Next());
      if (!batch.has_value()) break;
      ARROW_ASSIGN_OR_RAISE(const auto columns, Columns(*batch));
      // JSON rows have a schema of their own in each batch, the others one in each file.
      if (!checked || free_form_) ARROW_RETURN_NOT_OK(CheckSchema(*columns->schema()));
      checked = true;
      ARROW_RETURN_NOT_OK(CheckIds(*columns));
      found_.rows += columns->num_rows();
      found_.tokens += CountTokens(*columns);
    }
    return checked || free_form_ ? Status::OK() : CheckSchema(*stage->schema());
  }

  static bool IsFreeForm(const arrow::Schema& schema) {
    return schema.num_fields() == 1 && json::IsRowField(*schema.field(0));
  }

  /// Rows in typed columns.
  Result<std::shared_ptr<arrow::RecordBatch>> Columns(const Batch& batch) {
    const auto& schema = batch.rows->schema();
    free_form_ = IsFreeForm(*schema);
    if (!free_form_) return batch.rows;
    ARROW_ASSIGN_OR_RAISE(const auto layout,
                          MakeColumnLayout(schema, {batch}, std::nullopt, JsonTarget::kArrays));
    return layout->Convert(batch);
  }

  Status CheckSchema(const arrow::Schema& schema) {
    if (expected_.output == nullptr) {
      if (!types_.has_value()) types_ = TypesOf(schema);
      return Status::OK();
    }
    const auto columns = expected_.output->values.find("columns");
    if (columns == expected_.output->values.end() || !columns->is_object()) return Status::OK();
    const bool is_records = source::FormatOfName(file_.uri) == source::kArrayRecordFormat.name;
    TypesByName recorded;
    for (const auto& [name, type] : columns->items()) {
      recorded[name] = type.is_string() ? TypeName(type.get<std::string>()) : "";
      // Records have no types with lengths of 64 bits.
      if (is_records && recorded[name].starts_with("large_")) recorded[name].erase(0, 6);
    }
    TypesByName found = TypesOf(schema);
    records_tokens_ = !recorded.contains(json::kRowColumn);
    if (!records_tokens_) return Status::OK();  // rows had any form: their tokens were not counted
    if (free_form_) {
      // JSON has names only, and a batch need not have all of them.
      for (auto it = found.begin(); it != found.end();) {
        it = recorded.contains(it->first) ? found.erase(it) : std::next(it);
      }
      if (found.empty()) return Status::OK();
    } else if (found == recorded) {
      return Status::OK();
    }
    return Status::Invalid("its columns are ", Shown(TypesOf(schema)), ", where its metadata says ",
                           Shown(recorded));
  }

  Status CheckIds(const arrow::RecordBatch& rows) {
    const auto column = rows.GetColumnByName("input_ids");
    if (column == nullptr) return Status::OK();
    std::shared_ptr<arrow::Array> values;
    int64_t first = 0;
    if (column->type_id() == arrow::Type::LIST) {
      const auto& lists = static_cast<const arrow::ListArray&>(*column);
      first = lists.value_offset(0);
      values = lists.values()->Slice(first, lists.value_offset(lists.length()) - first);
    } else if (column->type_id() == arrow::Type::LARGE_LIST) {
      const auto& lists = static_cast<const arrow::LargeListArray&>(*column);
      first = lists.value_offset(0);
      values = lists.values()->Slice(first, lists.value_offset(lists.length()) - first);
    } else if (column->type_id() == arrow::Type::FIXED_SIZE_LIST) {
      const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*column);
      values = lists.values()->Slice(lists.value_offset(0),
                                     lists.length() * lists.list_type()->list_size());
    } else {
      return Status::Invalid("its column input_ids is ", column->type()->ToString(),
                             ", not lists of whole numbers");
    }
    switch (values->type_id()) {
      case arrow::Type::INT32:
        return CheckRange<arrow::Int32Array>(*values);
      case arrow::Type::INT64:
        return CheckRange<arrow::Int64Array>(*values);
      case arrow::Type::INT16:
        return CheckRange<arrow::Int16Array>(*values);
      case arrow::Type::UINT16:
        return CheckRange<arrow::UInt16Array>(*values);
      case arrow::Type::UINT32:
        return CheckRange<arrow::UInt32Array>(*values);
      default:
        if (values->length() == 0) return Status::OK();
        return Status::Invalid("its column input_ids is ", column->type()->ToString(),
                               ", not lists of whole numbers");
    }
  }

  template <typename Ids>
  Status CheckRange(const arrow::Array& values) {
    const auto& ids = static_cast<const Ids&>(values);
    const int64_t limit = vocab_size_.value_or(int64_t{1} << 31);
    for (int64_t i = 0; i < ids.length(); ++i) {
      const auto id = static_cast<int64_t>(ids.Value(i));
      if (ids.IsValid(i) && id >= 0 && id < limit) continue;
      if (ids.IsNull(i)) return Status::Invalid("input_ids has a null among its ids");
      return Status::Invalid("input_ids has the id ", id, " in one of the rows from ", found_.rows,
                             " on; ids are from 0 to ", limit - 1);
    }
    return Status::OK();
  }

  const ExpectedFile& expected_;
  const std::shared_ptr<const storage::Storage> storage_;
  const std::optional<int64_t> vocab_size_;
  const std::shared_ptr<exec::ThreadPool> pool_;
  const std::atomic<bool>* const cancelled_;
  files::FileInfo file_;
  VerifiedFile found_;
  std::optional<TypesByName> types_;
  bool free_form_ = false;
  bool records_tokens_ = true;
};

/// The limit of the ids of an output's tokenizers, where it is known of all of them.
std::optional<int64_t> RecordedIdLimit(const ExpectedFile& file) {
  if (file.output == nullptr) return std::nullopt;
  const auto tokenizers = file.output->values.find("tokenizers");
  if (tokenizers == file.output->values.end() || !tokenizers->is_array()) return std::nullopt;
  std::optional<int64_t> limit;
  for (const nlohmann::json& tokenizer : *tokenizers) {
    const bool known = tokenizer.is_object() && tokenizer.contains("id_limit") &&
                       IsWholeNumber(tokenizer.at("id_limit"));
    if (!known) return std::nullopt;
    limit = std::max(limit.value_or(0), tokenizer.at("id_limit").get<int64_t>());
  }
  return limit;
}

/// Files without metadata have the columns of the first one beside them.
void CompareSchemas(const std::vector<std::optional<TypesByName>>& types,
                    std::vector<VerifiedFile>* files) {
  std::map<std::string, size_t> firsts;
  for (size_t i = 0; i < files->size(); ++i) {
    VerifiedFile& file = (*files)[i];
    if (!types[i].has_value() || !file.problem.empty()) continue;
    const auto folder = std::filesystem::path(file.path).parent_path().string();
    const size_t first = firsts.try_emplace(folder, i).first->second;
    if (*types[i] == *types[first]) continue;
    file.problem = "its columns are " + Shown(*types[i]) + ", where " + (*files)[first].path +
                   " beside it has " + Shown(*types[first]);
  }
}

}  // namespace

nlohmann::ordered_json VerifiedFile::ToJson() const {
  return {{"path", path},   {"rows", rows},         {"tokens", tokens},
          {"bytes", bytes}, {"recorded", recorded}, {"problem", problem}};
}

Result<std::vector<VerifiedFile>> Verifier::Run() {
  const auto storage = options_.storage ? options_.storage : storage::Storage::Default();
  ARROW_ASSIGN_OR_RAISE(const auto expected, ExpectFiles(options_.data, storage));
  const int threads = options_.num_threads > 0 ? options_.num_threads : exec::AvailableCores();
  auto pool = std::make_shared<exec::ThreadPool>(threads);
  std::vector<VerifiedFile> files(expected.size());
  std::vector<std::optional<TypesByName>> types(expected.size());
  ARROW_RETURN_NOT_OK(exec::ParallelFor(expected.size(), threads, [&](size_t i) {
    const auto vocab_size =
        options_.vocab_size.has_value() ? options_.vocab_size : RecordedIdLimit(expected[i]);
    FileCheck check(expected[i], storage, vocab_size, pool, &cancelled_);
    files[i] = check.Run();
    types[i] = check.types();
    ++files_done_;
    return cancelled_ ? Status::Cancelled("verifying was cancelled") : Status::OK();
  }));

  CompareSchemas(types, &files);
  return files;
}

}  // namespace easydata::verify
