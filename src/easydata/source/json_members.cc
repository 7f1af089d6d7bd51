#include "easydata/source/json_members.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "easydata/base/escaped_text.h"
#include "easydata/base/nearest_name.h"
#include "easydata/json/bounded_json.h"

namespace easydata::source {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kShownNames = 10;
constexpr size_t kShownOfMember = 80;

std::string QuotedMember(const std::string& name) {
  return "\"" + EscapedText(name, kShownOfMember) + "\"";
}

}  // namespace

Status JsonMembers::FindList(const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(char c, Peek());
  if (c != '{') {
    return Status::Invalid("the file is no JSON object, and field=", QuotedMember(name),
                           " reads a list of rows in one",
                           c == '[' ? "; of a list leave field out" : "");
  }
  Take(1);
  std::vector<std::string> others;
  ARROW_ASSIGN_OR_RAISE(c, Peek());
  while (c != '}') {
    ARROW_ASSIGN_OR_RAISE(const std::string found, TakeName());
    ARROW_ASSIGN_OR_RAISE(c, Peek());
    if (found == name) {
      if (c == '[') return Status::OK();
      return Status::Invalid("field ", QuotedMember(name),
                             " of the JSON object is no list; rows are the objects of a list");
    }
    if (others.size() < kShownNames) others.push_back(found);
    ARROW_RETURN_NOT_OK(SkipValue());
    ARROW_ASSIGN_OR_RAISE(c, Peek());
    if (c == '\0') return Cut();
    if (c == ',') {
      Take(1);
      ARROW_ASSIGN_OR_RAISE(c, Peek());
      if (c != '}') continue;
    } else if (c == '}') {
      break;
    }
    return Status::Invalid("',' and a name, or '}', were expected in the JSON object");
  }
  std::string known;
  for (const std::string& other : others)
    known += (known.empty() ? "" : ", ") + QuotedMember(other);
  const std::string hint = DidYouMean(name, others);
  return Status::Invalid("the JSON object has no field ", QuotedMember(name),
                         hint.empty() ? "" : hint, hint.empty() ? "; it has " : " It has ",
                         known.empty() ? "none" : known);
}

Status JsonMembers::Finish(const std::string& name) {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(char c, Peek());
    if (c == '\0') return Cut();
    Take(1);
    if (c == '}') break;
    if (c != ',') return Status::Invalid("',' or '}' was expected after a list of a JSON object");
    ARROW_ASSIGN_OR_RAISE(const std::string other, TakeName());
    if (other == name) {
      return Status::Invalid("the JSON object has field ", QuotedMember(name),
                             " twice; which one is meant is not known");
    }
    ARROW_RETURN_NOT_OK(SkipValue());
  }
  ARROW_ASSIGN_OR_RAISE(const char c, Peek());
  if (c == '\0') return Status::OK();
  return Status::Invalid("something follows the JSON object; field=", QuotedMember(name),
                         " is for files of one object");
}

Result<char> JsonMembers::Peek() {
  for (;;) {
    const size_t found = window_->text().find_first_not_of(kSpace);
    if (found != std::string_view::npos) {
      Take(static_cast<int64_t>(found));
      return window_->text()[0];
    }
    Take(static_cast<int64_t>(window_->text().size()));
    if (window_->Grow()) continue;
    ARROW_RETURN_NOT_OK(window_->broken());
    return '\0';
  }
}

void JsonMembers::Take(int64_t bytes) {
  const std::string_view text = window_->text().substr(0, bytes);
  lines_ += std::count(text.begin(), text.end(), '\n');
  window_->Consume(bytes);
}

Result<std::string> JsonMembers::TakeName() {
  ARROW_ASSIGN_OR_RAISE(char c, Peek());
  if (c == '\0') return Cut();
  if (c != '"') return Status::Invalid("a name was expected in the JSON object");
  int64_t end = 1;
  for (;; ++end) {
    if (!window_->Has(end)) return Cut();
    c = window_->text()[end];
    if (c == '"') break;
    if (c == '\\') ++end;
  }
  const std::string_view quoted = window_->text().substr(0, end + 1);
  const auto name = json::ParseBoundedJson(quoted);
  if (!name.ok() || !name->is_string()) {
    return Status::Invalid("a name of the JSON object is not valid JSON");
  }
  Take(end + 1);
  ARROW_ASSIGN_OR_RAISE(c, Peek());
  if (c == '\0') return Cut();
  if (c != ':') return Status::Invalid("':' was expected after a name of the JSON object");
  Take(1);
  return name->get<std::string>();
}

Status JsonMembers::SkipValue() {
  ARROW_ASSIGN_OR_RAISE(const char first, Peek());
  if (first == '\0') return Cut();
  if (std::string_view(",:]}").find(first) != std::string_view::npos) {
    return Status::Invalid("a value was expected in the JSON object");
  }
  int64_t depth = 0;
  bool in_string = false, is_escaped = false;
  for (;;) {
    const std::string_view text = window_->text();
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (is_escaped) {
        is_escaped = false;
      } else if (in_string) {
        is_escaped = c == '\\';
        if (c != '"') continue;
        in_string = false;
        if (depth > 0) continue;
        Take(static_cast<int64_t>(i) + 1);
        return Status::OK();
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (depth > 0) {
        if ((c != '}' && c != ']') || --depth > 0) continue;
        Take(static_cast<int64_t>(i) + 1);
        return Status::OK();
      } else if (c == ',' || c == '}' || c == ']' || kSpace.find(c) != kSpace.npos) {
        Take(static_cast<int64_t>(i));  // behind a number or a word
        return Status::OK();
      }
    }
    Take(static_cast<int64_t>(text.size()));
    if (!window_->Grow()) return Cut();
  }
}

Status JsonMembers::Cut() const {
  ARROW_RETURN_NOT_OK(window_->broken());
  return Status::Invalid("the JSON object has no end; the file may be cut short");
}

}  // namespace easydata::source
