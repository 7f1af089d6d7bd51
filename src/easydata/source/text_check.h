#pragma once

#include "easydata/base/status.h"
#include "easydata/source/source.h"

namespace easydata::source {

/// Checks that the text (utf8 and large_utf8 columns) of a block is UTF-8: Parquet and Arrow files
/// promise it, but may not hold it. A row with other bytes stops the block (kRaise) or is removed
/// and noted in `bad`.
Status CheckText(OnError on_error, DecodedBlock* block);

}  // namespace easydata::source
