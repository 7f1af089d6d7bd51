#include "easydata/chat/mark_text.h"

#include <gtest/gtest.h>

#include "easydata/chat/conversation.h"

namespace easydata::chat {
namespace {

jinja::Mark Read(std::string_view text) {
  jinja::Mark mark;
  ReadMarkText(text, &mark);
  return mark;
}

TEST(MarkTextTest, EveryFieldIsReadBack) {
  for (const jinja::SourceField& field : kSaidFields) {
    const jinja::Mark mark = Read(field.name);
    EXPECT_EQ(mark.kind, jinja::Mark::Kind::kText);
    EXPECT_NE(mark.sources & field.source, 0) << field.name;
    EXPECT_EQ(Read(MarkText(mark, true)), mark) << field.name;
    EXPECT_EQ(MarkText(mark, false), "text");
  }
}

TEST(MarkTextTest, TellsKindsAndCalls) {
  for (const char* text :
       {"message", "generation", "text", "content+tool_calls", "tool_calls[1]"}) {
    EXPECT_EQ(MarkText(Read(text), true), text);
  }
  EXPECT_EQ(Read("tool_calls[1]").call, 1);
  EXPECT_EQ(Read("tool_calls").call, jinja::Value::kAnyCall);
  EXPECT_EQ(MarkText(Read("name"), true), "other");
}

}  // namespace
}  // namespace easydata::chat
