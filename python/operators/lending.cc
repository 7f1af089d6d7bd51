#include "operators/lending.h"

#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "easydata/exec/start_thread.h"
#include "easydata/exec/work_gate.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"

namespace easydata {

/// What one `_native.Lent` owns. All of it is read and changed with the GIL.
class LentObjects {
 public:
  explicit LentObjects(nb::object object) : object_(std::move(object)) {}

  bool is_gone() const { return !object_.is_valid(); }
  const nb::object& object() const { return object_; }

  uint64_t Add(nb::object object) {
    kept_.emplace(++last_, std::move(object));
    return last_;
  }
  nb::object At(uint64_t number) const {
    const auto found = kept_.find(number);
    return found == kept_.end() ? nb::object() : found->second;
  }
  /// Puts an object in, and gives the one that was there.
  nb::object Replace(uint64_t number, nb::object object) {
    const auto found = kept_.find(number);
    if (found == kept_.end()) return object;
    return std::exchange(found->second, std::move(object));
  }
  nb::object Take(uint64_t number) {
    const auto node = kept_.extract(number);
    return node.empty() ? nb::object() : std::move(node.mapped());
  }

  int Visit(visitproc visit, void* arg) const {
    Py_VISIT(object_.ptr());
    for (const auto& [number, object] : kept_) Py_VISIT(object.ptr());
    return 0;
  }
  void Clear() {
    // What goes may run Python code, which may come back here.
    const nb::object object = std::move(object_);
    const auto kept = std::move(kept_);
    kept_.clear();
  }

 private:
  nb::object object_;
  std::map<uint64_t, nb::object> kept_;
  uint64_t last_ = 0;
};

namespace {

/// `_native.Lent`, which alone owns the objects: when it goes, they go, whoever borrows them.
struct Lent {
  /// As other bound types have it; see BindOwner().
  struct Objects {
    std::shared_ptr<LentObjects> shared;

    int Visit(visitproc visit, void* arg) const { return shared->Visit(visit, arg); }
    void Clear() { shared->Clear(); }
  };

  explicit Lent(std::shared_ptr<LentObjects> objects) : owned{std::move(objects)} {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { owned.Clear(); }

  Objects owned;
};

}  // namespace

Kept::Kept(Kept&& other) noexcept
    : home_(std::move(other.home_)), number_(std::exchange(other.number_, 0)) {}

Kept& Kept::operator=(Kept&& other) noexcept {
  if (this != &other) {
    Reset();
    home_ = std::move(other.home_);
    number_ = std::exchange(other.number_, 0);
  }
  return *this;
}

Kept Kept::Alone(nb::object object) {
  Kept kept;
  kept.home_ = std::make_shared<LentObjects>(nb::object());
  kept.number_ = kept.home_->Add(std::move(object));
  return kept;
}

nb::object Kept::Get() const { return home_ == nullptr ? nb::object() : home_->At(number_); }

void Kept::Set(nb::object object) {
  if (home_ != nullptr) object = home_->Replace(number_, std::move(object));
}

void Kept::Reset() {
  auto home = std::move(home_);
  home_ = nullptr;
  if (home == nullptr) return;
  EngineGil gil;
  if (gil.held()) {
    (void)home->Take(number_);
  } else {
    // The interpreter is ending: it stays.
    new std::shared_ptr<LentObjects>(std::move(home));
  }
}

nb::object Borrowed::Get() const { return objects_->object(); }

Kept Borrowed::Keep(nb::object object) const {
  Kept kept;
  if (objects_->is_gone()) return kept;
  kept.number_ = objects_->Add(std::move(object));
  kept.home_ = objects_;
  return kept;
}

Borrowed Owned::Lend(nb::object object) {
  auto objects = std::make_shared<LentObjects>(std::move(object));
  lent_.push_back(nb::cast(new Lent(objects), nb::rv_policy::take_ownership));
  return Borrowed(std::move(objects));
}

void Owned::Add(const Owned& other) {
  lent_.insert(lent_.end(), other.lent_.begin(), other.lent_.end());
}

int Owned::Visit(visitproc visit, void* arg) const {
  for (const nb::object& lent : lent_) Py_VISIT(lent.ptr());
  return 0;
}

void Owned::Clear() {
  // What goes may run Python code, which may come back here.
  const std::vector<nb::object> lent = std::move(lent_);
  lent_.clear();
}

void Retire(std::shared_ptr<void> threads) {
  if (threads == nullptr) return;
  if (!EngineGil::on_engine_thread()) {
    WithoutGil released;
    threads.reset();
    return;
  }
  auto* left = new std::shared_ptr<void>(std::move(threads));
  try {
    exec::StartThread("easydata-ending", [left] {
      exec::WorkScope::UpToThreadEnd();
      delete left;
    }).detach();
  } catch (const std::system_error&) {
    // No thread is to be had: it stays.
  }
}

void BindLending(nb::module_& m) {
  BindOwner<Lent>(m, "Lent", "A Python object that the engine borrows while somebody holds this.");
}

}  // namespace easydata
