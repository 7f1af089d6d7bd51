#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "easydata/stores/credentials/aws_credentials.h"
#include "easydata/stores/credentials/credential_cache.h"
#include "easydata/stores/object_store.h"
#include "easydata/stores/storage_options.h"

namespace easydata::s3 {

/// Amazon S3, and what speaks its language.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html
class S3Store final : public stores::ObjectStore {
 public:
  static Result<std::shared_ptr<const S3Store>> Make(const stores::StorageOptions& options);

  const char* scheme() const override { return "s3"; }
  Result<std::string> UrlOf(const std::string& uri) const override;
  Status Authorize(http::HttpRequest* request) const override;
  Result<bool> Reauthorize(const http::HttpRequest& request,
                           const http::HttpResponse& response) const override;

  Status Put(const std::string& uri, std::string_view content) const override;
  Result<bool> PutIfAbsent(const std::string& uri, std::string_view content) const override;
  Status Delete(const std::string& uri) const override;
  Status Copy(const std::string& from, const std::string& to) const override;
  Result<std::string> StartUpload(const std::string& uri) const override;
  Result<stores::UploadedPart> UploadPart(const std::string& uri, const std::string& id, int number,
                                          int64_t offset, std::string_view content,
                                          bool is_last) const override;
  Status CompleteUpload(const std::string& uri, const std::string& id,
                        const std::vector<stores::UploadedPart>& parts) const override;
  Status AbortUpload(const std::string& uri, const std::string& id) const override;
  Result<std::vector<stores::OpenUpload>> ListUploads(const std::string& prefix_uri) const override;
  int parts_in_flight() const override { return 4; }

 protected:
  Result<stores::ObjectPage> AskForPage(const std::string& bucket, const std::string& prefix,
                                        bool by_folder, const std::string& page) const override;

 private:
  S3Store(const stores::StorageOptions& options, const credentials::AwsEndpoint& endpoint);

  /// The address of a bucket, without "/" at its end.
  std::string BucketUrl(const std::string& bucket) const;
  std::string RegionOf(const std::string& bucket) const;
  std::string BucketOf(const std::string& url) const;
  Result<http::HttpRequest> RequestFor(const std::string& method, const std::string& uri,
                                       const std::string& query) const;

  const std::string endpoint_;  // empty: Amazon's, by region
  const bool is_path_style_;
  const bool requester_pays_;
  const std::string region_;
  const std::unique_ptr<credentials::CredentialCache> credentials_;
  mutable std::atomic<int64_t> clock_skew_ = 0;  // seconds that the store's clock is ahead
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> regions_;  // of buckets elsewhere
};

}  // namespace easydata::s3
