// Arbitrary bytes as a chat template and the variables that it reads: it is refused in a sentence,
// or it makes a text, which is the same each time and on each thread, with marks and without.
//
// The template ends at the first NUL; the rest is a JSON object of variables. Where that is none,
// the template reads kUsualVariables. tests/python/chat/compare_corpus.py gives what was found here
// to Jinja2, too.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "easydata/chat/assistant_turns.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/column_values.h"
#include "easydata/chat/conversation.h"
#include "easydata/jinja/template.h"
#include "finding.h"
#include "template_pieces.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace easydata {
namespace {

using fuzz::Fail;
using fuzz::IsUtf8;
using jinja::Mark;
using jinja::Renderer;
using jinja::Template;
using jinja::Value;

constexpr std::string_view kUsualVariables = R"({
  "messages": [{"role": "system", "content": "Be \u00e9 short.\n"},
               {"role": "user", "content": "  What is <b>1 &amp; 2</b>?"},
               {"role": "assistant", "content": "<think>\nhm\n</think>\n\nThree. \u4e2d\ud83d\ude42",
                "tool_calls": [{"type": "function", "function": {"name": "f",
                                "arguments": {"a": [1.0, null, "x"]}}}]},
               {"role": "tool", "content": "3"}, {"role": "assistant", "content": "3"}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": {}}}}],
  "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "n": 3, "s": "Text",
  "d": {"a": 1, "b": {"c": [1.5, null]}, "role": "user"}, "words": ["b", "A", "a", ""], "x": 5,
  "y": -2.5, "nothing": null, "big": 18446744073709551615})";

// Less than for templates of models, so that none takes long.
constexpr int64_t kMostSteps = 50'000;
constexpr size_t kMostText = size_t{1} << 20;
// One in so many inputs is rendered by several threads at once.
constexpr size_t kThreadedOneIn = 32;

const chat::RoleMapping kRoles = {
    {"human", "user"}, {"gpt", "assistant"}, {"user", "user"}, {"assistant", "assistant"}};

struct Rendering {
  Status status;
  std::string text;
  std::vector<Mark> marks;
  size_t messages = 0;
};

void CheckError(const Status& status, std::string_view input) {
  using enum arrow::StatusCode;
  fuzz::CheckForeseen(status, {Invalid, NotImplemented}, input);
}

Rendering Render(const Template& compiled, std::string_view json, bool trace, Renderer* renderer) {
  chat::ValueReader reader;
  renderer->Reset();
  const auto read = reader.ReadJson(json, &renderer->arena());
  std::vector<Renderer::Variable> variables;
  Rendering out;
  for (uint32_t i = 0; i < read->size; ++i) {
    const jinja::DictEntry& entry = read->as.entries[i];
    Value value = entry.value;
    if (entry.key.Text() == "messages" && value.Is(jinja::ValueKind::kList)) {
      out.messages = value.size;
      if (trace) value = jinja::MarkMessages(value, chat::kSaidFields, &renderer->arena());
    }
    variables.push_back({entry.key.Text(), value});
  }
  jinja::RenderOptions options;
  options.trace = trace;
  options.max_steps = kMostSteps;
  options.max_text_bytes = kMostText;
  out.status = renderer->Render(compiled, variables, options);
  if (out.status.ok()) renderer->Take(&out.text, &out.marks);
  return out;
}

void CheckSame(const Rendering& one, const Rendering& other, const char* what,
               std::string_view input) {
  if (one.status == other.status && one.text == other.text && one.marks == other.marks) return;
  Fail(std::string(what) + ": " + one.status.ToString() + " " + one.text +
           "\n  or: " + other.status.ToString() + " " + other.text,
       input);
}

void CheckMarks(const Rendering& traced, std::string_view input) {
  size_t last_end = 0;
  for (const Mark& mark : traced.marks) {
    if (mark.begin > mark.end || mark.end > traced.text.size()) {
      Fail("a mark goes beyond the text", input);
    }
    if (mark.message != Mark::kUnknown && mark.message >= traced.messages) {
      Fail("a mark of a message that is not there", input);
    }
    if (mark.end < last_end) Fail("marks are not in the order in which they end", input);
    last_end = mark.end;
  }
}

void CheckThreads(const Template& compiled, std::string_view json, const Rendering& expected,
                  std::string_view input) {
  std::vector<Rendering> made(3);
  std::vector<std::thread> threads;
  for (Rendering& each : made) {
    threads.emplace_back([&] {
      Renderer renderer;
      each = Render(compiled, json, /*trace=*/true, &renderer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Rendering& each : made) CheckSame(expected, each, "another thread differs", input);
}

/// As a stage renders a row: the messages become a conversation, and the assistant's turns are
/// looked for.
void CheckChat(const std::shared_ptr<const Template>& compiled, std::string_view json,
               std::string_view input) {
  const auto variables = chat::ChatVariables::Read(json).ValueOrDie();
  jinja::Arena arena;
  chat::ValueReader reader;
  Value conversation;
  for (const Renderer::Variable& variable : variables->all()) {
    if (variable.name != "messages") continue;
    const auto read = chat::ReadConversation(variable.value, {.roles = &kRoles}, &reader, &arena);
    if (!read.ok()) return;
    conversation = *read;
  }
  if (!conversation.Is(jinja::ValueKind::kList)) return;
  const auto renderer = chat::NativeChatRenderer(compiled, compiled, variables);
  chat::ChatRequest request;
  request.messages = conversation;
  request.add_generation_prompt = true;
  chat::RenderedChat plain;
  const Status status = renderer->Render(request, &plain);
  if (!status.ok()) return CheckError(status, input);
  request.messages = jinja::MarkMessages(conversation, chat::kSaidFields, &arena);
  request.trace = true;
  chat::RenderedChat traced;
  const Status same = renderer->Render(request, &traced);
  if (!same.ok() || traced.text != plain.text) {
    Fail("with a trace it is " + same.ToString() + " " + traced.text, input);
  }
  std::vector<chat::AssistantTurn> turns;
  const Status found = chat::FindAssistantTurns(request.messages, traced,
                                                renderer->has_generation(false), kRoles, &turns);
  (void)chat::CheckClaimed(request, traced, {.roles = &kRoles});
  if (!found.ok()) return CheckError(found, input);
  size_t last = 0;
  for (const chat::AssistantTurn& turn : turns) {
    if (turn.begin > turn.end || turn.end > traced.text.size() || turn.begin < last) {
      Fail("turns are not one after the other in the text", input);
    }
    last = turn.begin;
    if (turn.message != Mark::kUnknown && turn.message >= conversation.size) {
      Fail("the turn of a message that is not there", input);
    }
  }
}

bool IsObject(std::string_view json) {
  jinja::Arena arena;
  chat::ValueReader reader;
  const auto read = reader.ReadJson(json, &arena);
  return read.ok() && read->Is(jinja::ValueKind::kDict);
}

void Check(std::string_view input) {
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view source = input.substr(0, end);
  std::string_view json = input.substr(std::min(end + 1, input.size()));
  if (!IsObject(json)) json = kUsualVariables;

  const auto compiled = Template::Compile(source);
  if (!compiled.ok()) return CheckError(compiled.status(), input);
  static Renderer renderer;
  const Rendering plain = Render(**compiled, json, /*trace=*/false, &renderer);
  const Rendering traced = Render(**compiled, json, /*trace=*/true, &renderer);
  CheckSame({plain.status, plain.text, {}}, {traced.status, traced.text, {}},
            "with a trace it is another text", input);
  CheckMarks(traced, input);
  Renderer other;
  CheckSame(traced, Render(**Template::Compile(source), json, /*trace=*/true, &other),
            "it is another text the second time", input);
  if (std::hash<std::string_view>()(input) % kThreadedOneIn == 0) {
    CheckThreads(**compiled, json, traced, input);
  }
  if (!plain.status.ok()) return CheckError(plain.status, input);
  if (plain.text.size() > kMostText) Fail("the text is longer than it may be", input);
  if (IsUtf8(source) && !IsUtf8(plain.text)) Fail("the text is not UTF-8", input);
  CheckChat(*compiled, json, input);
}

}  // namespace
}  // namespace easydata

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), input.size());
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string made(input.substr(0, end));
  for (unsigned int left = 1 + random() % 3; left > 0; --left) {
    made = easydata::fuzz::MutatedTemplate(made, &random);
  }
  made += input.substr(end);
  if (made.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, made.data(), made.size());
  return made.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
