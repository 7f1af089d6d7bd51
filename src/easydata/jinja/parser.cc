#include "easydata/jinja/parser.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <unordered_set>

#include "easydata/jinja/lexer.h"

namespace easydata::jinja {
namespace {

// What calls itself counts by the stack that it takes, about half a kilobyte each: all of it stays
// within 256 kB. Jinja2 takes some 75 brackets, 98 blocks and 197 operators, unless it can compute
// them.
constexpr int kMaxNesting = 400;
constexpr int kBracket = 5;
constexpr int kBlock = 3;
constexpr int kSign = 2;
constexpr int kMaxHeight = 200;

ExpressionPtr Make(ExpressionKind kind, int line, std::string text = {}) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = line;
  made->text = std::move(text);
  return made;
}

/// Counts a level of what is nested while the parser is in it.
class Level {
 public:
  Level(int* depth, int by) : depth_(depth), by_(by) { *depth_ += by_; }
  ~Level() { *depth_ -= by_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  bool is_too_deep() const { return *depth_ > kMaxNesting; }

 private:
  int* const depth_;
  const int by_;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Block> Run() {
    std::string end;
    return ParseBlock({}, &end);
  }

 private:
  // Tokens.

  const Token& Now() const { return tokens_[at_]; }
  const Token& After() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token Take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool IsOperator(std::string_view text) const {
    return Now().kind == TokenKind::kOperator && Now().text == text;
  }
  bool IsName(std::string_view text) const {
    return Now().kind == TokenKind::kName && Now().text == text;
  }
  bool SkipOperator(std::string_view text) {
    if (!IsOperator(text)) return false;
    ++at_;
    return true;
  }
  bool SkipName(std::string_view text) {
    if (!IsName(text)) return false;
    ++at_;
    return true;
  }

  Status Unexpected(std::string_view wanted) const {
    static constexpr const char* kKinds[] = {"text",     "'{{'", "'}}'",     "'{%'",
                                             "'%}'",     "name", "a string", "a number",
                                             "a number", "",     "the end"};
    const std::string what = Now().kind == TokenKind::kOperator || Now().kind == TokenKind::kName
                                 ? "'" + Now().text + "'"
                                 : kKinds[static_cast<int>(Now().kind)];
    return Status::Invalid("line ", Now().line, ": expected ", wanted, ", got ", what);
  }
  Status ExpectOperator(std::string_view text) {
    return SkipOperator(text) ? Status::OK() : Unexpected("'" + std::string(text) + "'");
  }
  Result<std::string> ExpectName() {
    if (Now().kind != TokenKind::kName) return Unexpected("a name");
    return Take().text;
  }
  /// Skips the end of a tag that statements follow: `{% if x: %}` is fine.
  Status ExpectBodyBegin() {
    SkipOperator(":");
    return ExpectTagEnd();
  }

  Status ExpectTagEnd() {
    if (Now().kind != TokenKind::kTagEnd) return Unexpected("the end of the tag");
    ++at_;
    return Status::OK();
  }

  Status Outside(const std::string& what) const {
    return Status::NotImplemented("line ", Now().line, ": ", what);
  }

  Status TooDeep(int line) const {
    return Status::Invalid("line ", line, ": expressions or blocks are nested too deep: more than ",
                           kMaxNesting / kBracket, " brackets, ", kMaxNesting / kBlock,
                           " blocks or ", kMaxHeight, " operators");
  }

  // Statements.

  /// Reads statements up to a tag of one of the names `ends`, which is skipped up to its name;
  /// `end` is its name. Without `ends`, to the end of the template.
  Result<Block> ParseBlock(std::initializer_list<std::string_view> ends, std::string* end) {
    const Level level(&depth_, kBlock);
    if (level.is_too_deep()) return TooDeep(Now().line);
    Block block;
    while (Now().kind != TokenKind::kEnd) {
      const int line = Now().line;
      if (Now().kind == TokenKind::kText) {
        block.push_back(New(StatementKind::kText, line));
        block.back()->text = Take().text;
        continue;
      }
      if (Now().kind == TokenKind::kOutputBegin) {
        ++at_;
        block.push_back(New(StatementKind::kOutput, line));
        ARROW_ASSIGN_OR_RAISE(block.back()->expression, ParseTuple());
        if (Now().kind != TokenKind::kOutputEnd) return Unexpected("'}}'");
        ++at_;
        continue;
      }
      ++at_;  // {%
      for (const std::string_view name : ends) {
        if (!IsName(name)) continue;
        *end = Take().text;
        return block;
      }
      ARROW_RETURN_NOT_OK(ParseStatement(&block));
    }
    if (ends.size() > 0) {
      return Status::Invalid("line ", Now().line, ": unexpected end of template; expected ",
                             *std::rbegin(ends));
    }
    return block;
  }

  static std::unique_ptr<Statement> New(StatementKind kind, int line) {
    auto made = std::make_unique<Statement>();
    made->kind = kind;
    made->line = line;
    return made;
  }

  Status ParseStatement(Block* block) {
    const int line = Now().line;
    if (Now().kind != TokenKind::kName) return Unexpected("a tag's name");
    const std::string name = Take().text;
    std::unique_ptr<Statement> made;
    if (name == "for") {
      ARROW_ASSIGN_OR_RAISE(made, ParseFor(line));
    } else if (name == "if") {
      ARROW_ASSIGN_OR_RAISE(made, ParseIf(line));
    } else if (name == "set") {
      ARROW_ASSIGN_OR_RAISE(made, ParseSet(line));
    } else if (name == "macro") {
      ARROW_ASSIGN_OR_RAISE(made, ParseMacro(line));
    } else if (name == "generation") {
      made = New(StatementKind::kGeneration, line);
      ARROW_RETURN_NOT_OK(ExpectBodyBegin());
      std::string end;
      ARROW_ASSIGN_OR_RAISE(made->body, ParseBlock({"endgeneration"}, &end));
      ARROW_RETURN_NOT_OK(ExpectTagEnd());
    } else if (name == "break" || name == "continue") {
      made = New(name == "break" ? StatementKind::kBreak : StatementKind::kContinue, line);
      ARROW_RETURN_NOT_OK(ExpectTagEnd());
    } else {
      static constexpr std::string_view kOthers[] = {"include",    "import", "from",   "extends",
                                                     "block",      "call",   "filter", "with",
                                                     "autoescape", "print"};
      for (const std::string_view other : kOthers) {
        if (name == other) return Outside("the tag '" + name + "'");
      }
      return Status::Invalid("line ", line, ": unknown tag '", name, "'");
    }
    block->push_back(std::move(made));
    return Status::OK();
  }

  Result<std::unique_ptr<Statement>> ParseFor(int line) {
    auto made = New(StatementKind::kFor, line);
    ARROW_ASSIGN_OR_RAISE(made->target, ParseTarget(/*with_attribute=*/false));
    if (!SkipName("in")) return Unexpected("'in'");
    ARROW_ASSIGN_OR_RAISE(made->expression, ParseTuple(/*with_conditional=*/false, {"recursive"}));
    if (SkipName("if")) {
      ARROW_ASSIGN_OR_RAISE(made->test, ParseExpression());
    }
    if (IsName("recursive")) return Outside("recursive loops");
    ARROW_RETURN_NOT_OK(ExpectBodyBegin());
    std::string end;
    ARROW_ASSIGN_OR_RAISE(made->body, ParseBlock({"endfor", "else"}, &end));
    if (end == "else") {
      ARROW_RETURN_NOT_OK(ExpectBodyBegin());
      ARROW_ASSIGN_OR_RAISE(made->otherwise, ParseBlock({"endfor"}, &end));
    }
    ARROW_RETURN_NOT_OK(ExpectTagEnd());
    return made;
  }

  Result<std::unique_ptr<Statement>> ParseIf(int line) {
    auto made = New(StatementKind::kIf, line);
    ARROW_ASSIGN_OR_RAISE(made->expression, ParseTuple(/*with_conditional=*/false));
    ARROW_RETURN_NOT_OK(ExpectBodyBegin());
    std::string end;
    ARROW_ASSIGN_OR_RAISE(made->body, ParseBlock({"elif", "else", "endif"}, &end));
    if (end == "elif") {
      const Level level(&depth_, kBlock);
      // Each has a block.
      if (depth_ + kBlock > kMaxNesting) return Outside("a hundred elif and more");
      std::unique_ptr<Statement> other;
      ARROW_ASSIGN_OR_RAISE(other, ParseIf(Now().line));
      made->otherwise.push_back(std::move(other));
      return made;
    }
    if (end == "else") {
      ARROW_RETURN_NOT_OK(ExpectBodyBegin());
      ARROW_ASSIGN_OR_RAISE(made->otherwise, ParseBlock({"endif"}, &end));
    }
    ARROW_RETURN_NOT_OK(ExpectTagEnd());
    return made;
  }

  Result<std::unique_ptr<Statement>> ParseSet(int line) {
    auto made = New(StatementKind::kSet, line);
    ARROW_ASSIGN_OR_RAISE(made->target, ParseTarget(/*with_attribute=*/true));
    if (SkipOperator("=")) {
      ARROW_ASSIGN_OR_RAISE(made->expression, ParseTuple());
      ARROW_RETURN_NOT_OK(ExpectTagEnd());
      return made;
    }
    made->kind = StatementKind::kSetBlock;
    if (IsOperator("|")) {
      ARROW_ASSIGN_OR_RAISE(made->expression,
                            ParseFilters(Make(ExpressionKind::kCaptured, Now().line)));
    }
    if (made->target.is_tuple || !made->target.attribute.empty()) {
      return Outside("a set block of something else than one name");
    }
    ARROW_RETURN_NOT_OK(ExpectBodyBegin());
    std::string end;
    ARROW_ASSIGN_OR_RAISE(made->body, ParseBlock({"endset"}, &end));
    ARROW_RETURN_NOT_OK(ExpectTagEnd());
    return made;
  }

  Result<std::unique_ptr<Statement>> ParseMacro(int line) {
    auto made = New(StatementKind::kMacro, line);
    ARROW_ASSIGN_OR_RAISE(made->text, ExpectName());
    ARROW_RETURN_NOT_OK(CheckAssignable(made->text));
    ARROW_RETURN_NOT_OK(ExpectOperator("("));
    std::unordered_set<std::string> names;
    while (!IsOperator(")")) {
      if (!made->parameters.empty()) ARROW_RETURN_NOT_OK(ExpectOperator(","));
      ARROW_ASSIGN_OR_RAISE(std::string name, ExpectName());
      ARROW_RETURN_NOT_OK(CheckAssignable(name));
      if (name == "caller" || name == "kwargs" || name == "varargs") {
        return Outside("a macro's parameter '" + name + "'");
      }
      if (!names.insert(name).second) return Outside("a parameter given twice");
      made->parameters.push_back(std::move(name));
      if (SkipOperator("=")) {
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr value, ParseExpression());
        made->defaults.push_back(std::move(value));
      } else if (!made->defaults.empty()) {
        return Status::Invalid("line ", line, ": non-default argument follows default argument");
      }
    }
    ARROW_RETURN_NOT_OK(ExpectOperator(")"));
    ARROW_RETURN_NOT_OK(ExpectBodyBegin());
    std::string end;
    ARROW_ASSIGN_OR_RAISE(made->body, ParseBlock({"endmacro"}, &end));
    ARROW_RETURN_NOT_OK(ExpectTagEnd());
    return made;
  }

  Status CheckAssignable(const std::string& name) const {
    for (const char* constant : {"true", "false", "none", "True", "False", "None"}) {
      if (name == constant) {
        return Status::Invalid("line ", Now().line, ": can't assign to '", name, "'");
      }
    }
    // What loops and macros set by themselves.
    for (const char* special : {"loop", "caller", "self", "super", "varargs", "kwargs"}) {
      if (name == special) return Outside("setting '" + name + "'");
    }
    return Status::OK();
  }

  Result<Target> ParseTarget(bool with_attribute, bool in_brackets = false) {
    Target target;
    if (SkipOperator("(")) {
      if (in_brackets) return Outside("names in brackets in brackets");
      ARROW_ASSIGN_OR_RAISE(target, ParseTarget(/*with_attribute=*/false, /*in_brackets=*/true));
      if (!target.is_tuple) return Outside("assigning to one name in brackets");
      ARROW_RETURN_NOT_OK(ExpectOperator(")"));
      if (IsOperator(",")) return Outside("names in brackets among others");
      return target;
    }
    while (true) {
      ARROW_ASSIGN_OR_RAISE(std::string name, ExpectName());
      ARROW_RETURN_NOT_OK(CheckAssignable(name));
      target.names.push_back(std::move(name));
      if (with_attribute && IsOperator(".")) {
        if (target.is_tuple) return Outside("attributes among several names that are set");
        ++at_;
        ARROW_ASSIGN_OR_RAISE(target.attribute, ExpectName());
        if (IsOperator(",")) return Outside("attributes among several names that are set");
        return target;
      }
      if (!SkipOperator(",")) break;
      target.is_tuple = true;
      if (in_brackets && IsOperator(")")) break;
    }
    return target;
  }

  // Expressions, from the loosest binding to the tightest.

  /// Expressions between commas, or one that stands alone.
  Result<ExpressionPtr> ParseTuple(bool with_conditional = true,
                                   std::initializer_list<std::string_view> ends = {},
                                   bool in_brackets = false) {
    const int line = Now().line;
    std::vector<ExpressionPtr> items;
    bool is_tuple = false;
    while (true) {
      if (!items.empty()) ARROW_RETURN_NOT_OK(ExpectOperator(","));
      if (EndsTuple(ends)) break;
      ExpressionPtr item;
      if (with_conditional) {
        ARROW_ASSIGN_OR_RAISE(item, ParseExpression());
      } else {
        ARROW_ASSIGN_OR_RAISE(item, ParseOr());
      }
      items.push_back(std::move(item));
      if (!IsOperator(",")) break;
      is_tuple = true;
    }
    if (!is_tuple) {
      if (!items.empty()) return std::move(items[0]);
      if (!in_brackets) return Unexpected("an expression");
    }
    ExpressionPtr tuple = Make(ExpressionKind::kTuple, line);
    for (ExpressionPtr& item : items) ARROW_RETURN_NOT_OK(Add(std::move(item), tuple.get()));
    return tuple;
  }

  bool EndsTuple(std::initializer_list<std::string_view> names) const {
    if (Now().kind == TokenKind::kOutputEnd || Now().kind == TokenKind::kTagEnd) return true;
    if (IsOperator(")")) return true;
    for (const std::string_view name : names) {
      if (IsName(name)) return true;
    }
    return false;
  }

  Result<ExpressionPtr> ParseExpression() {
    ExpressionPtr value;
    ARROW_ASSIGN_OR_RAISE(value, ParseOr());
    while (IsName("if")) {
      const int line = Take().line;
      ExpressionPtr condition;
      ARROW_ASSIGN_OR_RAISE(condition, ParseOr());
      ExpressionPtr other;
      if (SkipName("else")) {
        const Level level(&depth_, kSign);
        if (level.is_too_deep()) return TooDeep(line);
        ARROW_ASSIGN_OR_RAISE(other, ParseExpression());
      }
      ExpressionPtr made = Make(ExpressionKind::kConditional, line);
      for (ExpressionPtr* part : {&condition, &value, &other}) {
        ARROW_RETURN_NOT_OK(Add(std::move(*part), made.get()));
      }
      value = std::move(made);
    }
    return value;
  }

  Result<ExpressionPtr> ParseOr() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseAnd());
    while (IsName("or")) {
      const int line = Take().line;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseAnd());
      ARROW_ASSIGN_OR_RAISE(left,
                            Over(ExpressionKind::kOr, line, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExpressionPtr> ParseAnd() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseNot());
    while (IsName("and")) {
      const int line = Take().line;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseNot());
      ARROW_ASSIGN_OR_RAISE(left,
                            Over(ExpressionKind::kAnd, line, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExpressionPtr> ParseNot() {
    if (!IsName("not")) return ParseCompare();
    const int line = Take().line;
    const Level level(&depth_, kSign);
    if (level.is_too_deep()) return TooDeep(line);
    ARROW_ASSIGN_OR_RAISE(ExpressionPtr operand, ParseNot());
    return Over(ExpressionKind::kNot, line, std::move(operand));
  }

  Result<ExpressionPtr> ParseCompare() {
    const int line = Now().line;
    ExpressionPtr first;
    ARROW_ASSIGN_OR_RAISE(first, ParseSum());
    ExpressionPtr made;
    while (true) {
      std::string sign;
      for (const char* known : {"==", "!=", "<", "<=", ">", ">="}) {
        if (IsOperator(known)) sign = known;
      }
      if (!sign.empty()) {
        ++at_;
      } else if (SkipName("in")) {
        sign = "in";
      } else if (IsName("not") && After().kind == TokenKind::kName && After().text == "in") {
        at_ += 2;
        sign = "not in";
      } else {
        break;
      }
      if (made == nullptr) {
        ARROW_ASSIGN_OR_RAISE(made, Over(ExpressionKind::kCompare, line, std::move(first)));
      }
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseSum());
      made->operators.push_back(std::move(sign));
      ARROW_RETURN_NOT_OK(Add(std::move(right), made.get()));
    }
    return made != nullptr ? std::move(made) : std::move(first);
  }

  Result<ExpressionPtr> ParseSum() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseConcat());
    while (IsOperator("+") || IsOperator("-")) {
      const Token sign = Take();
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseConcat());
      ARROW_ASSIGN_OR_RAISE(
          left, Over(ExpressionKind::kBinary, sign.line, std::move(left), std::move(right)));
      left->text = sign.text;
    }
    return left;
  }

  Result<ExpressionPtr> ParseConcat() {
    const int line = Now().line;
    ExpressionPtr first;
    ARROW_ASSIGN_OR_RAISE(first, ParseProduct());
    if (!IsOperator("~")) return first;
    ARROW_ASSIGN_OR_RAISE(ExpressionPtr made,
                          Over(ExpressionKind::kConcat, line, std::move(first)));
    while (SkipOperator("~")) {
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr item, ParseProduct());
      ARROW_RETURN_NOT_OK(Add(std::move(item), made.get()));
    }
    return made;
  }

  Result<ExpressionPtr> ParseProduct() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParsePower());
    while (IsOperator("*") || IsOperator("/") || IsOperator("//") || IsOperator("%")) {
      const Token sign = Take();
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParsePower());
      ARROW_ASSIGN_OR_RAISE(
          left, Over(ExpressionKind::kBinary, sign.line, std::move(left), std::move(right)));
      left->text = sign.text;
    }
    return left;
  }

  Result<ExpressionPtr> ParsePower() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseUnary(/*with_filter=*/true));
    while (IsOperator("**")) {
      const int line = Take().line;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseUnary(/*with_filter=*/true));
      ARROW_ASSIGN_OR_RAISE(left,
                            Over(ExpressionKind::kBinary, line, std::move(left), std::move(right)));
      left->text = "**";
    }
    return left;
  }

  /// Puts an expression, or null, into another one as its next child.
  Status Add(ExpressionPtr child, Expression* to) const {
    ARROW_RETURN_NOT_OK(Raise(child.get(), to));
    to->children.push_back(std::move(child));
    return Status::OK();
  }

  /// Makes an expression higher than one that comes into it: operators in a row nest, too.
  Status Raise(const Expression* child, Expression* to) const {
    if (child == nullptr) return Status::OK();
    to->height = std::max(to->height, child->height + 1);
    return to->height > kMaxHeight ? TooDeep(to->line) : Status::OK();
  }

  /// Makes an expression of one or two others.
  Result<ExpressionPtr> Over(ExpressionKind kind, int line, ExpressionPtr first,
                             ExpressionPtr second = nullptr) const {
    ExpressionPtr made = Make(kind, line);
    ARROW_RETURN_NOT_OK(Add(std::move(first), made.get()));
    if (second != nullptr) ARROW_RETURN_NOT_OK(Add(std::move(second), made.get()));
    return made;
  }

  Result<ExpressionPtr> ParseUnary(bool with_filter) {
    const int line = Now().line;
    ExpressionPtr made;
    if (IsOperator("-") || IsOperator("+")) {
      const bool negative = Take().text == "-";
      const Level level(&depth_, kSign);
      if (level.is_too_deep()) return TooDeep(line);
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr operand, ParseUnary(/*with_filter=*/false));
      ARROW_ASSIGN_OR_RAISE(
          made, Over(negative ? ExpressionKind::kNegative : ExpressionKind::kPositive, line,
                     std::move(operand)));
    } else {
      ARROW_ASSIGN_OR_RAISE(made, ParsePrimary());
    }
    ARROW_ASSIGN_OR_RAISE(made, ParsePostfix(std::move(made)));
    if (!with_filter) return made;
    return ParseFilters(std::move(made));
  }

  Result<ExpressionPtr> ParsePrimary() {
    const int line = Now().line;
    switch (Now().kind) {
      case TokenKind::kName: {
        const std::string name = Take().text;
        if (name == "true" || name == "True" || name == "false" || name == "False") {
          ExpressionPtr made = Make(ExpressionKind::kBoolean, line);
          made->boolean = name == "true" || name == "True";
          return made;
        }
        if (name == "none" || name == "None") return Make(ExpressionKind::kNone, line);
        return Make(ExpressionKind::kName, line, name);
      }
      case TokenKind::kString: {
        std::string text = Take().text;
        while (Now().kind == TokenKind::kString) text += Take().text;
        return Make(ExpressionKind::kString, line, std::move(text));
      }
      case TokenKind::kInteger: {
        const std::string digits = Take().text;
        ExpressionPtr made = Make(ExpressionKind::kInteger, line);
        const auto read =
            std::from_chars(digits.data(), digits.data() + digits.size(), made->integer);
        if (read.ec != std::errc()) return Outside("numbers beyond 64 bits");
        return made;
      }
      case TokenKind::kFloat: {
        const std::string digits = Take().text;
        ExpressionPtr made = Make(ExpressionKind::kFloat, line);
        const auto read =
            std::from_chars(digits.data(), digits.data() + digits.size(), made->number);
        if (read.ec != std::errc()) return Outside("floats beyond their range");
        return made;
      }
      default:
        break;
    }
    if (SkipOperator("(")) {
      const Level level(&depth_, kBracket);
      if (level.is_too_deep()) return TooDeep(line);
      ExpressionPtr made;
      ARROW_ASSIGN_OR_RAISE(made, ParseTuple(true, {}, /*in_brackets=*/true));
      ARROW_RETURN_NOT_OK(ExpectOperator(")"));
      return made;
    }
    if (SkipOperator("[")) return ParseItems(ExpressionKind::kList, "]", line);
    if (SkipOperator("{")) return ParseItems(ExpressionKind::kDict, "}", line);
    return Unexpected("an expression");
  }

  Result<ExpressionPtr> ParseItems(ExpressionKind kind, std::string_view close, int line) {
    const Level level(&depth_, kBracket);
    if (level.is_too_deep()) return TooDeep(line);
    ExpressionPtr made = Make(kind, line);
    while (!IsOperator(close)) {
      if (!made->children.empty()) ARROW_RETURN_NOT_OK(ExpectOperator(","));
      if (IsOperator(close)) break;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr item, ParseExpression());
      ARROW_RETURN_NOT_OK(Add(std::move(item), made.get()));
      if (kind == ExpressionKind::kDict) {
        ARROW_RETURN_NOT_OK(ExpectOperator(":"));
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr value, ParseExpression());
        ARROW_RETURN_NOT_OK(Add(std::move(value), made.get()));
      }
    }
    ARROW_RETURN_NOT_OK(ExpectOperator(close));
    return made;
  }

  Result<ExpressionPtr> ParsePostfix(ExpressionPtr made) {
    while (true) {
      const int line = Now().line;
      if (SkipOperator(".")) {
        if (Now().kind == TokenKind::kInteger) {
          ARROW_ASSIGN_OR_RAISE(ExpressionPtr key, ParsePrimary());
          ARROW_ASSIGN_OR_RAISE(made,
                                Over(ExpressionKind::kItem, line, std::move(made), std::move(key)));
          continue;
        }
        ARROW_ASSIGN_OR_RAISE(std::string name, ExpectName());
        ARROW_ASSIGN_OR_RAISE(made, Over(ExpressionKind::kAttribute, line, std::move(made)));
        made->text = std::move(name);
      } else if (SkipOperator("[")) {
        ARROW_ASSIGN_OR_RAISE(made, ParseSubscript(std::move(made), line));
      } else if (SkipOperator("(")) {
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr call,
                              Over(ExpressionKind::kCall, line, std::move(made)));
        ARROW_RETURN_NOT_OK(ParseArguments(call.get()));
        made = std::move(call);
      } else {
        return made;
      }
    }
  }

  Result<ExpressionPtr> ParseSubscript(ExpressionPtr of, int line) {
    const Level level(&depth_, kBracket);
    if (level.is_too_deep()) return TooDeep(line);
    std::vector<ExpressionPtr> parts(1);  // of a slice: start, stop, step
    bool is_slice = false;
    while (!IsOperator("]")) {
      if (IsOperator(",")) return Outside("several subscripts");
      if (SkipOperator(":")) {
        is_slice = true;
        if (parts.size() == 3) return Unexpected("']'");
        parts.emplace_back();
        continue;
      }
      if (parts.back() != nullptr) return Unexpected("']'");
      ARROW_ASSIGN_OR_RAISE(parts.back(), ParseExpression());
    }
    ++at_;
    if (!is_slice) {
      if (parts[0] == nullptr) return Outside("an empty subscript");
      return Over(ExpressionKind::kItem, line, std::move(of), std::move(parts[0]));
    }
    parts.resize(3);
    ARROW_ASSIGN_OR_RAISE(ExpressionPtr made, Over(ExpressionKind::kSlice, line, std::move(of)));
    for (ExpressionPtr& part : parts) ARROW_RETURN_NOT_OK(Add(std::move(part), made.get()));
    return made;
  }

  /// Reads arguments and the closing bracket.
  Status ParseArguments(Expression* of) {
    const Level level(&depth_, kBracket);
    if (level.is_too_deep()) return TooDeep(of->line);
    std::unordered_set<std::string> names;
    bool first = true;
    while (!IsOperator(")")) {
      if (!first) {
        ARROW_RETURN_NOT_OK(ExpectOperator(","));
        if (IsOperator(")")) break;
      }
      first = false;
      if (IsOperator("*") || IsOperator("**")) return Outside("arguments by * or **");
      if (Now().kind == TokenKind::kName && After().kind == TokenKind::kOperator &&
          After().text == "=") {
        std::string name = Take().text;
        ++at_;
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr value, ParseExpression());
        if (!names.insert(name).second) return Outside("an argument given twice");
        ARROW_RETURN_NOT_OK(Raise(value.get(), of));
        of->keywords.emplace_back(std::move(name), std::move(value));
      } else {
        if (!of->keywords.empty()) {
          return Status::Invalid("line ", Now().line, ": invalid syntax for function call");
        }
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr value, ParseExpression());
        ARROW_RETURN_NOT_OK(Add(std::move(value), of));
      }
    }
    return ExpectOperator(")");
  }

  Result<ExpressionPtr> ParseFilters(ExpressionPtr made) {
    while (true) {
      const int line = Now().line;
      if (SkipOperator("|")) {
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr filter,
                              Over(ExpressionKind::kFilter, line, std::move(made)));
        ARROW_ASSIGN_OR_RAISE(filter->text, ExpectName());
        if (IsOperator(".")) return Outside("filters with a dot in their name");
        if (SkipOperator("(")) ARROW_RETURN_NOT_OK(ParseArguments(filter.get()));
        made = std::move(filter);
      } else if (SkipName("is")) {
        ARROW_ASSIGN_OR_RAISE(made, ParseTest(std::move(made), line));
      } else if (SkipOperator("(")) {
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr call,
                              Over(ExpressionKind::kCall, line, std::move(made)));
        ARROW_RETURN_NOT_OK(ParseArguments(call.get()));
        made = std::move(call);
      } else {
        return made;
      }
    }
  }

  Result<ExpressionPtr> ParseTest(ExpressionPtr of, int line) {
    const bool negated = SkipName("not");
    ARROW_ASSIGN_OR_RAISE(ExpressionPtr test, Over(ExpressionKind::kTest, line, std::move(of)));
    ARROW_ASSIGN_OR_RAISE(test->text, ExpectName());
    if (IsOperator(".")) return Outside("tests with a dot in their name");
    if (SkipOperator("(")) {
      ARROW_RETURN_NOT_OK(ParseArguments(test.get()));
    } else if (BeginsArgument()) {
      if (IsName("is")) {
        return Status::Invalid("line ", line, ": You cannot chain multiple tests with is");
      }
      ExpressionPtr argument;
      ARROW_ASSIGN_OR_RAISE(argument, ParsePrimary());
      ARROW_ASSIGN_OR_RAISE(argument, ParsePostfix(std::move(argument)));
      ARROW_RETURN_NOT_OK(Add(std::move(argument), test.get()));
    }
    if (!negated) return test;
    return Over(ExpressionKind::kNot, line, std::move(test));
  }

  /// Whether what follows a test's name is its argument.
  bool BeginsArgument() const {
    switch (Now().kind) {
      case TokenKind::kName:
        return !IsName("else") && !IsName("or") && !IsName("and");
      case TokenKind::kString:
      case TokenKind::kInteger:
      case TokenKind::kFloat:
        return true;
      default:
        return IsOperator("[") || IsOperator("{");
    }
  }

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Block> Parse(std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace easydata::jinja
