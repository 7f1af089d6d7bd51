#include "easydata/stores/listing_progress.h"

#include <cerrno>

#include "easydata/base/hash.h"
#include "easydata/http/server_error.h"

namespace easydata::stores {
namespace {

constexpr const char kAdvice[] =
    "; see that this is the right server (storage_options: endpoint_url), and that it is well";

}  // namespace

Status ListingProgress::Add(const std::string& next, size_t entries) {
  if (!seen_.insert(Hash64(next)).second) {
    return http::ServerError(
        EIO, what_, ": the store gives the same token for the next page twice, without end",
        kAdvice);
  }
  empty_pages_ = entries == 0 ? empty_pages_ + 1 : 0;
  if (empty_pages_ > kMostEmptyPages) {
    return http::ServerError(EIO, what_, ": the store gives more than ", kMostEmptyPages,
                             " pages in a row with nothing in them", kAdvice);
  }
  entries_ += entries;
  if (entries_ > kMostEntries) {
    return http::ServerError(EFBIG, what_, ": there are more than ", kMostEntries,
                             " entries, the most that is read of a listing; give names or patterns "
                             "that begin with more of the files' names");
  }
  return Status::OK();
}

}  // namespace easydata::stores
