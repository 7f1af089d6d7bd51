#include "easydata/jinja/machine.h"

#include <algorithm>

#include "easydata/exec/stop_scope.h"
#include "easydata/jinja/items.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/python_text.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja {
namespace {

// Jinja2 goes as deep as Python's own stack, which is 197.
constexpr int kMaxMacroDepth = 200;

bool IsBlank(std::string_view text) { return StripStart(text).empty(); }

}  // namespace

void Machine::Run(const Program& program, std::span<const Renderer::Variable> variables,
                  const RenderOptions& options, std::string* text, std::vector<Mark>* marks,
                  bool* shows_tools) {
  program_ = &program;
  options_ = &options;
  given_ = variables;
  text_ = text;
  marks_ = marks;
  shows_tools_ = shows_tools;
  steps_left_ = options.max_steps;
  StartCounting();
  depth_ = 0;
  stack_.clear();
  loops_.clear();
  captures_.clear();
  held_.clear();
  generations_.clear();
  variables_.assign(static_cast<size_t>(program.variables), Value());
  context_.clear();
  for (const std::string& name : program.context_names) context_.push_back(GivenValue(name));
  try {
    Execute(0, 0);
  } catch (RenderError& error) {
    error.message = "line " + std::to_string(line_) + ": " + error.message;
    throw;
  }
}

void Machine::CountSteps(int64_t steps) {
  const int64_t before = steps_left_;
  steps_left_ -= steps;
  if (steps_left_ < 0) {
    FailBound("it takes more than " + std::to_string(options_->max_steps) + " steps");
  }
  // Now and then.
  if ((before >> 12) != (steps_left_ >> 12) && exec::StopScope::Stopped()) {
    throw RenderError{"", /*is_unsupported=*/false};
  }
}

std::string_view Machine::TextOf(const Value& value, std::string* scratch) {
  if (value.IsString()) return value.Text();
  scratch->clear();
  AppendText(value, scratch);
  return *scratch;
}

void Machine::CheckTextSize() {
  if (text_->size() > options_->max_text_bytes) {
    FailBound("its text is longer than " + std::to_string(options_->max_text_bytes >> 20) + " MB");
  }
}

void Machine::PrintText(std::string_view text) {
  text_->append(text);
  CheckTextSize();
}

void Machine::Print(const Value& value) {
  const size_t begin = text_->size();
  if (value.IsString()) {
    text_->append(value.Text());
  } else {
    AppendText(value, text_);
  }
  CheckTextSize();
  if (!options_->trace) return;
  if (value.IsString() && (value.flags & Value::kCaptured) != 0) {
    ShowTools(value.flags);
    CopyHeldMarks(value, begin);
    return;
  }
  Value source = Value::String("");
  AddSourcesWithin(value, &source);
  ShowTools(source.flags);
  if (source.origin != Value::kNoOrigin) MarkText(source.origin, source.flags, begin);
}

void Machine::MarkText(uint16_t origin, uint8_t sources, size_t begin) {
  if (IsBlank(std::string_view(*text_).substr(begin))) return;
  const bool is_known = origin != Value::kManyOrigins;
  marks_->push_back({Mark::Kind::kText, is_known ? MessageOf(origin) : Mark::kUnknown, begin,
                     text_->size(), static_cast<uint8_t>(sources & ~Value::kTools),
                     static_cast<uint16_t>(is_known ? CallOf(origin) : Value::kAnyCall)});
}

/// Tools have no marks of their own: they are long, and where they stand asks nobody.
void Machine::ShowTools(uint8_t sources) {
  if ((sources & Value::kTools) == 0) return;
  (captures_.empty() ? *shows_tools_ : captures_.back().shows_tools) = true;
}

Value Machine::Sum(const Value& left, const Value& right) {
  const bool is_captured = ((left.flags | right.flags) & Value::kCaptured) != 0;
  if (is_captured && left.IsString() && right.IsString() && !left.IsMarkup() && !right.IsMarkup()) {
    const Value both[2] = {left, right};
    return Joined(both, 2);
  }
  return Add(left, right, &arena_);
}

/// What Print(Sum(...)) does, without the sum where all are plain texts.
void Machine::PrintSum(int count) {
  const size_t first = stack_.size() - static_cast<size_t>(count);
  const bool is_text =
      std::all_of(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end(),
                  [](const Value& v) { return v.IsString() && (v.flags & ~Value::kSources) == 0; });
  if (is_text) {
    const size_t begin = text_->size();
    Value source = Value::String("");
    for (size_t i = first; i < stack_.size(); ++i) {
      PrintText(stack_[i].Text());
      AddSource(stack_[i], &source);
    }
    if (options_->trace) {
      ShowTools(source.flags);
      if (source.origin != Value::kNoOrigin) MarkText(source.origin, source.flags, begin);
    }
  } else {
    Value sum = stack_[first];
    for (size_t i = 1; i < static_cast<size_t>(count); ++i) sum = Sum(sum, stack_[first + i]);
    Print(sum);
  }
  stack_.resize(first);
}

void Machine::CopyHeldMarks(const Value& value, size_t to) {
  const char* const begin = value.as.text;
  const char* const end = begin + value.size;
  const size_t count = held_.size();
  CountSteps(static_cast<int64_t>(count) / 16);
  for (size_t i = 0; i < count; ++i) {
    const HeldMark& held = held_[i];
    const char* const from = std::max(begin, held.begin);
    const char* const until = std::min(end, held.end);
    if (from >= until) continue;
    marks_->push_back({held.kind, held.message, to + static_cast<size_t>(from - begin),
                       to + static_cast<size_t>(until - begin), held.sources, held.call});
  }
}

bool Machine::HoldsTurns(const Value& value) const {
  if (!value.IsString() || (value.flags & Value::kCaptured) == 0) return false;
  return std::any_of(held_.begin(), held_.end(), [&](const HeldMark& held) {
    return held.kind != Mark::Kind::kText &&
           std::max(value.as.text, held.begin) < std::min(value.as.text + value.size, held.end);
  });
}

/// Jinja2 traces, or refuses, what makes another text of one that was captured: of such a text it
/// is not known here which message a part of it is.
void Machine::CheckTurnsKept(const Value& of, const Arguments& arguments, const Value& made) const {
  if (!options_->trace || held_.empty() || !made.IsString() ||
      (made.flags & Value::kCaptured) != 0) {
    return;
  }
  bool holds = HoldsTurns(of);
  for (int i = 0; i < arguments.count; ++i) holds = holds || HoldsTurns(arguments.values[i]);
  if (holds) FailUnsupported("changing a text that messages were printed into");
}

Value Machine::Joined(const Value* values, int count) {
  // Printed behind the text, and taken back.
  captures_.push_back({text_->size(), marks_->size()});
  for (int i = 0; i < count; ++i) Print(values[i]);
  EndCapture();
  return Pop();
}

void Machine::EndCapture() {
  const Capture capture = captures_.back();
  captures_.pop_back();
  const std::string_view text = arena_.Copy(std::string_view(*text_).substr(capture.begin));
  Value value = Value::String(text);
  for (size_t i = capture.first_mark; i < marks_->size(); ++i) {
    const Mark& mark = (*marks_)[i];
    if (mark.kind == Mark::Kind::kText) {
      Value of = Value::String("");
      of.origin = OriginOf(mark.message, mark.call);
      of.flags = mark.sources;
      AddSource(of, &value);
    }
    held_.push_back({mark.kind, mark.message, text.data() + (mark.begin - capture.begin),
                     text.data() + (mark.end - capture.begin), mark.sources, mark.call});
    value.flags |= Value::kCaptured;
  }
  if (capture.shows_tools) value.flags |= Value::kTools;
  marks_->resize(capture.first_mark);
  text_->resize(capture.begin);
  stack_.push_back(value);
}

void Machine::CloseMessage(OpenLoop* loop) {
  if (!loop->at_message) return;
  loop->at_message = false;
  if (text_->size() > loop->message_begin) {
    marks_->push_back({Mark::Kind::kMessage, loop->message, loop->message_begin, text_->size()});
  }
}

void Machine::NextItem(OpenLoop* loop) {
  const Value& item = loop->items[loop->next];
  if (loop->data != nullptr && !loop->has_condition) loop->data->index0 = loop->next;
  ++loop->next;
  if (options_->trace && (item.flags & Value::kMessage) != 0 && item.Is(ValueKind::kDict)) {
    loop->at_message = true;
    loop->message = MessageOf(item.origin);
    loop->message_begin = text_->size();
  }
  stack_.push_back(item);
}

Value Machine::GivenValue(const std::string& name) const {
  for (const Renderer::Variable& variable : given_) {
    if (variable.name == name) return variable.value;
  }
  const int function = builtins::FindFunction(name);
  if (function < 0) return Value();
  Value made = Value::Of(ValueKind::kFunction);
  made.as.function = function;
  return made;
}

void Machine::Unpack(const Value& value, int count) {
  const Items items = ItemsOf(value, &arena_);
  if (items.count != static_cast<uint32_t>(count)) {
    Fail(std::string("ValueError: ") +
         (items.count < static_cast<uint32_t>(count) ? "not enough" : "too many") +
         " values to unpack (expected " + std::to_string(count) + ")");
  }
  // The first is taken first.
  for (int i = count - 1; i >= 0; --i) stack_.push_back(items.values[i]);
}

void Machine::SetAttribute(const Value& space, std::string_view name, const Value& value) {
  if (!space.Is(ValueKind::kNamespace)) Fail("cannot assign attribute on non-namespace object");
  NamespaceData* data = space.as.space;
  NamespaceData::Attribute** at = &data->first;
  for (; *at != nullptr; at = &(*at)->next) {
    if ((*at)->name == name) {
      (*at)->value = value;
      return;
    }
  }
  *at = arena_.New(NamespaceData::Attribute{name, value, nullptr});
}

Value Machine::MakeDict(const Value* keys_and_values, int count) {
  DictEntry* entries = arena_.Array<DictEntry>(static_cast<size_t>(count));
  uint32_t size = 0;
  for (int i = 0; i < count; ++i) {
    const Value& key = keys_and_values[2 * i];
    CheckHashable(key);
    uint32_t at = 0;
    while (at < size && !AreEqual(entries[at].key, key)) ++at;
    if (at == size) entries[size++].key = key;
    entries[at].value = keys_and_values[2 * i + 1];
  }
  return Value::Dict(entries, size);
}

Value Machine::Call(const Value& callee, const Arguments& arguments) {
  switch (callee.kind) {
    case ValueKind::kMacro:
      return CallMacro(*callee.as.macro, arguments);
    case ValueKind::kFunction:
      return builtins::CallFunction(this, callee.as.function, arguments);
    case ValueKind::kMethod:
      return builtins::CallMethod(this, callee.as.method->method, callee.as.method->of, arguments);
    case ValueKind::kUndefined:
      FailUndefined(callee);
    case ValueKind::kLoop:
      Fail("TypeError: the loop must have the 'recursive' marker to be called recursively.");
    default:
      Fail(std::string("TypeError: '") + TypeName(callee) + "' object is not callable");
  }
}

Value Machine::CallAttribute(const CallSite& site, const Value& of, const Arguments& arguments) {
  int method = -1;
  if (of.IsString() && builtins::IsStringMethod(site.function)) {
    return builtins::CallMethod(this, site.function, of, arguments);
  }
  if (site.function >= 0 &&
      builtins::LookUpMethod(of, site.name, &method) == builtins::MethodOf::kMethod) {
    return builtins::CallMethod(this, method, of, arguments);
  }
  if (of.Is(ValueKind::kLoop) && (site.name == "cycle" || site.name == "changed")) {
    FailUnsupported("loop." + site.name);
  }
  return Call(GetAttribute(of, site.name, &arena_), arguments);
}

Value Machine::CallMacro(const MacroInfo& macro, const Arguments& arguments) {
  if (depth_ >= kMaxMacroDepth) Fail("RecursionError: macros call each other more than 200 deep");
  const size_t base = variables_.size();
  variables_.resize(base + static_cast<size_t>(macro.variables));
  const int parameters = static_cast<int>(macro.parameters.size());
  if (arguments.positional() > parameters) {
    Fail("TypeError: macro '" + macro.name + "' takes not more than " + std::to_string(parameters) +
         " argument(s)");
  }
  for (int i = 0; i < arguments.positional(); ++i) {
    variables_[base + static_cast<size_t>(i)] = arguments.values[i];
  }
  for (int i = 0; i < arguments.named; ++i) {
    CountSteps(parameters / 16);
    int at = arguments.positional();
    while (at < parameters && macro.parameters[static_cast<size_t>(at)] != arguments.names[i]) ++at;
    if (at == parameters) {
      Fail("TypeError: macro '" + macro.name + "' takes no keyword argument '" +
           arguments.names[i] + "'");
    }
    variables_[base + static_cast<size_t>(at)] = arguments.values[arguments.positional() + i];
  }
  ++depth_;
  const size_t num_loops = loops_.size();
  captures_.push_back({text_->size(), marks_->size()});
  Execute(macro.entry, base);
  EndCapture();
  loops_.resize(num_loops);
  --depth_;
  variables_.resize(base);
  return Pop();
}

void Machine::Execute(int entry, size_t base) {
  const Instruction* const code = program_->code.data();
  const auto variable = [&](int number) -> Value& {
    return variables_[base + static_cast<size_t>(number)];
  };
  const auto outer = [&](int number) -> Value& { return variables_[static_cast<size_t>(number)]; };
  const auto text = [&](int number) -> std::string_view {
    return program_->texts[static_cast<size_t>(number)];
  };
  const auto arguments_of = [&](const CallSite& site) {
    return Arguments{stack_.data() + stack_.size() - static_cast<size_t>(site.arguments),
                     site.arguments, site.names.data(), static_cast<int>(site.names.size())};
  };
  // Replaces a call's values by its result.
  const auto returned = [&](const CallSite& site, const Value& value) {
    stack_.resize(stack_.size() - static_cast<size_t>(site.arguments));
    Top() = value;
  };
  // Two operands become one result.
  const auto operands = [&](auto operation) {
    const Value right = Pop();
    Top() = operation(Top(), right);
  };

  int at = entry;
  CountSteps(1);
  while (true) {
    const Instruction& instruction = code[at];
    const int a = instruction.a;
    line_ = program_->lines[static_cast<size_t>(at)];
    ++at;
    switch (instruction.op) {
      case Op::kText:
        PrintText(text(a));
        break;
      case Op::kPrint:
        Print(Pop());
        break;
      case Op::kPrintSum:
        PrintSum(a);
        break;
      case Op::kConstant:
        stack_.push_back(program_->constants[static_cast<size_t>(a)]);
        break;
      case Op::kLoad:
      case Op::kLoadOuter: {
        const Value& value = instruction.op == Op::kLoad ? variable(a) : outer(a);
        stack_.push_back(value.Is(ValueKind::kMissing) ? UndefinedName(text(instruction.b))
                                                       : value);
        break;
      }
      case Op::kStore:
        variable(a) = Pop();
        break;
      case Op::kCopyVariable:
        variable(a) = variable(instruction.b);
        break;
      case Op::kCopyOuter:
        variable(a) = outer(instruction.b);
        break;
      case Op::kCopyContext:
        variable(a) = context_[static_cast<size_t>(instruction.b)];
        break;
      case Op::kClear:
        variable(a) = Value();
        break;
      case Op::kJump:
        if (a < at) CountSteps(1);
        at = a;
        break;
      case Op::kJumpIfFalse:
        if (!IsTrue(Pop())) at = a;
        break;
      case Op::kJumpIfTrue:
        if (IsTrue(Pop())) at = a;
        break;
      case Op::kJumpIfFalseKeep:
        if (!IsTrue(Top())) {
          at = a;
        } else {
          stack_.pop_back();
        }
        break;
      case Op::kJumpIfTrueKeep:
        if (IsTrue(Top())) {
          at = a;
        } else {
          stack_.pop_back();
        }
        break;
      case Op::kJumpIfSet:
        if (!variable(instruction.b).Is(ValueKind::kMissing)) at = a;
        break;
      case Op::kNot:
        Top() = Value::Boolean(!IsTrue(Top()));
        break;
      case Op::kNegative:
        Top() = Negative(Top());
        break;
      case Op::kPositive:
        Top() = Positive(Top());
        break;
      case Op::kAdd: {
        const Value right = Pop();
        const Value sum = Sum(Top(), right);
        Top() = sum;
        break;
      }
      case Op::kSubtract:
        operands([](const Value& x, const Value& y) { return Subtract(x, y); });
        break;
      case Op::kMultiply:
        operands([&](const Value& x, const Value& y) {
          const Value made = Multiply(x, y, &arena_);
          CheckTurnsKept(x, {&y, 1, nullptr, 0}, made);
          return made;
        });
        break;
      case Op::kDivide:
        operands([](const Value& x, const Value& y) { return Divide(x, y); });
        break;
      case Op::kFloorDivide:
        operands([](const Value& x, const Value& y) { return FloorDivide(x, y); });
        break;
      case Op::kModulo:
        operands([](const Value& x, const Value& y) { return Modulo(x, y); });
        break;
      case Op::kPower:
        operands([](const Value& x, const Value& y) { return Power(x, y); });
        break;
      case Op::kConcat: {
        const auto count = static_cast<size_t>(a);
        const Value joined = Joined(stack_.data() + stack_.size() - count, a);
        stack_.resize(stack_.size() - count);
        stack_.push_back(joined);
        break;
      }
      case Op::kEqual:
        operands([](const Value& x, const Value& y) { return Value::Boolean(AreEqual(x, y)); });
        break;
      case Op::kNotEqual:
        operands([](const Value& x, const Value& y) { return Value::Boolean(!AreEqual(x, y)); });
        break;
      case Op::kLess:
        operands([](const Value& x, const Value& y) { return Value::Boolean(IsLess(x, y, "<")); });
        break;
      case Op::kGreater:
        operands([](const Value& x, const Value& y) { return Value::Boolean(IsLess(y, x, ">")); });
        break;
      case Op::kLessEqual:
        operands([](const Value& x, const Value& y) {
          return Value::Boolean(IsLess(x, y, "<=") || AreEqual(x, y));
        });
        break;
      case Op::kGreaterEqual:
        operands([](const Value& x, const Value& y) {
          return Value::Boolean(IsLess(y, x, ">=") || AreEqual(x, y));
        });
        break;
      case Op::kIn:
        operands([](const Value& x, const Value& y) { return Value::Boolean(Contains(y, x)); });
        break;
      case Op::kNotIn:
        operands([](const Value& x, const Value& y) { return Value::Boolean(!Contains(y, x)); });
        break;
      case Op::kCompareNext: {
        const Value right = Top();
        stack_.insert(stack_.end() - 2, right);
        break;
      }
      case Op::kDropUnder:
        stack_.erase(stack_.end() - 2);
        break;
      case Op::kList:
      case Op::kTuple: {
        const auto count = static_cast<size_t>(a);
        Value* items = arena_.Array<Value>(count);
        std::copy(stack_.end() - a, stack_.end(), items);
        stack_.resize(stack_.size() - count);
        stack_.push_back(instruction.op == Op::kList ? Value::List(items, count)
                                                     : Value::Tuple(items, count));
        break;
      }
      case Op::kDict: {
        const size_t count = 2 * static_cast<size_t>(a);
        const Value made = MakeDict(stack_.data() + stack_.size() - count, a);
        stack_.resize(stack_.size() - count);
        stack_.push_back(made);
        break;
      }
      case Op::kAttribute:
        if (instruction.b == 1 && Top().Is(ValueKind::kDict)) {
          const Value* found = FindKey(Top(), text(a));
          Top() = found != nullptr ? *found : UndefinedAttribute(Top(), text(a));
        } else {
          Top() = GetAttribute(Top(), text(a), &arena_);
        }
        break;
      case Op::kItem:
        operands([&](const Value& x, const Value& y) { return GetItem(x, y, &arena_); });
        break;
      case Op::kSlice: {
        const Value step = Pop();
        const Value stop = Pop();
        const Value start = Pop();
        Top() = GetSlice(Top(), start, stop, step, &arena_);
        break;
      }
      case Op::kCall: {
        const CallSite& site = program_->calls[static_cast<size_t>(a)];
        const Value callee = stack_[stack_.size() - 1 - static_cast<size_t>(site.arguments)];
        returned(site, Call(callee, arguments_of(site)));
        break;
      }
      case Op::kCallMethod: {
        const CallSite& site = program_->calls[static_cast<size_t>(a)];
        const Value of = stack_[stack_.size() - 1 - static_cast<size_t>(site.arguments)];
        const Value made = CallAttribute(site, of, arguments_of(site));
        CheckTurnsKept(of, arguments_of(site), made);
        returned(site, made);
        break;
      }
      case Op::kFilter: {
        const CallSite& site = program_->calls[static_cast<size_t>(a)];
        const Value of = stack_[stack_.size() - 1 - static_cast<size_t>(site.arguments)];
        const Value made = builtins::CallFilter(this, site.function, of, arguments_of(site));
        CheckTurnsKept(of, arguments_of(site), made);
        returned(site, made);
        break;
      }
      case Op::kTest: {
        const CallSite& site = program_->calls[static_cast<size_t>(a)];
        const Value of = stack_[stack_.size() - 1 - static_cast<size_t>(site.arguments)];
        returned(site,
                 Value::Boolean(builtins::CallTest(this, site.function, of, arguments_of(site))));
        break;
      }
      case Op::kUnpack:
        Unpack(Pop(), a);
        break;
      case Op::kUndefinedElse:
        stack_.push_back(UndefinedBecause(
            "the inline if-expression evaluated to false and no else section was defined."));
        break;
      case Op::kNoParameter: {
        const std::string message =
            "parameter '" + std::string(text(instruction.b)) + "' was not provided";
        variable(a) = UndefinedBecause(arena_.Copy(message));
        break;
      }
      case Op::kForBegin: {
        const Value of = Pop();
        OpenLoop loop;
        const Items items = ItemsOf(of, &arena_);
        loop.items = items.values;
        loop.count = items.count;
        loop.has_condition = instruction.b != 0;
        if (of.Is(ValueKind::kGenerator)) loop.generator = of.as.generator;
        if (a >= 0) {
          loop.data = arena_.New(LoopData{items.values, items.count, 0});
          variable(a) = Value::Of(ValueKind::kLoop);
          variable(a).as.loop = loop.data;
        }
        loops_.push_back(loop);
        break;
      }
      case Op::kForNext: {
        OpenLoop& loop = loops_.back();
        CloseMessage(&loop);
        if (loop.next == loop.count) {
          at = a;
        } else {
          NextItem(&loop);
        }
        break;
      }
      case Op::kForKeep: {
        OpenLoop& loop = loops_.back();
        if (loop.data != nullptr) loop.data->index0 = loop.num_kept;
        ++loop.num_kept;
        break;
      }
      case Op::kForDone:
        loops_.back().done = true;
        break;
      case Op::kForEnd:
      case Op::kForElse: {
        OpenLoop& loop = loops_.back();
        CloseMessage(&loop);
        // A generator that was left early goes on where it was.
        if (loop.generator != nullptr && loop.next < loop.count) {
          if (loop.data != nullptr) FailUnsupported("leaving a loop over a generator early");
          loop.generator->next -= loop.count - loop.next;
        }
        if (instruction.op == Op::kForElse && loop.done) at = a;
        loops_.pop_back();
        break;
      }
      case Op::kFilterBegin: {
        const Items items = ItemsOf(Pop(), &arena_);
        OpenLoop loop;
        loop.items = items.values;
        loop.count = items.count;
        loop.kept = arena_.Array<Value>(items.count);
        loops_.push_back(loop);
        break;
      }
      case Op::kFilterNext: {
        OpenLoop& loop = loops_.back();
        if (loop.next == loop.count) {
          GeneratorData* data = arena_.New(GeneratorData{loop.kept, loop.num_kept});
          Value kept = Value::Of(ValueKind::kGenerator);
          kept.as.generator = data;
          stack_.push_back(kept);
          loops_.pop_back();
          at = a;
        } else {
          stack_.push_back(loop.items[loop.next++]);
        }
        break;
      }
      case Op::kFilterKeep: {
        OpenLoop& loop = loops_.back();
        if (IsTrue(Pop())) {
          Value item = loop.items[loop.next - 1];
          if (a == 1) {
            const Items parts = ItemsOf(item, &arena_);
            item = Value::Tuple(parts.values, parts.count);
          }
          loop.kept[loop.num_kept++] = item;
        }
        break;
      }
      case Op::kCaptureBegin:
        captures_.push_back({text_->size(), marks_->size()});
        break;
      case Op::kCaptureEnd:
        EndCapture();
        break;
      case Op::kGenerationBegin:
        generations_.push_back(text_->size());
        break;
      case Op::kGenerationEnd:
        if (options_->trace && text_->size() > generations_.back()) {
          marks_->push_back(
              {Mark::Kind::kGeneration, Mark::kUnknown, generations_.back(), text_->size()});
        }
        generations_.pop_back();
        break;
      case Op::kSetAttribute:
        SetAttribute(variable(a), text(instruction.b), Pop());
        break;
      case Op::kSetOuterAttribute:
        SetAttribute(outer(a), text(instruction.b), Pop());
        break;
      case Op::kMacro: {
        Value made = Value::Of(ValueKind::kMacro);
        made.as.macro = &program_->macros[static_cast<size_t>(a)];
        stack_.push_back(made);
        break;
      }
      case Op::kReturn:
        return;
    }
  }
}

}  // namespace easydata::jinja
