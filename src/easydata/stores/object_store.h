#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/files/file_info.h"
#include "easydata/http/http_store.h"

namespace easydata::stores {

/// A bucket of an object store, and a key in it.
struct BucketAndKey {
  std::string bucket;
  std::string key;
};

/// Takes "s3://bucket/some/key" apart; the key may be empty. Invalid where there is no bucket.
Result<BucketAndKey> SplitObjectUri(std::string_view uri);

/// A part of what lies in a bucket.
struct ObjectPage {
  std::vector<files::FileInfo> objects;
  std::vector<std::string> folders;  // keys up to and with "/", where they were asked for by folder
  std::string next;                  // what asks for the next page; empty: there is none
};

/// An upload in parts that was begun and not ended.
struct OpenUpload {
  std::string uri;
  std::string id;
};

/// A part of an upload, as the store acknowledged it.
struct UploadedPart {
  int number = 0;  // from 1
  std::string tag;
  int64_t size = 0;
};

/// An object store: buckets of keys. Each call is tried again until it is done, or an IOError with
/// errno says what came of it. Thread-safe.
class ObjectStore : public http::HttpStore {
 public:
  using http::HttpStore::HttpStore;

  /// "s3", "gs".
  virtual const char* scheme() const = 0;

  /// A page of the keys that begin with `prefix`, sorted; by folder: of those only that have no "/"
  /// after the prefix, and the folders. `page`: ObjectPage::next of the one before, or empty. An
  /// IOError names a key that does not begin so, or is longer than any is.
  Result<ObjectPage> ListPage(const std::string& bucket, const std::string& prefix, bool by_folder,
                              const std::string& page) const;

  /// Puts an object, whole or not at all, in place of what is there.
  virtual Status Put(const std::string& uri, std::string_view content) const = 0;
  /// Puts an object where there is none; false where there is one. NotImplemented where the store
  /// knows no such condition and says so.
  virtual Result<bool> PutIfAbsent(const std::string& uri, std::string_view content) const = 0;
  /// Deletes an object; OK also where there is none.
  virtual Status Delete(const std::string& uri) const = 0;
  /// Copies an object of up to 5 GB within the store.
  virtual Status Copy(const std::string& from, const std::string& to) const = 0;

  // Uploads in parts: nothing is there under the name until they are completed. Parts but the last
  // have a multiple of 256 KiB, at least 5 MiB.

  virtual Result<std::string> StartUpload(const std::string& uri) const = 0;
  /// Sends a part that begins at byte `offset` of the object; parts of more than
  /// parts_in_flight() at once, or out of turn where that is 1, are an error.
  virtual Result<UploadedPart> UploadPart(const std::string& uri, const std::string& id, int number,
                                          int64_t offset, std::string_view content,
                                          bool is_last) const = 0;
  virtual Status CompleteUpload(const std::string& uri, const std::string& id,
                                const std::vector<UploadedPart>& parts) const = 0;
  virtual Status AbortUpload(const std::string& uri, const std::string& id) const = 0;
  /// Uploads that were begun under names with this prefix and not ended; none where the store
  /// forgets them by itself.
  virtual Result<std::vector<OpenUpload>> ListUploads(const std::string& prefix_uri) const = 0;
  virtual int parts_in_flight() const = 0;

  /// All pages of ListPage(); an IOError where they would never end (ListingProgress).
  Result<ObjectPage> ListAll(const std::string& bucket, const std::string& prefix,
                             bool by_folder) const;

 protected:
  /// Asks for what ListPage() gives, which checks it.
  virtual Result<ObjectPage> AskForPage(const std::string& bucket, const std::string& prefix,
                                        bool by_folder, const std::string& page) const = 0;

  /// Whether an object that a condition found there has this content: an earlier attempt to put it
  /// may have succeeded and its answer been lost, one of ours, or one of libcurl's, which repeats a
  /// request by itself where a connection that was used before ends at once.
  Result<bool> Holds(const std::string& uri, std::string_view content) const;
};

/// The size of an object in a listing. IOError, naming the object, for what is no size.
Result<int64_t> ListedSize(std::string_view text, const std::string& uri);

/// Nanoseconds since 1970 of a time in a listing, of whole seconds as headers have them; 0 where it
/// tells none.
int64_t ListedTime(std::string_view text);

}  // namespace easydata::stores
