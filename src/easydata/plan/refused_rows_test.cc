#include "easydata/plan/refused_rows.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "easydata/plan/file_rows.h"
#include "easydata/source/data_format.h"
#include "easydata/source/test_files.h"

namespace easydata::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RefusedRowsTest : public ::testing::Test {
 protected:
  /// The texts of a file's rows, without those that have none.
  std::vector<std::string> Texts(const std::string& format, const std::string& path) {
    const auto source =
        source::MakeSource(format, source::Listed({path}), nlohmann::json::object()).ValueOrDie();
    const auto rows = ColumnsOrRefused(FileRows(source, {}, std::nullopt), "text");
    const auto left = RefusedTakenOut(rows, quarantine_, report_);
    Request request;
    request.columns = {{"text", ColumnKind::kText}};
    StageContext context;
    context.pool = std::make_shared<exec::ThreadPool>(2);
    auto stage = left->Make(request).ValueOrDie().make(context).ValueOrDie();
    std::vector<std::string> texts;
    for (;;) {
      const auto batch = stage->Next().ValueOrDie();
      if (!batch.has_value()) return texts;
      EXPECT_EQ(batch->rows->schema()->field_names(), std::vector<std::string>{"text"});
      const auto& column = static_cast<const arrow::StringArray&>(*batch->rows->column(0));
      for (int64_t i = 0; i < column.length(); ++i) texts.push_back(column.GetString(i));
      for (const DropCount& count : batch->dropped) dropped_[count.reason] += count.rows;
    }
  }

  std::vector<std::string> Quarantined() const {
    std::vector<std::string> rows;
    std::ifstream file(quarantine_);
    for (std::string line; std::getline(file, line);) {
      rows.push_back(nlohmann::json::parse(line).at("content"));
    }
    return rows;
  }

  source::TestFolder folder_;
  const std::string quarantine_ = folder_.Path("bad.jsonl");
  std::vector<std::string> reports_;
  std::function<void(const std::string&)> report_ = [this](const std::string& report) {
    reports_.push_back(report);
  };
  std::map<std::string, int64_t> dropped_;
};

TEST_F(RefusedRowsTest, RowsOfJsonAreKeptToTheByte) {
  const std::string path = folder_.Write(
      "a.jsonl", "{\"text\": \"a\"}\n{\"n\":  1}\n{\"text\": null}\n{\"text\": \"b\"}\n");
  EXPECT_THAT(Texts("jsonl", path), ElementsAre("a", "b"));
  EXPECT_THAT(Quarantined(), ElementsAre("{\"n\":  1}", "{\"text\": null}"));
  EXPECT_EQ(dropped_, (std::map<std::string, int64_t>{{"missing", 2}}));
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_THAT(reports_[0], HasSubstr("row 1: left out: the row has no text in field 'text'"));
}

TEST_F(RefusedRowsTest, NobodyNeedsToBeTold) {
  report_ = nullptr;
  EXPECT_THAT(Texts("jsonl", folder_.Write("a.jsonl", "{\"n\": 1}\n{\"text\": \"b\"}\n")),
              ElementsAre("b"));
  EXPECT_THAT(Quarantined(), ElementsAre("{\"n\": 1}"));
}

TEST(RefusalTest, RowsWithColumnsAreWrittenAsJson) {
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("text", arrow::utf8()), arrow::field("n", arrow::int32())}), 1,
      {arrow::MakeArrayOfNull(arrow::utf8(), 1).ValueOrDie(),
       arrow::MakeArrayFromScalar(arrow::Int32Scalar(2), 1).ValueOrDie()});
  const std::string mark = Refusal(batch, 0, "missing", "no text").ValueOrDie();
  EXPECT_EQ(nlohmann::json::parse(mark),
            (nlohmann::json{
                {"reason", "missing"}, {"error", "no text"}, {"row", R"({"text":null,"n":2})"}}));
  const auto as_shown = [](const Batch&, int64_t) -> Result<std::string> { return "shown"; };
  const std::string other = Refusal(batch, 0, "missing", "no text", as_shown).ValueOrDie();
  EXPECT_EQ(nlohmann::json::parse(other).at("row"), "shown");
}

}  // namespace
}  // namespace easydata::plan
