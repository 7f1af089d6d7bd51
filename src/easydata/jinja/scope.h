#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "easydata/jinja/ast.h"

namespace easydata::jinja {

/// The names of one scope (a template, a loop's body, a macro ...) and the variables they stand
/// for: jinja2/idtracking.py's Symbols.
class Scope {
 public:
  /// How a variable begins when its scope is entered.
  enum class Start : uint8_t {
    kParameter,  // the loop, or the caller, sets it
    kCopy,       // as the outer variable
    kContext,    // as what the template was given under its name
    kUndefined,
  };

  struct Variable {
    int function = 0;  // 0: the template, else the macro that it is in
    int index = 0;
  };

  struct Entry {
    std::string name;
    Variable variable;
    Start start = Start::kUndefined;
    Variable outer = {};
  };

  /// `next_variable` numbers the variables of the function that the scope is in.
  Scope(const Scope* parent, int function, int* next_variable)
      : parent_(parent), function_(function), next_variable_(next_variable) {}

  void AddParameter(const std::string& name) {
    if (stores_.insert(name).second) stored_.push_back(name);
    Define(name, Start::kParameter);
  }

  /// Adds what the statements of a block store and load themselves, not in scopes of their own.
  void AddBlock(const Block& block);
  void AddExpression(const Expression* expression);
  void Load(const std::string& name);
  void Store(const std::string& name);

  /// The variable of a name, here or in an outer scope; null if there is none.
  const Variable* Find(const std::string& name) const;

  /// The variables of this scope alone.
  const std::vector<Entry>& entries() const { return entries_; }

  int function() const { return function_; }

 private:
  /// What an entry was before it was changed.
  struct Change {
    size_t index = 0;
    Start start = Start::kUndefined;
    Variable outer = {};
  };

  void Define(const std::string& name, Start start);
  void Set(size_t index, Start start, const Variable& outer);
  void AddBranches(const std::vector<const Block*>& branches);

  const Scope* const parent_;
  const int function_;
  int* const next_variable_;
  std::vector<Entry> entries_ = {};
  std::unordered_map<std::string, size_t> index_ = {};  // of the entries, by name
  std::unordered_set<std::string> stores_ = {};
  // What has happened since the scope began, so that a branch can be taken back.
  std::vector<Change> changes_ = {};
  std::vector<std::string> stored_ = {};  // stores_, in order
};

}  // namespace easydata::jinja
