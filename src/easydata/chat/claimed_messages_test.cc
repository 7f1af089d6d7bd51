#include "easydata/chat/claimed_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace easydata::chat {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using jinja::Value;

const RoleMapping kNamesOfRoles = {{"human", "user"}, {"gpt", "assistant"}};

/// Prints users and assistants, reasoning behind the last question, calls, and tools.
constexpr std::string_view kThinking =
    "{%- set ns = namespace(last=0) -%}"
    "{%- for m in messages if m.role == 'user' -%}{%- set ns.last = loop.index -%}{%- endfor -%}"
    "{%- if tools -%}{%- for t in tools -%}{{- t | tojson -}}{%- endfor -%}{%- endif -%}"
    "{%- set seen = namespace(users=0) -%}"
    "{%- for m in messages -%}"
    "{%- if m.role == 'user' -%}{%- set seen.users = seen.users + 1 -%}[{{ m.content }}]"
    "{%- elif m.role == 'assistant' -%}"
    "{%- if m.reasoning_content and seen.users == ns.last -%}({{ m.reasoning_content }}){%- endif "
    "-%}"
    "<{{ m.content }}{%- for c in m.tool_calls or [] -%}!{{ c.function.name }}"
    "{{ c.function.arguments | tojson }}{%- endfor -%}>"
    "{%- elif m.role == 'tool' -%}{{ '{' ~ m.content ~ '}' }}{%- endif -%}{%- endfor -%}";

constexpr std::string_view kPlain =
    "{%- for m in messages -%}<{{ m.role }}>{{ m.content }}{%- endfor -%}";

class ClaimedMessagesTest : public ::testing::Test {
 protected:
  void Use(std::string_view source) {
    const auto compiled = jinja::Template::Compile(source).ValueOrDie();
    renderer_ = NativeChatRenderer(compiled, compiled, ChatVariables::Read("{}").ValueOrDie());
    habits_ = std::make_unique<TemplateHabits>(renderer_);
  }

  /// The text of a chat, or what is wrong.
  std::string Render(std::string_view json, std::string_view tools = "",
                     bool drops_reasoning = false, bool has_marks = true) {
    arena_.Reset();
    ChatRequest request;
    if (!tools.empty()) {
      request.tools = jinja::MarkTools(reader_.ReadJson(tools, &arena_).ValueOrDie(), &arena_);
    }
    const HabitsOfRow habits = {habits_.get(), request.tools};
    const auto read =
        ReadConversation(reader_.ReadJson(json, &arena_).ValueOrDie(),
                         {.roles = &kNamesOfRoles, .habits = &habits}, &reader_, &arena_);
    if (!read.ok()) return read.status().message();
    Status status = CheckSaysSomething(*read, kNamesOfRoles, "messages");
    if (!status.ok()) return status.message();
    request.messages = jinja::MarkMessages(*read, kSaidFields, &arena_);
    request.trace = true;
    RenderedChat rendered;
    status = renderer_->Render(request, &rendered);
    if (!status.ok()) return status.message();
    if (!has_marks) {
      rendered.has_text_marks = rendered.knows_tools = false;
      rendered.marks.clear();
    }
    status = CheckClaimed(
        request, rendered,
        {.roles = &kNamesOfRoles, .habits = &habits, .drops_reasoning = drops_reasoning});
    return status.ok() ? rendered.text : status.message();
  }

  jinja::Arena arena_;
  ValueReader reader_;
  std::shared_ptr<const ChatRenderer> renderer_;
  std::unique_ptr<TemplateHabits> habits_;
};

constexpr std::string_view kWithCall = R"([{"role": "user", "content": "q"},
  {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f",
    "arguments": {"x": 1}}}]}, {"role": "tool", "content": "r"},
  {"role": "assistant", "content": "a"}])";
constexpr std::string_view kWithThoughts = R"([{"role": "user", "content": "q"},
  {"role": "assistant", "content": "a", "reasoning": "why"}, {"role": "user", "content": "r"},
  {"role": "assistant", "content": "b", "reasoning": "because"}])";
constexpr std::string_view kTool = R"([{"type": "function", "function": {"name": "f"}}])";

TEST_F(ClaimedMessagesTest, WhatComesOutIsFine) {
  for (const bool has_marks : {true, false}) {
    Use(kThinking);
    EXPECT_EQ(Render(kWithCall, "", false, has_marks), "[q]<!f{\"x\": 1}>{r}<a>");
    EXPECT_EQ(Render(kWithCall, kTool, false, has_marks),
              "{\"type\": \"function\", \"function\": {\"name\": \"f\"}}"
              "[q]<!f{\"x\": 1}>{r}<a>");
    EXPECT_EQ(Render(kWithThoughts, "", false, has_marks), "[q]<a>[r](because)<b>")
        << "of earlier turns the template leaves reasoning out itself";
  }
}

TEST_F(ClaimedMessagesTest, WhatIsLeftOutIsNamed) {
  for (const bool has_marks : {true, false}) {
    Use(kThinking);
    EXPECT_THAT(
        Render(R"([{"role": "usr", "content": "question"},
                           {"role": "assistant", "content": "answer"}])",
               "", false, has_marks),
        StartsWith("the chat template leaves out the 'content' of messages[0] (role 'usr'): "
                   "it knows no such role"));
    Use(kPlain);
    EXPECT_THAT(Render(kWithCall, "", false, has_marks),
                StartsWith("the chat template leaves out the 'tool_calls' of messages[1] (role "
                           "'assistant'): it knows no calls"));
    EXPECT_THAT(
        Render(R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])",
               kTool, false, has_marks),
        StartsWith("the chat template leaves out the row's 'tools'"));
    EXPECT_THAT(Render(kWithThoughts, "", false, has_marks),
                StartsWith("the chat template leaves out the reasoning of messages[1]"));
    EXPECT_EQ(Render(kWithThoughts, "", true, has_marks), "<user>q<assistant>a<user>r<assistant>b");
  }
}

constexpr std::string_view kTwoCalls = R"([{"role": "user", "content": "q"},
  {"role": "assistant", "content": "", "tool_calls": [
    {"function": {"name": "f", "arguments": {"x": "one"}}},
    {"function": {"name": "f", "arguments": {"x": "two"}}}]}])";
constexpr std::string_view kSameCalls = R"([{"role": "user", "content": "q"},
  {"role": "assistant", "content": "", "tool_calls": [
    {"function": {"name": "f", "arguments": {}}}, {"function": {"name": "f", "arguments": {}}}]}])";
constexpr char kSecondIsLost[] =
    "the chat template leaves out the 'tool_calls[1]' of messages[1] (role 'assistant'), a call of "
    "'f': it prints other calls of the message; give the template";

TEST_F(ClaimedMessagesTest, EachCallIsClaimed) {
  // As gpt-oss does it.
  Use("{%- for m in messages -%}<{{ m.content }}{%- if m.tool_calls -%}"
      "{%- set call = m.tool_calls[0].function -%}!{{ call.name }}{{ call.arguments | tojson }}"
      "{%- endif -%}>{%- endfor -%}");
  EXPECT_EQ(Render(kWithCall), "<q><!f{\"x\": 1}><r><a>");
  for (const bool has_marks : {true, false}) {
    EXPECT_THAT(Render(kTwoCalls, "", false, has_marks), StartsWith(kSecondIsLost));
  }
  EXPECT_THAT(Render(kSameCalls), StartsWith(kSecondIsLost));
  Use(kThinking);
  for (const bool has_marks : {true, false}) {
    EXPECT_EQ(Render(kTwoCalls, "", false, has_marks), "[q]<!f{\"x\": \"one\"}!f{\"x\": \"two\"}>");
  }
}

TEST_F(ClaimedMessagesTest, CallsThatArePrintedTogetherAreThere) {
  for (const std::string_view printed :
       {"{{ m.tool_calls | tojson }}", "{{ m.tool_calls }}",
        "{{ m.tool_calls | map(attribute='function') | list | tojson }}",
        "{{ m.content ~ m.tool_calls[0].function.name ~ m.tool_calls[1].function.arguments.x }}",
        "{% set t %}{% for c in m.tool_calls %}{{ c.function.name ~ m.content }}{% endfor %}"
        "{% endset %}{{ t | trim }}"}) {
    Use("{%- for m in messages -%}{{ m.content }}{% if m.tool_calls %}" + std::string(printed) +
        "{% endif %}{%- endfor -%}");
    EXPECT_THAT(Render(kTwoCalls), HasSubstr("f")) << printed;
    EXPECT_THAT(Render(kTwoCalls), Not(HasSubstr("leaves out"))) << printed;
  }
  Use("{%- for m in messages -%}{{ m.content ~ (m.tool_calls[0].function.name if m.tool_calls) }}"
      "{%- endfor -%}");
  EXPECT_THAT(Render(kSameCalls), StartsWith(kSecondIsLost)) << "beside what is of no call";
}

TEST_F(ClaimedMessagesTest, CallsWithoutNumbersAreKnownByTheirWords) {
  std::string calls;
  for (int i = 0; i < 40; ++i) {
    calls += std::string(i == 0 ? "" : ", ") +
             R"({"function": {"name": "f", "arguments": {"x": "a)" + std::to_string(i) + R"(b"}}})";
  }
  const std::string chat =
      R"([{"role": "assistant", "content": "", "tool_calls": [)" + calls + "]}]";
  Use(kThinking);
  EXPECT_THAT(Render(chat), HasSubstr("a39b"));
  Use("{%- for m in messages -%}{%- for c in m.tool_calls[:-1] -%}!{{ c.function.arguments.x }}"
      "{%- endfor -%}{%- endfor -%}");
  EXPECT_THAT(Render(chat), StartsWith("the chat template leaves out the 'tool_calls[39]' of "));
}

TEST_F(ClaimedMessagesTest, ThoughtsInAContentAreReasoning) {
  constexpr std::string_view kChat = R"([{"role": "user", "content": "q"},
    {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nanswer"}])";
  Use("{%- for m in messages -%}{{ m.content.split('</think>')[-1] }}{%- endfor -%}");
  EXPECT_THAT(Render(kChat),
              StartsWith("the chat template leaves out the reasoning of messages[1]"));
  EXPECT_EQ(Render(kChat, "", true), "q\n\nanswer");
  Use("{%- for m in messages -%}{{ m.content if loop.last else m.content.split('</think>')[-1] }}"
      "{%- endfor -%}");
  EXPECT_THAT(Render(kChat), HasSubstr("why"));
  EXPECT_EQ(Render(R"([{"role": "assistant", "content": "<think>why</think>a"},
                       {"role": "user", "content": "q"}])"),
            "aq")
      << "an earlier turn";
}

TEST_F(ClaimedMessagesTest, TextsOfSeveralMessagesAreLookedAt) {
  Use("{{ messages[0].content + ': ' + messages[1].content }}{{ messages[2].content }}");
  EXPECT_EQ(Render(R"([{"role": "system", "content": "be"}, {"role": "user", "content": "brief"},
                       {"role": "assistant", "content": "ok"}])"),
            "be: briefok");
  EXPECT_THAT(Render(R"([{"role": "system", "content": "a"}, {"role": "user", "content": "b"},
                         {"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}])"),
              HasSubstr("messages[3]"));
}

TEST_F(ClaimedMessagesTest, AnAnswerSaysSomething) {
  Use(kPlain);
  constexpr std::string_view kChat = R"([{"role": "user", "content": "q"},
    {"role": "assistant", "content": " "}])";
  EXPECT_THAT(Render(kChat), StartsWith("messages[1] (role 'assistant') is an answer that says "
                                        "nothing"));
  EXPECT_EQ(Render(R"([{"role": "user", "content": "q"},
                       {"role": "assistant", "content": "", "weight": 0}])"),
            "<user>q<assistant>")
      << "it is not trained on";
  const Status status = EmptyAnswer("it");
  EXPECT_TRUE(IsEmptyAnswer(status) && !IsEmptyAnswer(Status::Invalid(status.message())));
}

TEST_F(ClaimedMessagesTest, DevelopersAreSystemsWhereTheTemplateHasNone) {
  constexpr std::string_view kChat = R"([{"role": "developer", "content": "be brief"},
    {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])";
  Use("{%- for m in messages -%}{%- if m.role in ['system', 'user', 'assistant'] -%}"
      "<{{ m.role }}>{{ m.content }}{%- endif -%}{%- endfor -%}");
  EXPECT_EQ(Render(kChat), "<system>be brief<user>q<assistant>a");
  Use("{%- for m in messages -%}{%- if m.role not in ['system', 'user', 'assistant'] -%}"
      "{{ raise_exception('no') }}{%- endif -%}<{{ m.role }}>{{ m.content }}{%- endfor -%}");
  EXPECT_EQ(Render(kChat), "<system>be brief<user>q<assistant>a");
  Use(kPlain);
  EXPECT_EQ(Render(kChat), "<developer>be brief<user>q<assistant>a");
}

TEST_F(ClaimedMessagesTest, ArgumentsAreAsTheTemplateWantsThem) {
  constexpr std::string_view kChat = R"([{"role": "user", "content": "q"},
    {"role": "assistant", "tool_calls": [{"function": {"name": "f",
      "arguments": "{\"x\": 1}"}}]}])";
  Use(kThinking);
  EXPECT_THAT(Render(kChat), HasSubstr("!f{\"x\": 1}"));
  // As text, or as text and as a mapping.
  Use("{%- for m in messages -%}{{ m.content }}{%- for c in m.tool_calls or [] -%}"
      "{{ c.function.name + ':' + c.function.arguments }}{%- endfor -%}{%- endfor -%}");
  EXPECT_THAT(Render(kChat), HasSubstr("f:{\"x\": 1}"));
  Use("{%- for m in messages -%}{{ m.content }}{%- for c in m.tool_calls or [] -%}"
      "{{ c.function.arguments if c.function.arguments is string else "
      "c.function.arguments | tojson }}{%- endfor -%}{%- endfor -%}");
  EXPECT_THAT(Render(kChat), HasSubstr("{\"x\": 1}"));
}

TEST_F(ClaimedMessagesTest, RolesThatNobodyKnowsAreToldOf) {
  const Value chat =
      reader_.ReadJson(R"([{"role": "user"}, {"role": "human"}, {"role": "critic"}])", &arena_)
          .ValueOrDie();
  const std::vector<std::string> own = {"critic"};
  EXPECT_EQ(StrangeRole(chat, kNamesOfRoles, nullptr), "critic");
  EXPECT_EQ(StrangeRole(chat, kNamesOfRoles, &own), "");
}

}  // namespace
}  // namespace easydata::chat
