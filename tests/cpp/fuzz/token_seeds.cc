// Writes the inputs that fuzzing of token files starts from: token_seeds <folder>.

#include <cstring>
#include <fstream>
#include <string>

#include "easydata/cache/token_files_for_tests.h"

int main(int /*argc*/, char** argv) {
  using namespace easydata::cache;  // NOLINT
  const std::string folder = argv[1];
  const auto write = [&](const std::string& name, char head, const std::string& content) {
    std::ofstream(folder + "/" + name, std::ios::binary) << head << content;
  };
  const Compression all[] = {Compression::kNone, Compression::kZstd, Compression::kGzip,
                             Compression::kLz4};
  for (char at = 0; at < 4; ++at) {
    const std::string bytes = WriteTokenFile({ManyColumns()}, all[static_cast<int>(at)]);
    const char* const trailer = bytes.data() + bytes.size() - 64;
    int64_t begin = 0, size = 0;
    std::memcpy(&begin, trailer, sizeof begin);
    std::memcpy(&size, trailer + 8, sizeof size);
    const std::string name = std::to_string(at);
    write("footer-" + name, static_cast<char>(4 * at + 1),
          bytes.substr(static_cast<size_t>(begin), static_cast<size_t>(size)));
    write("bytes-" + name, static_cast<char>(4 * at), std::string("\0\0\x40\1\0\4\0\x80", 8));
    write("blocks-" + name, static_cast<char>(4 * at + 2), std::string("\0\0\x40\1\0\4\0\x80", 8));
  }
}
