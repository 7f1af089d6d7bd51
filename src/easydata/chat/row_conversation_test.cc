#include "easydata/chat/row_conversation.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "easydata/jinja/python_text.h"
#include "easydata/json/json_column.h"

namespace easydata::chat {
namespace {

using jinja::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RowConversationTest : public ::testing::Test {
 protected:
  /// A row of JSON; its fields that are read are kept in `read_`.
  RowFields& Row(const std::string& json) {
    const auto column =
        arrow::MakeArrayFromScalar(*std::make_shared<arrow::StringScalar>(json), 1).ValueOrDie();
    batch_ =
        arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}), 1, {column});
    fields_ = std::make_unique<RowFields>(*batch_, &reader_);
    read_.clear();
    fields_->KeepRead(&read_);
    EXPECT_TRUE(fields_->GoTo(0, &arena_).ok());
    return *fields_;
  }

  static std::string Text(const Result<Value>& value) {
    if (!value.ok()) return value.status().ToString();
    std::string text;
    jinja::AppendJson(*value, {}, &text);
    return text;
  }

  std::string System(const std::string& json) { return Text(SystemBeside(Row(json), &arena_)); }
  std::string Instruction(const std::string& json) {
    return Text(AnsweredInstruction(Row(json), &reader_, &arena_));
  }

  jinja::Arena arena_;
  ValueReader reader_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::unique_ptr<RowFields> fields_;
  std::set<std::string> read_;
};

TEST_F(RowConversationTest, ReadsTheSystemMessageBesideAConversation) {
  EXPECT_EQ(System(R"({"system": "brief"})"), R"([{"role": "system", "content": "brief"}])");
  EXPECT_EQ(System(R"({"system_prompt": "brief", "system": ""})"),
            R"([{"role": "system", "content": "brief"}])");
  EXPECT_EQ(System(R"({"developer": "brief"})"), R"([{"role": "developer", "content": "brief"}])");
  EXPECT_EQ(System(R"({"system": " ", "developer": null})"), "null");
  EXPECT_EQ(System(R"({"system": "a", "developer": "a"})"),
            R"([{"role": "system", "content": "a"}])");
  EXPECT_THAT(System(R"({"system": "a", "developer": "b"})"),
              HasSubstr("one in 'system' and one in 'developer'"));
  EXPECT_THAT(System(R"({"system": ["a"]})"), HasSubstr("must hold the text"));
}

TEST_F(RowConversationTest, PutsItBeforeTheMessages) {
  const auto join = [&](const std::string& system, const std::string& messages) {
    return Text(WithSystem(*reader_.ReadJson(system, &arena_), *reader_.ReadJson(messages, &arena_),
                           &arena_));
  };
  const std::string system = R"([{"role": "system", "content": "a"}])";
  EXPECT_EQ(join(system, R"([{"role": "user", "content": "b"}])"),
            R"([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}])");
  EXPECT_EQ(join(system, system), system);
  EXPECT_EQ(join("null", system), system);
  EXPECT_THAT(join(system, R"([{"role": "system", "content": "b"}])"),
              HasSubstr("two system messages"));
  EXPECT_THAT(join(system, R"([{"role": "developer", "content": "b"}])"),
              HasSubstr("two system messages"));
}

TEST_F(RowConversationTest, MakesAChatOfAnInstruction) {
  EXPECT_EQ(Instruction(R"({"instruction": "a", "input": "b", "output": "c"})"),
            R"([{"role": "user", "content": "a\nb"}, {"role": "assistant", "content": "c"}])");
  EXPECT_EQ(Instruction(R"({"instruction": "", "input": "b", "output": "c"})"),
            R"([{"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}])");
  EXPECT_EQ(Instruction(R"({"query": "a", "response": "c", "history": [["q", "r"]]})"),
            R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "r"}, )"
            R"({"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}])");
  EXPECT_THAT(read_, ElementsAre("history", "query", "response"));
  EXPECT_EQ(Instruction(R"({"instruction": "a"})"), "null");
  EXPECT_EQ(Instruction(R"({"output": "a"})"), "null");
  EXPECT_THAT(Instruction(R"({"instruction": "a", "output": ["c"]})"),
              HasSubstr("'output' must hold the text"));
  EXPECT_THAT(Instruction(R"({"instruction": "a", "input": 3, "output": "c"})"),
              HasSubstr("'input' beside 'instruction' must hold text"));
  EXPECT_THAT(Instruction(R"({"instruction": "a", "output": "c", "history": [["q"]]})"),
              HasSubstr("a list of pairs of texts"));
}

TEST_F(RowConversationTest, ALookReadsNothing) {
  RowFields& row = Row(R"({"tools": "[{\"name\": \"f\"}]", "other": null})");
  EXPECT_EQ(Text(row.LookAt("tools")), R"("[{\"name\": \"f\"}]")");
  EXPECT_EQ(Text(row.Get("other")), "null");
  EXPECT_THAT(read_, ElementsAre());
  EXPECT_EQ(Text(ToolsBeside(row, &reader_, &arena_)), R"([{"name": "f"}])");
  EXPECT_THAT(read_, ElementsAre("tools"));
}

}  // namespace
}  // namespace easydata::chat
