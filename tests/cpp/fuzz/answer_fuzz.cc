// Arbitrary bytes as what object stores and web servers answer: a call ends with what it is for, or
// with an error in a sentence; and the small readers of times, XML and addresses by themselves.
//
// Byte 0 chooses the call, byte 1 its options; the answers are the rest (scripted_curl.h).

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/escaped_text.h"
#include "easydata/files/address.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/http_date.h"
#include "easydata/http/http_object.h"
#include "easydata/http/iso_time.h"
#include "easydata/http/url.h"
#include "easydata/storage/storage.h"
#include "easydata/stores/foreign/hub_address.h"
#include "easydata/stores/gcs/gcs_store.h"
#include "easydata/stores/hub/hub_store.h"
#include "easydata/stores/hub/signed_address.h"
#include "easydata/stores/object_store.h"
#include "easydata/stores/s3/s3_store.h"
#include "easydata/stores/web/web_store.h"
#include "finding.h"
#include "scripted_curl.h"

namespace easydata {
namespace {

using fuzz::Fail;
using fuzz::IsUtf8;

constexpr int64_t kObjectBytes = 40;

void CheckStatus(const Status& status, std::string_view input) {
  using enum arrow::StatusCode;
  fuzz::CheckForeseen(status, {IOError, Invalid, NotImplemented}, input);
  // What a server says does nothing to a terminal.
  if (status.IsIOError() && EscapedText(status.message()) != status.message()) {
    Fail("an error that is not escaped: " + status.message(), input);
  }
}

/// Options by which nothing is waited for, and nobody else is asked.
stores::StorageOptions OptionsOf(uint8_t bits, bool is_google) {
  stores::StorageOptions options;
  options.retries = (bits & 1) != 0 ? 2 : 0;
  options.retry_delay = 0;
  options.retry_timeout = 0.2;
  options.endpoint_url = "http://store.example";
  options.region = "us-east-1";
  options.anonymous = (bits & 2) != 0;
  if (!options.anonymous) {
    if (!is_google) options.key = "AKIA";
    if (!is_google) options.secret = "s3cr3t";
    options.token = "t0ken";
  }
  if ((bits & 4) != 0) options.addressing_style = "virtual";
  return options;
}

std::shared_ptr<const stores::ObjectStore> StoreOf(uint8_t bits) {
  const bool is_google = (bits & 8) != 0;
  const stores::StorageOptions options = OptionsOf(bits, is_google);
  if (is_google) return gcs::GcsStore::Make(options).ValueOrDie();
  return s3::S3Store::Make(options).ValueOrDie();
}

void CheckObject(const files::FileInfo& object, const std::string& prefix, std::string_view input) {
  if (!object.uri.starts_with(prefix))
    Fail("an object that was not asked for: " + object.uri, input);
  if (object.size < 0) Fail("an object of a negative size", input);
}

void List(const stores::ObjectStore& store, bool by_folder, std::string_view input) {
  const auto listed = store.ListAll("bucket", "a/", by_folder);
  CheckStatus(listed.status(), input);
  if (!listed.ok()) return;
  const std::string prefix = std::string(store.scheme()) + "://bucket/a/";
  for (const files::FileInfo& object : listed->objects) CheckObject(object, prefix, input);
}

void Stat(const http::HttpStore& store, const std::string& uri, std::string_view input) {
  const auto found = http::StatHttpObject(store, uri);
  CheckStatus(found.status(), input);
  if (found.ok()) CheckObject(*found, uri, input);
}

/// Reads some of what was listed.
void ReadRange(const std::shared_ptr<const http::HttpStore>& store, const files::FileInfo& file,
               std::string_view input) {
  const auto opened = http::OpenHttpObject(store, file);
  CheckStatus(opened.status(), input);
  if (!opened.ok()) return;
  std::vector<char> bytes(20);
  const auto count = (*opened)->ReadAt(10, 20, bytes.data());
  CheckStatus(count.status(), input);
  if (count.ok() && *count != 20) Fail("another number of bytes is read", input);
}

/// Reads what was listed as an object of 40 bytes.
void Read(const std::shared_ptr<const http::HttpStore>& store, const std::string& uri, uint8_t bits,
          std::string_view input) {
  files::FileInfo file{uri, kObjectBytes, {}};
  file.identity.kind = files::IdentityKind::kTime;
  if ((bits & 0x20) != 0) file.identity.tag = "\"tag\"";
  if ((bits & 0x40) != 0) file.identity.mtime_ns = int64_t{784111777} * 1'000'000'000;
  ReadRange(store, file, input);
}

/// A Hub whose index is another's.
class UnlistedHub final : public foreign::HubIndex {
 public:
  explicit UnlistedHub(bool is_anonymous) : is_anonymous_(is_anonymous) {}
  Result<foreign::HubAccess> Access() const override {
    return foreign::HubAccess{"http://hub.example", is_anonymous_ ? "" : "t0ken", false};
  }
  Result<foreign::HubTree> List(const foreign::HubRepository&, http::HttpResponse*) const override {
    return Status::NotImplemented("nothing is listed");
  }
  Result<std::string> CachedFile(const foreign::HubRepository&, const std::string&) const override {
    return std::string();
  }

 private:
  const bool is_anonymous_;
};

/// The same of a file of the Hub, which may be somewhere else.
void ReadOfHub(uint8_t bits, std::string_view input) {
  const bool is_anonymous = (bits & 2) != 0;
  const auto store = std::make_shared<const hub::HubStore>(
      OptionsOf(bits, true).http(), std::make_shared<UnlistedHub>(is_anonymous));
  files::FileInfo file{"hf://datasets/o/n@" + std::string(40, 'a') + "/a.jsonl", kObjectBytes, {}};
  file.identity.kind = files::IdentityKind::kTime;
  // What the Hub keeps elsewhere, and what it serves itself.
  file.identity.tag = std::string((bits & 0x20) != 0 ? 40 : 64, 'b');
  ReadRange(store, file, input);
}

void Write(const stores::ObjectStore& store, std::string_view input) {
  const std::string uri = std::string(store.scheme()) + "://bucket/a b/\xc3\xa9";
  CheckStatus(store.Put(uri, "content"), input);
  CheckStatus(store.PutIfAbsent(uri, "content").status(), input);
  CheckStatus(store.Copy(uri, uri + "2"), input);
  CheckStatus(store.Delete(uri), input);
}

void Upload(const stores::ObjectStore& store, std::string_view input) {
  const std::string uri = std::string(store.scheme()) + "://bucket/a";
  const auto id = store.StartUpload(uri);
  CheckStatus(id.status(), input);
  if (!id.ok()) return;
  std::vector<stores::UploadedPart> parts;
  int64_t offset = 0;
  for (int number = 1; number <= 2; ++number) {
    auto part = store.UploadPart(uri, *id, number, offset, "0123456789", number == 2);
    CheckStatus(part.status(), input);
    if (!part.ok()) return CheckStatus(store.AbortUpload(uri, *id), input);
    offset += part->size;
    parts.push_back(std::move(*part));
  }
  if (offset != 20) Fail("parts of another size", input);
  CheckStatus(store.CompleteUpload(uri, *id, parts), input);
  const auto uploads = store.ListUploads(uri);
  CheckStatus(uploads.status(), input);
}

/// What an address is shown as is the same when it is shown again, and has no user.
void ReadAddress(std::string_view given, std::string_view text) {
  const std::string shown = files::ShownAddress(given);
  if (files::ShownAddress(shown) != shown) Fail("shown again, it is another: " + shown, text);
  const auto address = files::Address::Parse(given);
  CheckStatus(address.status(), text);
  if (!address.ok()) return;
  const auto again = files::Address::Parse(address->shown());
  if (again.ok() && again->is_web() && !again->userinfo().empty()) Fail("a user is shown", text);
  // Braces may stand for millions of files.
  if (address->path().find('{') != std::string::npos) return;
  CheckStatus(storage::Storage(stores::StorageOptions()).NamesOf(*address).status(), text);
}

/// What a name on the Hub is shown as is the same when it is read again, and no address lives for
/// less than no time.
void ReadHubAddress(std::string_view given, std::string_view text) {
  const auto address = foreign::ParseHubAddress(given);
  if (address.ok()) {
    const std::string shown = address->repository.Root() + address->path;
    const auto again = foreign::ParseHubAddress(shown);
    const bool is_same =
        again.ok() && again->repository == address->repository && again->path == address->path;
    if (!is_same) Fail("shown again, it is another: " + shown, text);
  } else if (!address.status().IsInvalid()) {
    Fail("no Invalid: " + address.status().ToString(), text);
  }
  const auto lifetime = hub::LifetimeOf(given, std::chrono::system_clock::now());
  if (lifetime < lifetime.zero() || lifetime > std::chrono::hours(24 * 7)) {
    Fail("a lifetime that is none", text);
  }
}

/// The readers of texts, which take what no server can send, too.
void ReadTexts(std::string_view text) {
  std::vector<std::string> read;
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string_view first = text.substr(0, end);
  const std::string_view second = text.substr(std::min(end + 1, text.size()));
  for (const char* name : {"Key", "Code", "a"}) {
    if (const auto found = http::XmlText(first, name)) read.push_back(*found);
    for (const std::string_view each : http::XmlElements(first, name)) {
      if (each.data() < first.data() && !each.empty()) Fail("an element of another text", text);
    }
  }
  read.push_back(http::RefusalReason(first));
  for (const std::string& each : read) {
    if (IsUtf8(first) && !IsUtf8(each) && each.size() < 300) Fail("no UTF-8: " + each, text);
  }
  const std::string escaped = "<Key>" + http::XmlEscaped(first) + "</Key>";
  if (http::XmlText(escaped, "Key") != first) Fail("escaped as XML it is another text", text);
  if (http::PercentDecode(http::PercentEncode(first, (text.size() & 1) != 0)) != first) {
    Fail("escaped for a URL it is another text", text);
  }
  (void)http::ParseIsoTime(first);
  (void)stores::ListedTime(first);
  (void)http::ParseHttpDate(first);
  (void)http::OriginOf(first);
  (void)http::ResolveUrl(first, second);
  (void)storage::SchemeOf(first);
  (void)stores::SplitObjectUri(first);
  ReadAddress(first, text);
  ReadAddress("http://" + std::string(first), text);
  ReadHubAddress(first, text);
  ReadHubAddress("hf://datasets/" + std::string(first), text);
}

void Check(const uint8_t* data, size_t size) {
  if (size < 2) return;
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  const uint8_t bits = data[1];
  const auto store = StoreOf(bits);
  const std::string uri = std::string(store->scheme()) + "://bucket/a/b.jsonl";
  const auto web = std::make_shared<const web::WebStore>(OptionsOf(2, false));
  const std::string address = "http://web.example/a/b.jsonl";
  fuzz::SetAnswers(input);
  switch (data[0] % 8) {
    case 0:
      return List(*store, (bits & 0x10) != 0, input);
    case 1:
      return Stat(*store, uri, input);
    case 2:
      return Stat(*web, address, input);
    case 3:
      return Read(store, uri, bits, input);
    case 4:
      if ((bits & 0x10) != 0) return ReadOfHub(bits, input);
      return Read(web, address, bits, input);
    case 5:
      return Write(*store, input);
    case 6:
      return Upload(*store, input);
    default:
      return ReadTexts(input);
  }
}

}  // namespace
}  // namespace easydata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::Check(data, size);
  return 0;
}
