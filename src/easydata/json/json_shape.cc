#include "easydata/json/json_shape.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>

#include "easydata/json/json_parse.h"

namespace easydata::json {
namespace {

using Kind = JsonShape::Kind;

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
    case Kind::kNumber:
      return "numbers";
    case Kind::kString:
      return "strings";
    case Kind::kList:
      return "lists";
    case Kind::kObject:
      return "objects";
    default:
      return "nulls";
  }
}

Kind KindOf(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  double special;
  switch (element.type()) {
    case element_type::BOOL:
      return Kind::kBool;
    case element_type::INT64:
    case element_type::UINT64:
      return Kind::kInteger;
    case element_type::DOUBLE:
      return Kind::kNumber;
    case element_type::STRING:
      return IsSpecialNumber(element, &special) ? Kind::kNumber : Kind::kString;
    case element_type::ARRAY:
      return Kind::kList;
    case element_type::OBJECT:
      return Kind::kObject;
    default:
      return Kind::kUnknown;
  }
}

}  // namespace

struct JsonShape::Access {
  /// Where a value is, for errors: written out only then.
  struct Path {
    const Path* parent;
    std::string_view name;
    bool is_item = false;

    /// The same without the brackets of lists, as column_types names it.
    std::string Field() const {
      if (parent == nullptr) return std::string(name);
      const std::string text = parent->Field();
      if (is_item) return text;
      return text.empty() ? std::string(name) : text + "." + std::string(name);
    }

    std::string Text() const {
      if (parent == nullptr) return std::string(name);
      const std::string text = parent->Text();
      if (is_item) return text + "[]";
      return text.empty() ? std::string(name) : text + "." + std::string(name);
    }
  };

  static Status Observe(simdjson::dom::element element, const Path& path, JsonShape* shape) {
    const Kind kind = KindOf(element);
    if (kind == Kind::kUnknown) return Status::OK();
    ARROW_RETURN_NOT_OK(Join(kind, path, shape));
    if (kind == Kind::kInteger) {
      shape->has_large_ =
          shape->has_large_ || element.type() == simdjson::dom::element_type::UINT64;
      shape->has_negative_ = shape->has_negative_ || (element.is_int64() && int64_t(element) < 0);
    }
    if (shape->kind_ == Kind::kMixed) return Status::OK();
    if (kind == Kind::kList) {
      if (shape->item_ == nullptr) shape->item_ = std::make_unique<JsonShape>(shape->lenient_);
      const Path of_item{&path, "", /*is_item=*/true};
      for (simdjson::dom::element item : simdjson::dom::array(element)) {
        ARROW_RETURN_NOT_OK(Observe(item, of_item, shape->item_.get()));
      }
    } else if (kind == Kind::kObject) {
      ARROW_RETURN_NOT_OK(ObserveFields(element, path, shape));
    }
    return Status::OK();
  }

  static Status ObserveFields(simdjson::dom::element element, const Path& path, JsonShape* shape,
                              const KeyTest& is_learnt = nullptr) {
    size_t number = 0;
    for (auto [key, value] : simdjson::dom::object(element)) {
      JsonShape* const field = shape->FieldOf(key, number++);
      if (is_learnt != nullptr && !is_learnt(key)) continue;
      ARROW_RETURN_NOT_OK(Observe(value, Path{&path, key}, field));
    }
    return Status::OK();
  }

  static Status Observe(const arrow::Array& values, const Path& path, JsonShape* shape) {
    if (values.length() == 0) return Status::OK();
    switch (values.type_id()) {
      case arrow::Type::BOOL:
        return Join(Kind::kBool, path, shape);
      case arrow::Type::DOUBLE:
        return Join(Kind::kNumber, path, shape);
      case arrow::Type::STRING:
        return Join(Kind::kString, path, shape);
      case arrow::Type::INT64: {
        const auto& numbers = static_cast<const arrow::Int64Array&>(values);
        const int64_t* const begin = numbers.raw_values();
        shape->has_negative_ = shape->has_negative_ || std::any_of(begin, begin + numbers.length(),
                                                                   [](int64_t n) { return n < 0; });
        return Join(Kind::kInteger, path, shape);
      }
      default:
        return Status::TypeError("no JSON is written from values of type ",
                                 values.type()->ToString());
    }
  }

  static Status Join(Kind kind, const Path& path, JsonShape* shape) {
    if (shape->kind_ == Kind::kUnknown) shape->kind_ = kind;
    if (shape->kind_ == kind) return Status::OK();
    const auto is_number = [](Kind k) { return k == Kind::kInteger || k == Kind::kNumber; };
    if (is_number(shape->kind_) && is_number(kind)) {
      shape->kind_ = Kind::kNumber;
      return Status::OK();
    }
    if (shape->lenient_) {
      shape->kind_ = Kind::kMixed;
      return Status::OK();
    }
    return Status::TypeError("'", path.Text(), "' holds ", NameOf(shape->kind_), " and ",
                             NameOf(kind), "; a column has one type: give it one (column_types={'",
                             path.Field(), "': 'string'}), leave the column out (columns=), or ",
                             "write format jsonl");
  }
};

JsonShape* JsonShape::FieldOf(std::string_view key, size_t expected) {
  if (expected < keys_.size() && keys_[expected] == key) return fields_[expected].get();
  const auto found = index_.find(key);
  if (found != index_.end()) return fields_[found->second].get();
  index_.emplace(key, keys_.size());
  keys_.emplace_back(key);
  fields_.push_back(std::make_unique<JsonShape>(lenient_));
  return fields_.back().get();
}

Status JsonShape::Observe(std::string_view json, const std::string& path) {
  JsonParser parser;
  ARROW_ASSIGN_OR_RAISE(const auto element, parser.Parse(json));
  return Observe(element, path);
}

Status JsonShape::Observe(const simdjson::dom::element& value, const std::string& path) {
  return Access::Observe(value, Access::Path{nullptr, path}, this);
}

Status JsonShape::ObserveRow(std::string_view json, const KeyTest& is_learnt) {
  JsonParser parser;
  ARROW_ASSIGN_OR_RAISE(const auto element, parser.Parse(json));
  return ObserveRow(element, is_learnt);
}

Status JsonShape::ObserveRow(const simdjson::dom::element& row, const KeyTest& is_learnt) {
  if (!row.is_object()) return Status::Invalid("the row is not a JSON object");
  kind_ = Kind::kObject;
  return Access::ObserveFields(row, Access::Path{nullptr, ""}, this, is_learnt);
}

Status JsonShape::Observe(const arrow::Array& values, const std::string& path) {
  return Access::Observe(values, Access::Path{nullptr, path}, this);
}

Status JsonShape::ObserveRows(const arrow::StructArray& rows, const KeyTest& is_learnt) {
  if (rows.length() == 0) return Status::OK();
  kind_ = Kind::kObject;
  const Access::Path root{nullptr, ""};
  for (int f = 0; f < rows.num_fields(); ++f) {
    const std::string& key = rows.struct_type()->field(f)->name();
    JsonShape* const field = FieldOf(key, static_cast<size_t>(f));
    if (is_learnt != nullptr && !is_learnt(key)) continue;
    ARROW_RETURN_NOT_OK(Access::Observe(*rows.field(f), Access::Path{&root, key}, field));
  }
  return Status::OK();
}

std::shared_ptr<arrow::DataType> JsonShape::type(const std::string& column) const {
  switch (kind_) {
    case Kind::kBool:
      return arrow::boolean();
    case Kind::kInteger:
      if (IsTokenColumn(column)) return arrow::int32();
      return has_large_ && !has_negative_ ? arrow::uint64() : arrow::int64();
    case Kind::kNumber:
      return arrow::float64();
    case Kind::kString:
      return arrow::utf8();
    case Kind::kList: {
      // An empty list of a token column is a list of tokens all the same.
      if (item_->kind_ == Kind::kUnknown && IsTokenColumn(column)) {
        return arrow::list(arrow::int32());
      }
      return arrow::list(item_->type(column));
    }
    case Kind::kObject: {
      arrow::FieldVector fields;
      for (const std::string& key : keys_)
        fields.push_back(arrow::field(key, field(key).type(key)));
      return arrow::struct_(std::move(fields));
    }
    default:
      return arrow::null();
  }
}

bool IsTokenColumn(const std::string& name) {
  static constexpr std::array kNames = {"input_ids",    "attention_mask",  "labels",
                                        "position_ids", "segment_ids",     "token_type_ids",
                                        "loss_mask",    "completion_mask", "assistant_masks"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Result<std::shared_ptr<arrow::DataType>> TypeFromName(const std::string& name) {
  static const std::map<std::string, std::shared_ptr<arrow::DataType>> types = {
      {"bool", arrow::boolean()},    {"int8", arrow::int8()},       {"int16", arrow::int16()},
      {"int32", arrow::int32()},     {"int64", arrow::int64()},     {"uint8", arrow::uint8()},
      {"uint16", arrow::uint16()},   {"uint32", arrow::uint32()},   {"uint64", arrow::uint64()},
      {"float", arrow::float32()},   {"float32", arrow::float32()}, {"double", arrow::float64()},
      {"float64", arrow::float64()}, {"string", arrow::utf8()},     {"utf8", arrow::utf8()},
      {"str", arrow::utf8()},        {"int", arrow::int64()}};
  if (auto found = types.find(name); found != types.end()) return found->second;
  if (name.starts_with("list<") && name.ends_with(">")) {
    ARROW_ASSIGN_OR_RAISE(auto item, TypeFromName(name.substr(5, name.size() - 6)));
    return arrow::list(std::move(item));
  }
  return Status::Invalid(
      "there is no type '", name,
      "'; types are bool, int8 … int64, uint8 … uint64, float32, float64, string and "
      "list<type>");
}

}  // namespace easydata::json
