#include "easydata/storage/open_output_store.h"

#include <utility>

#include "easydata/outputs/local_output_store.h"
#include "easydata/outputs/object_output_store.h"

namespace easydata::storage {

Result<std::unique_ptr<outputs::OutputStore>> OpenOutputStore(
    const std::string& folder, const std::shared_ptr<const Storage>& storage) {
  if (folder.find("://") == std::string::npos)
    return std::make_unique<outputs::LocalOutputStore>(folder);
  if (SchemeOf(folder).empty()) {
    return Status::NotImplemented("cannot write to ", folder,
                                  ": a folder of this machine is named by its path");
  }
  const std::shared_ptr<const Storage>& reached = storage ? storage : Storage::Default();
  ARROW_ASSIGN_OR_RAISE(const auto store, reached->ObjectStoreOf(folder));
  if (store == nullptr) {
    return Status::NotImplemented("cannot write to ", PublicAddress(folder),
                                  ": outputs go to s3://, gs:// and local folders");
  }
  ARROW_ASSIGN_OR_RAISE(std::string name, reached->NameOf(folder));
  return outputs::ObjectOutputStore::Make(store, std::move(name));
}

}  // namespace easydata::storage
