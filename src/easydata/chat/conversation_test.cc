#include "easydata/chat/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "easydata/jinja/python_text.h"

namespace easydata::chat {
namespace {

using jinja::Value;

const RoleMapping kTestRoles = {
    {"human", "user"}, {"gpt", "assistant"}, {"user", "user"}, {"assistant", "assistant"}};

class ConversationTest : public ::testing::Test {
 protected:
  /// The messages of a JSON text, as JSON; or the error.
  std::string Read(std::string_view json) {
    const auto value = reader_.ReadJson(json, &arena_);
    if (!value.ok()) return value.status().ToString();
    const auto read = ReadConversation(*value, {.roles = &kTestRoles}, &reader_, &arena_);
    if (!read.ok()) return read.status().ToString();
    messages_ = *read;
    std::string text;
    jinja::AppendJson(messages_, {}, &text);
    return text;
  }

  jinja::Arena arena_;
  ValueReader reader_;
  Value messages_;
};

TEST_F(ConversationTest, ReadsTheUsualForms) {
  EXPECT_EQ(Read(R"([{"role": "user", "content": "a", "x": null}])"),
            R"([{"role": "user", "content": "a"}])");
  EXPECT_EQ(Read(R"("[{\"role\": \"user\", \"content\": \"a\"}]")"),
            R"([{"role": "user", "content": "a"}])");
  EXPECT_EQ(Read(R"([{"from": " GPT ", "value": "a", "weight": 1}])"),
            R"([{"weight": 1, "role": "assistant", "content": "a"}])");
  EXPECT_EQ(Read(R"([{"role": "user", "content": [{"type": "text", "text": "a"}, "b"]}])"),
            R"([{"role": "user", "content": "ab"}])");
  EXPECT_EQ(Read(R"([{"role": "assistant", "tool_calls": "[{\"name\": \"f\"}]"}])"),
            R"([{"role": "assistant", "tool_calls": [{"name": "f"}]}])");
  EXPECT_EQ(Read(R"([{"role": "assistant", "content": "a", "reasoning": "r"}])"),
            R"([{"thinking": "r", "role": "assistant", "content": "a", "reasoning": "r", )"
            R"("reasoning_content": "r"}])");
}

TEST_F(ConversationTest, SaysWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "Invalid: field 'messages' holds an empty conversation"},
      {"\"hi\"", "Invalid: field 'messages' holds text that is no JSON list of messages"},
      {R"({"role": "user"})", "Type error: field 'messages' holds an object"},
      {"[1]", "Type error: messages[0] is a number, expected a message"},
      {R"([{"content": "a"}])", "Invalid: messages[0] names no role"},
      {R"([{"from": "martian", "value": "a"}])",
       "Invalid: messages[0] is from 'martian', which is no known role; known are assistant, gpt"},
      {R"([{"role": 1, "content": "a"}])", "Type error: messages[0].role is a number"},
      {R"([{"role": "user", "content": [{"type": "image", "url": "x"}]}])",
       "Invalid: messages[0].content[0] is a part of type 'image'"},
      {R"([{"role": "user", "content": 5}])", "Type error: messages[0].content holds a number"}};
  for (const auto& [json, error] : cases) {
    EXPECT_THAT(Read(json), ::testing::StartsWith(error)) << json;
  }
}

TEST_F(ConversationTest, OfFromValueMessagesRoleAndContentDoNotMatter) {
  EXPECT_EQ(Read(R"([{"content": 5, "from": "human", "value": "a", "role": 5}])"),
            R"([{"content": "a", "role": "user"}])");
}

TEST_F(ConversationTest, WithoutRolesThereAreNoFromValueMessages) {
  const Value value =
      reader_.ReadJson(R"([{"from": "human", "value": "a", "x": null}])", &arena_).ValueOrDie();
  const auto read = ReadConversation(value, {.roles = nullptr}, &reader_, &arena_);
  EXPECT_THAT(read.status().ToString(), ::testing::EndsWith("it has 'from', 'value'"));
}

TEST_F(ConversationTest, TemplatesSeeThoughtsUnderAllNamesAndNoKeyWithoutAValue) {
  const auto seen = [&](std::string_view json) -> std::string {
    const auto messages = TemplateMessages(*reader_.ReadJson(json, &arena_), &arena_);
    if (!messages.ok()) return messages.status().ToString();
    std::string text;
    jinja::AppendJson(*messages, {}, &text);
    return text;
  };
  EXPECT_EQ(seen(R"([{"content": [1, null], "x": null, "reasoning": "r", "thinking": null}, {}])"),
            R"([{"thinking": "r", "content": [1, null], "reasoning": "r", )"
            R"("reasoning_content": "r"}, {}])");
  EXPECT_EQ(seen(R"(["a"])"), "Type error: a message is text, expected a dict with a role");
}

TEST_F(ConversationTest, ManyKeysTakeNoLongerThanTheirText) {
  std::string message = R"([{"role": "user", "content": "a", "thinking": "t", "key 7": 0)";
  for (int i = 0; i < 200'000; ++i) message += ", \"key " + std::to_string(i) + "\": 1";
  const std::string read = Read(message + "}]");
  EXPECT_THAT(read, ::testing::StartsWith(R"([{"thinking": "t", "role": "user", "content": "a", )"
                                          R"("key 7": 1, "key 0": 1, "key 1": 1,)"));
  EXPECT_THAT(read, ::testing::EndsWith(R"("key 199999": 1, "reasoning_content": "t"}])"));
}

TEST_F(ConversationTest, NamesOfSpeakersBecomeRolesWhateverTheirKey) {
  const std::vector<std::string> own = {"gpt"};
  const auto roles = [&](std::string_view json, const std::vector<std::string>* own_roles) {
    const Value value = reader_.ReadJson(json, &arena_).ValueOrDie();
    const auto read =
        ReadConversation(value, {.roles = &kTestRoles, .own_roles = own_roles}, &reader_, &arena_);
    std::string all;
    for (uint32_t i = 0; i < read->size; ++i) {
      all += std::string(jinja::FindKey(read->as.items[i], "role")->Text()) + " ";
    }
    return all;
  };
  constexpr std::string_view kChat = R"([{"role": "human", "content": "a"},
    {"role": "gpt", "content": "b"}, {"role": "User", "content": "c"},
    {"role": "ASSISTANT ", "content": "d"}, {"role": "usr", "content": "e"}])";
  EXPECT_EQ(roles(kChat, nullptr), "user assistant user assistant usr ");
  EXPECT_EQ(roles(kChat, &own), "user gpt user assistant usr ") << "the template's own stay";
}

TEST_F(ConversationTest, CallsThatAreMessagesBecomeToolCalls) {
  const RoleMapping roles = {{"function_call", "assistant"}, {"human", "user"}};
  const auto read = [&](std::string_view json) {
    const Value value = reader_.ReadJson(json, &arena_).ValueOrDie();
    const auto made = ReadConversation(value, {.roles = &roles}, &reader_, &arena_);
    std::string text;
    jinja::AppendJson(*made, {}, &text);
    return text;
  };
  constexpr std::string_view kCalled =
      R"({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": )"
      R"({"name": "f", "arguments": {"a": 1}}}]})";
  EXPECT_EQ(read(R"([{"from": "function_call",
                      "value": "{\"name\": \"f\", \"arguments\": {\"a\": 1}}"}])"),
            "[" + std::string(kCalled) + "]");
  EXPECT_EQ(read(R"([{"from": "function_call", "value": "{\"name\": \"f\"}"},
                     {"from": "function_call", "value": "[{\"name\": \"g\"}]"}])"),
            R"([{"role": "assistant", "content": "", "tool_calls": [{"type": "function", )"
            R"("function": {"name": "f", "arguments": {}}}, {"type": "function", "function": )"
            R"({"name": "g", "arguments": {}}}]}])")
      << "calls at once are one message";
  EXPECT_EQ(read(R"([{"role": "assistant", "function_call": {"name": "f", "arguments": {}}}])"),
            R"([{"role": "assistant", "tool_calls": [{"type": "function", "function": )"
            R"({"name": "f", "arguments": {}}}]}])");
  EXPECT_EQ(read(R"j([{"from": "function_call", "value": "f(1)"}])j"),
            R"j([{"role": "assistant", "content": "f(1)"}])j")
      << "what is no call stays text";
}

TEST_F(ConversationTest, TextUnderAnotherKeyIsNoMessage) {
  EXPECT_THAT(Read(R"([{"role": "user", "value": "a", "text": "b"}])"),
              ::testing::StartsWith("Invalid: messages[0] has its text under 'value', 'text'"));
  EXPECT_THAT(Read(R"([{"role": "user", "content": "", "message": "a"}])"),
              ::testing::HasSubstr("under 'message'"));
  EXPECT_EQ(Read(R"([{"role": "user", "content": "a", "text": "b"}])"),
            R"([{"role": "user", "content": "a", "text": "b"}])");
}

TEST_F(ConversationTest, ReasoningIsGivenOnce) {
  EXPECT_THAT(Read(R"([{"role": "assistant", "content": "a", "reasoning": "b", "thinking": "c"}])"),
              ::testing::HasSubstr("two reasonings, one in 'thinking' and one in 'reasoning'"));
  EXPECT_EQ(Read(R"([{"role": "assistant", "thinking": "b", "reasoning_content": " "}])"),
            R"([{"thinking": "b", "role": "assistant", "reasoning_content": "b"}])");
}

}  // namespace
}  // namespace easydata::chat
