#pragma once

#include <cstddef>
#include <string_view>

#include "easydata/base/status.h"
#include "tokenizers/id_buffer.h"

namespace easydata::tokenizers {

/// Turns pieces of text, the text between added tokens, into ids. Holds caches and scratch memory,
/// so it serves one thread at a time.
class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;

  /// Appends the ids of `piece`, valid UTF-8 of less than 4 GiB, to ids(). `origin`: so many of its
  /// first bytes are tied to offset 0 of their text (Normalizer); 0 elsewhere. Bytes up to
  /// `readable_end` may be read, not used. May stop early once ids() holds more than `limit`; what
  /// it holds then is a true beginning. Invalid where the reference raises.
  virtual Status Encode(std::string_view piece, size_t origin, const char* readable_end,
                        size_t limit) = 0;

  /// The first position after `from` at which `piece` may be cut so that its parts, encoded one by
  /// one, give the ids of the whole; npos when there is none or none is known.
  virtual size_t FindCut(std::string_view piece, size_t from) const {
    return std::string_view::npos;
  }

  /// Encode of a part after a cut that FindCut found: nothing is put before it.
  virtual Status EncodeRest(std::string_view part, const char* readable_end, size_t limit) {
    return Encode(part, 0, readable_end, limit);
  }

  IdBuffer& ids() { return ids_; }

 private:
  IdBuffer ids_;
};

}  // namespace easydata::tokenizers
