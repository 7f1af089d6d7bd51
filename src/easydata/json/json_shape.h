#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"

namespace simdjson::dom {
class element;
}

namespace easydata::json {

/// The common shape of a column's JSON values: learnt from the values, then made an Arrow type.
///
/// Numbers without a fraction are int64 (int32 in columns of tokens), or uint64 where one is beyond
/// that and none is negative; with any that has a fraction they are double;
/// strings stay strings, whatever they look like; null fits everything.
class JsonShape {
 public:
  enum class Kind { kUnknown, kBool, kInteger, kNumber, kString, kList, kObject, kMixed };

  /// `lenient`: values without a common type are not an error, their kind is kMixed then.
  explicit JsonShape(bool lenient = false) : lenient_(lenient) {}

  /// Learns from one value. TypeError, naming `path`, where it does not fit those before.
  Status Observe(std::string_view json, const std::string& path);
  using KeyTest = std::function<bool(std::string_view key)>;
  /// Learns from one row, an object: each of its keys. Of keys of which `is_learnt` is false it
  /// learns that they are there.
  Status ObserveRow(std::string_view json, const KeyTest& is_learnt = nullptr);
  /// The same for values that are parsed (json_elements.h).
  Status Observe(const simdjson::dom::element& value, const std::string& path);
  Status ObserveRow(const simdjson::dom::element& row, const KeyTest& is_learnt = nullptr);

  /// The same for values that text was written from (typed_text.h): of all slots, and of rows as
  /// structs.
  Status Observe(const arrow::Array& values, const std::string& path);
  Status ObserveRows(const arrow::StructArray& rows, const KeyTest& is_learnt = nullptr);

  Kind kind() const { return kind_; }
  const JsonShape* item() const { return item_.get(); }
  /// Keys of an object in the order in which they appeared.
  const std::vector<std::string>& keys() const { return keys_; }
  const JsonShape& field(const std::string& key) const { return *fields_[index_.at(key)]; }

  /// The Arrow type of values of this shape; `column` decides the width of integers. Nothing but
  /// nulls: null.
  std::shared_ptr<arrow::DataType> type(const std::string& column) const;

  struct Access;  // the parser's side

 private:
  /// The field of a key; `expected` is its number if the keys come as they did before.
  JsonShape* FieldOf(std::string_view key, size_t expected);

  bool lenient_;
  Kind kind_ = Kind::kUnknown;
  bool has_negative_ = false;
  bool has_large_ = false;  // a number above int64's
  std::unique_ptr<JsonShape> item_;
  std::vector<std::string> keys_;
  std::vector<std::unique_ptr<JsonShape>> fields_;  // by key
  std::map<std::string, size_t, std::less<>> index_;
};

/// Whether integers in this column are tokens or marks on tokens: int32.
bool IsTokenColumn(const std::string& name);

/// Finds the type called "int32", "float64", "string", "bool", "list<int32>", …. Invalid where
/// there is none.
Result<std::shared_ptr<arrow::DataType>> TypeFromName(const std::string& name);

}  // namespace easydata::json
