#include "easydata/transform/cast_types.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/transform/column_op.h"

namespace easydata::transform {
namespace {

class CastTypesOp : public BatchOp {
 public:
  explicit CastTypesOp(ColumnTypes types) : types_(std::move(types)) {}

  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return types_.Apply(*input, /*adds=*/false);
  }

  Result<Batch> Apply(Batch batch) const override { return types_.Cast(std::move(batch)); }

 private:
  const ColumnTypes types_;
};

Result<ColumnTypes> TypesOf(const nlohmann::json& options) {
  return ColumnTypes::Make(options.at("types").get<NamedTypes>(),
                           options.value("fills", std::vector<std::string>()));
}

}  // namespace

std::shared_ptr<const BatchOp> CastTypes(ColumnTypes types) {
  return std::make_shared<CastTypesOp>(std::move(types));
}

const ColumnOpKind kCastColumnOp = {
    "cast",
    [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      ARROW_ASSIGN_OR_RAISE(ColumnTypes types, TypesOf(options));
      return CastTypes(std::move(types));
    },
    [](const nlohmann::json& options) {
      FieldUse use;
      // As they are: text is asked for only of what is cast.
      if (const auto types = TypesOf(options); types.ok()) use.changed = types->columns();
      return use;
    },
    /*depends_on_order=*/nullptr,
    /*takes_whole_rows=*/true};

}  // namespace easydata::transform
