#include "tokenizers/regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <optional>
#include <random>
#include <utility>

#include "tokenizers/component_json.h"
#include "tokenizers/regex/backtracking_matcher.h"
#include "tokenizers/regex/character_kinds.h"
#include "tokenizers/regex/kind_pattern.h"
#include "tokenizers/regex/regex_parser.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// The working memory of one thread, for any pattern.
class MatchScratch {
 public:
  static MatchScratch& OfThread() {
    thread_local MatchScratch scratch;
    return scratch;
  }

  MatchScratch()
      : data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(kFirstStackBytes, kLastStackBytes, nullptr)) {
    if (context_ == nullptr) return;
    pcre2_set_match_limit(context_, kMatchLimit);
    if (stack_ != nullptr) pcre2_jit_stack_assign(context_, nullptr, stack_);
  }
  MatchScratch(const MatchScratch&) = delete;
  MatchScratch& operator=(const MatchScratch&) = delete;
  ~MatchScratch() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(context_);
    pcre2_jit_stack_free(stack_);
  }

  bool ok() const { return data_ != nullptr && context_ != nullptr; }
  pcre2_match_data* data() { return data_; }
  pcre2_match_context* context() { return context_; }

  /// One kind per character of the text.
  std::string kinds;
  /// Where each character begins, and the end; not filled for ASCII.
  std::vector<uint32_t> offsets;

  /// Gives the memory of an extraordinary text back.
  void Trim() {
    if (kinds.capacity() > kMaxKeptCharacters) kinds = {};
    if (offsets.capacity() > kMaxKeptCharacters) offsets = {};
  }

 private:
  static constexpr size_t kFirstStackBytes = size_t{32} << 10;
  static constexpr size_t kLastStackBytes = size_t{64} << 20;
  // Oniguruma gives up after ten million retries, which are counted in another way: where it does
  // not, we must not.
  static constexpr uint32_t kMatchLimit = 200'000'000;
  static constexpr size_t kMaxKeptCharacters = size_t{4} << 20;

  pcre2_match_data* data_;
  pcre2_match_context* context_;
  pcre2_jit_stack* stack_;
};

void CollectSets(const RegexNode& node, std::vector<CharacterSet>* sets) {
  if (!node.set.empty()) sets->push_back(node.set);
  for (const RegexNode& child : node.children) CollectSets(child, sets);
}

}  // namespace

struct Regex::Program {
  CharacterKinds kinds;
  pcre2_code* code = nullptr;
  /// To machine code; matching is slower without, nothing else.
  bool is_compiled = false;

  explicit Program(CharacterKinds character_kinds) : kinds(std::move(character_kinds)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { pcre2_code_free(code); }

  Status FindInKinds(std::string_view text, MatchScratch* scratch,
                     std::vector<Match>* matches) const;
  Status FindInText(std::string_view text, MatchScratch* scratch,
                    std::vector<Match>* matches) const;
  Status CheckAgainst(const RegexNode& node) const;
};

Status Regex::Program::FindInKinds(std::string_view text, MatchScratch* scratch,
                                   std::vector<Match>* matches) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const size_t* ends = pcre2_get_ovector_pointer(scratch->data());
  for (size_t at = 0; at <= text.size();) {
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (is_compiled) {
      found =
          pcre2_jit_match(code, subject, text.size(), at, 0, scratch->data(), scratch->context());
    }
    // The interpreter has the heap for its stack.
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(code, subject, text.size(), at, PCRE2_NO_JIT, scratch->data(),
                          scratch->context());
    }
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      PCRE2_UCHAR message[120] = {};
      pcre2_get_error_message(found, message, sizeof(message));
      return Status::Invalid("a regex of the tokenizer gave up on a text of ", text.size(),
                             " characters: ", reinterpret_cast<const char*>(message),
                             "; cut the text into smaller ones");
    }
    const Match match = {ends[0], ends[1]};
    if (match.begin == match.end && !matches->empty() && matches->back().end == match.end) {
      ++at;
      continue;
    }
    matches->push_back(match);
    at = match.end;
  }
  return Status::OK();
}

Status Regex::Program::FindInText(std::string_view text, MatchScratch* scratch,
                                  std::vector<Match>* matches) const {
  const uint8_t* table = kinds.table();
  matches->clear();
  scratch->kinds.resize(text.size());
  char* kind = scratch->kinds.data();
  size_t size = 0;
  while (size < text.size() && static_cast<signed char>(text[size]) >= 0) {
    kind[size] = static_cast<char>(table[static_cast<uint8_t>(text[size])]);
    ++size;
  }
  if (size == text.size()) return FindInKinds({kind, size}, scratch, matches);

  // From the first character beyond ASCII on, characters and bytes part.
  const size_t first_wide = size;
  std::vector<uint32_t>& offsets = scratch->offsets;
  offsets.resize(text.size() - first_wide + 1);
  for (size_t i = first_wide; i < text.size();) {
    const utf8::CodePoint c = utf8::Decode(text.data() + i);
    kind[size] = static_cast<char>(table[c.value]);
    offsets[size++ - first_wide] = static_cast<uint32_t>(i);
    i += static_cast<size_t>(c.length);
  }
  offsets[size - first_wide] = static_cast<uint32_t>(text.size());
  ARROW_RETURN_NOT_OK(FindInKinds({kind, size}, scratch, matches));
  for (Match& match : *matches) {
    if (match.begin >= first_wide) match.begin = offsets[match.begin - first_wide];
    if (match.end >= first_wide) match.end = offsets[match.end - first_wide];
  }
  return Status::OK();
}

// PCRE2 and the reference implementation must agree on strings of all kinds.
Status Regex::Program::CheckAgainst(const RegexNode& node) const {
  constexpr int64_t kStepsPerText = 5000;
  constexpr int64_t kTexts = 300;
  MatchScratch& scratch = MatchScratch::OfThread();
  if (!scratch.ok()) return Status::OutOfMemory("no memory to match a regex");
  BacktrackingMatcher literal(node, kinds);
  std::minstd_rand random(1);
  std::string text;
  std::vector<Match> matches;
  for (int64_t i = 0; i < kTexts; ++i) {
    text.clear();
    const size_t size = i % 12;
    while (text.size() < size) {
      const auto kind = static_cast<char>(random() % kinds.size());
      text.append(random() % 8 == 0 ? 3 : 1, kind);
    }
    const std::optional<std::vector<Match>> expected = literal.FindAll(text, kStepsPerText);
    if (!expected) continue;
    matches.clear();
    ARROW_RETURN_NOT_OK(FindInKinds(text, &scratch, &matches));
    if (matches != *expected) return Unsupported("regex that PCRE2 reads differently");
  }
  return Status::OK();
}

Result<std::unique_ptr<const Regex>> Regex::Compile(std::string_view pattern) {
  ARROW_ASSIGN_OR_RAISE(const RegexNode node, ParseRegex(pattern));
  std::vector<CharacterSet> sets = {CharacterSet(U'\n')};
  CollectSets(node, &sets);
  ARROW_ASSIGN_OR_RAISE(CharacterKinds kinds, CharacterKinds::Make(std::move(sets)));
  const std::string translated = PatternOverKinds(node, kinds);
  auto program = std::make_unique<Program>(std::move(kinds));
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  program->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NO_AUTO_CAPTURE, &error,
                                &error_offset, nullptr);
  if (program->code == nullptr) {
    PCRE2_UCHAR message[120] = {};
    pcre2_get_error_message(error, message, sizeof(message));
    return Unsupported("regex that PCRE2 refuses (", reinterpret_cast<const char*>(message),
                       "): ", pattern);
  }
  program->is_compiled = pcre2_jit_compile(program->code, PCRE2_JIT_COMPLETE) == 0;
  ARROW_RETURN_NOT_OK(program->CheckAgainst(node));
  return std::unique_ptr<const Regex>(new Regex(std::move(program)));
}

Regex::Regex(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
Regex::~Regex() = default;

bool Regex::may_match_nothing() const {
  uint32_t may = 1;
  return pcre2_pattern_info(program_->code, PCRE2_INFO_MATCHEMPTY, &may) != 0 || may != 0;
}

Status Regex::FindAll(std::string_view text, std::vector<Match>* matches) const {
  MatchScratch& scratch = MatchScratch::OfThread();
  if (!scratch.ok()) return Status::OutOfMemory("no memory to match a regex");
  const Status status = program_->FindInText(text, &scratch, matches);
  scratch.Trim();
  return status;
}

std::string EscapeForRegex(std::string_view literal) {
  std::string pattern;
  for (const char c : literal) {
    if (std::string_view("\\.+*?()|[]{}^$#&-~").find(c) != std::string_view::npos) {
      pattern.push_back('\\');
    }
    pattern.push_back(c);
  }
  return pattern;
}

}  // namespace easydata::tokenizers
