#include "easydata/transform/project_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/stream/row_error.h"
#include "easydata/transform/column_op.h"

namespace easydata::transform {
namespace {

/// One column of the result: the columns of the input that may fill it, the last one first.
struct Slot {
  std::string name;
  std::vector<int> from;
};

class Projection : public BatchOp {
 public:
  virtual std::vector<Slot> Slots(const arrow::Schema& input) const = 0;

  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    arrow::FieldVector fields;
    for (const Slot& slot : Slots(*input)) {
      fields.push_back(input->field(slot.from[0])->WithName(slot.name));
    }
    return arrow::schema(std::move(fields));
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_ASSIGN_OR_RAISE(auto schema, OutputSchema(batch.rows->schema()));
    arrow::ArrayVector columns;
    for (const Slot& slot : Slots(*batch.rows->schema())) {
      ARROW_ASSIGN_OR_RAISE(auto column, Join(batch, slot));
      columns.push_back(std::move(column));
    }
    batch.rows = arrow::RecordBatch::Make(std::move(schema), batch.num_rows(), std::move(columns));
    return batch;
  }

 protected:
  virtual Result<std::shared_ptr<arrow::Array>> Join(const Batch& batch, const Slot& slot) const {
    return batch.rows->column(slot.from[0]);
  }
};

class Select : public Projection {
 public:
  explicit Select(std::vector<std::string> names) : names_(std::move(names)) {}
  std::vector<Slot> Slots(const arrow::Schema& input) const override {
    std::vector<Slot> slots;
    for (const std::string& name : names_) {
      const int i = input.GetFieldIndex(name);
      if (i >= 0) slots.push_back({name, {i}});
    }
    return slots;
  }

 private:
  const std::vector<std::string> names_;
};

class Drop : public Projection {
 public:
  explicit Drop(std::vector<std::string> names) : names_(std::move(names)) {}
  std::vector<Slot> Slots(const arrow::Schema& input) const override {
    std::vector<Slot> slots;
    for (int i = 0; i < input.num_fields(); ++i) {
      const std::string& name = input.field(i)->name();
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
        slots.push_back({name, {i}});
      }
    }
    return slots;
  }

 private:
  const std::vector<std::string> names_;
};

class Rename : public Projection {
 public:
  Rename(std::vector<std::pair<std::string, std::string>> names, NameClash clash)
      : names_(std::move(names)), clash_(clash) {}

  std::vector<Slot> Slots(const arrow::Schema& input) const override {
    std::vector<Slot> slots;
    std::vector<bool> first_is_renamed;
    for (int i = 0; i < input.num_fields(); ++i) {
      std::string name = input.field(i)->name();
      bool renamed = false;
      for (const auto& [from, to] : names_) {
        if (from != name) continue;
        name = to;
        renamed = true;
        break;
      }
      auto slot = std::find_if(slots.begin(), slots.end(),
                               [&](const Slot& other) { return other.name == name; });
      if (slot == slots.end()) {
        slots.push_back({name, {i}});
        first_is_renamed.push_back(renamed);
        continue;
      }
      const size_t k = slot - slots.begin();
      if (clash_ == NameClash::kRenamedWins && first_is_renamed[k] && !renamed) {
        slot->from.push_back(i);
      } else {
        slot->from.insert(slot->from.begin(), i);
        first_is_renamed[k] = renamed;
      }
    }
    // Columns after a typed one never show: it has a value in every row.
    for (Slot& slot : slots) {
      for (size_t k = 0; k < slot.from.size(); ++k) {
        if (!json::IsJsonField(*input.field(slot.from[k]))) {
          slot.from.resize(k + 1);
          break;
        }
      }
    }
    return slots;
  }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    for (const Slot& slot : Slots(*input)) {
      for (size_t k = 1; k < slot.from.size(); ++k) {
        if (json::IsJsonField(*input->field(slot.from[k]))) continue;
        return Status::TypeError(
            "cannot rename columns to '", slot.name, "': they are JSON values and ",
            input->field(slot.from[k])->type()->ToString(), "; drop one of them first");
      }
    }
    return Projection::OutputSchema(input);
  }

 protected:
  Result<std::shared_ptr<arrow::Array>> Join(const Batch& batch, const Slot& slot) const override {
    if (slot.from.size() == 1) return batch.rows->column(slot.from[0]);
    std::vector<const arrow::StringArray*> parts;
    for (int i : slot.from) {
      parts.push_back(static_cast<const arrow::StringArray*>(batch.rows->column(i).get()));
    }
    arrow::StringBuilder builder;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      const arrow::StringArray* value = nullptr;
      for (const arrow::StringArray* part : parts) {
        if (part->IsNull(row)) continue;
        if (value != nullptr && clash_ == NameClash::kLaterWins) {
          return RowError(batch.addresses.At(row),
                          "two fields of this row come to be named '" + slot.name +
                              "' and a column does not tell which came first; drop one of them "
                              "before renaming");
        }
        if (value == nullptr) value = part;
      }
      ARROW_RETURN_NOT_OK(value == nullptr ? builder.AppendNull()
                                           : builder.Append(value->GetView(row)));
    }
    return builder.Finish();
  }

 private:
  const std::vector<std::pair<std::string, std::string>> names_;
  const NameClash clash_;
};

}  // namespace

std::shared_ptr<const BatchOp> SelectColumns(std::vector<std::string> names) {
  return std::make_shared<Select>(std::move(names));
}

std::shared_ptr<const BatchOp> DropColumns(std::vector<std::string> names) {
  return std::make_shared<Drop>(std::move(names));
}

std::shared_ptr<const BatchOp> RenameColumns(std::vector<std::pair<std::string, std::string>> names,
                                             NameClash clash) {
  return std::make_shared<Rename>(std::move(names), clash);
}

const ColumnOpKind kSelectColumnOp = {
    "select",
    [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      return SelectColumns(options.at("fields").get<std::vector<std::string>>());
    },
    [](const nlohmann::json& options) {
      FieldUse use;
      use.selected = options.at("fields").get<std::vector<std::string>>();
      return use;
    }};

const ColumnOpKind kDropColumnOp = {
    "drop",
    [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      return DropColumns(options.at("fields").get<std::vector<std::string>>());
    },
    [](const nlohmann::json& options) {
      FieldUse use;
      use.written = options.at("fields").get<std::vector<std::string>>();  // as nothing
      return use;
    }};

namespace {

using Renames = std::vector<std::pair<std::string, std::string>>;

bool RenamedWins(const nlohmann::json& options) { return options.value("renamed_wins", false); }

/// Whether two fields get one name, of which the one stays that stands later in its row.
bool HasClash(const nlohmann::json& options, const std::vector<std::string>& names) {
  if (RenamedWins(options)) return false;
  std::map<std::string, std::string> renames;
  for (const auto& [old_name, new_name] : options.at("fields").get<Renames>()) {
    renames[old_name] = new_name;
  }
  std::set<std::string> taken;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto found = renames.find(name);
    return !taken.insert(found == renames.end() ? name : found->second).second;
  });
}

}  // namespace

const ColumnOpKind kRenameColumnOp = {
    "rename",
    [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      return RenameColumns(options.at("fields").get<Renames>(),
                           RenamedWins(options) ? NameClash::kRenamedWins : NameClash::kLaterWins);
    },
    [](const nlohmann::json& options) {
      FieldUse use;
      use.renamed = options.at("fields").get<Renames>();
      return use;
    },
    &HasClash};

}  // namespace easydata::transform
