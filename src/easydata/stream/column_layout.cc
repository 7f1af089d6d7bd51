#include "easydata/stream/column_layout.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/json/json_columns.h"
#include "easydata/json/json_elements.h"
#include "easydata/json/json_shape.h"
#include "easydata/json/typed_text.h"
#include "easydata/stream/common_type.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

std::shared_ptr<arrow::DataType> OutputType(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::DICTIONARY) {
    return static_cast<const arrow::DictionaryType&>(*type).value_type();
  }
  if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
    return arrow::list(static_cast<const arrow::FixedSizeListType&>(*type).value_type());
  }
  return type;
}

/// Columns of JSON of one batch, parsed where somebody asks: those that can be parsed as a whole.
class ParsedColumns {
 public:
  explicit ParsedColumns(const Batch& batch)
      : rows_(batch.rows), columns_(batch.rows->num_columns()) {}

  /// Null where each text is to be parsed by itself.
  const json::JsonElements* column(int c) const {
    Column& column = columns_[c];
    if (!column.is_tried) {
      column.is_tried = true;
      auto elements = std::make_unique<json::JsonElements>();
      if (elements->Parse(static_cast<const arrow::StringArray&>(*rows_->column(c)))) {
        column.elements = std::move(elements);
      }
    }
    return column.elements.get();
  }

 private:
  struct Column {
    bool is_tried = false;
    std::unique_ptr<json::JsonElements> elements;
  };

  const std::shared_ptr<arrow::RecordBatch> rows_;
  mutable std::vector<Column> columns_;
};

/// The values that a column of JSON was written from, or null.
std::shared_ptr<arrow::Array> TypedValues(const Batch& batch, int column) {
  return json::TypedValuesOf(static_cast<const arrow::StringArray&>(*batch.rows->column(column)));
}

/// Calls `visit` with each value of a column of JSON, parsed (if `parsed` has it) or as text, and
/// `visit_null` for the slots without one. An error gets its row's address.
template <typename Visit, typename VisitNull>
Status VisitJson(const Batch& batch, const ParsedColumns* parsed, int column, Visit visit,
                 VisitNull visit_null) {
  const auto& text = static_cast<const arrow::StringArray&>(*batch.rows->column(column));
  const json::JsonElements* const elements = parsed == nullptr ? nullptr : parsed->column(column);
  for (int64_t i = 0; i < text.length(); ++i) {
    Status status;
    if (text.IsNull(i)) {
      status = visit_null();
    } else {
      status = elements != nullptr ? visit((*elements)[i]) : visit(text.GetView(i));
    }
    if (status.ok()) continue;
    if (batch.addresses.size() <= i) return status;
    return RowError(batch.AddressOf(i), status.message(), status.code());
  }
  return Status::OK();
}

/// The origin of a column that is written.
struct Origin {
  enum class Kind { kTyped, kJson, kRow };
  Kind kind = Kind::kTyped;
  int input = 0;          // column of the stream; of kRow the column of whole rows
  size_t row_column = 0;  // of kRow: its index among the columns made of rows
};

class Layout : public ColumnLayout {
 public:
  Layout(std::shared_ptr<arrow::Schema> schema, std::vector<Origin> origins, bool closed,
         ColumnTypes types = {})
      : schema_(std::move(schema)),
        origins_(std::move(origins)),
        closed_(closed),
        types_(std::move(types)) {
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (origins_[i].kind != Origin::Kind::kRow) continue;
      row_input_ = origins_[i].input;
      origins_[i].row_column = row_specs_.size();
      row_specs_.push_back(SpecOf(*schema_->field(static_cast<int>(i))));
    }
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Convert(const Batch& batch) const override {
    if (types_.empty()) return Convert(batch, nullptr);
    ARROW_ASSIGN_OR_RAISE(const Batch cast, types_.Cast(batch));
    return Convert(cast, nullptr);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Convert(const Batch& batch,
                                                      const ParsedColumns* parsed) const {
    arrow::ArrayVector of_rows = TypedColumns(batch);
    if (of_rows.empty() && !row_specs_.empty()) {
      json::JsonColumnBuilder builder(row_specs_, closed_);
      ARROW_RETURN_NOT_OK(VisitJson(
          batch, parsed, row_input_, [&](const auto& row) { return builder.AppendRow(row); },
          [&] { return builder.AppendNull(); }));
      ARROW_ASSIGN_OR_RAISE(of_rows, builder.Finish());
    }
    arrow::ArrayVector columns;
    for (size_t i = 0; i < origins_.size(); ++i) {
      const Origin& origin = origins_[i];
      const auto& field = schema_->field(static_cast<int>(i));
      if (origin.kind == Origin::Kind::kRow) {
        columns.push_back(of_rows[origin.row_column]);
      } else if (origin.kind == Origin::Kind::kTyped) {
        ARROW_ASSIGN_OR_RAISE(auto column,
                              CastValues(batch.rows->column(origin.input), field->type()));
        columns.push_back(std::move(column));
      } else if (auto typed = TypedValues(batch, origin.input);
                 typed != nullptr && typed->type()->Equals(*field->type())) {
        columns.push_back(std::move(typed));
      } else {
        json::JsonColumnBuilder builder({SpecOf(*field)}, false);
        ARROW_RETURN_NOT_OK(VisitJson(
            batch, parsed, origin.input,
            [&](const auto& value) { return builder.AppendValue(value); },
            [&] { return builder.AppendNull(); }));
        ARROW_ASSIGN_OR_RAISE(auto made, builder.Finish());
        columns.push_back(std::move(made[0]));
      }
    }
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

 private:
  /// The columns that are made of whole rows, where the rows were written from just these; empty
  /// where they are to be parsed.
  arrow::ArrayVector TypedColumns(const Batch& batch) const {
    if (row_specs_.empty()) return {};
    const auto typed = TypedValues(batch, row_input_);
    if (typed == nullptr || typed->type_id() != arrow::Type::STRUCT) return {};
    const auto& rows = static_cast<const arrow::StructArray&>(*typed);
    if (closed_ && rows.num_fields() != std::ssize(row_specs_)) return {};
    arrow::ArrayVector out;
    for (const json::JsonColumnSpec& spec : row_specs_) {
      auto column = rows.GetFieldByName(spec.name);
      if (column == nullptr || spec.type == nullptr || !column->type()->Equals(*spec.type)) {
        return {};
      }
      out.push_back(std::move(column));
    }
    return out;
  }

  static json::JsonColumnSpec SpecOf(const arrow::Field& field) {
    return {field.name(), json::IsJsonField(field) ? nullptr : field.type()};
  }

  const std::shared_ptr<arrow::Schema> schema_;
  std::vector<Origin> origins_;
  const bool closed_;
  const ColumnTypes types_;
  int row_input_ = 0;
  std::vector<json::JsonColumnSpec> row_specs_;
};

/// Rows of which types are learnt.
struct Sample {
  const std::vector<Batch>& batches;
  std::vector<ParsedColumns> parsed;
  json::JsonShape::KeyTest is_learnt;  // null: all

  explicit Sample(const std::vector<Batch>& batches) : batches(batches) {
    for (const Batch& batch : batches) parsed.emplace_back(batch);
  }

  /// The shape of the values in one column of JSON.
  Result<json::JsonShape> Learn(int column, bool whole_rows, JsonTarget json) const {
    if (!whole_rows && is_learnt != nullptr && !batches.empty() &&
        !is_learnt(batches.front().rows->column_name(column))) {
      return json::JsonShape(json == JsonTarget::kArrays);
    }
    auto shape = Learn(column, whole_rows, json, /*reads_typed=*/true);
    // The error is told of a row.
    return shape.ok() ? std::move(shape) : Learn(column, whole_rows, json, /*reads_typed=*/false);
  }

 private:
  Result<json::JsonShape> Learn(int column, bool whole_rows, JsonTarget json,
                                bool reads_typed) const {
    json::JsonShape shape(json == JsonTarget::kArrays);
    for (size_t i = 0; i < batches.size(); ++i) {
      const std::string& name = batches[i].rows->column_name(column);
      const auto typed = reads_typed ? TypedValues(batches[i], column) : nullptr;
      if (typed != nullptr && whole_rows && typed->type_id() == arrow::Type::STRUCT) {
        const auto& rows = static_cast<const arrow::StructArray&>(*typed);
        ARROW_RETURN_NOT_OK(shape.ObserveRows(rows, is_learnt));
        continue;
      }
      if (typed != nullptr && !whole_rows) {
        ARROW_RETURN_NOT_OK(shape.Observe(*typed, name));
        continue;
      }
      ARROW_RETURN_NOT_OK(VisitJson(
          batches[i], &parsed[i], column,
          [&](const auto& value) {
            return whole_rows ? shape.ObserveRow(value, is_learnt) : shape.Observe(value, name);
          },
          [] { return Status::OK(); }));
    }
    return shape;
  }
};

/// Whether a column of these values makes one array, or strings.
bool MakesArray(const json::JsonShape& shape) {
  using Kind = json::JsonShape::Kind;
  const auto is_number = [](Kind kind) {
    return kind == Kind::kBool || kind == Kind::kInteger || kind == Kind::kNumber;
  };
  if (shape.kind() == Kind::kList) {
    return is_number(shape.item()->kind()) || shape.item()->kind() == Kind::kUnknown;
  }
  return is_number(shape.kind()) || shape.kind() == Kind::kString;
}

std::shared_ptr<arrow::Field> FieldOf(const std::string& name, const json::JsonShape& shape,
                                      JsonTarget json) {
  if (json == JsonTarget::kText) return json::JsonField(name);
  if (json == JsonTarget::kArrays) {
    if (!MakesArray(shape)) return json::JsonField(name);
    // A batch of empty lists alone has no type of its own.
    if (shape.kind() == json::JsonShape::Kind::kList &&
        shape.item()->kind() == json::JsonShape::Kind::kUnknown) {
      return arrow::field(name,
                          arrow::list(json::IsTokenColumn(name) ? arrow::int32() : arrow::int64()));
    }
  }
  return arrow::field(name, shape.type(name));
}

struct Candidate {
  std::shared_ptr<arrow::Field> field;
  Origin origin;
};

/// All columns that could be written, in order; a column beside whole rows replaces the key of its
/// name.
Result<std::vector<Candidate>> Candidates(const arrow::Schema& input, const Sample& sample,
                                          JsonTarget json) {
  std::vector<Candidate> out;
  for (int c = 0; c < input.num_fields(); ++c) {
    const auto& field = input.field(c);
    if (!json::IsRowField(*field)) continue;
    ARROW_ASSIGN_OR_RAISE(const json::JsonShape shape, sample.Learn(c, true, json));
    for (const std::string& key : shape.keys()) {
      if (input.GetFieldIndex(key) >= 0) continue;
      auto made = FieldOf(key, shape.field(key), json);
      out.push_back({std::move(made), {Origin::Kind::kRow, c, 0}});
    }
  }
  for (int c = 0; c < input.num_fields(); ++c) {
    const auto& field = input.field(c);
    if (json::IsRowField(*field)) continue;
    if (!json::IsJsonField(*field)) {
      out.push_back({arrow::field(field->name(), OutputType(field->type()), field->nullable()),
                     {Origin::Kind::kTyped, c, 0}});
    } else if (json == JsonTarget::kText) {
      out.push_back({field, {Origin::Kind::kTyped, c, 0}});
    } else {
      ARROW_ASSIGN_OR_RAISE(const json::JsonShape shape, sample.Learn(c, false, json));
      auto made = FieldOf(field->name(), shape, json);
      const auto kind = json::IsJsonField(*made) ? Origin::Kind::kTyped : Origin::Kind::kJson;
      out.push_back({std::move(made), {kind, c, 0}});
    }
  }
  return out;
}

Result<std::vector<Candidate>> Choose(
    std::vector<Candidate> candidates,
    const std::vector<std::pair<std::string, std::string>>& wanted, const arrow::Schema& input,
    JsonTarget json) {
  const int rows = json::RowColumnIndex(input);
  std::vector<Candidate> out;
  for (const auto& [name, type_name] : wanted) {
    const auto is_wanted = [&wanted_name = name](const Candidate& c) {
      return c.field->name() == wanted_name;
    };
    const auto found = std::find_if(candidates.begin(), candidates.end(), is_wanted);
    std::shared_ptr<arrow::DataType> type;
    if (!type_name.empty()) {
      auto found_type = json::TypeFromName(type_name);
      if (!found_type.ok()) {
        return found_type.status().WithMessage("columns: ", found_type.status().message());
      }
      type = std::move(*found_type);
    }
    if (found != candidates.end()) {
      Candidate chosen = *found;
      if (type != nullptr && !json::IsJsonField(*chosen.field)) {
        chosen.field = chosen.field->WithType(type);
      }
      out.push_back(std::move(chosen));
      continue;
    }
    const auto is_part = std::ranges::any_of(candidates, [&wanted_name = name](const Candidate& c) {
      return wanted_name.starts_with(c.field->name() + ".");
    });
    if (is_part) {
      return Status::Invalid("columns: names whole columns, and '", name, "' would be a field in ",
                             "one; give that its type: column_types={'", name, "': '",
                             type_name.empty() ? "string" : type_name, "'}");
    }
    const bool as_text = json == JsonTarget::kText;
    if (rows >= 0 && (type != nullptr || as_text)) {
      out.push_back({as_text ? json::JsonField(name) : arrow::field(name, type),
                     {Origin::Kind::kRow, rows, 0}});
      continue;
    }
    std::string names;
    for (const Candidate& candidate : candidates) {
      names += (names.empty() ? "" : ", ") + candidate.field->name();
    }
    if (rows >= 0) {
      return Status::Invalid("columns: no row that was looked at has '", name,
                             "', so its type is not known (there are ", names,
                             "); give it: columns={'", name, "': 'string', ...}");
    }
    return Status::KeyError("columns: there is no column '", name, "'; there are ", names);
  }
  return out;
}

template <typename Visit>
void VisitRange(const arrow::Array& column, Visit visit) {
  switch (column.type_id()) {
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(column);
      visit(*list.values(), list.value_offset(0), list.value_offset(list.length()));
      return;
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(column);
      visit(*list.values(), list.value_offset(0), list.value_offset(list.length()));
      return;
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(column);
      visit(*list.values(), list.value_offset(0), list.value_offset(list.length()));
      return;
    }
    default:
      return;
  }
}

/// Gives columns the types that they are to have; those of whole rows that no row has, too.
Status SetTypes(const ColumnTypes& types, const arrow::Schema& input, JsonTarget json,
                std::vector<Candidate>* candidates) {
  if (types.empty() || json == JsonTarget::kText) return Status::OK();
  arrow::FieldVector fields;
  for (const Candidate& candidate : *candidates) fields.push_back(candidate.field);
  const int rows = json::RowColumnIndex(input);
  ARROW_ASSIGN_OR_RAISE(const auto typed, types.Apply(*arrow::schema(fields), /*adds=*/true));
  for (int i = 0; i < typed->num_fields(); ++i) {
    const auto& field = typed->field(i);
    if (i < static_cast<int>(candidates->size())) {
      (*candidates)[i].field = field;
    } else if (rows >= 0) {
      candidates->push_back({field, {Origin::Kind::kRow, rows, 0}});
    } else {
      std::string names;
      for (const auto& known : fields) names += (names.empty() ? "" : ", ") + known->name();
      return Status::KeyError("column_types: there is no column '", field->name(), "'; there are ",
                              names);
    }
  }
  return Status::OK();
}

/// Which columns' types are learnt: those that are wanted and have none.
json::JsonShape::KeyTest LearntOf(const WantedColumns& wanted) {
  if (!wanted.has_value()) return nullptr;
  return [&wanted = *wanted](std::string_view name) {
    return std::ranges::any_of(
        wanted, [&](const auto& column) { return column.first == name && column.second.empty(); });
  };
}

Result<std::unique_ptr<Layout>> LayoutOf(const std::shared_ptr<arrow::Schema>& input,
                                         const Sample& sample, const WantedColumns& wanted,
                                         JsonTarget json, const ColumnTypes& types = {}) {
  ARROW_ASSIGN_OR_RAISE(auto columns, Candidates(*input, sample, json));
  ARROW_RETURN_NOT_OK(SetTypes(types, *input, json, &columns));
  if (wanted.has_value()) {
    ARROW_ASSIGN_OR_RAISE(columns, Choose(std::move(columns), *wanted, *input, json));
  }
  arrow::FieldVector fields;
  std::vector<Origin> origins;
  for (Candidate& column : columns) {
    fields.push_back(std::move(column.field));
    origins.push_back(column.origin);
  }
  return std::make_unique<Layout>(arrow::schema(std::move(fields)), std::move(origins),
                                  !wanted.has_value(), types);
}

}  // namespace

bool NeedsSample(const arrow::Schema& input, JsonTarget json) {
  if (json == JsonTarget::kText) return false;
  for (const auto& field : input.fields()) {
    if (json::IsJsonField(*field)) return true;
  }
  return false;
}

Result<std::unique_ptr<ColumnLayout>> MakeColumnLayout(const std::shared_ptr<arrow::Schema>& input,
                                                       const std::vector<Batch>& sample,
                                                       const WantedColumns& wanted, JsonTarget json,
                                                       const ColumnTypes& types) {
  if (json == JsonTarget::kText && !wanted.has_value()) {
    // Whole rows go out as they are too.
    std::vector<Origin> origins;
    arrow::FieldVector fields;
    for (int c = 0; c < input->num_fields(); ++c) {
      const auto& field = input->field(c);
      fields.push_back(json::IsJsonField(*field)
                           ? field
                           : arrow::field(field->name(), OutputType(field->type())));
      origins.push_back({Origin::Kind::kTyped, c, 0});
    }
    ARROW_ASSIGN_OR_RAISE(auto schema, types.Apply(*arrow::schema(fields), /*adds=*/false));
    return std::make_unique<Layout>(std::move(schema), std::move(origins), false, types);
  }
  std::vector<Batch> cast;
  for (const Batch& batch : sample) {
    ARROW_ASSIGN_OR_RAISE(cast.emplace_back(), types.Cast(batch));
  }
  Sample learnt(cast);
  learnt.is_learnt = LearntOf(wanted);
  return LayoutOf(input, learnt, wanted, json, types);
}

Status TypeColumns(JsonTarget json, std::vector<Batch>* batches) {
  if (batches->empty() || !NeedsSample(*batches->front().rows->schema(), json)) return Status::OK();
  const Sample sample(*batches);
  ARROW_ASSIGN_OR_RAISE(const auto layout,
                        LayoutOf(batches->front().rows->schema(), sample, std::nullopt, json));
  for (size_t i = 0; i < batches->size(); ++i) {
    Batch& batch = (*batches)[i];
    ARROW_ASSIGN_OR_RAISE(batch.rows, layout->Convert(batch, &sample.parsed[i]));
  }
  return Status::OK();
}

int64_t CountTokens(const arrow::RecordBatch& batch) {
  auto ids = batch.GetColumnByName("input_ids");
  if (ids == nullptr || batch.num_rows() == 0) return 0;
  int64_t tokens = 0;
  VisitRange(*ids, [&](const arrow::Array& values, int64_t begin, int64_t end) {
    if (arrow::is_integer(values.type_id())) tokens = end - begin;
  });
  auto mask = batch.GetColumnByName("attention_mask");
  if (mask == nullptr) return tokens;
  VisitRange(*mask, [&](const arrow::Array& values, int64_t begin, int64_t end) {
    if (values.type_id() != arrow::Type::INT32 || end - begin != tokens) return;
    const int32_t* data = static_cast<const arrow::Int32Array&>(values).raw_values();
    int64_t kept = 0;
    for (int64_t i = begin; i < end; ++i) kept += data[i] != 0;
    tokens = kept;
  });
  return tokens;
}

}  // namespace easydata
