#pragma once

#include <chrono>
#include <string_view>

namespace easydata::hub {

/// How long a signed address may be used from when it was given out: as X-Amz-Expires or Expires in
/// its query say, the latter in seconds since 1970, less a minute or a tenth, whichever is less,
/// and a week at most. 50 minutes where it says nothing; addresses of the Hub hold for an hour.
std::chrono::milliseconds LifetimeOf(std::string_view url,
                                     std::chrono::system_clock::time_point now);

}  // namespace easydata::hub
