#include "easydata/jinja/template.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "easydata/exec/stop_scope.h"
#include "easydata/jinja/compiler.h"
#include "easydata/jinja/machine.h"

namespace easydata::jinja {
namespace {

/// A copy of a value of which all parts are from one message, or of the tools.
Value WithOrigin(Value value, uint16_t origin, uint8_t source, Arena* arena, int depth) {
  value.origin = origin;
  value.flags |= source;
  if (depth > 200) return value;
  if (value.Is(ValueKind::kList) || value.Is(ValueKind::kTuple)) {
    Value* items = arena->Array<Value>(value.size);
    for (uint32_t i = 0; i < value.size; ++i) {
      items[i] = WithOrigin(value.as.items[i], origin, source, arena, depth + 1);
    }
    value.as.items = items;
  } else if (value.Is(ValueKind::kDict)) {
    DictEntry* entries = arena->Array<DictEntry>(value.size);
    for (uint32_t i = 0; i < value.size; ++i) {
      entries[i].key = value.as.entries[i].key;
      entries[i].value = WithOrigin(value.as.entries[i].value, origin, source, arena, depth + 1);
    }
    value.as.entries = entries;
  }
  return value;
}

}  // namespace

Result<std::shared_ptr<const Template>> Template::Compile(std::string_view source) {
  // The lexer reads whole characters.
  if (!simdjson::validate_utf8(source.data(), source.size())) {
    return Status::Invalid("the template is not UTF-8");
  }
  ARROW_ASSIGN_OR_RAISE(auto program, jinja::Compile(source));
  return std::make_shared<const Template>(std::move(program));
}

Template::Template(std::shared_ptr<const Program> program, std::optional<std::tm> date)
    : program_(std::move(program)), date_(date) {}

std::shared_ptr<const Template> Template::WithDate(const std::tm& date) const {
  return std::make_shared<const Template>(program_, date);
}

std::tm Template::now() const {
  if (date_.has_value()) return *date_;
  const std::time_t seconds = std::time(nullptr);
  std::tm now = {};
  localtime_r(&seconds, &now);
  return now;
}

bool Template::has_generation() const { return program_->has_generation; }
bool Template::uses_clock() const { return program_->uses_clock; }

Renderer::Renderer() : machine_(std::make_unique<Machine>(&arena_)) {}
Renderer::~Renderer() = default;

Status Renderer::Render(const Template& compiled, std::span<const Variable> variables,
                        const RenderOptions& options) {
  text_.clear();
  marks_.clear();
  hit_bound_ = false;
  shows_tools_ = false;
  try {
    machine_->Run(compiled.program(), variables, options, &text_, &marks_, &shows_tools_);
    return Status::OK();
  } catch (const RenderError& error) {
    if (exec::StopScope::Stopped()) return Status::Cancelled("rendering was stopped");
    hit_bound_ = error.is_bound;
    return error.is_unsupported ? Status::NotImplemented(error.message)
                                : Status::Invalid(error.message);
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory("there is no memory to render a chat template");
  }
}

void Renderer::Shrink() {
  arena_.Reset(kKeptBytes);
  if (text_.capacity() > kKeptBytes) std::string().swap(text_);  // an assignment keeps it
  if (marks_.capacity() * sizeof(Mark) > kKeptBytes) marks_ = std::vector<Mark>();
  if (machine_->bytes_held() > kKeptBytes) machine_ = std::make_unique<Machine>(&arena_);
}

size_t Renderer::bytes_held() const {
  return arena_.bytes_held() + text_.capacity() + marks_.capacity() * sizeof(Mark) +
         machine_->bytes_held();
}

Value MarkMessages(const Value& list, std::span<const SourceField> fields, Arena* arena,
                   uint8_t others) {
  if (!list.Is(ValueKind::kList)) return list;
  Value* items = arena->Array<Value>(list.size);
  for (uint32_t i = 0; i < list.size; ++i) {
    const bool is_known = i < Value::kMaxMessages;
    const uint16_t origin = OriginOf(i);
    items[i] = list.as.items[i];
    if (!items[i].Is(ValueKind::kDict)) continue;
    items[i].origin = origin;
    if (is_known) items[i].flags |= Value::kMessage;
    auto* entries = arena->Array<DictEntry>(items[i].size);
    for (uint32_t j = 0; j < items[i].size; ++j) {
      entries[j] = items[i].as.entries[j];
      uint8_t source = others;
      if (entries[j].key.IsString()) {
        for (const SourceField& field : fields) {
          if (!IsSameName(field.name, entries[j].key.Text())) continue;
          source = field.source;
          break;
        }
      }
      Value& value = entries[j].value;
      if (source != 0) value = WithOrigin(value, origin, source, arena, 0);
      if (source == Value::kCalls && IsSequenceOfItems(value) && value.size > 1) {
        Value* calls = arena->Array<Value>(value.size);
        for (uint32_t k = 0; k < value.size; ++k) {
          calls[k] = WithOrigin(value.as.items[k], OriginOf(i, k), source, arena, 0);
        }
        value.as.items = calls;
      }
    }
    items[i].as.entries = entries;
  }
  Value marked = list;
  marked.as.items = items;
  return marked;
}

Value MarkTools(const Value& tools, Arena* arena) {
  return WithOrigin(tools, Value::kNoOrigin, Value::kTools, arena, 0);
}

}  // namespace easydata::jinja
