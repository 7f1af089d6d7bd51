#pragma once

#include "easydata/base/status.h"
#include "easydata/source/source.h"

namespace easydata {

/// Looks at the text (utf8 and large_utf8 columns) of a block from a file that promises UTF-8 but
/// may not hold it, as Parquet and Arrow do. A row with other bytes stops the block at it
/// (kRaise) or is taken out and noted in `bad`.
Status CheckText(OnError on_error, DecodedBlock* block);

}  // namespace easydata
