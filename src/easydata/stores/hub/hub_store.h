#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "easydata/exec/work_gate.h"
#include "easydata/http/http_store.h"
#include "easydata/stores/hub/hub_index.h"

namespace easydata::hub {

/// Files of the Hub at a commit, by their names "hf://datasets/org/name@commit/path".
///
/// The Hub serves small files itself. Of others it says where they are: at an address on another
/// host that is signed for an hour or so. That is asked for once a file, kept until it expires or
/// is refused, for all stores of this process that ask the same Hub by the same token, and never
/// sent that token. https://huggingface.co/docs/hub/api
class HubStore final : public http::HttpStore {
 public:
  HubStore(http::HttpOptions options, std::shared_ptr<const HubIndex> index);

  /// The address that a file is read at now; asks the Hub where none is known that still holds.
  Result<std::string> UrlOf(const std::string& uri) const override;
  /// The same of a listed file: FileChangedError where the Hub has another one under its name.
  Result<std::string> UrlOfListed(const files::FileInfo& file) const override;
  /// The hash of what the Hub serves or leads to; the hosts that it leads to say nothing of it.
  std::string TagOf(const http::HttpHeaders& headers) const override;
  /// Adds nothing: what is at a commit stays.
  void RequireTag(const std::string& tag, http::HttpRequest* request) const override;
  /// Adds the user's token to what goes to the Hub itself.
  Status Authorize(http::HttpRequest* request) const override;
  /// Forgets a signed address that was refused.
  Result<bool> Reauthorize(const http::HttpRequest& request,
                           const http::HttpResponse& response) const override;

  /// The repository's page, and what to do there.
  std::string AdviceOn(const http::HttpRequest& sent,
                       const http::HttpResponse& response) const override;

  /// Where the Hub is, and who asks: found once.
  Result<HubAccess> Access() const;

 private:
  /// Where a file was found to be.
  struct Target {
    std::string url;
    std::string tag;
    int64_t size = -1;
    std::chrono::steady_clock::time_point holds_until;
  };
  class KnownTargets;
  class ResolveCall;

  Result<std::string> ResolveUrl(const std::string& uri) const;
  Result<Target> TargetOf(const std::string& uri) const;
  /// Those of this process for who asks.
  Result<std::shared_ptr<KnownTargets>> Targets() const;

  const std::shared_ptr<const HubIndex> index_;
  mutable std::mutex mutex_;
  mutable std::optional<HubAccess> access_;
  mutable std::shared_ptr<KnownTargets> targets_;  // once access_ is known
};

}  // namespace easydata::hub
