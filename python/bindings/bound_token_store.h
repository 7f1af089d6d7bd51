#pragma once

#include <memory>
#include <utility>

#include "bindings.h"
#include "easydata/cache/token_store.h"
#include "operators/engine_gil.h"

namespace easydata {

/// What Python holds as `_native.TokenStore`. Its end may wait for the store's thread.
struct BoundTokenStore {
  explicit BoundTokenStore(std::shared_ptr<cache::TokenStore> opened) : store(std::move(opened)) {}
  ~BoundTokenStore() {
    const WithoutGil released;
    store.reset();
  }
  BoundTokenStore(const BoundTokenStore&) = delete;
  BoundTokenStore& operator=(const BoundTokenStore&) = delete;

  std::shared_ptr<cache::TokenStore> store;
};

}  // namespace easydata
