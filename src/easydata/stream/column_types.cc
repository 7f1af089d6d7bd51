#include "easydata/stream/column_types.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "easydata/json/json_column.h"
#include "easydata/json/json_parse.h"
#include "easydata/json/json_shape.h"
#include "easydata/json/json_text.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/common_type.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;
using TypePtr = std::shared_ptr<arrow::DataType>;
using Node = ColumnTypes::Node;

/// Bounds of an integer type: the values of uint64 above int64's are counted apart.
struct IntegerRange {
  int64_t least;
  uint64_t most;
};

IntegerRange RangeOf(const arrow::DataType& type) {
  const int bits = type.byte_width() * 8;
  if (arrow::is_unsigned_integer(type.id())) {
    return {0, std::numeric_limits<uint64_t>::max() >> (64 - bits)};
  }
  const uint64_t most = std::numeric_limits<uint64_t>::max() >> (65 - bits);
  return {-static_cast<int64_t>(most) - 1, most};
}

template <typename Number>
bool ReadsAs(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

class Caster {
 public:
  explicit Caster(std::string* out) : out_(out) {}

  Status Cast(const element& value, const Node& node, const std::string& path) {
    if (value.is_null()) return Append("null");
    if (node.type != nullptr) return CastTo(value, *node.type, path);
    if (value.is_array()) {
      return Items(value, [&](const element& item) { return Cast(item, node, path); });
    }
    if (!value.is_object()) return Append(simdjson::minify(value));
    *out_ += '{';
    bool is_first = true;
    for (const auto [key, field] : simdjson::dom::object(value)) {
      if (!std::exchange(is_first, false)) *out_ += ',';
      json::AppendJsonString(key, out_);
      *out_ += ':';
      const auto named = node.fields.find(key);
      if (named == node.fields.end()) {
        ARROW_RETURN_NOT_OK(AppendAsItIs(field));
      } else {
        ARROW_RETURN_NOT_OK(
            Cast(field, named->second, (path.empty() ? "" : path + ".") + std::string(key)));
      }
    }
    *out_ += '}';
    return Status::OK();
  }

 private:
  Status Append(std::string_view text) {
    *out_ += text;
    return Status::OK();
  }

  /// NaN and the infinities are written as Python's json module does.
  Status AppendAsItIs(const element& value) {
    if (value.is_array()) {
      return Items(value, [&](const element& item) { return AppendAsItIs(item); });
    }
    static const Node kNone;
    if (value.is_object()) return Cast(value, kNone, "");
    double special;
    if (json::IsSpecialNumber(value, &special)) return AppendSpecial(special);
    return Append(simdjson::minify(value));
  }

  Status AppendSpecial(double value) {
    return Append(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }

  template <typename Each>
  Status Items(const element& value, Each each) {
    *out_ += '[';
    bool is_first = true;
    for (const element item : simdjson::dom::array(value)) {
      if (!std::exchange(is_first, false)) *out_ += ',';
      ARROW_RETURN_NOT_OK(each(item));
    }
    *out_ += ']';
    return Status::OK();
  }

  Status CastTo(const element& value, const arrow::DataType& type, const std::string& path) {
    if (value.is_null()) return Append("null");
    bool fits = false;
    if (IsList(type)) {
      if (value.is_array()) {
        return Items(value, [&](const element& item) {
          return CastTo(item, *type.field(0)->type(), path + "[]");
        });
      }
    } else if (arrow::is_string(type.id())) {
      fits = AppendText(value);
    } else if (type.id() == arrow::Type::BOOL) {
      fits = value.is_bool();
      if (fits) *out_ += simdjson::minify(value);
    } else if (arrow::is_integer(type.id())) {
      fits = AppendInteger(value, RangeOf(type));
    } else if (arrow::is_floating(type.id())) {
      fits = AppendFloat(value);
    }
    if (fits) return Status::OK();
    std::string shown = simdjson::minify(value);
    if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
    return Status::TypeError("'", path, "' is to be ", type.ToString(),
                             ", as column_types says, and is ", shown);
  }

  bool AppendText(const element& value) {
    double special;
    if (value.is_string() && !json::IsSpecialNumber(value, &special)) {
      json::AppendJsonString(std::string_view(value), out_);
      return true;
    }
    std::string text;
    Caster of_text(&text);
    if (!of_text.AppendAsItIs(value).ok()) return false;
    json::AppendJsonString(text, out_);
    return true;
  }

  bool AppendInteger(const element& value, const IntegerRange& range) {
    int64_t number = 0;
    uint64_t large = 0;
    bool is_large = false;
    switch (value.type()) {
      case element_type::INT64:
        number = int64_t(value);
        break;
      case element_type::UINT64:
        large = uint64_t(value);
        is_large = true;
        break;
      case element_type::DOUBLE: {
        const double real = double(value);
        if (real != std::floor(real) || std::fabs(real) > 9007199254740992.0) return false;
        number = static_cast<int64_t>(real);
        break;
      }
      case element_type::STRING: {
        const std::string_view text(value);
        if (ReadsAs(text, &number)) break;
        is_large = ReadsAs(text, &large);
        if (!is_large) return false;
        break;
      }
      default:
        return false;
    }
    if (is_large
            ? large > range.most
            : number < range.least || (number > 0 && static_cast<uint64_t>(number) > range.most)) {
      return false;
    }
    *out_ += is_large ? std::to_string(large) : std::to_string(number);
    return true;
  }

  bool AppendFloat(const element& value) {
    double real;
    if (json::IsSpecialNumber(value, &real)) return AppendSpecial(real).ok();
    if (value.is_int64()) {
      real = static_cast<double>(int64_t(value));
      // 2^63 itself is no int64.
      if (real >= 9223372036854775808.0 || static_cast<int64_t>(real) != int64_t(value)) {
        return false;
      }
    } else if (value.is_uint64()) {
      real = static_cast<double>(uint64_t(value));
      if (real >= 18446744073709551616.0 || static_cast<uint64_t>(real) != uint64_t(value)) {
        return false;
      }
    } else if (value.is_double()) {
      real = double(value);
    } else if (!value.is_string() || !ReadsAs(std::string_view(value), &real)) {
      return false;
    }
    if (!std::isfinite(real)) return AppendSpecial(real).ok();
    char text[40];
    const auto end = std::to_chars(text, text + sizeof(text), real).ptr;
    const std::string_view shown(text, end - text);
    *out_ += shown;
    if (shown.find_first_of(".e") == std::string_view::npos) *out_ += ".0";
    return true;
  }

  std::string* const out_;
};

/// The type with what `node` says, of fields that it has or, with `adds`, of others.
TypePtr TypeWith(const TypePtr& type, const Node& node, bool adds) {
  if (node.type != nullptr) return node.type;
  if (IsList(*type)) {
    TypePtr item = TypeWith(type->field(0)->type(), node, adds);
    return type->id() == arrow::Type::LIST ? arrow::list(std::move(item))
                                           : arrow::large_list(std::move(item));
  }
  const bool is_object = type->id() == arrow::Type::STRUCT;
  if (!is_object && !(adds && type->id() == arrow::Type::NA)) return type;
  arrow::FieldVector fields = type->fields();
  for (const auto& [name, child] : node.fields) {
    bool is_known = false;
    for (auto& field : fields) {
      if (field->name() != name) continue;
      is_known = true;
      field = field->WithType(TypeWith(field->type(), child, adds));
    }
    if (is_known || !adds) continue;
    fields.push_back(arrow::field(name, TypeWith(arrow::null(), child, adds)));
  }
  return arrow::struct_(std::move(fields));
}

Status AddPath(const std::string& path, TypePtr type, Node* root) {
  Node* node = root;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (node->type != nullptr || begin == end) {
      return Status::Invalid("'", path, "' is no path of a column, or lies in one ",
                             "that has a type itself");
    }
    node = &node->fields[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  if (!node->fields.empty()) {
    return Status::Invalid("'", path, "' has a type itself, and so has a field of it");
  }
  node->type = std::move(type);
  return Status::OK();
}

}  // namespace

Result<ColumnTypes> ColumnTypes::Make(const NamedTypes& names, std::vector<std::string> fills) {
  ColumnTypes out;
  out.fills_ = std::move(fills);
  for (const auto& [path, name] : names) {
    auto type = json::TypeFromName(name);
    if (!type.ok()) {
      return type.status().WithMessage("'", path, "': ", type.status().message());
    }
    ARROW_RETURN_NOT_OK(AddPath(path, std::move(*type), &out.root_));
  }
  return out;
}

Result<std::shared_ptr<arrow::Schema>> ColumnTypes::Apply(const arrow::Schema& schema,
                                                          bool adds) const {
  arrow::FieldVector fields = schema.fields();
  for (const auto& [name, node] : root_.fields) {
    bool is_known = false;
    for (auto& field : fields) {
      if (field->name() != name) continue;
      is_known = true;
      // What a text of JSON has is cast in its text.
      if (!json::IsJsonField(*field)) field = field->WithType(TypeWith(field->type(), node, adds));
    }
    if (is_known || !adds) continue;
    fields.push_back(arrow::field(name, TypeWith(arrow::null(), node, adds)));
  }
  if (json::RowColumnIndex(schema) >= 0) return arrow::schema(std::move(fields));
  for (const std::string& name : fills_) {
    const bool is_known =
        std::any_of(fields.begin(), fields.end(),
                    [&](const std::shared_ptr<arrow::Field>& f) { return f->name() == name; });
    if (is_known) continue;
    const auto node = root_.fields.find(name);
    fields.push_back(arrow::field(
        name, node == root_.fields.end() ? arrow::null()
                                         : TypeWith(arrow::null(), node->second, /*adds=*/true)));
  }
  return arrow::schema(std::move(fields));
}

std::vector<std::string> ColumnTypes::columns() const {
  std::vector<std::string> out;
  for (const auto& [name, node] : root_.fields) out.push_back(name);
  return out;
}

Result<Batch> ColumnTypes::Cast(Batch batch) const {
  if (empty()) return batch;
  ARROW_ASSIGN_OR_RAISE(const auto schema, Apply(*batch.rows->schema(), /*adds=*/false));
  for (int c = 0; c < batch.rows->num_columns(); ++c) {
    const auto field = batch.rows->schema()->field(c);
    const bool is_row = json::IsRowField(*field);
    if (!is_row && !root_.fields.contains(field->name())) continue;
    std::shared_ptr<arrow::Array> cast;
    if (is_row || json::IsJsonField(*field)) {
      ARROW_ASSIGN_OR_RAISE(cast, CastJson(batch, c));
      ARROW_ASSIGN_OR_RAISE(batch.rows, batch.rows->SetColumn(c, field, std::move(cast)));
    } else if (!field->type()->Equals(*schema->field(c)->type())) {
      ARROW_ASSIGN_OR_RAISE(cast, CastTyped(batch, c, schema->field(c)->type()));
      ARROW_ASSIGN_OR_RAISE(batch.rows,
                            batch.rows->SetColumn(c, schema->field(c), std::move(cast)));
    }
  }
  for (int c = batch.rows->num_columns(); c < schema->num_fields(); ++c) {
    ARROW_ASSIGN_OR_RAISE(auto nulls,
                          arrow::MakeArrayOfNull(schema->field(c)->type(), batch.num_rows()));
    ARROW_ASSIGN_OR_RAISE(batch.rows, batch.rows->AddColumn(c, schema->field(c), std::move(nulls)));
  }
  return batch;
}

Result<std::shared_ptr<arrow::Array>> ColumnTypes::CastJson(const Batch& batch, int column) const {
  const auto& texts = static_cast<const arrow::StringArray&>(*batch.rows->column(column));
  const std::string& name = batch.rows->column_name(column);
  const bool is_row = json::IsRowField(*batch.rows->schema()->field(column));
  arrow::StringBuilder builder;
  std::string text;
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    text.clear();
    const Status status =
        is_row ? CastRow(texts.GetView(i), &text) : CastValue(name, texts.GetView(i), &text);
    if (!status.ok()) return RowError(batch.AddressOf(i), status.message(), status.code());
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> ColumnTypes::CastTyped(
    const Batch& batch, int column, const std::shared_ptr<arrow::DataType>& type) const {
  const auto values = batch.rows->column(column);
  auto cast = CastValues(values, type);
  if (cast.ok()) return cast;
  if (!cast.status().IsInvalid() || batch.addresses.size() < values->length()) {
    return Status::TypeError("column '", batch.rows->column_name(column), "' is of type ",
                             values->type()->ToString(), " and is to be ", type->ToString(),
                             ", as column_types says: ", cast.status().message());
  }
  for (int64_t i = 0; i < values->length(); ++i) {
    const Status status = CastValues(values->Slice(i, 1), type).status();
    if (status.ok()) continue;
    return RowError(batch.AddressOf(i),
                    "'" + batch.rows->column_name(column) + "' is to be " + type->ToString() +
                        ", as column_types says: " + status.message(),
                    status.code());
  }
  return cast;
}

Status ColumnTypes::CastRow(std::string_view json, std::string* out) const {
  json::JsonParser parser;
  ARROW_ASSIGN_OR_RAISE(const element row, parser.Parse(json));
  ARROW_RETURN_NOT_OK(Caster(out).Cast(row, root_, ""));
  simdjson::dom::object fields;
  if (fills_.empty() || row.get(fields) != simdjson::SUCCESS) return Status::OK();
  for (const std::string& name : fills_) {
    if (fields.at_key(name).error() == simdjson::SUCCESS) continue;
    out->pop_back();
    if (out->back() != '{') *out += ',';
    json::AppendJsonString(name, out);
    *out += ":null}";
  }
  return Status::OK();
}

Status ColumnTypes::CastValue(const std::string& column, std::string_view json,
                              std::string* out) const {
  const auto node = root_.fields.find(column);
  if (node == root_.fields.end()) {
    *out += json;
    return Status::OK();
  }
  json::JsonParser parser;
  ARROW_ASSIGN_OR_RAISE(const element value, parser.Parse(json));
  return Caster(out).Cast(value, node->second, column);
}

}  // namespace easydata
