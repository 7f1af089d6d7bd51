#include "easydata/stream/common_type.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bitmap_ops.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace easydata {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ArrayPtr = std::shared_ptr<arrow::Array>;

bool IsText(arrow::Type::type id) { return arrow::is_string(id) || id == arrow::Type::STRING_VIEW; }

bool IsBytes(arrow::Type::type id) {
  return id == arrow::Type::BINARY || id == arrow::Type::LARGE_BINARY ||
         id == arrow::Type::BINARY_VIEW;
}

/// Whether values are lists that CastValues() rebuilds.
bool IsListOfAnyKind(arrow::Type::type id) {
  return id == arrow::Type::LIST || id == arrow::Type::LARGE_LIST ||
         id == arrow::Type::FIXED_SIZE_LIST;
}

const TypePtr& Wider(const TypePtr& a, const TypePtr& b) {
  return a->byte_width() >= b->byte_width() ? a : b;
}

TypePtr CommonInteger(const TypePtr& a, const TypePtr& b) {
  const bool is_a_signed = arrow::is_signed_integer(a->id());
  if (is_a_signed == arrow::is_signed_integer(b->id())) return Wider(a, b);
  const TypePtr& with_sign = is_a_signed ? a : b;
  const TypePtr& no_sign = is_a_signed ? b : a;
  if (no_sign->byte_width() < with_sign->byte_width()) return with_sign;
  return no_sign->byte_width() < 8 ? arrow::int64() : nullptr;
}

TypePtr CommonStruct(const arrow::DataType& a, const arrow::DataType& b) {
  arrow::FieldVector fields = a.fields();
  for (const auto& field : b.fields()) {
    bool is_known = false;
    for (auto& known : fields) {
      if (known->name() != field->name()) continue;
      if (is_known) return nullptr;  // a name twice
      is_known = true;
      TypePtr type = CommonType(known->type(), field->type());
      if (type == nullptr) return nullptr;
      known =
          known->WithType(std::move(type))->WithNullable(known->nullable() || field->nullable());
    }
    if (!is_known) fields.push_back(field->WithNullable(true));
  }
  for (auto& field : fields) {
    const auto& names = static_cast<const arrow::StructType&>(b);
    if (names.GetAllFieldIndices(field->name()).empty()) field = field->WithNullable(true);
  }
  return arrow::struct_(std::move(fields));
}

/// The validity of an array as a bitmap that begins with its first value; null where all are valid.
Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::Array& array) {
  if (array.null_count() == 0 || array.null_bitmap() == nullptr) return nullptr;
  if (array.offset() == 0) return array.null_bitmap();
  return arrow::internal::CopyBitmap(arrow::default_memory_pool(), array.null_bitmap_data(),
                                     array.offset(), array.length());
}

Result<ArrayPtr> CastStruct(const arrow::StructArray& values, const TypePtr& type) {
  const auto& from = static_cast<const arrow::StructType&>(*values.type());
  const auto& to = static_cast<const arrow::StructType&>(*type);
  for (const auto& field : from.fields()) {
    if (to.GetFieldIndex(field->name()) < 0) {
      return Status::TypeError("the field \"", field->name(), "\" is not in ", type->ToString());
    }
  }
  arrow::ArrayVector children;
  for (const auto& field : to.fields()) {
    const int index = from.GetFieldIndex(field->name());
    if (index < 0) {
      ARROW_ASSIGN_OR_RAISE(children.emplace_back(),
                            arrow::MakeArrayOfNull(field->type(), values.length()));
    } else {
      ARROW_ASSIGN_OR_RAISE(children.emplace_back(),
                            CastValues(values.field(index), field->type()));
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, ValidityOf(values));
  return std::make_shared<arrow::StructArray>(type, values.length(), std::move(children),
                                              std::move(validity), values.null_count());
}

/// Lists of the same items, with offsets of their own that begin at 0.
template <typename To, typename From>
Result<ArrayPtr> CastList(const From& values, const TypePtr& type) {
  using Offset = typename To::offset_type;
  const int64_t length = values.length();
  const int64_t begin = length == 0 ? 0 : values.value_offset(0);
  const int64_t end = length == 0 ? 0 : values.value_offset(length);
  if (end - begin > std::numeric_limits<Offset>::max()) {
    return Status::Invalid("lists of ", end - begin, " values in all are too large for ",
                           type->ToString());
  }
  ARROW_ASSIGN_OR_RAISE(ArrayPtr items, CastValues(values.values()->Slice(begin, end - begin),
                                                   type->field(0)->type()));
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((length + 1) * sizeof(Offset)));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  out[0] = 0;
  for (int64_t i = 1; i <= length; ++i) {
    out[i] = static_cast<Offset>(values.value_offset(i) - begin);
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, ValidityOf(values));
  return std::make_shared<To>(type, length, std::move(offsets), std::move(items),
                              std::move(validity), values.null_count());
}

template <typename From>
Result<ArrayPtr> CastListTo(const From& values, const TypePtr& type) {
  if (type->id() == arrow::Type::LIST) return CastList<arrow::ListArray>(values, type);
  return CastList<arrow::LargeListArray>(values, type);
}

Result<ArrayPtr> CastLists(const arrow::Array& values, const TypePtr& type) {
  switch (values.type_id()) {
    case arrow::Type::LIST:
      return CastListTo(static_cast<const arrow::ListArray&>(values), type);
    case arrow::Type::LARGE_LIST:
      return CastListTo(static_cast<const arrow::LargeListArray&>(values), type);
    default:
      return CastListTo(static_cast<const arrow::FixedSizeListArray&>(values), type);
  }
}

}  // namespace

TypePtr CommonType(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b) || b->id() == arrow::Type::NA) return a;
  if (a->id() == arrow::Type::NA) return b;
  if (a->id() == arrow::Type::DICTIONARY) {
    return CommonType(static_cast<const arrow::DictionaryType&>(*a).value_type(), b);
  }
  if (b->id() == arrow::Type::DICTIONARY) return CommonType(b, a);
  if (IsText(a->id()) && IsText(b->id())) {
    const bool is_large =
        a->id() == arrow::Type::LARGE_STRING || b->id() == arrow::Type::LARGE_STRING;
    return is_large ? arrow::large_utf8() : arrow::utf8();
  }
  if (IsBytes(a->id()) && IsBytes(b->id())) {
    const bool is_large =
        a->id() == arrow::Type::LARGE_BINARY || b->id() == arrow::Type::LARGE_BINARY;
    return is_large ? arrow::large_binary() : arrow::binary();
  }
  if (arrow::is_integer(a->id()) && arrow::is_integer(b->id())) return CommonInteger(a, b);
  if (arrow::is_floating(a->id()) && arrow::is_floating(b->id())) return Wider(a, b);
  if (IsListOfAnyKind(a->id()) && IsListOfAnyKind(b->id())) {
    TypePtr item = CommonType(a->field(0)->type(), b->field(0)->type());
    if (item == nullptr) return nullptr;
    const bool is_large = a->id() == arrow::Type::LARGE_LIST || b->id() == arrow::Type::LARGE_LIST;
    return is_large ? arrow::large_list(std::move(item)) : arrow::list(std::move(item));
  }
  if (a->id() == arrow::Type::STRUCT && b->id() == arrow::Type::STRUCT) return CommonStruct(*a, *b);
  return nullptr;
}

Result<ArrayPtr> CastValues(const ArrayPtr& values, const TypePtr& type) {
  if (values->type()->Equals(*type)) return values;
  if (values->type_id() == arrow::Type::NA) return arrow::MakeArrayOfNull(type, values->length());
  if (values->type_id() == arrow::Type::STRUCT && type->id() == arrow::Type::STRUCT) {
    return CastStruct(static_cast<const arrow::StructArray&>(*values), type);
  }
  if (IsListOfAnyKind(values->type_id()) && arrow::is_list(type->id())) {
    return CastLists(*values, type);
  }
  ARROW_ASSIGN_OR_RAISE(auto cast, arrow::compute::Cast(values, type));
  return cast.make_array();
}

}  // namespace easydata
