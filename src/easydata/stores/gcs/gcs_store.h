#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/stores/credentials/credential_cache.h"
#include "easydata/stores/object_store.h"
#include "easydata/stores/storage_options.h"

namespace easydata::gcs {

/// Google Cloud Storage, by its JSON API. Objects are told apart by their generations.
/// https://cloud.google.com/storage/docs/json_api
class GcsStore final : public stores::ObjectStore {
 public:
  static Result<std::shared_ptr<const GcsStore>> Make(const stores::StorageOptions& options);

  const char* scheme() const override { return "gs"; }
  Result<std::string> UrlOf(const std::string& uri) const override;
  std::string TagOf(const http::HttpHeaders& headers) const override;
  void RequireTag(const std::string& tag, http::HttpRequest* request) const override;
  Status Authorize(http::HttpRequest* request) const override;
  Result<bool> Reauthorize(const http::HttpRequest& request,
                           const http::HttpResponse& response) const override;

  Status Put(const std::string& uri, std::string_view content) const override;
  Result<bool> PutIfAbsent(const std::string& uri, std::string_view content) const override;
  Status Delete(const std::string& uri) const override;
  Status Copy(const std::string& from, const std::string& to) const override;
  /// Begins a resumable upload; its id is the address of its session.
  Result<std::string> StartUpload(const std::string& uri) const override;
  Result<stores::UploadedPart> UploadPart(const std::string& uri, const std::string& id, int number,
                                          int64_t offset, std::string_view content,
                                          bool is_last) const override;
  Status CompleteUpload(const std::string& uri, const std::string& id,
                        const std::vector<stores::UploadedPart>& parts) const override;
  Status AbortUpload(const std::string& uri, const std::string& id) const override;
  /// None: sessions cannot be listed, nothing of them is ever seen, and they end after a week.
  Result<std::vector<stores::OpenUpload>> ListUploads(const std::string&) const override {
    return std::vector<stores::OpenUpload>();
  }
  int parts_in_flight() const override { return 1; }

 protected:
  Result<stores::ObjectPage> AskForPage(const std::string& bucket, const std::string& prefix,
                                        bool by_folder, const std::string& page) const override;

 private:
  GcsStore(const stores::StorageOptions& options, std::string endpoint);

  std::string ObjectPath(const std::string& bucket, const std::string& key) const;
  Result<http::HttpRequest> UploadRequest(const std::string& uri, const std::string& query) const;

  const std::string endpoint_;
  const std::unique_ptr<credentials::CredentialCache> credentials_;
};

}  // namespace easydata::gcs
