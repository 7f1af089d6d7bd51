#include "easydata/chat/plain_prompt.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "easydata/jinja/program.h"

namespace easydata::chat {
namespace {

using jinja::Instruction;
using jinja::IsJump;
using jinja::Op;
using jinja::Program;

constexpr std::string_view kFlag = "add_generation_prompt";

/// Whether a statement may end with this: behind it, the stack is empty.
bool EndsStatement(Op op) {
  switch (op) {
    case Op::kText:
    case Op::kPrint:
    case Op::kPrintSum:
    case Op::kStore:
    case Op::kSetAttribute:
    case Op::kForEnd:
    case Op::kCopyContext:
    case Op::kClear:
      return true;
    default:
      return false;
  }
}

/// Whether it makes a value of others, and does nothing else.
bool IsPure(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kNot:
    case Op::kAdd:
    case Op::kConcat:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kIn:
    case Op::kNotIn:
    case Op::kFilter:
    case Op::kTest:
    case Op::kUndefinedElse:
      return true;
    default:
      return false;
  }
}

/// Looks through a template's own code; that of macros stands behind it.
class PromptCode {
 public:
  explicit PromptCode(const Program& program) : program_(program), end_(program.code.size()) {
    for (const jinja::MacroInfo& macro : program.macros) {
      end_ = std::min(end_, static_cast<size_t>(macro.entry));
    }
  }

  bool IsPlain() const {
    int flag = -1;
    for (const Instruction& each : program_.code) {
      if (each.op != Op::kCopyContext || NameOf(each) != kFlag) continue;
      if (flag >= 0) return false;
      flag = each.a;
    }
    if (flag < 0) return true;
    if (IsSet(flag)) return false;
    for (size_t i = 0; i < program_.code.size(); ++i) {
      const Instruction& each = program_.code[i];
      if (each.op == Op::kLoadOuter && each.a == flag) return false;
      // Variables of macros have numbers of their own.
      if (i < end_ && each.op == Op::kLoad && each.a == flag && !IsPlainAt(i)) return false;
    }
    return true;
  }

 private:
  const std::string& NameOf(const Instruction& copy) const {
    return program_.context_names[static_cast<size_t>(copy.b)];
  }

  /// Whether a variable of the template gets another value than it was given.
  bool IsSet(int variable) const {
    for (size_t i = 0; i < program_.code.size(); ++i) {
      const Instruction& each = program_.code[i];
      const bool is_copied =
          (each.op == Op::kCopyVariable && i < end_) || each.op == Op::kCopyOuter;
      if (is_copied && each.b == variable) return true;
      const bool is_written = each.op == Op::kStore || each.op == Op::kClear ||
                              each.op == Op::kCopyVariable || each.op == Op::kSetAttribute;
      if (is_written && i < end_ && each.a == variable) return true;
      if (each.op == Op::kForBegin && i < end_ && each.a == variable) return true;
    }
    return false;
  }

  /// Whether a variable holds an option or a special token.
  bool IsOption(int variable) const {
    if (IsSet(variable)) return false;
    for (size_t i = 0; i < end_; ++i) {
      const Instruction& each = program_.code[i];
      if (each.op != Op::kCopyContext || each.a != variable) continue;
      const std::string& name = NameOf(each);
      return name != "messages" && name != "tools";
    }
    return false;
  }

  /// Whether the flag that is loaded at `at` decides by itself about texts that are always the
  /// same.
  bool IsPlainAt(size_t at) const {
    if (at > 0 && !EndsStatement(program_.code[at - 1].op)) return false;
    int open = 0;
    for (size_t i = 0; i < at; ++i) {
      const Instruction& each = program_.code[i];
      if (IsJump(each.op) && each.a > static_cast<int>(at)) return false;
      open += each.op == Op::kCaptureBegin || each.op == Op::kGenerationBegin ? 1 : 0;
      open -= each.op == Op::kCaptureEnd || each.op == Op::kGenerationEnd ? 1 : 0;
    }
    if (open != 0) return false;
    // The condition ends with the first jump that no `and` or `or` in it jumps over; what is done
    // where it holds ends where that jump leads to.
    size_t condition_end = at;
    size_t end = end_;
    for (size_t i = at + 1; i < end; ++i) {
      const Instruction& each = program_.code[i];
      const bool is_print =
          each.op == Op::kText || each.op == Op::kPrint || each.op == Op::kPrintSum;
      const bool is_option = each.op == Op::kLoad && IsOption(each.a);
      if (!is_print && !is_option && !IsJump(each.op) && !IsPure(each.op)) return false;
      if (end < end_ || !IsJump(each.op)) continue;
      if (each.op == Op::kJumpIfFalseKeep || each.op == Op::kJumpIfTrueKeep) {
        condition_end = std::max(condition_end, static_cast<size_t>(each.a));
      } else if (each.op == Op::kJumpIfFalse && i >= condition_end) {
        end = static_cast<size_t>(each.a);
      } else {
        return false;
      }
    }
    return end < end_;
  }

  const Program& program_;
  size_t end_;
};

}  // namespace

bool HasPlainPrompt(const jinja::Template& compiled) {
  return PromptCode(compiled.program()).IsPlain();
}

}  // namespace easydata::chat
