#include "easydata/plan/concat_plan.h"

#include <arrow/type.h>

#include <algorithm>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/source/json_rows.h"
#include "easydata/stream/common_type.h"
#include "easydata/stream/map_stage.h"
#include "easydata/transform/cast_columns.h"
#include "easydata/transform/conform_columns.h"

namespace easydata::plan {
namespace {

using SchemaPtr = std::shared_ptr<arrow::Schema>;

/// Whether batches of one are batches of the other: JSON text and text are of one Arrow type.
bool IsSameForm(const arrow::Schema& a, const arrow::Schema& b) {
  if (!a.Equals(b)) return false;
  for (int i = 0; i < a.num_fields(); ++i) {
    if (json::IsJsonField(*a.field(i)) != json::IsJsonField(*b.field(i))) return false;
  }
  return true;
}

/// The columns that all have, of types that hold the values of all; null where there are none.
SchemaPtr TypedSchema(const std::vector<SchemaPtr>& schemas) {
  arrow::FieldVector fields = schemas.front()->fields();
  for (const SchemaPtr& schema : schemas) {
    if (schema->num_fields() != static_cast<int>(fields.size())) return nullptr;
    for (auto& field : fields) {
      const auto other = schema->GetFieldByName(field->name());  // null, too, of a name twice
      if (other == nullptr || json::IsJsonField(*field) || json::IsJsonField(*other))
        return nullptr;
      auto type = CommonType(field->type(), other->type());
      if (type == nullptr) return nullptr;
      field =
          field->WithType(std::move(type))->WithNullable(field->nullable() || other->nullable());
    }
  }
  return arrow::schema(std::move(fields));
}

/// Whether rows read back as they were when they are written as JSON.
bool HasJsonRows(const arrow::Schema& schema) {
  return std::all_of(schema.fields().begin(), schema.fields().end(), [](const auto& field) {
    return json::IsJsonField(*field) || json::IsJsonType(*field->type());
  });
}

}  // namespace

Result<std::optional<StreamPlan>> ConcatInCommonColumns(std::vector<source::ConcatPart> parts,
                                                        const Columns& columns,
                                                        const JoinOptions& join) {
  std::vector<SchemaPtr> schemas;
  for (const source::ConcatPart& part : parts) {
    ARROW_ASSIGN_OR_RAISE(schemas.emplace_back(), part.plan.schema());
  }
  const bool is_same = std::all_of(schemas.begin(), schemas.end(), [&](const SchemaPtr& schema) {
    return IsSameForm(*schema, *schemas.front());
  });
  if (is_same) return source::ConcatPlan(std::move(parts), join);
  const SchemaPtr typed = TypedSchema(schemas);
  const SchemaPtr common = typed != nullptr ? typed : source::JsonRowSchema(columns);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (IsSameForm(*schemas[i], *common)) continue;
    StreamPlan& plan = parts[i].plan;
    if (typed == nullptr) {
      if (!HasJsonRows(*schemas[i])) return std::nullopt;
      plan = MapPlan(plan, transform::ColumnsToJson(columns));
      if (!columns.has_value()) continue;
      plan = MapPlan(plan, transform::ConformColumns(*columns));
    }
    plan = MapPlan(plan, transform::CastColumns(common));
  }
  return source::ConcatPlan(std::move(parts), join);
}

}  // namespace easydata::plan
