#pragma once

namespace easydata {

/// Lets storage::Storage reach schemes that are not ours through fsspec, by
/// `easydata.sources.fsspec_files`. Imports nothing before one is asked for.
void UseFsspec();

}  // namespace easydata
