#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// A character of a rewritten text, and how the reference ties it to the text before: 1 for one
/// that was added after another, else minus the number of characters that it stands for besides
/// one.
struct Change {
  char32_t character;
  int change;
};

/// Rewrites as the reference does when the first `inserted` bytes of `text` belong to no character
/// of the original: it skips them, yet applies to the rest the changes of the whole, which start
/// with `removed_first` characters that are dropped. Where more characters are to be replaced than
/// there are left it crashes (Invalid); else what was inserted comes out twice.
Status ApplyChanges(std::string_view text, size_t inserted, size_t removed_first,
                    const std::vector<Change>& changes, std::string* out);

/// The same for a rewrite that drops the characters that `drops` is true for.
Status ApplyRemoval(std::string_view text, size_t inserted, bool (*drops)(char32_t),
                    std::string* out);

/// How many bytes of the characters of `changes` are tied to offset 0 of the user's text when as
/// many as `origin` of the characters before them were (Normalizer).
size_t CountOrigin(const std::vector<Change>& changes, size_t origin);

/// The error of a text on which the reference crashes.
Status ReferenceCrashes();

}  // namespace easydata::tokenizers
