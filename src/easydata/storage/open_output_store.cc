#include "easydata/storage/open_output_store.h"

#include <utility>

#include "easydata/outputs/local_output_store.h"
#include "easydata/outputs/object_output_store.h"
#include "easydata/storage/user_path.h"

namespace easydata::storage {

Result<std::unique_ptr<outputs::OutputStore>> OpenOutputStore(
    const std::string& folder, const std::shared_ptr<const Storage>& storage) {
  ARROW_ASSIGN_OR_RAISE(const files::Address address, files::Address::Parse(folder));
  if (SchemeOf(folder).empty()) {
    ARROW_ASSIGN_OR_RAISE(std::string path, UserPath(folder));
    return std::make_unique<outputs::LocalOutputStore>(std::move(path));
  }
  const std::shared_ptr<const Storage>& reached = storage ? storage : Storage::Default();
  ARROW_ASSIGN_OR_RAISE(const auto store, reached->ObjectStoreOf(address.given()));
  if (store == nullptr) {
    return Status::NotImplemented("cannot write to ", address,
                                  ": outputs go to s3://, gs:// and local folders");
  }
  ARROW_ASSIGN_OR_RAISE(std::string name, reached->NameOf(address));
  return outputs::ObjectOutputStore::Make(store, std::move(name));
}

}  // namespace easydata::storage
