#include "easydata/jinja/scope.h"

#include <algorithm>

namespace easydata::jinja {

const Scope::Variable* Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const Entry& entry : scope->entries_) {
      if (entry.name == name) return &entry.variable;
    }
  }
  return nullptr;
}

Scope::Entry* Scope::FindHere(const std::string& name) {
  for (Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Scope::Entry* Scope::Define(const std::string& name, Start start) {
  Entry* entry = FindHere(name);
  if (entry == nullptr) {
    entries_.push_back({name, {function_, (*next_variable_)++}});
    entry = &entries_.back();
  }
  entry->start = start;
  if (start == Start::kCopy) entry->outer = *parent_->Find(name);
  return entry;
}

void Scope::Load(const std::string& name) {
  if (Find(name) == nullptr) Define(name, Start::kContext);
}

void Scope::Store(const std::string& name) {
  stores_.insert(name);
  if (FindHere(name) != nullptr) return;
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
  // Each branch sees the names of before. What one of them stores for the first time begins as the
  // outer variable, or as what the template was given.
  const std::vector<Entry> entries_before = entries_;
  const std::set<std::string> stores_before = stores_;
  std::vector<Entry> entries = entries_;
  std::set<std::string> stores = stores_;
  for (const Block* branch : branches) {
    entries_ = entries_before;
    stores_ = stores_before;
    AddBlock(*branch);
    for (Entry& entry : entries_) {
      const auto known = std::find_if(entries.begin(), entries.end(),
                                      [&](const Entry& other) { return other.name == entry.name; });
      if (known == entries.end()) {
        entries.push_back(entry);
      } else {
        known->start = entry.start;
        known->outer = entry.outer;
      }
    }
    stores.insert(stores_.begin(), stores_.end());
  }
  entries_ = std::move(entries);
  stores_ = std::move(stores);
  for (const std::string& name : stores_) {
    if (stores_before.contains(name)) continue;
    const bool is_outside = parent_ != nullptr && parent_->Find(name) != nullptr;
    Define(name, is_outside ? Start::kCopy : Start::kContext);
  }
}

bool ReadsName(const Expression* expression, const std::string& name) {
  if (expression == nullptr) return false;
  if (expression->kind == ExpressionKind::kName && expression->text == name) return true;
  for (const ExpressionPtr& child : expression->children) {
    if (ReadsName(child.get(), name)) return true;
  }
  for (const auto& [_, value] : expression->keywords) {
    if (ReadsName(value.get(), name)) return true;
  }
  return false;
}

bool ReadsName(const Block& block, const std::string& name) {
  for (const auto& statement : block) {
    if (ReadsName(statement->expression.get(), name) || ReadsName(statement->test.get(), name) ||
        ReadsName(statement->body, name) || ReadsName(statement->otherwise, name)) {
      return true;
    }
    for (const ExpressionPtr& value : statement->defaults) {
      if (ReadsName(value.get(), name)) return true;
    }
  }
  return false;
}

bool SetsAttributeOf(const Block& block, const std::string& name) {
  for (const auto& statement : block) {
    if (!statement->target.attribute.empty() && statement->target.names[0] == name) return true;
    if (SetsAttributeOf(statement->body, name) || SetsAttributeOf(statement->otherwise, name)) {
      return true;
    }
  }
  return false;
}

}  // namespace easydata::jinja
