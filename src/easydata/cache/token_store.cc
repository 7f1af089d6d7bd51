#include "easydata/cache/token_store.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/cache/folder_store.h"
#include "easydata/cache/open_folder.h"

namespace easydata::cache {
namespace {

constexpr NamedValue<Compression> kCompressions[] = {{"none", Compression::kNone},
                                                     {"gzip", Compression::kGzip},
                                                     {"lz4", Compression::kLz4},
                                                     {"zstd", Compression::kZstd}};

}  // namespace

std::span<const NamedValue<Compression>> NamesOf(Compression) { return kCompressions; }

nlohmann::ordered_json TokenStoreStats::ToJson() const {
  return {{"hits", hits},
          {"misses", misses},
          {"hit_bytes", hit_bytes},
          {"written_blocks", written_blocks},
          {"written_bytes", written_bytes},
          {"dropped_blocks", dropped_blocks},
          {"damaged_blocks", damaged_blocks},
          {"evicted_files", evicted_files},
          {"waited", waited}};
}

Result<std::shared_ptr<TokenStore>> TokenStore::Open(
    const std::string& folder, const TokenStoreOptions& options,
    const std::shared_ptr<const storage::Storage>& storage) {
  std::unique_ptr<StoreFolder> opened;
  if (!folder.empty()) {
    ARROW_ASSIGN_OR_RAISE(opened, OpenStoreFolder(folder, storage));
  } else if (options.memory_blocks <= 0) {
    return Status::Invalid("a cache without a folder keeps blocks in memory: say how many");
  }
  auto store = std::make_shared<FolderStore>(std::move(opened), folder, options, StoreTimes());
  ARROW_RETURN_NOT_OK(store->Start());
  return store;
}

void FlushOpenStores() { FolderStore::FlushAll(); }

}  // namespace easydata::cache
