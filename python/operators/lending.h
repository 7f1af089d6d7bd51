#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "operators/python_error.h"

namespace easydata {

/// Who holds Python objects that the engine uses.
///
/// The engine holds none: it borrows them. What Python holds of the engine (streams, loaders,
/// iterators, ...) owns them, each by a reference that Python's garbage collector can see, however
/// many plans and stages share them. So what a user's function refers to, and be it the loader that
/// calls it, is freed once nobody else holds it; and who forgets to pass owners on gets an error
/// with the first call, not a leak.
class LentObjects;

/// An object that came up while the engine worked, such as an iterator or an exception; it is owned
/// where what it came of is. Any thread may let go of it.
class Kept {
 public:
  Kept() = default;
  /// Keeps what refers to nothing that could hold the engine. Needs the GIL.
  static Kept Alone(nb::object object);
  Kept(Kept&& other) noexcept;
  Kept& operator=(Kept&& other) noexcept;
  ~Kept() { Reset(); }

  bool empty() const { return home_ == nullptr; }
  /// Invalid where its owners are gone. Needs the GIL.
  nb::object Get() const;
  /// Puts another object in its place. Needs the GIL.
  void Set(nb::object object);
  void Reset();

 private:
  friend class Borrowed;

  std::shared_ptr<LentObjects> home_;
  uint64_t number_ = 0;
};

/// A Python object that the engine borrows. Copies are of the same object; no GIL is needed to make
/// or destroy them.
class Borrowed {
 public:
  /// The object, to be held as long as it is used; invalid where its owners are gone. Needs the
  /// GIL.
  nb::object Get() const;
  /// Keeps what came of it. Needs the GIL.
  Kept Keep(nb::object object) const;
  /// Takes an exception that it raised into a Status. Needs the GIL.
  Status Error(nb::python_error& error) const;

  /// What to return where the owners are gone: nobody is left who could read it.
  static Status Gone() {
    return Status::Cancelled("nobody holds the Python objects of this stream any more");
  }

 private:
  friend class Owned;
  explicit Borrowed(std::shared_ptr<LentObjects> objects) : objects_(std::move(objects)) {}

  std::shared_ptr<LentObjects> objects_;
};

/// The Python objects that a bound object owns. Needs the GIL.
class Owned {
 public:
  /// Owns an object, and lends it to the engine.
  Borrowed Lend(nb::object object);
  /// Owns what another bound object owns, too.
  void Add(const Owned& other);

  int Visit(visitproc visit, void* arg) const;
  void Clear();

 private:
  std::vector<nb::object> lent_;  // each a _native.Lent
};

/// Lets go of what ends threads when it goes (a loader, a stage) without waiting for them where
/// that could last for ever: a thread of the engine, which may be one of them, leaves it to a
/// thread of its own. Others wait, without the GIL. Needs the GIL.
void Retire(std::shared_ptr<void> threads);

/// Binds what owns an object that is lent.
void BindLending(nb::module_& m);

}  // namespace easydata
