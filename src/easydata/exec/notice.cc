#include "easydata/exec/notice.h"

#include <atomic>

namespace easydata::exec {
namespace {

std::atomic<void (*)(const std::string&) noexcept> told = nullptr;

}  // namespace

void Notify(const std::string& message) noexcept {
  if (auto* const listener = told.load(); listener != nullptr) listener(message);
}

void ListenToNotices(void (*listener)(const std::string& message) noexcept) { told = listener; }

}  // namespace easydata::exec
