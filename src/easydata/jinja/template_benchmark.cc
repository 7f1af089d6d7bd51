#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>

#include "easydata/jinja/template.h"

namespace easydata::jinja {
namespace {

constexpr const char kChatMl[] =
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + "
    "'<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
    "}}{% endif %}";

/// Renders a chat of 4 turns and 1.8 KB with EASYDATA_TEMPLATE, the path of a template, or ChatML.
void Chats(benchmark::State& state) {
  std::string source = kChatMl;
  if (const char* path = std::getenv("EASYDATA_TEMPLATE")) {
    std::ifstream file(path);
    source.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto compiled = Template::Compile(source).ValueOrDie();
  std::string content;
  while (content.size() < 450) content += "The quick brown fox jumps over the lazy dog. ";
  Renderer renderer;
  RenderOptions options;
  options.trace = state.range(0) != 0;
  for (auto _ : state) {
    renderer.Reset();
    Arena* arena = &renderer.arena();
    auto* items = arena->Array<Value>(4);
    for (int i = 0; i < 4; ++i) {
      auto* entries = arena->Array<DictEntry>(2);
      entries[0] = {Value::String("role"), Value::String(i % 2 == 0 ? "user" : "assistant")};
      entries[1] = {Value::String("content"), Value::String(content)};
      items[i] = Value::Dict(entries, 2);
    }
    const Renderer::Variable variables[] = {
        {"messages", MarkMessages(Value::List(items, 4), {}, arena)},
        {"tools", Value::None()},
        {"add_generation_prompt", Value::Boolean(false)},
        {"bos_token", Value::String("<s>")},
        {"eos_token", Value::String("</s>")}};
    const Status status = renderer.Render(*compiled, variables, options);
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(renderer.text().data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Chats)->ArgName("trace")->Arg(0)->Arg(1);

}  // namespace
}  // namespace easydata::jinja
