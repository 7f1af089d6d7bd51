#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "easydata/jinja/value.h"

namespace easydata::jinja {

/// What an instruction does; `a` and `b` are its operands, "pops" and "pushes" speak of the stack
/// of values.
enum class Op : uint8_t {
  kText,             // prints texts[a]
  kPrint,            // pops a value and prints it
  kPrintSum,         // pops a values and prints their sum
  kConstant,         // pushes constants[a]
  kLoad,             // pushes the variable a of this function; b: its name
  kLoadOuter,        // pushes the variable a of the template, from within a macro; b: its name
  kStore,            // pops into the variable a
  kCopyVariable,     // variable a = variable b
  kCopyOuter,        // variable a = variable b of the template
  kCopyContext,      // variable a = what was given under context_names[b]
  kClear,            // variable a has no value
  kJump,             // to a
  kJumpIfFalse,      // pops
  kJumpIfTrue,       // pops
  kJumpIfFalseKeep,  // to a if the top is false; else pops it
  kJumpIfTrueKeep,
  kJumpIfSet,  // to a if the variable b has a value
  kNot,
  kNegative,
  kPositive,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcat,  // a values
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kCompareNext,  // x y -> y x y: so that y is there for the next comparison of a chain
  kDropUnder,    // x y -> y
  kList,         // of a values
  kTuple,
  kDict,           // of a keys and values
  kAttribute,      // of the top: texts[a]; b: 1 where it is none of dicts themselves
  kItem,           // object, key
  kSlice,          // object, start, stop, step
  kCall,           // function, arguments: calls[a]
  kCallMethod,     // object, arguments: calls[a]
  kFilter,         // value, arguments: calls[a]
  kTest,           // value, arguments: calls[a]
  kUnpack,         // one value into a
  kUndefinedElse,  // pushes what an `if` without `else` gives
  kNoParameter,    // the variable a is an undefined parameter named texts[b]
  kForBegin,       // pops what to go through; a: the variable `loop`, or -1; b: 1 with a condition
  kForNext,        // pushes the next item, or jumps to a
  kForKeep,        // the condition holds for the item
  kForDone,        // the body came to its end
  kForEnd,         // ends the loop
  kForElse,        // ends the loop, and jumps to a if a body came to its end
  kFilterBegin,    // pops what to go through; what is kept becomes a list
  kFilterNext,     // pushes the next item, or pushes the list and jumps to a
  kFilterKeep,     // pops a condition: whether the item stays, as a tuple if a is 1
  kCaptureBegin,   // what is printed becomes a value
  kCaptureEnd,     // pushes it
  kGenerationBegin,
  kGenerationEnd,
  kSetAttribute,  // pops a value; into texts[b] of the namespace in variable a
  kSetOuterAttribute,
  kMacro,  // pushes macros[a]
  kReturn,
};

struct Instruction {
  Op op = Op::kReturn;
  int32_t a = 0;
  int32_t b = 0;
};

/// Whether an instruction may go on elsewhere: at its `a`.
constexpr bool IsJump(Op op) {
  switch (op) {
    case Op::kJump:
    case Op::kJumpIfFalse:
    case Op::kJumpIfTrue:
    case Op::kJumpIfFalseKeep:
    case Op::kJumpIfTrueKeep:
    case Op::kJumpIfSet:
    case Op::kForNext:
    case Op::kForElse:
    case Op::kFilterNext:
      return true;
    default:
      return false;
  }
}

/// How a method, filter or test is called.
struct CallSite {
  std::string name;
  /// Which of the filters or tests, or the method, it is; -1 for a method that we do not have.
  int function = -1;
  int arguments = 0;               // with those by name
  std::vector<std::string> names;  // of the last arguments
};

struct MacroInfo {
  std::string name;
  std::vector<std::string> parameters;
  int entry = 0;
  int variables = 0;
};

/// A compiled template.
struct Program {
  std::vector<Instruction> code;
  std::vector<int> lines;         // of each instruction
  std::deque<std::string> texts;  // values point into them
  std::vector<Value> constants;
  std::vector<CallSite> calls;
  std::deque<MacroInfo> macros;
  std::vector<std::string> context_names;
  int variables = 0;  // of the template itself
  bool has_generation = false;
  bool uses_clock = false;
};

}  // namespace easydata::jinja
