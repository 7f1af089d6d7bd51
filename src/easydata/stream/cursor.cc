#include "easydata/stream/cursor.h"

#include <nlohmann/json.hpp>

namespace easydata {

Cursor::Cursor(nlohmann::json saved) {
  if (saved.is_null()) return;
  *this = Of([saved = std::move(saved)] { return saved; });
}

nlohmann::json Cursor::ToJson() const {
  nlohmann::json saved;
  if (position_ != nullptr) position_->WriteTo(&saved);
  return saved;
}

}  // namespace easydata
