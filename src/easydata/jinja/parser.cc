#include "easydata/jinja/parser.h"

#include <charconv>
#include <initializer_list>

#include "easydata/jinja/lexer.h"

namespace easydata::jinja {
namespace {

// Beyond what Python's own stack lets Jinja2 take.
constexpr int kMaxNesting = 400;

ExpressionPtr Make(ExpressionKind kind, int line, std::string text = {}) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = line;
  made->text = std::move(text);
  return made;
}

ExpressionPtr Make(ExpressionKind kind, int line, ExpressionPtr first,
                   ExpressionPtr second = nullptr) {
  ExpressionPtr made = Make(kind, line);
  made->children.push_back(std::move(first));
  if (second != nullptr) made->children.push_back(std::move(second));
  return made;
}

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

  Status TooDeep() const {
    return Status::Invalid("line ", Now().line, ": expressions or blocks nested too deep");
  }

  // Statements.

  /// Reads statements up to a tag of one of the names `ends`, which is skipped up to its name;
  /// `end` is its name. Without `ends`, to the end of the template.
  Result<Block> ParseBlock(std::initializer_list<std::string_view> ends, std::string* end) {
    if (++depth_ > kMaxNesting) return TooDeep();
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
        --depth_;
        return block;
      }
      ARROW_RETURN_NOT_OK(ParseStatement(&block));
    }
    if (ends.size() > 0) {
      return Status::Invalid("line ", Now().line, ": unexpected end of template; expected ",
                             *std::rbegin(ends));
    }
    --depth_;
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
      if (++depth_ > kMaxNesting) return Outside("hundreds of elif");
      std::unique_ptr<Statement> other;
      ARROW_ASSIGN_OR_RAISE(other, ParseIf(Now().line));
      --depth_;
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
    while (!IsOperator(")")) {
      if (!made->parameters.empty()) ARROW_RETURN_NOT_OK(ExpectOperator(","));
      ARROW_ASSIGN_OR_RAISE(std::string name, ExpectName());
      ARROW_RETURN_NOT_OK(CheckAssignable(name));
      if (name == "caller" || name == "kwargs" || name == "varargs") {
        return Outside("a macro's parameter '" + name + "'");
      }
      for (const std::string& other : made->parameters) {
        if (other == name) return Outside("a parameter given twice");
      }
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

  Result<Target> ParseTarget(bool with_attribute) {
    Target target;
    if (SkipOperator("(")) {
      ARROW_ASSIGN_OR_RAISE(target, ParseTarget(/*with_attribute=*/false));
      if (!target.is_tuple) return Outside("assigning to one name in brackets");
      ARROW_RETURN_NOT_OK(ExpectOperator(")"));
      if (IsOperator(",")) return Outside("names in brackets among others");
      return target;
    }
    while (true) {
      if (Now().kind == TokenKind::kName && Now().text == "in" && target.is_tuple) break;
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
      if (IsOperator("=") || IsOperator(")")) break;
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
    tuple->children = std::move(items);
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
    if (++depth_ > kMaxNesting) return TooDeep();
    ExpressionPtr value;
    ARROW_ASSIGN_OR_RAISE(value, ParseOr());
    while (IsName("if")) {
      const int line = Take().line;
      ExpressionPtr condition;
      ARROW_ASSIGN_OR_RAISE(condition, ParseOr());
      ExpressionPtr made = Make(ExpressionKind::kConditional, line);
      made->children.push_back(std::move(condition));
      made->children.push_back(std::move(value));
      made->children.emplace_back();
      if (SkipName("else")) {
        ARROW_ASSIGN_OR_RAISE(made->children[2], ParseExpression());
      }
      value = std::move(made);
    }
    --depth_;
    return value;
  }

  Result<ExpressionPtr> ParseOr() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseAnd());
    while (IsName("or")) {
      const int line = Take().line;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseAnd());
      ARROW_ASSIGN_OR_RAISE(left, Joined(ExpressionKind::kOr, line, &left, &right));
    }
    return left;
  }

  Result<ExpressionPtr> ParseAnd() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseNot());
    while (IsName("and")) {
      const int line = Take().line;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseNot());
      ARROW_ASSIGN_OR_RAISE(left, Joined(ExpressionKind::kAnd, line, &left, &right));
    }
    return left;
  }

  Result<ExpressionPtr> ParseNot() {
    if (!IsName("not")) return ParseCompare();
    const int line = Take().line;
    if (++depth_ > kMaxNesting) return TooDeep();
    ARROW_ASSIGN_OR_RAISE(ExpressionPtr operand, ParseNot());
    --depth_;
    return Make(ExpressionKind::kNot, line, std::move(operand));
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
      if (made == nullptr) made = Make(ExpressionKind::kCompare, line, std::move(first));
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseSum());
      made->operators.push_back(std::move(sign));
      made->children.push_back(std::move(right));
    }
    return made != nullptr ? std::move(made) : std::move(first);
  }

  Result<ExpressionPtr> ParseSum() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParseConcat());
    while (IsOperator("+") || IsOperator("-")) {
      const Token sign = Take();
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParseConcat());
      ARROW_ASSIGN_OR_RAISE(left, Joined(ExpressionKind::kBinary, sign.line, &left, &right));
      left->text = sign.text;
    }
    return left;
  }

  Result<ExpressionPtr> ParseConcat() {
    const int line = Now().line;
    ExpressionPtr first;
    ARROW_ASSIGN_OR_RAISE(first, ParseProduct());
    if (!IsOperator("~")) return first;
    ExpressionPtr made = Make(ExpressionKind::kConcat, line, std::move(first));
    while (SkipOperator("~")) {
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr item, ParseProduct());
      made->children.push_back(std::move(item));
    }
    return made;
  }

  Result<ExpressionPtr> ParseProduct() {
    ExpressionPtr left;
    ARROW_ASSIGN_OR_RAISE(left, ParsePower());
    while (IsOperator("*") || IsOperator("/") || IsOperator("//") || IsOperator("%")) {
      const Token sign = Take();
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr right, ParsePower());
      ARROW_ASSIGN_OR_RAISE(left, Joined(ExpressionKind::kBinary, sign.line, &left, &right));
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
      ARROW_ASSIGN_OR_RAISE(left, Joined(ExpressionKind::kBinary, line, &left, &right));
      left->text = "**";
    }
    return left;
  }

  /// One node of two; operators in a row nest to the left, so their number is a depth.
  Result<ExpressionPtr> Joined(ExpressionKind kind, int line, ExpressionPtr* left,
                               ExpressionPtr* right) {
    if (++joined_ > kMaxJoined) return Outside("more than 2,000 operators");
    return Make(kind, line, std::move(*left), std::move(*right));
  }

  Result<ExpressionPtr> ParseUnary(bool with_filter) {
    const int line = Now().line;
    ExpressionPtr made;
    if (IsOperator("-") || IsOperator("+")) {
      const bool negative = Take().text == "-";
      if (++depth_ > kMaxNesting) return TooDeep();
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr operand, ParseUnary(/*with_filter=*/false));
      --depth_;
      made = Make(negative ? ExpressionKind::kNegative : ExpressionKind::kPositive, line,
                  std::move(operand));
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
      if (++depth_ > kMaxNesting) return TooDeep();
      ExpressionPtr made;
      ARROW_ASSIGN_OR_RAISE(made, ParseTuple(true, {}, /*in_brackets=*/true));
      ARROW_RETURN_NOT_OK(ExpectOperator(")"));
      --depth_;
      return made;
    }
    if (SkipOperator("[")) return ParseItems(ExpressionKind::kList, "]", line);
    if (SkipOperator("{")) return ParseItems(ExpressionKind::kDict, "}", line);
    return Unexpected("an expression");
  }

  Result<ExpressionPtr> ParseItems(ExpressionKind kind, std::string_view close, int line) {
    ExpressionPtr made = Make(kind, line);
    while (!IsOperator(close)) {
      if (!made->children.empty()) ARROW_RETURN_NOT_OK(ExpectOperator(","));
      if (IsOperator(close)) break;
      ARROW_ASSIGN_OR_RAISE(ExpressionPtr item, ParseExpression());
      made->children.push_back(std::move(item));
      if (kind == ExpressionKind::kDict) {
        ARROW_RETURN_NOT_OK(ExpectOperator(":"));
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr value, ParseExpression());
        made->children.push_back(std::move(value));
      }
    }
    ARROW_RETURN_NOT_OK(ExpectOperator(close));
    return made;
  }

  Result<ExpressionPtr> ParsePostfix(ExpressionPtr made) {
    while (true) {
      const int line = Now().line;
      if (IsOperator(".") || IsOperator("[") || IsOperator("(")) {
        if (++joined_ > kMaxJoined) return Outside("more than 2,000 operators");
      }
      if (SkipOperator(".")) {
        if (Now().kind == TokenKind::kInteger) {
          ARROW_ASSIGN_OR_RAISE(ExpressionPtr key, ParsePrimary());
          made = Make(ExpressionKind::kItem, line, std::move(made), std::move(key));
          continue;
        }
        ARROW_ASSIGN_OR_RAISE(std::string name, ExpectName());
        made = Make(ExpressionKind::kAttribute, line, std::move(made));
        made->text = std::move(name);
      } else if (SkipOperator("[")) {
        ARROW_ASSIGN_OR_RAISE(made, ParseSubscript(std::move(made), line));
      } else if (SkipOperator("(")) {
        ExpressionPtr call = Make(ExpressionKind::kCall, line, std::move(made));
        ARROW_RETURN_NOT_OK(ParseArguments(call.get()));
        made = std::move(call);
      } else {
        return made;
      }
    }
  }

  Result<ExpressionPtr> ParseSubscript(ExpressionPtr of, int line) {
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
      return Make(ExpressionKind::kItem, line, std::move(of), std::move(parts[0]));
    }
    parts.resize(3);
    ExpressionPtr made = Make(ExpressionKind::kSlice, line, std::move(of));
    for (ExpressionPtr& part : parts) made->children.push_back(std::move(part));
    return made;
  }

  /// Reads arguments and the closing bracket.
  Status ParseArguments(Expression* of) {
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
        for (const auto& [other, _] : of->keywords) {
          if (other == name) return Outside("an argument given twice");
        }
        of->keywords.emplace_back(std::move(name), std::move(value));
      } else {
        if (!of->keywords.empty()) {
          return Status::Invalid("line ", Now().line, ": invalid syntax for function call");
        }
        ARROW_ASSIGN_OR_RAISE(ExpressionPtr value, ParseExpression());
        of->children.push_back(std::move(value));
      }
    }
    return ExpectOperator(")");
  }

  Result<ExpressionPtr> ParseFilters(ExpressionPtr made) {
    while (true) {
      const int line = Now().line;
      if (IsOperator("|") || IsName("is") || IsOperator("(")) {
        if (++joined_ > kMaxJoined) return Outside("more than 2,000 operators");
      }
      if (SkipOperator("|")) {
        ExpressionPtr filter = Make(ExpressionKind::kFilter, line, std::move(made));
        ARROW_ASSIGN_OR_RAISE(filter->text, ExpectName());
        if (IsOperator(".")) return Outside("filters with a dot in their name");
        if (SkipOperator("(")) ARROW_RETURN_NOT_OK(ParseArguments(filter.get()));
        made = std::move(filter);
      } else if (SkipName("is")) {
        ARROW_ASSIGN_OR_RAISE(made, ParseTest(std::move(made), line));
      } else if (SkipOperator("(")) {
        ExpressionPtr call = Make(ExpressionKind::kCall, line, std::move(made));
        ARROW_RETURN_NOT_OK(ParseArguments(call.get()));
        made = std::move(call);
      } else {
        return made;
      }
    }
  }

  Result<ExpressionPtr> ParseTest(ExpressionPtr of, int line) {
    const bool negated = SkipName("not");
    ExpressionPtr test = Make(ExpressionKind::kTest, line, std::move(of));
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
      test->children.push_back(std::move(argument));
    }
    if (!negated) return test;
    return Make(ExpressionKind::kNot, line, std::move(test));
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

  static constexpr int kMaxJoined = 2000;

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int joined_ = 0;
};

}  // namespace

Result<Block> Parse(std::string_view source) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace easydata::jinja
