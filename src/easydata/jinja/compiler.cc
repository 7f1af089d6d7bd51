#include "easydata/jinja/compiler.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/parser.h"
#include "easydata/jinja/scope.h"

namespace easydata::jinja {
namespace {

class Compiler {
 public:
  Result<std::shared_ptr<const Program>> Run(const Block& block) {
    AddNamesSetByAttribute(block);
    Scope scope(nullptr, 0, &program_->variables);
    scope.AddBlock(block);
    ARROW_RETURN_NOT_OK(EmitScopeStart(scope));
    ARROW_RETURN_NOT_OK(CompileBlock(block, &scope));
    Emit(Op::kReturn);
    for (const CompiledMacro& macro : macros_) AppendMacro(macro);
    return std::shared_ptr<const Program>(std::move(program_));
  }

 private:
  // Instructions.

  int Here() const { return static_cast<int>(program_->code.size()); }
  int Emit(Op op, int a = 0, int b = 0) {
    program_->code.push_back({op, a, b});
    program_->lines.push_back(line_);
    return Here() - 1;
  }
  void JumpHere(int instruction) { program_->code[static_cast<size_t>(instruction)].a = Here(); }

  int AddText(const std::string& text) {
    const auto [known, is_new] =
        text_numbers_.try_emplace(text, static_cast<int>(program_->texts.size()));
    if (is_new) program_->texts.push_back(text);
    return known->second;
  }
  int AddConstant(Value value) {
    program_->constants.push_back(value);
    return static_cast<int>(program_->constants.size()) - 1;
  }
  int AddContextName(const std::string& name) {
    auto& names = program_->context_names;
    const auto [known, is_new] = context_numbers_.try_emplace(name, static_cast<int>(names.size()));
    if (is_new) names.push_back(name);
    if (name == builtins::kClockFunction) program_->uses_clock = true;
    return known->second;
  }

  Status Outside(const std::string& what) const {
    return Status::NotImplemented("line ", line_, ": ", what);
  }

  // Scopes.

  Status EmitScopeStart(const Scope& scope) {
    for (const Scope::Entry& entry : scope.entries()) {
      switch (entry.start) {
        case Scope::Start::kParameter:
          break;
        case Scope::Start::kCopy:
          Emit(entry.outer.function == scope.function() ? Op::kCopyVariable : Op::kCopyOuter,
               entry.variable.index, entry.outer.index);
          break;
        case Scope::Start::kContext:
          for (const char* special : {"self", "super", "caller", "varargs", "kwargs"}) {
            if (entry.name == special) return Outside("the name '" + entry.name + "'");
          }
          if (builtins::FindFunction(entry.name) == -1)
            return Outside("the function '" + entry.name + "'");
          Emit(Op::kCopyContext, entry.variable.index, AddContextName(entry.name));
          break;
        case Scope::Start::kUndefined:
          Emit(Op::kClear, entry.variable.index);
          break;
      }
    }
    return Status::OK();
  }

  void EmitLoad(const std::string& name, const Scope& scope) {
    const Scope::Variable& variable = *scope.Find(name);
    Emit(variable.function == scope.function() ? Op::kLoad : Op::kLoadOuter, variable.index,
         AddText(name));
  }

  void EmitStore(const std::string& name, const Scope& scope) {
    Emit(Op::kStore, scope.Find(name)->index);
  }

  void EmitAssignment(const Target& target, const Scope& scope) {
    if (!target.attribute.empty()) {
      const Scope::Variable& variable = *scope.Find(target.names[0]);
      Emit(variable.function == scope.function() ? Op::kSetAttribute : Op::kSetOuterAttribute,
           variable.index, AddText(target.attribute));
      return;
    }
    if (target.is_tuple) Emit(Op::kUnpack, static_cast<int>(target.names.size()));
    for (const std::string& name : target.names) EmitStore(name, scope);
  }

  // Statements.

  struct Loop {
    int next = 0;
    std::vector<int> breaks = {};
  };

  Status CompileBlock(const Block& block, Scope* scope) {
    for (const auto& statement : block) {
      line_ = statement->line;
      ARROW_RETURN_NOT_OK(CompileStatement(*statement, scope));
    }
    return Status::OK();
  }

  Status CompileStatement(const Statement& statement, Scope* scope) {
    switch (statement.kind) {
      case StatementKind::kText:
        Emit(Op::kText, AddText(statement.text));
        return Status::OK();
      case StatementKind::kOutput:
        return CompileOutput(*statement.expression, *scope);
      case StatementKind::kFor:
        return CompileFor(statement, scope);
      case StatementKind::kIf:
        return CompileIf(statement, scope);
      case StatementKind::kSet:
        ARROW_RETURN_NOT_OK(CompileExpression(*statement.expression, *scope));
        EmitAssignment(statement.target, *scope);
        return Status::OK();
      case StatementKind::kSetBlock:
        Emit(Op::kCaptureBegin);
        ARROW_RETURN_NOT_OK(CompileInnerBlock(statement.body, scope));
        Emit(Op::kCaptureEnd);
        if (statement.expression != nullptr) {
          if (HasName(*statement.expression)) return Outside("names in a filter on a set block");
          ARROW_RETURN_NOT_OK(CompileExpression(*statement.expression, *scope));
        }
        EmitAssignment(statement.target, *scope);
        return Status::OK();
      case StatementKind::kMacro:
        return DefineMacro(statement, scope);
      case StatementKind::kGeneration:
        program_->has_generation = true;
        Emit(Op::kGenerationBegin);
        ARROW_RETURN_NOT_OK(CompileInnerBlock(statement.body, scope));
        Emit(Op::kGenerationEnd);
        return Status::OK();
      case StatementKind::kBreak:
      case StatementKind::kContinue:
        // In a block of its own, Jinja2 abandons what it captured, or has no loop to leave.
        if (loop_ == nullptr) return Outside("break or continue outside of a loop");
        if (statement.kind == StatementKind::kContinue) {
          Emit(Op::kJump, loop_->next);
        } else {
          loop_->breaks.push_back(Emit(Op::kJump));
        }
        return Status::OK();
    }
    return Status::OK();
  }

  /// Prints what is added up without making the sum, where there is one.
  Status CompileOutput(const Expression& expression, const Scope& scope) {
    std::vector<const Expression*> terms = {&expression};  // the last one first
    while (IsSum(*terms.back())) {
      const Expression* sum = terms.back();
      terms.back() = sum->children[1].get();
      terms.push_back(sum->children[0].get());
    }
    for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
      ARROW_RETURN_NOT_OK(CompileExpression(**term, scope));
    }
    line_ = expression.line;
    if (terms.size() == 1) {
      Emit(Op::kPrint);
    } else {
      Emit(Op::kPrintSum, static_cast<int>(terms.size()));
    }
    return Status::OK();
  }

  static bool HasName(const Expression& expression) {
    return AnyOf(expression,
                 [](const Expression& part) { return part.kind == ExpressionKind::kName; });
  }

  static bool ReadsName(const Expression& expression, const std::string& name) {
    return AnyOf(expression, [&](const Expression& part) {
      return part.kind == ExpressionKind::kName && part.text == name;
    });
  }

  static bool CallsByName(const Expression& expression) {
    return AnyOf(expression, [](const Expression& part) {
      return part.kind == ExpressionKind::kCall && part.children[0]->kind == ExpressionKind::kName;
    });
  }

  static bool IsSum(const Expression& expression) {
    return expression.kind == ExpressionKind::kBinary && expression.text == "+";
  }

  /// A block with names of its own, which no break may leave.
  Status CompileInnerBlock(const Block& block, Scope* scope) {
    Loop* const outer = std::exchange(loop_, nullptr);
    Scope inner(scope, scope->function(), variables_of_function_);
    inner.AddBlock(block);
    ARROW_RETURN_NOT_OK(EmitScopeStart(inner));
    ARROW_RETURN_NOT_OK(CompileBlock(block, &inner));
    loop_ = outer;
    return Status::OK();
  }

  Status CompileIf(const Statement& statement, Scope* scope) {
    ARROW_RETURN_NOT_OK(CompileExpression(*statement.expression, *scope));
    const int to_else = Emit(Op::kJumpIfFalse);
    ARROW_RETURN_NOT_OK(CompileBlock(statement.body, scope));
    if (statement.otherwise.empty()) {
      JumpHere(to_else);
      return Status::OK();
    }
    const int to_end = Emit(Op::kJump);
    JumpHere(to_else);
    ARROW_RETURN_NOT_OK(CompileBlock(statement.otherwise, scope));
    JumpHere(to_end);
    return Status::OK();
  }

  Status CompileFor(const Statement& statement, Scope* scope) {
    ARROW_RETURN_NOT_OK(CompileExpression(*statement.expression, *scope));
    const LoopUse use = UseOfLoop(statement.body);
    const bool is_filtered = statement.test != nullptr;
    if (is_filtered && use == LoopUse::kAhead) {
      ARROW_RETURN_NOT_OK(CompileFilter(statement, scope));
    }
    const bool asks_each = is_filtered && use != LoopUse::kAhead;
    Scope inner(scope, scope->function(), variables_of_function_);
    if (use != LoopUse::kNone) inner.AddParameter("loop");
    for (const std::string& name : statement.target.names) inner.AddParameter(name);
    inner.AddBlock(statement.body);

    Emit(Op::kForBegin, use == LoopUse::kNone ? -1 : inner.Find("loop")->index, asks_each ? 1 : 0);
    Loop loop;
    Loop* const outer = std::exchange(loop_, &loop);
    loop.next = Emit(Op::kForNext);
    if (asks_each) {
      ARROW_RETURN_NOT_OK(CompileLoopTest(statement, scope, inner, loop.next));
    } else {
      EmitAssignment(statement.target, inner);
    }
    ARROW_RETURN_NOT_OK(EmitScopeStart(inner));
    ARROW_RETURN_NOT_OK(CompileBlock(statement.body, &inner));
    if (!statement.otherwise.empty()) Emit(Op::kForDone);
    Emit(Op::kJump, loop.next);
    JumpHere(loop.next);
    for (const int jump : loop.breaks) JumpHere(jump);
    loop_ = outer;
    if (statement.otherwise.empty()) {
      Emit(Op::kForEnd);
      return Status::OK();
    }
    const int to_end = Emit(Op::kForElse);
    Scope other(scope, scope->function(), variables_of_function_);
    other.AddBlock(statement.otherwise);
    ARROW_RETURN_NOT_OK(EmitScopeStart(other));
    ARROW_RETURN_NOT_OK(CompileBlock(statement.otherwise, &other));
    JumpHere(to_end);
    return Status::OK();
  }

  /// What a loop's body wants to know of `loop`.
  enum class LoopUse : uint8_t {
    kNone,
    kSoFar,  // which item it is at
    kAhead,  // what comes, too
  };

  static LoopUse UseOfLoop(const Block& block) {
    LoopUse use = LoopUse::kNone;
    for (const auto& statement : block) {
      use = std::max({use, UseOfLoop(statement->expression.get()), UseOfLoop(statement->test.get()),
                      UseOfLoop(statement->body), UseOfLoop(statement->otherwise)});
      for (const ExpressionPtr& value : statement->defaults) {
        use = std::max(use, UseOfLoop(value.get()));
      }
    }
    return use;
  }

  static LoopUse UseOfLoop(const Expression* expression) {
    if (expression == nullptr) return LoopUse::kNone;
    if (expression->kind == ExpressionKind::kName) {
      return expression->text == "loop" ? LoopUse::kAhead : LoopUse::kNone;
    }
    if (expression->kind == ExpressionKind::kAttribute &&
        expression->children[0]->kind == ExpressionKind::kName &&
        expression->children[0]->text == "loop") {
      const std::string& name = expression->text;
      const bool is_so_far = name == "index" || name == "index0" || name == "first";
      return is_so_far ? LoopUse::kSoFar : LoopUse::kAhead;
    }
    LoopUse use = LoopUse::kNone;
    for (const ExpressionPtr& child : expression->children) {
      use = std::max(use, UseOfLoop(child.get()));
    }
    for (const auto& [_, value] : expression->keywords) use = std::max(use, UseOfLoop(value.get()));
    return use;
  }

  /// Pops an item into the loop's target, and pushes what its condition says of it.
  Status CompileCondition(const Statement& statement, Scope* scope) {
    for (const std::string& name : statement.target.names) scope->AddParameter(name);
    scope->AddExpression(statement.test.get());
    EmitAssignment(statement.target, *scope);
    ARROW_RETURN_NOT_OK(EmitScopeStart(*scope));
    return CompileExpression(*statement.test, *scope);
  }

  /// Asks a loop's condition about the item that comes next; where it does not hold, that is all.
  Status CompileLoopTest(const Statement& statement, Scope* scope, const Scope& body, int next) {
    Scope inner(scope, scope->function(), variables_of_function_);
    ARROW_RETURN_NOT_OK(CompileCondition(statement, &inner));
    const int to_body = Emit(Op::kJumpIfTrue);
    Emit(Op::kJump, next);
    JumpHere(to_body);
    Emit(Op::kForKeep);
    for (const std::string& name : statement.target.names) {
      Emit(Op::kCopyVariable, body.Find(name)->index, inner.Find(name)->index);
    }
    return Status::OK();
  }

  /// Takes the items that a loop's condition leaves, before the loop, as `loop` tells what comes.
  /// Jinja2 asks it as far as it is told, which is the same where nobody leaves the loop early, and
  /// the condition reads nothing that the body changes.
  Status CompileFilter(const Statement& statement, Scope* scope) {
    if (Breaks(statement.body)) return Outside("leaving a loop with a condition that looks ahead");
    if (CallsByName(*statement.test)) return Outside("a macro in the condition of such a loop");
    for (const std::string& name : set_by_attribute_) {
      if (ReadsName(*statement.test, name)) {
        return Outside("a loop's condition on what is set, where the loop looks ahead");
      }
    }
    Scope inner(scope, scope->function(), variables_of_function_);
    Emit(Op::kFilterBegin);
    const int next = Emit(Op::kFilterNext);
    ARROW_RETURN_NOT_OK(CompileCondition(statement, &inner));
    // What is unpacked comes out as a tuple.
    Emit(Op::kFilterKeep, statement.target.is_tuple ? 1 : 0);
    Emit(Op::kJump, next);
    JumpHere(next);
    return Status::OK();
  }

  /// Whether a break in a block leaves the loop around it.
  static bool Breaks(const Block& block) {
    return std::any_of(block.begin(), block.end(), [](const auto& statement) {
      if (statement->kind == StatementKind::kBreak) return true;
      return statement->kind == StatementKind::kIf &&
             (Breaks(statement->body) || Breaks(statement->otherwise));
    });
  }

  void AddNamesSetByAttribute(const Block& block) {
    for (const auto& statement : block) {
      if (!statement->target.attribute.empty())
        set_by_attribute_.insert(statement->target.names[0]);
      AddNamesSetByAttribute(statement->body);
      AddNamesSetByAttribute(statement->otherwise);
    }
  }

  // Macros. Their code is compiled where they stand, while the scope around them is known.

  struct CompiledMacro {
    int number;
    std::vector<Instruction> code;
    std::vector<int> lines;
  };

  Status DefineMacro(const Statement& statement, Scope* scope) {
    if (scope->function() != 0) return Outside("a macro inside a macro");
    MacroInfo info;
    info.name = statement.text;
    info.parameters = statement.parameters;
    program_->macros.push_back(std::move(info));
    const int number = static_cast<int>(program_->macros.size()) - 1;
    std::vector<Instruction> code = std::exchange(program_->code, {});
    std::vector<int> lines = std::exchange(program_->lines, {});
    ARROW_RETURN_NOT_OK(CompileMacroBody(statement, scope, number));
    macros_.push_back({number, std::move(program_->code), std::move(program_->lines)});
    program_->code = std::move(code);
    program_->lines = std::move(lines);
    Emit(Op::kMacro, number);
    EmitStore(statement.text, *scope);
    return Status::OK();
  }

  Status CompileMacroBody(const Statement& statement, Scope* scope, int number) {
    MacroInfo& info = program_->macros[static_cast<size_t>(number)];
    Loop* const loop = std::exchange(loop_, nullptr);
    int* const variables = std::exchange(variables_of_function_, &info.variables);
    Scope inner(scope, number + 1, &info.variables);
    for (const std::string& name : statement.parameters) inner.AddParameter(name);
    for (const ExpressionPtr& value : statement.defaults) inner.AddExpression(value.get());
    inner.AddBlock(statement.body);
    ARROW_RETURN_NOT_OK(EmitScopeStart(inner));
    const size_t required = statement.parameters.size() - statement.defaults.size();
    for (size_t i = 0; i < statement.parameters.size(); ++i) {
      const int variable = inner.Find(statement.parameters[i])->index;
      const int to_next = Emit(Op::kJumpIfSet, 0, variable);
      if (i < required) {
        Emit(Op::kNoParameter, variable, AddText(statement.parameters[i]));
      } else {
        ARROW_RETURN_NOT_OK(CompileExpression(*statement.defaults[i - required], inner));
        Emit(Op::kStore, variable);
      }
      JumpHere(to_next);
    }
    ARROW_RETURN_NOT_OK(CompileBlock(statement.body, &inner));
    Emit(Op::kReturn);
    loop_ = loop;
    variables_of_function_ = variables;
    return Status::OK();
  }

  /// Puts a macro's code behind the program's.
  void AppendMacro(const CompiledMacro& macro) {
    const int offset = Here();
    program_->macros[static_cast<size_t>(macro.number)].entry = offset;
    for (Instruction instruction : macro.code) {
      if (IsJump(instruction.op)) instruction.a += offset;
      program_->code.push_back(instruction);
    }
    program_->lines.insert(program_->lines.end(), macro.lines.begin(), macro.lines.end());
  }

  // Expressions: each leaves one value on the stack.

  Status CompileExpression(const Expression& expression, const Scope& scope) {
    line_ = expression.line;
    switch (expression.kind) {
      case ExpressionKind::kCaptured:
        return Status::OK();  // it is there already
      case ExpressionKind::kNone:
        Emit(Op::kConstant, AddConstant(Value::None()));
        return Status::OK();
      case ExpressionKind::kBoolean:
        Emit(Op::kConstant, AddConstant(Value::Boolean(expression.boolean)));
        return Status::OK();
      case ExpressionKind::kInteger:
        Emit(Op::kConstant, AddConstant(Value::Integer(expression.integer)));
        return Status::OK();
      case ExpressionKind::kFloat:
        Emit(Op::kConstant, AddConstant(Value::Float(expression.number)));
        return Status::OK();
      case ExpressionKind::kString: {
        const auto text = static_cast<size_t>(AddText(expression.text));
        Emit(Op::kConstant, AddConstant(Value::String(program_->texts[text])));
        return Status::OK();
      }
      case ExpressionKind::kName:
        EmitLoad(expression.text, scope);
        return Status::OK();
      case ExpressionKind::kList:
        return CompileItems(expression, Op::kList, static_cast<int>(expression.children.size()),
                            scope);
      case ExpressionKind::kTuple:
        return CompileItems(expression, Op::kTuple, static_cast<int>(expression.children.size()),
                            scope);
      case ExpressionKind::kDict:
        return CompileItems(expression, Op::kDict, static_cast<int>(expression.children.size() / 2),
                            scope);
      case ExpressionKind::kConcat:
        return CompileItems(expression, Op::kConcat, static_cast<int>(expression.children.size()),
                            scope);
      case ExpressionKind::kAttribute:
        if (expression.text.starts_with('_')) return Outside("attributes that begin with _");
        ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[0], scope));
        Emit(Op::kAttribute, AddText(expression.text),
             builtins::IsDictAttribute(expression.text) ? 0 : 1);
        return Status::OK();
      case ExpressionKind::kItem:
        return CompileItems(expression, Op::kItem, 0, scope);
      case ExpressionKind::kSlice:
        ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[0], scope));
        for (size_t i = 1; i < 4; ++i) {
          if (expression.children[i] == nullptr) {
            Emit(Op::kConstant, AddConstant(Value::None()));
          } else {
            ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[i], scope));
          }
        }
        Emit(Op::kSlice);
        return Status::OK();
      case ExpressionKind::kCall:
        return CompileCall(expression, scope);
      case ExpressionKind::kFilter:
        return CompileNamedCall(expression, Op::kFilter, builtins::FindFilter(expression.text),
                                "filter", scope);
      case ExpressionKind::kTest:
        return CompileNamedCall(expression, Op::kTest, builtins::FindTest(expression.text), "test",
                                scope);
      case ExpressionKind::kNot:
        return CompileItems(expression, Op::kNot, 0, scope);
      case ExpressionKind::kNegative:
        return CompileItems(expression, Op::kNegative, 0, scope);
      case ExpressionKind::kPositive:
        return CompileItems(expression, Op::kPositive, 0, scope);
      case ExpressionKind::kBinary:
        return CompileItems(expression, BinaryOp(expression.text), 0, scope);
      case ExpressionKind::kCompare:
        return CompileCompare(expression, scope);
      case ExpressionKind::kAnd:
      case ExpressionKind::kOr: {
        ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[0], scope));
        const int to_end = Emit(expression.kind == ExpressionKind::kAnd ? Op::kJumpIfFalseKeep
                                                                        : Op::kJumpIfTrueKeep);
        ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[1], scope));
        JumpHere(to_end);
        return Status::OK();
      }
      case ExpressionKind::kConditional:
        return CompileConditional(expression, scope);
    }
    return Status::OK();
  }

  Status CompileItems(const Expression& expression, Op op, int count, const Scope& scope) {
    for (const ExpressionPtr& child : expression.children) {
      ARROW_RETURN_NOT_OK(CompileExpression(*child, scope));
    }
    line_ = expression.line;
    Emit(op, count);
    return Status::OK();
  }

  static Op BinaryOp(const std::string& sign) {
    if (sign == "+") return Op::kAdd;
    if (sign == "-") return Op::kSubtract;
    if (sign == "*") return Op::kMultiply;
    if (sign == "/") return Op::kDivide;
    if (sign == "//") return Op::kFloorDivide;
    if (sign == "%") return Op::kModulo;
    return Op::kPower;
  }

  static Op CompareOp(const std::string& sign) {
    if (sign == "==") return Op::kEqual;
    if (sign == "!=") return Op::kNotEqual;
    if (sign == "<") return Op::kLess;
    if (sign == "<=") return Op::kLessEqual;
    if (sign == ">") return Op::kGreater;
    if (sign == ">=") return Op::kGreaterEqual;
    if (sign == "in") return Op::kIn;
    return Op::kNotIn;
  }

  Status CompileCompare(const Expression& expression, const Scope& scope) {
    ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[0], scope));
    std::vector<int> jumps;
    const size_t count = expression.operators.size();
    for (size_t i = 0; i < count; ++i) {
      ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[i + 1], scope));
      const bool is_last = i + 1 == count;
      if (!is_last) Emit(Op::kCompareNext);
      Emit(CompareOp(expression.operators[i]));
      if (!is_last) jumps.push_back(Emit(Op::kJumpIfFalseKeep));
    }
    if (jumps.empty()) return Status::OK();
    const int to_end = Emit(Op::kJump);
    for (const int jump : jumps) JumpHere(jump);
    Emit(Op::kDropUnder);
    JumpHere(to_end);
    return Status::OK();
  }

  Status CompileConditional(const Expression& expression, const Scope& scope) {
    ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[0], scope));
    const int to_other = Emit(Op::kJumpIfFalse);
    ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[1], scope));
    const int to_end = Emit(Op::kJump);
    JumpHere(to_other);
    if (expression.children[2] == nullptr) {
      Emit(Op::kUndefinedElse);
    } else {
      ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[2], scope));
    }
    JumpHere(to_end);
    return Status::OK();
  }

  /// Compiles the arguments behind children[0], and says how they are given.
  Result<int> CompileArguments(const Expression& expression, const Scope& scope, std::string name,
                               int function) {
    CallSite site;
    site.name = std::move(name);
    site.function = function;
    for (size_t i = 1; i < expression.children.size(); ++i) {
      ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[i], scope));
      ++site.arguments;
    }
    for (const auto& [keyword, value] : expression.keywords) {
      ARROW_RETURN_NOT_OK(CompileExpression(*value, scope));
      ++site.arguments;
      site.names.push_back(keyword);
    }
    line_ = expression.line;
    program_->calls.push_back(std::move(site));
    return static_cast<int>(program_->calls.size()) - 1;
  }

  Status CompileCall(const Expression& expression, const Scope& scope) {
    const Expression& of = *expression.children[0];
    if (of.kind == ExpressionKind::kAttribute) {
      if (of.text.starts_with('_')) return Outside("attributes that begin with _");
      ARROW_RETURN_NOT_OK(CompileExpression(*of.children[0], scope));
      ARROW_ASSIGN_OR_RAISE(const int site, CompileArguments(expression, scope, of.text,
                                                             builtins::FindMethod(of.text)));
      AddText(of.text);
      Emit(Op::kCallMethod, site);
      return Status::OK();
    }
    ARROW_RETURN_NOT_OK(CompileExpression(of, scope));
    ARROW_ASSIGN_OR_RAISE(const int site, CompileArguments(expression, scope, "", -1));
    Emit(Op::kCall, site);
    return Status::OK();
  }

  Status CompileNamedCall(const Expression& expression, Op op, int function, const char* kind,
                          const Scope& scope) {
    if (function < 0) {
      line_ = expression.line;
      return Outside("the " + std::string(kind) + " '" + expression.text + "'");
    }
    ARROW_RETURN_NOT_OK(CompileExpression(*expression.children[0], scope));
    ARROW_ASSIGN_OR_RAISE(const int site,
                          CompileArguments(expression, scope, expression.text, function));
    Emit(op, site);
    return Status::OK();
  }

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::unordered_map<std::string, int> text_numbers_ = {};
  std::unordered_map<std::string, int> context_numbers_ = {};
  std::vector<CompiledMacro> macros_ = {};
  std::set<std::string> set_by_attribute_ = {};
  int* variables_of_function_ = &program_->variables;
  Loop* loop_ = nullptr;
  int line_ = 1;
};

}  // namespace

Result<std::shared_ptr<const Program>> Compile(std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(const Block block, Parse(source));
  return Compiler().Run(block);
}

}  // namespace easydata::jinja
