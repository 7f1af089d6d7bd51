#include "easydata/config/option_error.h"

#include <memory>
#include <string_view>
#include <utility>

namespace easydata::config {
namespace {

constexpr const char kOptionErrorId[] = "easydata::OptionError";

class OptionErrorDetail : public arrow::StatusDetail {
 public:
  explicit OptionErrorDetail(OptionProblem problem) : problem(std::move(problem)) {}
  const char* type_id() const override { return kOptionErrorId; }
  std::string ToString() const override { return problem.problem; }

  const OptionProblem problem;
};

}  // namespace

Status OptionError(const std::string& where, const std::string& problem) {
  return Status(arrow::StatusCode::Invalid, where + ": " + problem,
                std::make_shared<OptionErrorDetail>(OptionProblem{where, problem}));
}

const OptionProblem* FindOptionProblem(const Status& status) {
  const auto& detail = status.detail();
  if (detail == nullptr || std::string_view(detail->type_id()) != kOptionErrorId) return nullptr;
  return &static_cast<const OptionErrorDetail&>(*detail).problem;
}

}  // namespace easydata::config
