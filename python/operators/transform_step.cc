#include "operators/transform_step.h"

#include <arrow/type.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/stream/map_stage.h"
#include "easydata/transform/conform_columns.h"

namespace easydata {
namespace {

using Names = std::vector<std::string>;

std::optional<Names> ColumnNamesOf(const Columns& columns) {
  if (!columns.has_value()) return std::nullopt;
  Names names;
  for (const ColumnRequest& column : *columns) names.push_back(column.name);
  return names;
}

/// The chain of one request: how far its stream is made.
class Chain {
 public:
  Chain(const plan::LogicalPlan& root, TransformSteps steps, const Columns& wanted)
      : root_(root), steps_(std::move(steps)), needs_{wanted} {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      needs_.push_back((*step)->fields.Needs(needs_.back()));
    }
    std::reverse(needs_.begin(), needs_.end());
  }

  Result<StreamPlan> Make(const plan::Request& request) {
    ARROW_RETURN_NOT_OK(Start(request));
    for (size_t i = 0; i < steps_.size(); ++i) {
      const TransformStep& step = *steps_[i];
      if (!called_.empty() && step.gives_columns()) Call(needs_[i]);
      if (i == 0 && step.check_first_row != nullptr) {
        ARROW_ASSIGN_OR_RAISE(const auto first, root_.FirstRowNames());
        if (first.has_value()) ARROW_RETURN_NOT_OK(step.check_first_row(*first));
      }
      ARROW_ASSIGN_OR_RAISE(const bool is_native, MakeNatively(i));
      if (is_native && i + 1 == steps_.size()) return stream_;  // of just what is wanted
      if (is_native) continue;
      ARROW_ASSIGN_OR_RAISE(const bool is_exact, WorksOnColumns(i));
      if (is_exact) {
        ARROW_RETURN_NOT_OK(ApplyColumnOp(i));
      } else if (step.test.has_value() && typed_ && called_.empty()) {
        CallTest(step);
      } else {
        called_.push_back(&step);
      }
    }
    if (!called_.empty()) {
      Call(needs_.back());
      return stream_;
    }
    if (!needs_.back().has_value()) return stream_;
    return MapPlan(stream_,
                   transform::ConformColumns(*needs_.back(), root_names_.value_or(Names())));
  }

 private:
  Status Start(const plan::Request& request) {
    ARROW_ASSIGN_OR_RAISE(root_names_, root_.ColumnNames());
    typed_ = root_names_.has_value();
    plan::Request of_root = request;
    of_root.columns = needs_.front();
    if (typed_ && !request.is_look && MayNeedOthers(of_root.columns)) {
      ARROW_ASSIGN_OR_RAISE(root_names_, root_.AllColumnNames());
    }
    if (of_root.columns.has_value() && typed_) {
      // What a schema lacks no row has: steps see it as missing, the end of the chain as an error.
      std::erase_if(*of_root.columns, [&](const ColumnRequest& column) {
        return std::find(root_names_->begin(), root_names_->end(), column.name) ==
               root_names_->end();
      });
    }
    ARROW_ASSIGN_OR_RAISE(stream_, root_.Make(of_root));
    known_ = of_root.columns.has_value() ? ColumnNamesOf(of_root.columns) : root_names_;
    return Status::OK();
  }

  /// Whether columns may be read that the first rows do not have.
  bool MayNeedOthers(const Columns& columns) const {
    return !columns.has_value() || std::ranges::any_of(*columns, [&](const ColumnRequest& column) {
      return std::ranges::find(*root_names_, column.name) == root_names_->end();
    });
  }

  /// The columns that step i is given, where they are known.
  std::optional<Names> Known(size_t i) const {
    return called_.empty() ? known_ : ColumnNamesOf(needs_[i]);
  }

  Result<bool> MakeNatively(size_t i) {
    const TransformStep& step = *steps_[i];
    if (step.make_natively == nullptr || !called_.empty()) return false;
    if (!known_.has_value() && !step.gives_columns()) return false;
    ARROW_ASSIGN_OR_RAISE(auto made,
                          step.make_natively(stream_, needs_[i + 1], [&] { return FormsAt(i); }));
    if (!made.has_value()) return false;
    stream_ = std::move(*made);
    if (needs_[i + 1].has_value()) {
      known_ = ColumnNamesOf(needs_[i + 1]);
    } else if (step.gives_columns()) {
      ARROW_ASSIGN_OR_RAISE(const auto schema, stream_.schema());
      known_ = schema->field_names();
    } else {
      ARROW_ASSIGN_OR_RAISE(known_, step.NamesAfter(known_.value_or(Names())));
    }
    typed_ = typed_ || step.gives_columns();
    return true;
  }

  /// The forms of the rows that step i is given: by their schema, else by the first rows. Nothing
  /// is known of rows that a function makes, which is not called before its time.
  Result<trainer::RowForms> FormsAt(size_t i) const {
    ARROW_ASSIGN_OR_RAISE(const auto schema, stream_.schema());
    const arrow::FieldVector& fields = schema->fields();
    if (std::none_of(fields.begin(), fields.end(),
                     [](const auto& field) { return json::IsJsonField(*field); })) {
      return trainer::RowForms{{schema->field_names()}, /*is_all=*/true};
    }
    trainer::RowForms rows;
    const auto keeps_names = [](const auto& step) { return step->test.has_value(); };
    const auto is_known = [&](const auto& step) {
      return step->op != nullptr || keeps_names(step);
    };
    if (!std::all_of(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(i), is_known)) {
      return rows;
    }
    ARROW_ASSIGN_OR_RAISE(rows.forms, root_.FirstForms());
    for (size_t step = 0; step < i; ++step) {
      if (keeps_names(steps_[step])) continue;
      std::vector<Names> after;
      for (const Names& names : rows.forms) {
        // Rows that the step refuses are told of by their own error.
        if (auto made = steps_[step]->NamesAfter(names); made.ok()) {
          after.push_back(*std::move(made));
        }
      }
      rows.forms = std::move(after);
    }
    return rows;
  }

  /// Whether the step's work on whole columns is what it does row by row.
  Result<bool> WorksOnColumns(size_t i) const {
    const TransformStep& step = *steps_[i];
    const std::optional<Names> known = Known(i);
    if (step.op == nullptr) return false;
    if (step.op->takes_whole_rows && called_.empty()) return true;
    if (!known.has_value()) return false;
    if (!called_.empty() && !needs_[i].has_value()) return false;
    const bool has_order = typed_ && called_.empty();
    if (has_order || step.op->depends_on_order == nullptr ||
        !step.op->depends_on_order(*step.op_options, *known)) {
      return true;
    }
    // The first row tells whether rows have such fields at all.
    ARROW_ASSIGN_OR_RAISE(const auto first, root_.FirstRowNames());
    return !first.has_value() || !step.op->depends_on_order(*step.op_options, *first);
  }

  Status ApplyColumnOp(size_t i) {
    const TransformStep& step = *steps_[i];
    std::optional<Names> known = Known(i);
    if (!called_.empty()) Call(needs_[i]);
    ARROW_ASSIGN_OR_RAISE(stream_,
                          transform::ColumnOpPlan(stream_, step.op->name, *step.op_options));
    if (needs_[i + 1].has_value()) {
      known_ = ColumnNamesOf(needs_[i + 1]);
      return Status::OK();
    }
    known_ = std::nullopt;
    if (!known.has_value()) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(known_, step.NamesAfter(*known));
    return Status::OK();
  }

  void CallTest(const TransformStep& step) {
    auto op = CallableOp({{*step.test}}, CallableKind::kFilter, std::nullopt, step.name);
    stream_ = MapPlan(stream_, std::move(op), step.MakeNode("filter", stream_));
  }

  /// Makes the steps that are yet to be called one callable, of which `columns` come.
  void Call(const Columns& columns) {
    std::vector<CalledStep> steps;
    std::string text;
    bool expands = false;
    bool has_identity = true;
    std::string identity;
    for (const TransformStep* step : called_) {
      steps.push_back(step->called);
      text += (text.empty() ? "" : " >> ") + step->text;
      expands = expands || step->called.expands;
      // Of those that have none the first one says why.
      if (has_identity && !step->has_identity) identity.clear();
      if (has_identity || !step->has_identity) {
        identity += (identity.empty() ? "" : "\n") + step->identity;
      }
      has_identity = has_identity && step->has_identity;
    }
    const std::string name = called_.size() == 1 ? called_.front()->name : "transforms";
    auto op = CallableOp(std::move(steps), expands ? CallableKind::kExpand : CallableKind::kMap,
                         columns, name);
    auto node = MakeNode(expands ? "expand" : "map", {{"callable", text}}, stream_);
    node->has_identity = has_identity;
    node->identity = std::move(identity);
    for (const TransformStep* step : called_) {
      transform::RenamePaddings(step->fields, &node->facts);
    }
    node->keeps_row_count = op->keeps_rows();
    stream_ = MapPlan(stream_, std::move(op), std::move(node));
    called_.clear();
    known_ = ColumnNamesOf(columns);
  }

  const plan::LogicalPlan& root_;
  const TransformSteps steps_;
  /// What each step must be given so that the wanted columns come out; these are the last ones.
  std::vector<Columns> needs_;
  std::optional<Names> root_names_;
  StreamPlan stream_;
  /// Its columns, where they are known; and whether they come of a schema.
  std::optional<Names> known_;
  bool typed_ = false;
  std::vector<const TransformStep*> called_;  // downstream of stream_
};

class TransformedPlan : public plan::LogicalPlan {
 public:
  TransformedPlan(plan::LogicalPlanPtr root, TransformSteps steps)
      : root_(std::move(root)), steps_(std::move(steps)) {}

  Result<StreamPlan> Make(const plan::Request& request) const override {
    TransformSteps steps = steps_;
    if (request.whole_documents) {
      for (auto& step : steps) step = step->whole != nullptr ? step->whole : step;
    }
    return Chain(*root_, std::move(steps), request.columns).Make(request);
  }

  bool CanSeek() const override {
    return root_->CanSeek() && std::all_of(steps_.begin(), steps_.end(),
                                           [](const auto& step) { return step->keeps_rows; });
  }

 private:
  const plan::LogicalPlanPtr root_;
  const TransformSteps steps_;
};

}  // namespace

Result<std::vector<std::string>> TransformStep::NamesAfter(
    const std::vector<std::string>& names) const {
  if (op == nullptr) return names;
  arrow::FieldVector fields;
  for (const std::string& field : names) fields.push_back(arrow::field(field, arrow::utf8()));
  ARROW_ASSIGN_OR_RAISE(const auto made, transform::MakeColumnOp(*op, *op_options));
  ARROW_ASSIGN_OR_RAISE(const auto schema, made->OutputSchema(arrow::schema(std::move(fields))));
  return schema->field_names();
}

std::shared_ptr<PlanNode> TransformStep::MakeNode(const char* name,
                                                  const StreamPlan& upstream) const {
  auto node = easydata::MakeNode(name, {{"callable", text}}, upstream);
  node->has_identity = has_identity;
  node->identity = identity;
  return node;
}

plan::LogicalPlanPtr Transformed(plan::LogicalPlanPtr root, TransformSteps steps) {
  return std::make_shared<TransformedPlan>(std::move(root), std::move(steps));
}

}  // namespace easydata
