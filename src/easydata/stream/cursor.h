#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

namespace easydata {

/// Where a stage stands. It is taken for every batch and written for few: so it keeps what it needs
/// and becomes JSON when someone asks. It is immutable, cheap to copy, shares the cursors upstream
/// with others, and may be kept and written on any thread for as long as one likes.
class Cursor {
 public:
  /// No place at all.
  Cursor() = default;
  /// One that was saved; null is no place.
  explicit Cursor(nlohmann::json saved);
  /// One whose JSON is what `write()` returns. `write` holds all that by value: the stage has moved
  /// on, or is gone, when it is called.
  template <typename Write>
  static Cursor Of(Write write) {
    Cursor cursor;
    cursor.place_ = std::make_shared<const PlaceOf<Write>>(std::move(write));
    return cursor;
  }

  bool empty() const { return place_ == nullptr; }
  /// What Stage::Restore() takes; null where it is empty.
  nlohmann::json ToJson() const;

 private:
  struct Place {
    virtual ~Place() = default;
    virtual void WriteTo(nlohmann::json* out) const = 0;
  };
  template <typename Write>
  struct PlaceOf : Place {
    explicit PlaceOf(Write write) : write(std::move(write)) {}
    void WriteTo(nlohmann::json* out) const override { *out = write(); }
    const Write write;
  };

  std::shared_ptr<const Place> place_;
};

}  // namespace easydata
