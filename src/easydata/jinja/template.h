#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/jinja/arena.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {

struct Program;
class Machine;

/// A template, compiled once to a flat program: the language of Jinja2's sandbox as chat templates
/// use it (trim_blocks and lstrip_blocks on, no autoescape, `tojson` as json.dumps with
/// ensure_ascii=False, the tag `generation`). The text is Jinja2's to the byte, or there is none.
class Template {
 public:
  /// Invalid where Jinja2 refuses the text; NotImplemented, saying what and in which line, where it
  /// takes what is not in our language.
  static Result<std::shared_ptr<const Template>> Compile(std::string_view source);

  explicit Template(std::shared_ptr<const Program> program,
                    std::optional<std::tm> date = std::nullopt);

  /// The same with a clock that stands still.
  std::shared_ptr<const Template> WithDate(const std::tm& date) const;

  const Program& program() const { return *program_; }

  /// Whether it has `{% generation %}` blocks.
  bool has_generation() const;

  /// Whether it reads the clock: strftime_now.
  bool uses_clock() const;

  /// What the clock tells: its own date, else the time that it is.
  std::tm now() const;

 private:
  std::shared_ptr<const Program> program_;
  std::optional<std::tm> date_;
};

/// What a stretch of the text comes from.
struct Mark {
  enum class Kind : uint8_t {
    kMessage,     // printed while a loop was at message `message`
    kGeneration,  // printed by a `{% generation %}` block
    kText,        // a text of message `message`; kUnknown: of several
  };
  static constexpr uint32_t kUnknown = 0xFFFFFFFF;

  Kind kind = Kind::kMessage;
  uint32_t message = 0;
  size_t begin = 0;  // bytes of the text
  size_t end = 0;
  /// Of kText, what of the message it is: bits of Value::kSources; 0: anything.
  uint8_t sources = 0;
  /// Of which of the message's calls, where it is of one.
  uint16_t call = Value::kAnyCall;

  bool operator==(const Mark&) const = default;
};

struct RenderOptions {
  /// Whether marks are kept.
  bool trace = false;
  /// What strftime_now tells.
  std::tm now = {};
  /// Bounds; templates are foreign code.
  size_t max_text_bytes = size_t{64} << 20;
  int64_t max_steps = 20'000'000;
};

/// Renders templates, one text at a time; each thread has its own.
class Renderer {
 public:
  Renderer();
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  struct Variable {
    std::string_view name;
    Value value;
  };

  /// Where values for the next rendering are made; Render keeps them, Reset forgets them.
  Arena& arena() { return arena_; }
  void Reset() { arena_.Reset(); }

  /// Makes the text of `variables`. Invalid where the template fails or refuses them,
  /// NotImplemented where Jinja2 may go on and we cannot, Cancelled where exec::StopScope says so.
  Status Render(const Template& compiled, std::span<const Variable> variables,
                const RenderOptions& options = {});

  /// The last text, and its marks in the order in which they end. They stay until the next one.
  const std::string& text() const { return text_; }
  const std::vector<Mark>& marks() const { return marks_; }

  /// Whether something of the tools (MarkTools) is in the last text, which was rendered with a
  /// trace.
  bool shows_tools() const { return shows_tools_; }

  /// Whether the last rendering ended where it would have taken more time or memory than it may.
  bool hit_bound() const { return hit_bound_; }

  /// Gives them away, for the memory of others.
  void Take(std::string* text, std::vector<Mark>* marks) {
    text_.swap(*text);
    marks_.swap(*marks);
    text_.reserve(std::min(text->size(), kKeptBytes));
  }

  /// Forgets all, and gives back what a giant rendering took.
  void Shrink();

  /// The memory that it has, for what was rendered and for the next text.
  size_t bytes_held() const;

 private:
  friend class Machine;
  // Of each kind of memory.
  static constexpr size_t kKeptBytes = size_t{1} << 20;

  Arena arena_;
  std::string text_ = {};
  std::vector<Mark> marks_ = {};
  bool hit_bound_ = false;
  bool shows_tools_ = false;
  std::unique_ptr<Machine> machine_;
};

/// A use of the renderer that a thread keeps, and of what it made: at its end the renderer shrinks.
class RendererUse {
 public:
  explicit RendererUse(Renderer* renderer) : renderer_(*renderer) {}
  ~RendererUse() { renderer_.Shrink(); }
  RendererUse(const RendererUse&) = delete;
  RendererUse& operator=(const RendererUse&) = delete;

 private:
  Renderer& renderer_;
};

/// A field of messages, and the bit of Value::kSources that its texts have.
struct SourceField {
  std::string_view name;
  uint8_t source;
};

/// Makes each dict of `list` the message of its number, for marks: what is in its `fields` is a
/// text of it; what is in others, where `others` is a bit of Value::kSources. Where a field of
/// calls has several, each is told from the others. The result is a copy of what changes.
Value MarkMessages(const Value& list, std::span<const SourceField> fields, Arena* arena,
                   uint8_t others = 0);

/// A copy of a conversation's tools whose texts are known as theirs.
Value MarkTools(const Value& tools, Arena* arena);

}  // namespace easydata::jinja
