#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/jinja/arena.h"
#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/program.h"
#include "easydata/jinja/template.h"

namespace easydata::jinja {

/// Runs a program: a stack of values, variables by number, loops and captures that are open.
class Machine {
 public:
  explicit Machine(Arena* arena) : arena_(*arena) {}

  /// Throws RenderError.
  void Run(const Program& program, std::span<const Renderer::Variable> variables,
           const RenderOptions& options, std::string* text, std::vector<Mark>* marks,
           bool* shows_tools);

  Arena* arena() { return &arena_; }

  /// The memory that it keeps for the next program.
  size_t bytes_held() const {
    return (stack_.capacity() + variables_.capacity() + context_.capacity()) * sizeof(Value) +
           loops_.capacity() * sizeof(OpenLoop) + held_.capacity() * sizeof(HeldMark) +
           scratch_.capacity();
  }

  const RenderOptions& options() const { return *options_; }

  /// Counts work that no instruction counts, for the bound.
  void CountSteps(int64_t steps);

  /// str(value), which may be the value's own memory.
  std::string_view TextOf(const Value& value, std::string* scratch);

  /// A dict; of a key that comes twice, the last value stays.
  Value MakeDict(const Value* keys_and_values, int count);

  /// The text of values one after another, as a value that knows of captured texts in it.
  Value Joined(const Value* values, int count);

 private:
  struct OpenLoop {
    const Value* items = nullptr;
    uint32_t count = 0;
    uint32_t next = 0;
    LoopData* data = nullptr;
    GeneratorData* generator = nullptr;
    bool done = false;
    // The message that the loop is at.
    bool at_message = false;
    uint32_t message = 0;
    size_t message_begin = 0;
    // Of a loop with a condition: the items that stay, where they are taken before it.
    bool has_condition = false;
    Value* kept = nullptr;
    uint32_t num_kept = 0;
  };

  struct Capture {
    size_t begin;
    size_t first_mark;
    bool shows_tools = false;
  };

  /// A mark in a text that was captured.
  struct HeldMark {
    Mark::Kind kind;
    uint32_t message;
    const char* begin;
    const char* end;
    uint8_t sources;
    uint16_t call;
  };

  void Execute(int entry, size_t base);
  void Print(const Value& value);
  void PrintSum(int count);
  Value Sum(const Value& left, const Value& right);
  void PrintText(std::string_view text);
  void MarkText(uint16_t origin, uint8_t sources, size_t begin);
  void ShowTools(uint8_t sources);
  void CheckTextSize();
  void CopyHeldMarks(const Value& value, size_t to);
  void CheckTurnsKept(const Value& of, const Arguments& arguments, const Value& made) const;
  bool HoldsTurns(const Value& value) const;
  void NextItem(OpenLoop* loop);
  void CloseMessage(OpenLoop* loop);
  void EndCapture();
  Value Call(const Value& callee, const Arguments& arguments);
  Value CallMacro(const MacroInfo& macro, const Arguments& arguments);
  Value CallAttribute(const CallSite& site, const Value& of, const Arguments& arguments);
  void Unpack(const Value& value, int count);
  void SetAttribute(const Value& space, std::string_view name, const Value& value);
  Value GivenValue(const std::string& name) const;

  Value Pop() {
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value& Top() { return stack_.back(); }

  Arena& arena_;
  const Program* program_ = nullptr;
  const RenderOptions* options_ = nullptr;
  std::span<const Renderer::Variable> given_ = {};
  std::string* text_ = nullptr;
  std::vector<Mark>* marks_ = nullptr;
  bool* shows_tools_ = nullptr;
  int64_t steps_left_ = 0;
  int depth_ = 0;
  int line_ = 0;
  std::vector<Value> stack_ = {};
  std::vector<Value> variables_ = {};
  std::vector<Value> context_ = {};  // of the program's context_names
  std::vector<OpenLoop> loops_ = {};
  std::vector<Capture> captures_ = {};
  std::vector<HeldMark> held_ = {};
  std::vector<size_t> generations_ = {};
  std::string scratch_ = {};
};

}  // namespace easydata::jinja
