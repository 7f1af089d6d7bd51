#pragma once

#include "easydata/base/status.h"
#include "easydata/pack/pack_options.h"
#include "easydata/stream/vocabulary.h"

namespace easydata::pack {

/// The options with the ids that they leave to the vocabularies of the documents' tokens.
///
/// An EOS that is not named is the vocabulary's; of several vocabularies with several, each
/// document's own (ShardRef::eos_id): it stays unset. Padding that is not named is the vocabulary's
/// pad, else its EOS, else 0. An OptionError where nothing tells the EOS, or where an id that is
/// named is none of theirs, or its EOS an ordinary token.
Result<PackSettings> WithTokenIds(PackSettings options, const Vocabularies& vocabularies);

}  // namespace easydata::pack
