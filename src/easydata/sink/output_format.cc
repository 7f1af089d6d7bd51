#include "easydata/sink/output_format.h"

#include <algorithm>

namespace easydata::sink {
namespace {

const std::vector<const OutputFormat*>& OutputFormats() {
#define EASYDATA_ADDRESS(Id) &k##Id##Output,
  static const std::vector<const OutputFormat*> formats = {
      EASYDATA_OUTPUT_FORMATS(EASYDATA_ADDRESS)};
#undef EASYDATA_ADDRESS
  return formats;
}

}  // namespace

std::string JoinedByOr(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

Result<const OutputFormat*> FindOutputFormat(std::string_view name, std::string_view compression) {
  const auto& formats = OutputFormats();
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const OutputFormat* format) { return format->name == name; });
  if (found == formats.end()) {
    return Status::Invalid("format: must be ", JoinedByOr(FormatNames()), ", not '", name, "'");
  }
  const std::vector<std::string> codecs = CompressionsOf(name);
  if (compression.empty() || std::find(codecs.begin(), codecs.end(), compression) != codecs.end()) {
    return *found;
  }
  return Status::Invalid("compression: the format ", name, " has ", JoinedByOr(codecs), ", not '",
                         compression, "'");
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const OutputFormat* format : OutputFormats()) names.emplace_back(format->name);
  return names;
}

std::vector<std::string> FormatsTaking(std::string_view option) {
  std::vector<std::string> names;
  for (const OutputFormat* format : OutputFormats()) {
    const auto& taken = format->options;
    if (std::find(taken.begin(), taken.end(), option) != taken.end()) {
      names.emplace_back(format->name);
    }
  }
  return names;
}

std::vector<std::string> CompressionsOf(std::string_view format) {
  std::vector<std::string> names;
  for (const OutputFormat* known : OutputFormats()) {
    if (known->name != format) continue;
    for (const OutputCodec& codec : known->codecs) {
      if (!codec.name.empty()) names.emplace_back(codec.name);
    }
  }
  return names;
}

std::vector<std::string> CompressionNames() {
  std::vector<std::string> all;
  for (const OutputFormat* format : OutputFormats()) {
    for (std::string& codec : CompressionsOf(format->name)) {
      if (std::find(all.begin(), all.end(), codec) == all.end()) all.push_back(std::move(codec));
    }
  }
  return all;
}

std::string ShardExtension(const OutputFormat& format, std::string_view compression) {
  std::string extension(format.extension);
  for (const OutputCodec& codec : format.codecs) {
    if (codec.name == compression) extension += codec.suffix;
  }
  return extension;
}

}  // namespace easydata::sink
