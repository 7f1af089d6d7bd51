#include "easydata/io/object_store.h"

#include <iterator>
#include <utility>

namespace easydata::io {

Result<ObjectPage> ObjectStore::ListAll(const std::string& bucket, const std::string& prefix,
                                        bool by_folder) const {
  ObjectPage all;
  std::string next;
  do {
    ARROW_ASSIGN_OR_RAISE(ObjectPage page, ListPage(bucket, prefix, by_folder, next));
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(all.objects));
    std::move(page.folders.begin(), page.folders.end(), std::back_inserter(all.folders));
    next = std::move(page.next);
  } while (!next.empty());
  return all;
}

}  // namespace easydata::io
