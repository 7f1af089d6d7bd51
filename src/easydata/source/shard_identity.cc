#include "easydata/source/shard_identity.h"

#include <arrow/io/interfaces.h>

#include <algorithm>
#include <string>

#include "easydata/base/hash.h"
#include "easydata/files/address.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {
namespace {

constexpr int64_t kProbe = 4096;

/// The first, the middle and the last bytes of a file.
Result<std::string> Probes(const files::FileInfo& file) {
  ARROW_ASSIGN_OR_RAISE(const auto opened, storage::OpenFile(file));
  std::string out;
  const int64_t last = std::max<int64_t>(file.size - kProbe, 0);
  for (const int64_t at : {int64_t{0}, last / 2, last}) {
    std::string probe(static_cast<size_t>(std::min(kProbe, file.size)), '\0');
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          opened->ReadAt(at, static_cast<int64_t>(probe.size()), probe.data()));
    out.append(probe, 0, static_cast<size_t>(got));
  }
  return out;
}

}  // namespace

Result<ShardIdentity> IdentityOfFile(const files::FileInfo& file) {
  const files::FileIdentity& identity = file.identity;
  std::string text = "size " + std::to_string(file.size);
  const bool is_elsewhere = file.uri.find("://") != std::string::npos;
  if (identity.kind == files::IdentityKind::kContent) {
    text += " content " + identity.tag;
  } else if (identity.kind == files::IdentityKind::kTime && !identity.tag.empty()) {
    text += " tag " + identity.tag;
    // Servers make tags of sizes and times.
    if (files::IsWebAddress(file.uri)) text += " at " + files::ShownAddress(file.uri);
  } else {
    if (identity.kind == files::IdentityKind::kTime) {
      text += " time " + std::to_string(identity.mtime_ns);
    }
    if (is_elsewhere) {
      text += " at " + files::ShownAddress(file.uri);
    } else {
      ARROW_ASSIGN_OR_RAISE(const std::string probes, Probes(file));
      text += " probes " + probes;
    }
  }
  return ShardIdentity{Hash128(text), file.size};
}

}  // namespace easydata::source
