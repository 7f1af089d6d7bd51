#include "easydata/stores/foreign/hub_address.h"

#include <algorithm>
#include <cctype>

#include "easydata/http/url.h"

namespace easydata::foreign {
namespace {

constexpr std::string_view kScheme = "hf://";
constexpr size_t kCommitDigits = 40;

/// Takes what comes before the next "/", and the slash.
std::string_view TakePart(std::string_view* rest) {
  const size_t slash = std::min(rest->find('/'), rest->size());
  const std::string_view part = rest->substr(0, slash);
  rest->remove_prefix(std::min(slash + 1, rest->size()));
  return part;
}

bool IsKind(std::string_view part) {
  return part == "datasets" || part == "models" || part == "spaces";
}

bool IsNamePart(std::string_view part) {
  const auto is_allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !part.empty() && part.size() <= 96 && std::all_of(part.begin(), part.end(), is_allowed);
}

}  // namespace

bool HubRepository::is_pinned() const {
  return revision.size() == kCommitDigits &&
         std::all_of(revision.begin(), revision.end(), [](unsigned char c) {
           return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
         });
}

std::string HubRepository::Path() const { return kind == "models" ? id : kind + "/" + id; }

std::string HubRepository::Root() const {
  std::string root = std::string(kScheme) + Path();
  if (!revision.empty()) root += "@" + http::PercentEncode(revision, false);
  return root + "/";
}

std::string HubRepository::Shown() const { return revision.empty() ? id : id + "@" + revision; }

Result<HubAddress> ParseHubAddress(std::string_view uri) {
  const auto wrong = [&](const char* why) {
    return Status::Invalid(uri, ": ", why,
                           "; addresses on the Hugging Face Hub have the form "
                           "hf://datasets/org/name[@revision][/path]");
  };
  if (!uri.starts_with(kScheme)) return wrong("it is not one of the Hub");
  std::string_view rest = uri.substr(kScheme.size());
  HubAddress address;
  HubRepository& repository = address.repository;
  repository.kind = "models";
  const std::string_view first = rest.substr(0, rest.find('/'));
  if (IsKind(first)) {
    repository.kind = first;
    TakePart(&rest);
  } else if (first == "buckets") {
    return wrong("buckets are not read");
  }
  std::string_view part = TakePart(&rest);
  // Which nobody has: it would be an address of another kind.
  if (IsKind(part)) return wrong("the name of the organization or user is none");
  size_t at = part.find('@');
  if (at == std::string_view::npos && !rest.empty()) {
    repository.id = part;
    repository.id += '/';
    if (!IsNamePart(part)) return wrong("the name of the organization or user is none");
    part = TakePart(&rest);
    at = part.find('@');
  }
  if (!IsNamePart(part.substr(0, at))) return wrong("the name of the repository is none");
  repository.id += part.substr(0, at);
  if (at != std::string_view::npos) {
    std::string revision = http::PercentDecode(part.substr(at + 1));
    if (revision == "refs" && (rest.starts_with("convert/") || rest.starts_with("pr/"))) {
      revision += "/" + std::string(TakePart(&rest));
      revision += "/" + std::string(TakePart(&rest));
    }
    if (revision.empty() || revision.ends_with('/')) return wrong("the revision after @ is empty");
    repository.revision = std::move(revision);
  }
  address.path = rest;
  return address;
}

}  // namespace easydata::foreign
