#pragma once

/// Everything that a program needs to make, run and write streams.
///
/// What all modules share (base, stream: Status, Batch, Stage, StreamPlan) stands in namespace
/// easydata. Each other module has a namespace in it: exec (threads), files, config (options
/// and their checks), order (shuffles and passes), source (rows of files), transform (work on
/// rows), mix (mixes), pack (rows of one length), sink (outputs), loader (batches), verify (checks
/// of outputs), plan (whole plans); and tokenizers.

#include "easydata/base/status.h"           // IWYU pragma: export
#include "easydata/base/version.h"          // IWYU pragma: export
#include "easydata/exec/thread_pool.h"      // IWYU pragma: export
#include "easydata/loader/loader.h"         // IWYU pragma: export
#include "easydata/mix/mix_stage.h"         // IWYU pragma: export
#include "easydata/plan/limit_plan.h"       // IWYU pragma: export
#include "easydata/plan/load_plan.h"        // IWYU pragma: export
#include "easydata/plan/packed_plan.h"      // IWYU pragma: export
#include "easydata/plan/tokenize_plan.h"    // IWYU pragma: export
#include "easydata/sink/stream_writer.h"    // IWYU pragma: export
#include "easydata/source/data_files.h"     // IWYU pragma: export
#include "easydata/source/data_format.h"    // IWYU pragma: export
#include "easydata/source/file_sources.h"   // IWYU pragma: export
#include "easydata/source/source_stage.h"   // IWYU pragma: export
#include "easydata/stream/plan.h"           // IWYU pragma: export
#include "easydata/stream/stage.h"          // IWYU pragma: export
#include "easydata/transform/column_op.h"   // IWYU pragma: export
#include "easydata/verify/verify_output.h"  // IWYU pragma: export
#include "tokenizers/tokenizer.h"           // IWYU pragma: export
