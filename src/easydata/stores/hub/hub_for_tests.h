#pragma once

#include <arrow/util/io_util.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/http/http_store.h"
#include "easydata/http/scripted_server_for_tests.h"
#include "easydata/stores/hub/hub_index.h"

namespace easydata::hub {

inline constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";
inline constexpr const char* kLaterCommit = "89abcdef0123456789abcdef0123456789abcdef";

/// The hash by which the Hub knows a file that it keeps apart, or serves itself.
inline std::string ContentHash(char digit = 'a') { return std::string(64, digit); }
inline std::string GitHash(char digit = 'b') { return std::string(40, digit); }

/// What a test says is on the Hub, and how often it was asked for.
class IndexOfTest final : public HubIndex {
 public:
  Result<HubAccess> Access() const override {
    ++accesses;
    return access;
  }
  Result<HubTree> List(const Repository& repository, http::HttpResponse* refusal) const override {
    ++lists;
    if (failures-- > 0) {
      *refusal = refused;
      return failure;
    }
    const auto found = commits.find(repository.revision);
    const bool is_known = found != commits.end() || trees.contains(repository.revision);
    if (repository.id != "org/name" || !is_known) {
      return arrow::internal::IOErrorFromErrno(ENOENT, "there is none of this name");
    }
    const std::string commit = found == commits.end() ? repository.revision : found->second;
    return HubTree{commit, trees.at(commit)};
  }
  Result<std::string> CachedFile(const Repository&, const std::string& path) const override {
    const auto found = cached.find(path);
    return found == cached.end() ? "" : found->second;
  }

  HubAccess access = {"https://hub.invalid", "", false};
  std::map<std::string, std::string> commits = {{"", kCommit}, {"main", kCommit}};
  std::map<std::string, std::vector<files::FileInfo>> trees = {};  // by commit
  std::map<std::string, std::string> cached = {};
  Status failure = Status::OK();
  http::HttpResponse refused = {};
  mutable std::atomic<int> failures = 0;  // that come first
  mutable std::atomic<int> accesses = 0;
  mutable std::atomic<int> lists = 0;
};

/// Options that ask again at once.
inline http::HttpOptions EagerOptions() {
  http::HttpOptions options;
  options.retries.retries = 5;
  options.retries.first_wait = std::chrono::milliseconds(1);
  options.retries.longest_wait = std::chrono::milliseconds(4);
  return options;
}

inline files::FileInfo ListedAs(const std::string& path, int64_t size, const std::string& hash) {
  return {"hf://datasets/org/name@" + std::string(kCommit) + "/" + path,
          size,
          {files::IdentityKind::kTime, 0, hash}};
}

/// The part of `data` that a request is for.
inline http::ScriptedAnswer RangeOf(const std::string& data, const std::string& request,
                                    const std::string& headers = "") {
  size_t begin = 0;
  size_t end = data.size() - 1;
  if (const size_t range = request.find("Range: bytes="); range != std::string::npos) {
    std::sscanf(request.c_str() + range, "Range: bytes=%zu-%zu", &begin, &end);
  }
  const std::string body = data.substr(begin, end + 1 - begin);
  return http::AnswerOf("206 Partial Content", body,
                        headers + "Content-Range: bytes " + std::to_string(begin) + "-" +
                            std::to_string(begin + body.size() - 1) + "/" +
                            std::to_string(data.size()) + "\r\n");
}

/// The Hub's answer to who asks where a file is that it keeps apart.
inline http::ScriptedAnswer MovedTo(const std::string& url, size_t size,
                                    const std::string& hash = ContentHash()) {
  return http::AnswerOf("302 Found", "",
                        "X-Repo-Commit: " + std::string(kCommit) +
                            "\r\nX-Linked-Size: " + std::to_string(size) + "\r\nX-Linked-Etag: \"" +
                            hash + "\"\r\nLocation: " + url + "\r\n");
}

}  // namespace easydata::hub
