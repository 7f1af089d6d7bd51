#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace easydata::jinja {

enum class ExpressionKind : uint8_t {
  kNone,
  kBoolean,
  kInteger,
  kFloat,
  kString,
  kName,       // text
  kList,       // children
  kTuple,      // children
  kDict,       // children: key, value, key, value ...
  kAttribute,  // children[0] . text
  kItem,       // children[0] [ children[1] ]
  kSlice,      // children[0] [ children[1..3] ], each null where it is left out
  kCall,       // children[0] ( children[1..], keywords )
  kFilter,     // children[0] | text ( children[1..], keywords )
  kTest,       // children[0] is text ( children[1..], keywords )
  kNot,
  kNegative,
  kPositive,
  kBinary,   // text: + - * / // % **
  kConcat,   // children
  kCompare,  // children[0] operators[0] children[1] operators[1] ...
  kAnd,
  kOr,
  kCaptured,     // of a filter on a set block: what the block printed
  kConditional,  // children: condition, value, other (null where it is left out)
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  ExpressionKind kind = ExpressionKind::kNone;
  int line = 0;
  /// One more than that of the highest expression in it: the parser has a bound, as what walks
  /// through expressions calls itself.
  int height = 1;
  std::string text = {};
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::vector<ExpressionPtr> children = {};
  std::vector<std::pair<std::string, ExpressionPtr>> keywords = {};
  std::vector<std::string> operators = {};
};

/// Whether `is_it` holds for an expression, or for one in it.
template <typename Predicate>
bool AnyOf(const Expression& expression, const Predicate& is_it) {
  if (is_it(expression)) return true;
  for (const ExpressionPtr& child : expression.children) {
    if (child != nullptr && AnyOf(*child, is_it)) return true;
  }
  for (const auto& [_, value] : expression.keywords) {
    if (AnyOf(*value, is_it)) return true;
  }
  return false;
}

enum class StatementKind : uint8_t {
  kText,        // text
  kOutput,      // expression
  kFor,         // target in expression [if test]: body, otherwise
  kIf,          // expression: body, otherwise (an elif is a kIf alone in there)
  kSet,         // target = expression
  kSetBlock,    // target = body, through the filters in `expression` if there are any
  kMacro,       // name, parameters, defaults of the last ones: body
  kGeneration,  // body
  kBreak,
  kContinue,
};

/// What `for` and `set` assign to.
struct Target {
  /// One name, or several for items that are unpacked.
  std::vector<std::string> names = {};
  bool is_tuple = false;
  /// For `set name.attribute = ...`: the attribute; else empty.
  std::string attribute = {};
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

struct Statement {
  StatementKind kind = StatementKind::kText;
  int line = 0;
  std::string text = {};
  ExpressionPtr expression = {};
  ExpressionPtr test = {};
  Target target = {};
  std::vector<std::string> parameters = {};
  std::vector<ExpressionPtr> defaults = {};
  Block body = {};
  Block otherwise = {};
};

}  // namespace easydata::jinja
