#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

namespace easydata {

/// Holds a stage's position. It is taken for every batch and written for few: so it keeps what it
/// needs and becomes JSON on demand. It is immutable, cheap to copy, shares the cursors upstream
/// with others, and may be kept and written on any thread, for any length of time.
class Cursor {
 public:
  /// Makes an empty cursor: no position.
  Cursor() = default;
  /// Makes one of saved JSON; null makes an empty one.
  explicit Cursor(nlohmann::json saved);
  /// Makes one whose JSON is what `write()` returns. `write` holds all of it by value: the stage
  /// has moved on, or is gone, when it is called.
  template <typename Write>
  static Cursor Of(Write write) {
    Cursor cursor;
    cursor.position_ = std::make_shared<const PositionOf<Write>>(std::move(write));
    return cursor;
  }

  bool empty() const { return position_ == nullptr; }
  /// What Stage::Restore() takes; null where it is empty.
  nlohmann::json ToJson() const;

 private:
  struct Position {
    virtual ~Position() = default;
    virtual void WriteTo(nlohmann::json* out) const = 0;
  };
  template <typename Write>
  struct PositionOf : Position {
    explicit PositionOf(Write write) : write(std::move(write)) {}
    void WriteTo(nlohmann::json* out) const override { *out = write(); }
    const Write write;
  };

  std::shared_ptr<const Position> position_;
};

}  // namespace easydata
