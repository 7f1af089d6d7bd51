#include "easydata/cache/random_rows_for_tests.h"

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include <limits>
#include <string>
#include <utility>

namespace easydata::cache {
namespace {

using arrow::Type;

class RandomColumns {
 public:
  explicit RandomColumns(std::mt19937* random) : random_(*random) {}

  size_t Draw(size_t below) { return random_() % below; }

  std::shared_ptr<arrow::DataType> Integer() {
    const std::shared_ptr<arrow::DataType> types[] = {
        arrow::int8(),  arrow::int16(),  arrow::int32(),  arrow::int64(),
        arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64()};
    return types[Draw(8)];
  }

  std::shared_ptr<arrow::DataType> RandomType(int depth) {
    switch (depth > 0 ? Draw(16) : Draw(10)) {
      case 0:
        return Integer();
      case 1:
        return arrow::boolean();
      case 2:
        return arrow::float64();
      case 3:
        return arrow::float32();
      case 4:
        return arrow::utf8();
      case 5:
        return arrow::large_utf8();
      case 6:
        return arrow::binary();
      case 7:
        return arrow::fixed_size_binary(3);
      case 8:
        return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
      case 9:
        return arrow::null();
      case 10:
        return arrow::dictionary(arrow::int8(), arrow::utf8());
      case 11:
        return arrow::list(RandomType(depth - 1));
      case 12:
        return arrow::large_list(RandomType(depth - 1));
      case 13:
        return arrow::fixed_size_list(RandomType(depth - 1), 2);
      case 14:
        return arrow::map(arrow::utf8(), RandomType(depth - 1));
      default:
        return arrow::struct_(
            {arrow::field("a", RandomType(depth - 1)), arrow::field("b", RandomType(depth - 1))});
    }
  }

  std::shared_ptr<arrow::Array> Column(const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
    kind_ = Draw(5);
    has_nulls_ = Draw(2) == 0;
    std::unique_ptr<arrow::ArrayBuilder> builder;
    Ok(arrow::MakeBuilder(arrow::default_memory_pool(), type, &builder));
    for (int64_t i = 0; i < rows; ++i) AppendTo(builder.get(), *type);
    return builder->Finish().ValueOrDie();
  }

 private:
  static void Ok(const arrow::Status& status) {
    if (!status.ok()) status.Abort();
  }

  std::string Text() { return std::string(Draw(9), static_cast<char>('a' + Draw(26))); }

  /// Of the column's kind: one number, ids of 16 bits, -100 among them, of 32 bits, any.
  uint64_t Number() {
    switch (kind_) {
      case 0:
        return 1;
      case 1:
        return Draw(65536);
      case 2:
        return Draw(3) == 0 ? ~uint64_t{0} - 99 : Draw(65536);
      case 3:
        return static_cast<uint32_t>(random_());
      default:
        return uint64_t{random_()} << 32 | random_();
    }
  }

  template <typename Builder>
  void AppendNumber(arrow::ArrayBuilder* to) {
    using T = typename Builder::value_type;
    Ok(static_cast<Builder*>(to)->Append(static_cast<T>(Number())));
  }

  template <typename Builder>
  void AppendList(arrow::ArrayBuilder* to, const arrow::DataType& values) {
    auto* const list = static_cast<Builder*>(to);
    Ok(list->Append());
    const size_t length = Draw(3) == 0 ? 0 : Draw(8);
    for (size_t i = 0; i < length; ++i) AppendTo(list->value_builder(), values);
  }

  void AppendTo(arrow::ArrayBuilder* to, const arrow::DataType& type) {
    if (has_nulls_ && Draw(4) == 0) return Ok(to->AppendNull());
    switch (type.id()) {
      case Type::INT8:
        return AppendNumber<arrow::Int8Builder>(to);
      case Type::INT16:
        return AppendNumber<arrow::Int16Builder>(to);
      case Type::INT32:
        return AppendNumber<arrow::Int32Builder>(to);
      case Type::INT64:
        return AppendNumber<arrow::Int64Builder>(to);
      case Type::UINT8:
        return AppendNumber<arrow::UInt8Builder>(to);
      case Type::UINT16:
        return AppendNumber<arrow::UInt16Builder>(to);
      case Type::UINT32:
        return AppendNumber<arrow::UInt32Builder>(to);
      case Type::UINT64:
        return AppendNumber<arrow::UInt64Builder>(to);
      case Type::TIMESTAMP:
        return AppendNumber<arrow::TimestampBuilder>(to);
      case Type::BOOL:
        return Ok(static_cast<arrow::BooleanBuilder*>(to)->Append(Draw(2) == 0));
      case Type::FLOAT:
        return Ok(static_cast<arrow::FloatBuilder*>(to)->Append(
            Draw(4) == 0 ? std::numeric_limits<float>::quiet_NaN() : -0.0f));
      case Type::DOUBLE:
        return Ok(static_cast<arrow::DoubleBuilder*>(to)->Append(
            Draw(4) == 0 ? std::numeric_limits<double>::infinity() : 0.1));
      case Type::STRING:
        return Ok(static_cast<arrow::StringBuilder*>(to)->Append(Text()));
      case Type::LARGE_STRING:
        return Ok(static_cast<arrow::LargeStringBuilder*>(to)->Append(Text()));
      case Type::BINARY:
        return Ok(static_cast<arrow::BinaryBuilder*>(to)->Append("\xff" + Text()));
      case Type::FIXED_SIZE_BINARY:
        return Ok(static_cast<arrow::FixedSizeBinaryBuilder*>(to)->Append("abc"));
      case Type::DICTIONARY:
        return Ok(static_cast<arrow::DictionaryBuilder<arrow::StringType>*>(to)->Append(
            std::string(1 + Draw(3), static_cast<char>('a' + Draw(26)))));
      case Type::LIST:
        return AppendList<arrow::ListBuilder>(to, *type.field(0)->type());
      case Type::LARGE_LIST:
        return AppendList<arrow::LargeListBuilder>(to, *type.field(0)->type());
      case Type::FIXED_SIZE_LIST: {
        auto* const list = static_cast<arrow::FixedSizeListBuilder*>(to);
        Ok(list->Append());
        for (int i = 0; i < 2; ++i) AppendTo(list->value_builder(), *type.field(0)->type());
        return;
      }
      case Type::MAP: {
        auto* const map = static_cast<arrow::MapBuilder*>(to);
        Ok(map->Append());
        for (size_t i = Draw(3); i > 0; --i) {
          Ok(static_cast<arrow::StringBuilder*>(map->key_builder())->Append(Text()));
          AppendTo(map->item_builder(), *static_cast<const arrow::MapType&>(type).item_type());
        }
        return;
      }
      case Type::STRUCT: {
        auto* const fields = static_cast<arrow::StructBuilder*>(to);
        Ok(fields->Append());
        for (int i = 0; i < type.num_fields(); ++i) {
          AppendTo(fields->field_builder(i), *type.field(i)->type());
        }
        return;
      }
      default:
        return Ok(to->AppendNull());
    }
  }

  std::mt19937& random_;
  size_t kind_ = 0;
  bool has_nulls_ = false;
};

}  // namespace

std::shared_ptr<arrow::RecordBatch> RandomRows(std::mt19937* random) {
  RandomColumns columns(random);
  const auto draw = [&](size_t below) { return columns.Draw(below); };
  const auto rows = static_cast<int64_t>(draw(4) == 0 ? draw(2) : draw(40));
  const auto before = static_cast<int64_t>(draw(2) == 0 ? 0 : draw(20));
  const auto after = static_cast<int64_t>(draw(2) == 0 ? 0 : draw(20));
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (size_t i = draw(6); i > 0; --i) {
    std::shared_ptr<arrow::DataType> type;
    switch (draw(3)) {
      case 0:
        type = arrow::list(columns.Integer());
        break;
      case 1:
        type = arrow::large_list(columns.Integer());
        break;
      default:
        type = columns.RandomType(2);
    }
    auto array = columns.Column(type, before + rows + after);
    const bool is_nullable = array->null_count() > 0 || type->id() == Type::NA || draw(2) == 0;
    // Two columns may have one name.
    auto field = arrow::field("c" + std::to_string(draw(20)), std::move(type), is_nullable);
    if (draw(3) == 0) field = field->WithMetadata(arrow::key_value_metadata({"k"}, {"json"}));
    fields.push_back(std::move(field));
    arrays.push_back(std::move(array));
    if (draw(4) == 0) {  // the same again, as labels are
      fields.push_back(fields.back());
      arrays.push_back(arrays.back());
    }
  }
  auto schema = arrow::schema(std::move(fields));
  if (draw(2) == 0) schema = schema->WithMetadata(arrow::key_value_metadata({"b", "a"}, {"1", ""}));
  auto all = arrow::RecordBatch::Make(std::move(schema), before + rows + after, std::move(arrays));
  return all->Slice(before, rows);
}

}  // namespace easydata::cache
