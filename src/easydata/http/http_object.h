#pragma once

#include <memory>
#include <string>

#include "easydata/files/fetched_file.h"
#include "easydata/files/file_info.h"
#include "easydata/http/http_store.h"

namespace easydata::http {

/// Asks for the size and identity of an object: its ETag where that is strong, and the time of its
/// last change. A HEAD that says 0 is believed when a GET says so, too. An IOError with errno where
/// there is nothing (ENOENT), nothing for us (EACCES), no size, or no answer in time.
Result<files::FileInfo> StatHttpObject(const HttpStore& store, const std::string& uri);

/// Reads a small object as a whole, whatever it is by now; beyond kMostWholeObject bytes it is an
/// IOError.
Result<std::string> ReadHttpObject(const HttpStore& store, const std::string& uri);

/// An object of a store that is read by ranges over HTTP.
///
/// Every answer is checked: status, Content-Range, length, identity (asked for by If-Match, and
/// compared). A range that does not come whole is asked for again from the byte that was reached. A
/// byte is handed out when it is the listed object's, as far as a server can be trusted; else the
/// error names address and byte, what was tried, and what came of it. Thread-safe.
class HttpFile final : public files::FetchedFile {
 public:
  HttpFile(std::shared_ptr<const HttpStore> store, files::FileInfo file);

 private:
  /// What is read, and by whom: shared with the threads that fetch ahead.
  class Reader;

  HttpFile(const std::shared_ptr<Reader>& reader, files::FileInfo file);
};

/// Opens an object that was listed. It is looked at first where it is known by its content; else
/// the first read finds out whether it is still that one.
Result<std::shared_ptr<HttpFile>> OpenHttpObject(std::shared_ptr<const HttpStore> store,
                                                 const files::FileInfo& file);

}  // namespace easydata::http
