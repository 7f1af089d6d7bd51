#include "easydata/sink/shards_by_value.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "easydata/base/hash.h"
#include "easydata/base/nearest_name.h"
#include "easydata/json/json_column.h"
#include "easydata/json/json_parse.h"
#include "easydata/json/json_text.h"
#include "easydata/sink/shard_form.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/row_error.h"

namespace easydata::sink {
namespace {

bool HasValueText(const arrow::DataType& type) {
  const arrow::Type::type id = type.id();
  return arrow::is_base_binary_like(id) || arrow::is_primitive(id) || arrow::is_decimal(id) ||
         id == arrow::Type::NA;
}

Status NoValueText(const std::string& column, const std::string& what) {
  return Status::Invalid("shard_column: column \"", column, "\" holds ", what,
                         "; name one of text, numbers, truth values or times");
}

/// The text of a value of JSON: of text its characters, of null nothing.
Result<std::string> TextOfJson(const std::string& column, std::string_view json,
                               json::JsonParser* parser) {
  if (json.starts_with('{') || json.starts_with('[')) {
    return NoValueText(column, "a list or an object");
  }
  if (json == "null") return std::string();
  if (!json.starts_with('"')) return std::string(json);
  ARROW_ASSIGN_OR_RAISE(const auto value, parser->Parse(json));
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return std::string(json);
  return std::string(text);
}

Result<std::string> TextOfValue(const arrow::Array& values, int64_t i) {
  std::string text;
  ARROW_RETURN_NOT_OK(json::AppendJsonValue(values, i, &text));
  const bool is_quoted = text.size() > 1 && text.front() == '"';
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

template <typename ArrayType>
std::string_view ViewOf(const arrow::Array& values, int64_t i) {
  return static_cast<const ArrayType&>(values).GetView(i);
}

std::string_view BytesOf(const arrow::Array& values, int64_t i) {
  const bool is_large = arrow::is_large_binary_like(values.type_id());
  return is_large ? ViewOf<arrow::LargeBinaryArray>(values, i)
                  : ViewOf<arrow::BinaryArray>(values, i);
}

int64_t ContentOf(const arrow::RecordBatch& rows) {
  const std::vector<int64_t> bytes = ContentBytesByRow(rows);
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

}  // namespace

ShardsByValue::ShardsByValue(Options options, std::unique_ptr<ColumnLayout> key)
    : options_(std::move(options)), key_(std::move(key)) {
  for (int64_t i = 0; i < options_.shards; ++i) held_.push_back({static_cast<size_t>(i)});
}

Result<std::unique_ptr<ShardsByValue>> ShardsByValue::Make(
    const std::shared_ptr<arrow::Schema>& input, Options options,
    std::shared_ptr<exec::ThreadPool> pool, std::function<Result<std::optional<RowGroup>>()> pull,
    const ColumnLayout* layout, const ShardFormat* format) {
  const std::string& column = options.column;
  const bool is_known = input->GetFieldIndex(column) >= 0;
  if (!is_known && json::RowColumnIndex(*input) < 0) {
    return Status::KeyError("shard_column: there is no column \"", column, "\"",
                            Suggestion(column, input->field_names()));
  }
  // Of the stream's rows, not of what is written: the column need not be.
  WantedColumns wanted;
  wanted.emplace().emplace_back(column, "");
  ARROW_ASSIGN_OR_RAISE(auto key, MakeColumnLayout(input, {}, wanted, JsonTarget::kText));
  const arrow::Field& field = *key->schema()->field(0);
  if (!HasValueText(*field.type())) return NoValueText(column, field.type()->ToString());
  std::unique_ptr<ShardsByValue> made(new ShardsByValue(std::move(options), std::move(key)));
  ShardsByValue* const self = made.get();
  const int ahead = pool->num_threads() + 1;
  made->split_ = std::make_unique<exec::OrderedMap<RowGroup, std::vector<Rows>>>(
      pool, ahead, std::move(pull),
      [self, layout](RowGroup group) { return self->Split(group, *layout); });
  made->encoded_ = std::make_unique<exec::OrderedMap<Rows, Group>>(
      pool, ahead, [self] { return self->NextRows(); },
      [format](Rows rows) -> Result<Group> {
        ARROW_ASSIGN_OR_RAISE(EncodedGroup encoded, EncodeRows(rows.parts, *format));
        return Group{rows.shard, std::move(encoded)};
      });
  return made;
}

Result<std::optional<ShardsByValue::Group>> ShardsByValue::Next() { return encoded_->Next(); }

void ShardsByValue::Cancel() {
  split_->Cancel();
  encoded_->Cancel();
}

Result<std::vector<int64_t>> ShardsByValue::ShardsOf(const Batch& batch) const {
  ARROW_ASSIGN_OR_RAISE(const auto rows, key_->Convert(batch));
  const arrow::Array& values = *rows->column(0);
  const bool is_json = json::IsJsonField(*key_->schema()->field(0));
  const bool is_text = arrow::is_base_binary_like(values.type_id());
  json::JsonParser parser;
  std::vector<int64_t> shards;
  for (int64_t i = 0; i < values.length(); ++i) {
    std::string made;
    std::string_view text;
    if (!values.IsNull(i) && is_text && !is_json) {
      text = BytesOf(values, i);
    } else if (!values.IsNull(i)) {
      auto value = is_json ? TextOfJson(options_.column, BytesOf(values, i), &parser)
                           : TextOfValue(values, i);
      if (!value.ok() && batch.addresses.size() > i) {
        return RowError(batch.AddressOf(i), value.status().message());
      }
      ARROW_ASSIGN_OR_RAISE(made, std::move(value));
      text = made;
    }
    shards.push_back(static_cast<int64_t>(Hash64(text) % static_cast<uint64_t>(options_.shards)));
  }
  return shards;
}

Result<std::vector<ShardsByValue::Rows>> ShardsByValue::Split(const RowGroup& group,
                                                              const ColumnLayout& layout) const {
  std::map<int64_t, Rows> found;
  for (const Batch& batch : group.parts) {
    ARROW_ASSIGN_OR_RAISE(const auto shards, ShardsOf(batch));
    ARROW_ASSIGN_OR_RAISE(const auto rows, layout.Convert(batch));
    const Batch written = AsWritten(batch, rows);
    std::map<int64_t, std::vector<int64_t>> indices;
    for (size_t i = 0; i < shards.size(); ++i) {
      indices[shards[i]].push_back(static_cast<int64_t>(i));
    }
    for (const auto& [shard, chosen] : indices) {
      ARROW_ASSIGN_OR_RAISE(Batch taken, written.Take(chosen));
      Rows& of_shard = found[shard];
      of_shard.shard = static_cast<size_t>(shard);
      of_shard.rows += taken.num_rows();
      of_shard.bytes += ContentOf(*taken.rows);
      of_shard.parts.push_back(std::move(taken));
    }
  }
  std::vector<Rows> split;
  for (auto& [shard, rows] : found) split.push_back(std::move(rows));
  return split;
}

Result<std::optional<ShardsByValue::Rows>> ShardsByValue::NextRows() {
  while (closed_.empty() && !ended_) {
    ARROW_ASSIGN_OR_RAISE(auto split, split_->Next());
    ended_ = !split.has_value();
    if (ended_) {
      for (size_t shard = 0; shard < held_.size(); ++shard) Close(shard, /*is_last=*/true);
      break;
    }
    for (Rows& rows : *split) Add(std::move(rows));
  }
  if (closed_.empty()) return std::nullopt;
  Rows rows = std::move(closed_.front());
  closed_.pop_front();
  return rows;
}

void ShardsByValue::Add(Rows rows) {
  const size_t shard = rows.shard;
  Rows& held = held_[shard];
  held.rows += rows.rows;
  held.bytes += rows.bytes;
  bytes_ += rows.bytes;
  held.parts.insert(held.parts.end(), rows.parts.begin(), rows.parts.end());
  if (held.rows >= options_.limits.rows || held.bytes >= options_.limits.bytes) Close(shard, false);
  while (bytes_ > options_.held_bytes) {
    const auto most = std::max_element(
        held_.begin(), held_.end(), [](const Rows& a, const Rows& b) { return a.bytes < b.bytes; });
    if (!Close(most->shard, false)) return;
  }
}

bool ShardsByValue::Close(size_t shard, bool is_last) {
  Rows& held = held_[shard];
  const int64_t beyond = is_last ? 0 : held.rows % options_.limits.multiple;
  if (held.rows == beyond) return false;
  Rows kept{shard};
  for (int64_t left = beyond; left > 0;) {
    const Batch part = held.parts.back();
    const int64_t take = std::min(left, part.num_rows());
    kept.parts.insert(kept.parts.begin(), part.Slice(part.num_rows() - take, take));
    held.parts.pop_back();
    if (take < part.num_rows()) held.parts.push_back(part.Slice(0, part.num_rows() - take));
    kept.rows += take;
    kept.bytes += ContentOf(*kept.parts.front().rows);
    left -= take;
  }
  bytes_ -= held.bytes - kept.bytes;
  held.rows -= kept.rows;
  held.bytes -= kept.bytes;
  closed_.push_back(std::exchange(held, std::move(kept)));
  return true;
}

}  // namespace easydata::sink
