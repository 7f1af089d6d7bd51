#include "easydata/trainer/turn_openings.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "easydata/json/json_column.h"
#include "easydata/stream/map_stage.h"
#include "easydata/trainer/assistant_mask.h"
#include "easydata/trainer/example_maker.h"
#include "easydata/trainer/example_op.h"
#include "tokenizers/tokenizer.h"

namespace easydata::trainer {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kEnd = 0;

/// A byte-level tokenizer of ASCII with the special token <e>, whose `merges` make tokens of two.
std::shared_ptr<const tokenizers::Tokenizer> TokenizerOf(
    const std::vector<std::pair<std::string, std::string>>& merges) {
  std::string vocabulary = R"("<e>": 0, "Ġ": 1, "Ċ": 2)";
  int id = 3;
  const auto add = [&](const std::string& token) {
    vocabulary += ", \"" + token + "\": " + std::to_string(id++);
  };
  for (char c = '!'; c <= '~'; ++c) {
    if (c == '"' || c == '\\') continue;
    add(std::string(1, c));
  }
  std::string list;
  for (const auto& [left, right] : merges) {
    add(left + right);
    list += (list.empty() ? "\"" : ", \"") + left + " " + right + "\"";
  }
  return tokenizers::Tokenizer::FromJson(
             R"({"version": "1.0", "truncation": null, "padding": null, "normalizer": null,
                 "post_processor": null, "decoder": null,
                 "added_tokens": [{"id": 0, "content": "<e>", "single_word": false,
                   "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
                   "trim_offsets": true, "use_regex": false},
                 "model": {"type": "BPE", "vocab": {)" +
             vocabulary + R"(}, "merges": [)" + list +
             R"(], "unk_token": null, "dropout": null,
                 "continuing_subword_prefix": null, "end_of_word_suffix": null,
                 "fuse_unk": false, "byte_fallback": false}})")
      .ValueOrDie();
}

/// Counts what is rendered.
class CountingRenderer final : public chat::ChatRenderer {
 public:
  explicit CountingRenderer(std::shared_ptr<const chat::ChatRenderer> inner)
      : inner_(std::move(inner)) {}

  Status Render(const chat::ChatRequest& request, chat::RenderedChat* out) const override {
    ++renderings;
    ARROW_RETURN_NOT_OK(inner_->Render(request, out));
    bytes += out->text.size();
    if (loses_texts) {
      out->has_text_marks = false;
      std::erase_if(out->marks,
                    [](const jinja::Mark& mark) { return mark.kind == jinja::Mark::Kind::kText; });
    }
    return Status::OK();
  }
  bool has_generation(bool with_tools) const override { return inner_->has_generation(with_tools); }
  bool has_plain_prompt(bool with_tools) const override {
    return inner_->has_plain_prompt(with_tools);
  }

  mutable size_t renderings = 0;
  mutable size_t bytes = 0;
  bool loses_texts = false;

 private:
  const std::shared_ptr<const chat::ChatRenderer> inner_;
};

/// A template and a tokenizer.
class Masks {
 public:
  explicit Masks(const std::string& source,
                 const std::vector<std::pair<std::string, std::string>>& merges = {})
      : tokenizer_(TokenizerOf(merges)) {
    const auto compiled = jinja::Template::Compile(source).ValueOrDie();
    const auto rendered_by = chat::NativeChatRenderer(
        compiled, compiled, chat::ChatVariables::Read(R"({"eos_token": "<e>"})").ValueOrDie());
    renderer = std::make_shared<CountingRenderer>(rendered_by);
    auto context = std::make_shared<ExampleContext>();
    context->encoder = tokenizer_;
    context->tokens.eos_id = kEnd;
    context->tokens.eos_text = "<e>";
    context->span_finder.spans = std::make_shared<const tokenizers::TokenSpans>(*tokenizer_);
    context->renderer = renderer;
    context->habits = std::make_shared<const chat::TemplateHabits>(rendered_by);
    context->roles = {{"assistant", "assistant"}, {"user", "user"}};
    context_ = context;
    options.example.fixed_shapes = false;
    options.mask_prompt = true;
    options.max_length = 1 << 20;
  }

  /// The text of a row's only example, with what is trained in brackets; or the row's error.
  std::string Of(const std::string& row) {
    arrow::StringBuilder builder;
    EXPECT_TRUE(builder.Append(row).ok());
    Batch batch;
    batch.rows = arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}), 1,
                                          {builder.Finish().ValueOrDie()});
    batch.addresses =
        Addresses(std::make_shared<const ShardRef>(ShardRef{"code", "a.jsonl"}), 0, 1);
    const auto op = ExampleOp(SftExamples(context_, options).ValueOrDie(), context_, {});
    const auto made = op->Apply(std::move(batch));
    if (!made.ok()) return made.status().message();
    if (made->rows->num_rows() == 0) return "nothing is trained";
    std::string text;
    bool is_open = false;
    const auto ids = Values(*made->rows, "input_ids");
    const auto turns = Values(*made->rows, "assistant_masks");
    const auto completion = Values(*made->rows, "completion_mask");
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool is_trained = turns[i] == 1 && completion[i] == 1;
      if (is_trained != is_open) text += is_open ? "]]" : "[[";
      is_open = is_trained;
      text += Spelled(ids[i]);
    }
    return is_open ? text + "]]" : text;
  }

  SftOptions options;
  std::shared_ptr<CountingRenderer> renderer;

 private:
  static std::vector<int32_t> Values(const arrow::RecordBatch& rows, const char* name) {
    const auto& lists = static_cast<const arrow::ListArray&>(*rows.GetColumnByName(name));
    const auto values = std::static_pointer_cast<arrow::Int32Array>(lists.value_slice(0));
    return {values->raw_values(), values->raw_values() + values->length()};
  }

  std::string Spelled(int32_t id) const {
    std::string token = tokenizer_->IdToToken(id).value();
    for (const auto& [from, to] : {std::pair("Ġ", " "), std::pair("Ċ", "\n")}) {
      for (size_t at = 0; (at = token.find(from, at)) != std::string::npos;) {
        token.replace(at, std::string(from).size(), to);
      }
    }
    return token;
  }

  const std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::shared_ptr<const ExampleContext> context_;
};

std::string Message(const std::string& role, const std::string& content,
                    const std::string& more = "") {
  return R"({"role": ")" + role + R"(", "content": ")" + content + "\"" + more + "}";
}
std::string User(const std::string& content) { return Message("user", content); }
std::string Assistant(const std::string& content) { return Message("assistant", content); }

std::string ChatRow(const std::vector<std::string>& messages, const std::string& more = "") {
  std::string list;
  for (const std::string& message : messages) list += (list.empty() ? "" : ", ") + message;
  return R"({"messages": [)" + list + "]" + more + "}";
}

constexpr const char* kTurns =
    "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}<e>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>\n{% endif %}";

TEST(TurnOpeningsTest, WhatATurnOpensWithIsGiven) {
  EXPECT_EQ(
      Masks(kTurns).Of(ChatRow({Message("system", "s"), User("a"), Assistant("b"), User(""),
                                Assistant("d"), Assistant("c")})),
      "<system>\ns<e>\n<user>\na<e>\n<assistant>\n[[b<e>]]\n<user>\n<e>\n<assistant>\n[[d<e>]]"
      "\n<assistant>\n[[c<e>]]\n");
  EXPECT_EQ(Masks(kTurns).Of(ChatRow({Assistant("b"), User("a"), Assistant("c")})),
            "<assistant>\n[[b<e>]]\n<user>\na<e>\n<assistant>\n[[c<e>]]\n");
}

TEST(TurnOpeningsTest, ASeparatorIsPrintedInTheMessageBefore) {
  Masks masks(
      "{% for m in messages %}### {{ m.role }}:\n{{ m.content }}"
      "{% if m.role == 'assistant' %}<e>{% endif %}{{ '\\n\\n' if not loop.last }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '\\n\\n' }}### assistant:\n{% endif %}");
  EXPECT_EQ(masks.Of(ChatRow({User("a"), Assistant("b"), User("c"), Assistant("d")})),
            "### user:\na\n\n### assistant:\n[[b<e>]]\n\n### user:\nc\n\n### assistant:\n[[d<e>]]");
  EXPECT_EQ(masks.Of(ChatRow({Assistant("b"), User("c"), Assistant("d")})),
            "### assistant:\n[[b<e>]]\n\n### user:\nc\n\n### assistant:\n[[d<e>]]");
}

TEST(TurnOpeningsTest, ATurnIsOpenedWithoutBeingAskedFor) {
  // A template that ends results of tools in the next turn, or at the end of all.
  Masks masks(
      "{% set ns = namespace(open=false) %}{% for m in messages %}"
      "{% if m.role == 'tool' %}{% if not ns.open %}<tools>{% endif %}{% set ns.open = true %}"
      "{{ m.content }}{% elif m.role == 'user' %}<user>{{ m.content }}"
      "{% else %}{{ '</tools>' if ns.open else '<assistant>' }}{% set ns.open = false %}"
      "{{ m.content }}<e>{% endif %}{% endfor %}{% if ns.open %}</tools>{% endif %}"
      "{% if add_generation_prompt and not ns.open %}<assistant>{% endif %}");
  EXPECT_EQ(masks.Of(ChatRow({User("a"), Assistant("b"), Message("tool", "1"), Message("tool", "2"),
                              Assistant("c"), User("d"), Assistant("e")})),
            "<user>a<assistant>[[b<e>]]<tools>12</tools>[[c<e>]]<user>d<assistant>[[e<e>]]");
}

TEST(TurnOpeningsTest, ATokenOverTheBorderIsGiven) {
  const std::string source =
      "{% for m in messages %}{{ m.role }}: {{ m.content }}<e>\n{% endfor %}"
      "{% if add_generation_prompt %}assistant: {% endif %}";
  EXPECT_EQ(Masks(source).Of(ChatRow({User("a"), Assistant("bc")})),
            "user: a<e>\nassistant: [[bc<e>]]\n");
  EXPECT_EQ(Masks(source, {{"Ġ", "b"}}).Of(ChatRow({User("a"), Assistant("bc")})),
            "user: a<e>\nassistant: b[[c<e>]]\n");
  EXPECT_EQ(Masks(kTurns, {{"Ċ", "Ċ"}}).Of(ChatRow({User("a"), Assistant("\\nb")})),
            "<user>\na<e>\n<assistant>\n\n[[b<e>]]\n");
  // A token that reaches from the message before into what opens the turn.
  EXPECT_EQ(
      Masks("{% for m in messages %}{{ m.content + '\\n' }}{% if m.role == 'user' %}{{ '\\n>' }}"
            "{% else %}<e>{% endif %}{% endfor %}",
            {{"Ċ", "Ċ"}})
          .Of(ChatRow({User("a"), Assistant("b")})),
      "a\n\n>[[b\n<e>]]");
}

TEST(TurnOpeningsTest, ThoughtsThatAPromptBeginsWithAreGivenWhereTheyAre) {
  const std::string source =
      "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}"
      "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.index0 > ns.last "
      "%}"
      "<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}<e>{% endfor %}"
      "{% if add_generation_prompt %}<assistant><think>{% endif %}";
  const std::string thinks = R"(, "thinking": "t")";
  EXPECT_EQ(Masks(source).Of(ChatRow({User("a"), Message("assistant", "b", thinks), User("c"),
                                      Message("assistant", "d", thinks)})),
            "<user>a<e><assistant>[[b<e>]]<user>c<e><assistant><think>[[t</think>d<e>]]");
  // What is said before is shown otherwise, once somebody has asked again.
  EXPECT_EQ(Masks(source).Of(ChatRow({User("a"), Message("assistant", "b", thinks),
                                      Message("tool", "1"), Message("assistant", "c", thinks),
                                      User("d"), Message("assistant", "e", thinks)})),
            "<user>a<e><assistant>[[b<e>]]<tool>1<e><assistant>[[c<e>]]<user>d<e><assistant><think>"
            "[[t</think>e<e>]]");
}

TEST(TurnOpeningsTest, WhatAPromptOpensWithDependsOnTheConversation) {
  const std::string source =
      "{% for m in messages %}<{{ m.role }}>"
      "{% if m.role == 'assistant' %}<think></think>{% endif %}{{ m.content }}<e>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% if 'no' in messages[0].content %}"
      "<think></think>{% endif %}{% endif %}";
  EXPECT_EQ(Masks(source).Of(ChatRow({User("no"), Assistant("b")})),
            "<user>no<e><assistant><think></think>[[b<e>]]");
  EXPECT_EQ(Masks(source).Of(ChatRow({User("a"), Assistant("b"), User("no"), Assistant("c")})),
            "<user>a<e><assistant>[[<think></think>b<e>]]<user>no<e><assistant>"
            "[[<think></think>c<e>]]");
}

TEST(TurnOpeningsTest, WhatStandsThereInPlaceOfAThoughtIsWritten) {
  EXPECT_EQ(Masks("{% for m in messages %}<{{ m.role }}>{% if m.tool_calls %}<call>"
                  "{{ m.tool_calls[0].function.name }}{% endif %}{{ m.content }}<e>{% endfor %}"
                  "{% if add_generation_prompt %}<assistant><think>\n{% endif %}")
                .Of(ChatRow({User("a"), Message("assistant", "", R"(, "tool_calls": [{"type":
                          "function", "function": {"name": "f", "arguments": {}}}])")})),
            "<user>a<e><assistant>[[<call>f<e>]]");
}

TEST(TurnOpeningsTest, WhiteSpaceMayStandBeforeWhatOpensATurn) {
  EXPECT_EQ(
      Masks("{% for m in messages %}{{ '\\n# ' }}{{ m.role }}:\n{{ m.content }}<e>{% endfor %}"
            "{% if add_generation_prompt %}# assistant:\n{% endif %}")
          .Of(ChatRow({User("a"), Assistant("b"), User("c"), Assistant("d")})),
      "\n# user:\na<e>\n# assistant:\n[[b<e>]]\n# user:\nc<e>\n# assistant:\n[[d<e>]]");
}

TEST(TurnOpeningsTest, ATurnThatOpensOtherwiseIsRefused) {
  const std::string said =
      Masks(
          "{% for m in messages %}[{{ m.role }}] {{ m.content }}<e>{% endfor %}"
          "{% if add_generation_prompt %}Here you are, assistant: {% endif %}")
          .Of(ChatRow({User("a"), Assistant("b")}));
  EXPECT_THAT(said, HasSubstr("opens the turn of messages[1] with \"[assistant] b<e>\", but a "
                              "model's turn (add_generation_prompt=True) with \"Here you are"));
  EXPECT_THAT(said, HasSubstr("{% generation %}"));
  // A part of it stands there.
  EXPECT_THAT(Masks("{% for m in messages %}<turn>{{ m.role }}: {{ m.content }}<e>{% endfor %}"
                    "{% if add_generation_prompt %}<turn>the assistant: {% endif %}")
                  .Of(ChatRow({User("a"), Assistant("b")})),
              HasSubstr("opens the turn of messages[1]"));
  EXPECT_EQ(Masks("{% for m in messages %}[{{ m.role }}] {{ m.content }}<e>{% endfor %}")
                .Of(ChatRow({User("a"), Assistant("b")})),
            "[user] a<e>[[[assistant] b<e>]]")
      << "a model of a template without prompts writes all";
}

TEST(TurnOpeningsTest, APromptThatIsNotPrintedEverywhereIsGivenEverywhere) {
  Masks masks(
      "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<e>' }}"
      "{% if loop.last and add_generation_prompt and m.role != 'assistant' %}<assistant>{% endif %}"
      "{% endfor %}");
  EXPECT_EQ(masks.Of(ChatRow({Assistant("b"), User("a"), Assistant("c"), Assistant("d")})),
            "<assistant>[[b<e>]]<user>a<e><assistant>[[c<e>]]<assistant>[[d<e>]]");
  EXPECT_EQ(masks.Of(ChatRow({User("a"), Assistant("b"), Assistant("<assistant>c")})),
            "<user>a<e><assistant>[[b<e>]]<assistant>[[<assistant>c<e>]]");
}

TEST(TurnOpeningsTest, TemplatesThatDoNotTellTextsAreRendered) {
  Masks masks(
      "{% for m in messages %}# {{ m.role }}\n{{ m.content }}"
      "{{ '\\n\\n' if not loop.last }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '\\n\\n' }}# assistant\n{% endif %}");
  masks.renderer->loses_texts = true;
  EXPECT_EQ(masks.Of(ChatRow({User("a"), Assistant("b"), User("c"), Assistant("d")})),
            "# user\na\n\n# assistant\n[[b]]\n\n# user\nc\n\n# assistant\n[[d]]");
}

TEST(TurnOpeningsTest, RenderingStaysLinear) {
  const auto chat_of = [](size_t turns) {
    std::vector<std::string> messages;
    for (size_t i = 0; i < turns; ++i) {
      messages.push_back(User("abc"));
      messages.push_back(Assistant("def"));
    }
    return ChatRow(messages);
  };
  Masks plain(kTurns);
  plain.Of(chat_of(200));
  EXPECT_LE(plain.renderer->renderings, 4u)
      << "the chat, a short one with and without, and one for its end";
  // What opens a turn depends on the conversation, and tags stand before what is said.
  Masks other(
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}<final>{% endif %}"
      "{{ m.content }}<e>{% endfor %}"
      "{% if messages and add_generation_prompt %}<assistant>{% endif %}");
  const std::string made = other.Of(chat_of(200));
  EXPECT_THAT(made, HasSubstr("<assistant>[[<final>def<e>]]<user>"));
  EXPECT_LE(other.renderer->renderings, 20u);
  // Every turn opens in its own way.
  Masks numbered(
      "{% for m in messages %}{% if m.role == 'assistant' %}{{ loop.index }}: "
      "{% endif %}{{ m.content }}<e>{% endfor %}"
      "{% if add_generation_prompt %}{{ messages | length + 1 }}: {% endif %}");
  EXPECT_THAT(numbered.Of(chat_of(3)), HasSubstr("4: [[def<e>]]abc<e>6: [[def<e>]]"));
  numbered.renderer->bytes = 0;
  EXPECT_THAT(numbered.Of(chat_of(2000)), HasSubstr("in too many ways"));
  EXPECT_LT(numbered.renderer->bytes, size_t{5} << 20);
}

TEST(TurnOpeningsTest, ACompletionBeginsBehindItsPrompt) {
  Masks masks(
      "{% for m in messages %}### {{ m.role }}:\n{{ m.content }}"
      "{{ '\\n\\n' if not loop.last }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '\\n\\n' }}### assistant:\n{% endif %}",
      {{"Ċ", "b"}});
  EXPECT_EQ(
      masks.Of(R"({"prompt": [)" + User("a") + R"(], "completion": [)" + Assistant("bc") + "]}"),
      "### user:\na\n\n### assistant:\nb[[c]]");
}

TEST(FirstWrittenTest, ATokenOverTheBorderIsNot) {
  const std::vector<size_t> ends = {2, 5, 6};
  EXPECT_EQ(FirstWritten(ends, 0), 0u);
  EXPECT_EQ(FirstWritten(ends, 1), 1u);
  EXPECT_EQ(FirstWritten(ends, 2), 1u);
  EXPECT_EQ(FirstWritten(ends, 3), 2u);
  EXPECT_EQ(FirstWritten(ends, 6), 3u);
}

}  // namespace
}  // namespace easydata::trainer
