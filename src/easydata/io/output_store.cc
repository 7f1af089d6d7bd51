#include "easydata/io/output_store.h"

#include <utility>

#include "easydata/io/file_system.h"
#include "easydata/io/local_output_store.h"
#include "easydata/io/object_output_store.h"
#include "easydata/io/storage.h"
#include "easydata/io/web_store.h"

namespace easydata::io {

Result<std::unique_ptr<OutputStore>> OutputStore::Open(
    const std::string& folder, const std::shared_ptr<const Storage>& storage) {
  if (folder.find("://") == std::string::npos) return std::make_unique<LocalOutputStore>(folder);
  if (SchemeOf(folder).empty()) {
    return Status::NotImplemented("cannot write to ", folder,
                                  ": a folder of this machine is named by its path");
  }
  const std::shared_ptr<const Storage>& reached = storage ? storage : Storage::Default();
  const auto files = reached->FileSystemOf(folder);
  if (!files.ok() && !files.status().IsNotImplemented()) return files.status();
  const auto store = files.ok() ? (*files)->object_store() : nullptr;
  if (store == nullptr) {
    return Status::NotImplemented("cannot write to ", PublicAddress(folder),
                                  ": outputs go to s3://, gs:// and local folders");
  }
  ARROW_ASSIGN_OR_RAISE(std::string name, reached->NameOf(folder));
  return ObjectOutputStore::Make(store, std::move(name));
}

std::string OutputStore::UnfinishedName(const std::string& name) {
  return std::string(kWorkFolder) + "/" + name.substr(name.rfind('/') + 1) + ".tmp";
}

}  // namespace easydata::io
