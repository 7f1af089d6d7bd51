#pragma once

#include <cstdint>
#include <string_view>

namespace easydata::record_file {

/// Hashes bytes as Riegeli files do: HighwayHash of 64 bits with their key.
/// https://github.com/google/highwayhash, https://github.com/google/riegeli
uint64_t HighwayHash(std::string_view bytes);

/// The same in plain C++: the reference, and what processors without AVX2 run.
uint64_t HighwayHashPortable(std::string_view bytes);

/// Whether HighwayHash() uses AVX2 here.
bool HighwayHashHasAvx2();

}  // namespace easydata::record_file
