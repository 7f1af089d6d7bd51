#include "easydata/jinja/scope.h"

#include <utility>

namespace easydata::jinja {

const Scope::Variable* Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto known = scope->index_.find(name);
    if (known != scope->index_.end()) return &scope->entries_[known->second].variable;
  }
  return nullptr;
}

void Scope::Define(const std::string& name, Start start) {
  const auto [known, is_new] = index_.try_emplace(name, entries_.size());
  if (is_new) entries_.push_back({name, {function_, (*next_variable_)++}});
  Set(known->second, start,
      start == Start::kCopy ? *parent_->Find(name) : entries_[known->second].outer);
}

void Scope::Set(size_t index, Start start, const Variable& outer) {
  Entry& entry = entries_[index];
  changes_.push_back({index, entry.start, entry.outer});
  entry.start = start;
  entry.outer = outer;
}

void Scope::Load(const std::string& name) {
  if (Find(name) == nullptr) Define(name, Start::kContext);
}

void Scope::Store(const std::string& name) {
  if (stores_.insert(name).second) stored_.push_back(name);
  if (index_.contains(name)) return;
  const bool is_outside = parent_ != nullptr && parent_->Find(name) != nullptr;
  Define(name, is_outside ? Start::kCopy : Start::kUndefined);
}

void Scope::AddExpression(const Expression* expression) {
  if (expression == nullptr) return;
  if (expression->kind == ExpressionKind::kName) Load(expression->text);
  for (const ExpressionPtr& child : expression->children) AddExpression(child.get());
  for (const auto& [_, value] : expression->keywords) AddExpression(value.get());
}

void Scope::AddBlock(const Block& block) {
  for (const auto& statement : block) {
    switch (statement->kind) {
      case StatementKind::kOutput:
      case StatementKind::kFor:
        AddExpression(statement->expression.get());
        break;
      case StatementKind::kIf:
        AddExpression(statement->expression.get());
        AddBranches({&statement->body, &statement->otherwise});
        break;
      case StatementKind::kSet:
      case StatementKind::kSetBlock:
        // Jinja2 overlooks the names in the filters of a set block.
        if (statement->kind == StatementKind::kSet) AddExpression(statement->expression.get());
        for (const std::string& name : statement->target.names) {
          if (statement->target.attribute.empty()) {
            Store(name);
          } else {
            Load(name);
          }
        }
        break;
      case StatementKind::kMacro:
        Store(statement->text);
        break;
      case StatementKind::kText:
      case StatementKind::kGeneration:
      case StatementKind::kBreak:
      case StatementKind::kContinue:
        break;
    }
  }
}

void Scope::AddBranches(const std::vector<const Block*>& branches) {
  // Each branch sees the names of before, so each is taken back. What one of them stores for the
  // first time begins as the outer variable, or as what the template was given.
  const size_t num_entries = entries_.size();
  const size_t num_changes = changes_.size();
  const size_t num_stored = stored_.size();
  std::vector<Entry> added;
  std::unordered_map<std::string, size_t> added_index;
  std::vector<std::string> stored;
  std::vector<Change> changed;  // of names of before, as the last branch leaves them
  for (const Block* branch : branches) {
    AddBlock(*branch);
    for (size_t i = num_entries; i < entries_.size(); ++i) {
      const auto [known, is_new] = added_index.try_emplace(entries_[i].name, added.size());
      if (is_new) {
        added.push_back(entries_[i]);
      } else {
        added[known->second].start = entries_[i].start;
        added[known->second].outer = entries_[i].outer;
      }
      index_.erase(entries_[i].name);
    }
    changed.clear();
    while (changes_.size() > num_changes) {
      const Change& change = changes_.back();
      if (change.index < num_entries) {
        Entry& entry = entries_[change.index];
        changed.push_back({change.index, entry.start, entry.outer});
        entry.start = change.start;
        entry.outer = change.outer;
      }
      changes_.pop_back();
    }
    entries_.resize(num_entries);
    for (size_t i = num_stored; i < stored_.size(); ++i) {
      stores_.erase(stored_[i]);
      stored.push_back(std::move(stored_[i]));
    }
    stored_.resize(num_stored);
  }
  // The first one that was taken back is what an entry was last.
  for (auto change = changed.rbegin(); change != changed.rend(); ++change) {
    Set(change->index, change->start, change->outer);
  }
  for (Entry& entry : added) {
    index_.emplace(entry.name, entries_.size());
    entries_.push_back(std::move(entry));
  }
  for (const std::string& name : stored) {
    if (!stores_.insert(name).second) continue;
    stored_.push_back(name);
    const bool is_outside = parent_ != nullptr && parent_->Find(name) != nullptr;
    Define(name, is_outside ? Start::kCopy : Start::kContext);
  }
}

}  // namespace easydata::jinja
