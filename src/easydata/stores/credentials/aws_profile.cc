#include "easydata/stores/credentials/aws_profile.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "easydata/base/lower_case.h"
#include "easydata/base/nearest_name.h"
#include "easydata/exec/environment.h"
#include "easydata/files/settings_file.h"
#include "easydata/http/server_error.h"

namespace easydata::credentials {
namespace {

constexpr std::string_view kBlank = " \t\r\f\v";

std::string_view Stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// The name after a word in a section's title, "profile my-name" or "profile \"my name\"".
std::optional<std::string> NameAfter(std::string_view word, std::string_view title) {
  if (!title.starts_with(word) || title.size() == word.size()) return std::nullopt;
  std::string_view name = title.substr(word.size());
  if (kBlank.find(name[0]) == std::string_view::npos) return std::nullopt;
  name = Stripped(name);
  const bool is_quoted =
      name.size() >= 2 && (name[0] == '"' || name[0] == '\'') && name.back() == name.front();
  if (is_quoted) name = name.substr(1, name.size() - 2);
  if (name.empty()) return std::nullopt;
  return std::string(name);
}

/// Takes the lines of a file one by one.
class IniReader {
 public:
  explicit IniReader(const std::string& path) : path_(path) {}

  Status Take(std::string_view line) {
    ++number_;
    const std::string_view text = Stripped(line);
    if (text.empty() || text[0] == '#' || text[0] == ';') return Status::OK();
    const size_t indent = line.find_first_not_of(kBlank);
    if (section_ != nullptr && !option_.empty() && indent > indent_) return GoOn(text);
    indent_ = indent;
    option_.clear();
    if (text[0] == '[') {
      const size_t end = text.find(']');
      if (end == std::string_view::npos) return Wrong("a section's name has no end (\"]\")");
      section_ = &sections_[std::string(text.substr(1, end - 1))];
      return Status::OK();
    }
    const size_t end = text.find_first_of("=:");
    if (section_ == nullptr) return Wrong("no section stands above it, such as \"[default]\"");
    if (end == std::string_view::npos || end == 0) return Wrong("it is not \"name = value\"");
    option_ = LowerCase(Stripped(text.substr(0, end)));
    (*section_)[option_] = Stripped(text.substr(end + 1));
    is_nested_ = (*section_)[option_].empty();
    return Status::OK();
  }

  std::map<std::string, AwsSection> Finish() { return std::move(sections_); }

 private:
  /// A line that is indented deeper than the option above it belongs to it.
  Status GoOn(std::string_view text) {
    std::string& value = (*section_)[option_];
    if (!value.empty()) value += '\n';
    value += text;
    if (!is_nested_) return Status::OK();
    const size_t end = text.find('=');
    if (end == std::string_view::npos) return Wrong("it is not \"name = value\"");
    (*section_)[option_ + "." + LowerCase(Stripped(text.substr(0, end)))] =
        Stripped(text.substr(end + 1));
    return Status::OK();
  }

  Status Wrong(const char* what) const {
    return Status::Invalid("cannot read line ", number_, " of ", path_, ": ", what);
  }

  const std::string path_;
  std::map<std::string, AwsSection> sections_ = {};
  AwsSection* section_ = nullptr;
  std::string option_ = {};
  size_t indent_ = 0;
  bool is_nested_ = false;
  int number_ = 0;
};

/// A file's sections, and none where it is absent; `names` gets its path.
Result<std::map<std::string, AwsSection>> ReadAwsFile(const char* variable, const char* usual,
                                                      std::string* names) {
  const std::string path = exec::HomePath(exec::EnvironmentValue(variable).value_or(usual));
  ARROW_ASSIGN_OR_RAISE(const auto text, files::ReadSettings(path));
  *names += (names->empty() ? "" : " and ") + path + (text.has_value() ? "" : " (absent)");
  return ParseAwsFile(text.value_or(""), path);
}

}  // namespace

Result<std::map<std::string, AwsSection>> ParseAwsFile(std::string_view text,
                                                       const std::string& path) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  IniReader reader(path);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ARROW_RETURN_NOT_OK(reader.Take(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.Finish();
}

std::optional<std::string> ValueIn(const AwsSection& section, const std::string& name) {
  const auto found = section.find(name);
  if (found == section.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Result<AwsProfiles> AwsProfiles::Read() {
  AwsProfiles out;
  ARROW_ASSIGN_OR_RAISE(
      out.profiles_, ReadAwsFile("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", &out.paths_));
  ARROW_ASSIGN_OR_RAISE(auto config, ReadAwsFile("AWS_CONFIG_FILE", "~/.aws/config", &out.paths_));
  for (auto& [title, section] : config) {
    if (title == "default") {
      out.profiles_[title].merge(section);
    } else if (const auto name = NameAfter("profile", title)) {
      out.profiles_[*name].merge(section);
    } else if (const auto services = NameAfter("services", title)) {
      out.services_[*services].merge(section);
    }
  }
  return out;
}

const AwsSection* AwsProfiles::Find(const std::string& name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

Result<std::optional<std::string>> AwsProfiles::EndpointOf(const std::string& service,
                                                           const AwsSection& profile) const {
  if (exec::IsSetToTrue("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") ||
      LowerCase(ValueIn(profile, "ignore_configured_endpoint_urls").value_or("")) == "true") {
    return std::nullopt;
  }
  std::string variable = "AWS_ENDPOINT_URL_" + service;
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (auto found = exec::EnvironmentValue(variable.c_str())) return found;
  if (auto found = exec::EnvironmentValue("AWS_ENDPOINT_URL")) return found;
  if (const auto name = ValueIn(profile, "services")) {
    const auto services = services_.find(*name);
    if (services == services_.end()) {
      return Status::Invalid("a profile names services \"", *name, "\", and ", paths_,
                             " have no section [services ", *name, "]");
    }
    if (auto found = ValueIn(services->second, service + ".endpoint_url")) return found;
  }
  return ValueIn(profile, "endpoint_url");
}

Status AwsProfiles::Missing(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [known, section] : profiles_) names.push_back(known);
  return http::ServerError(EACCES, "there is no AWS profile \"", name, "\" in ", paths_,
                           Suggestion(name, names));
}

AwsProfileName ChosenProfile(const std::optional<std::string>& option) {
  if (option.has_value()) return {*option, true};
  for (const char* variable : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}) {
    if (const auto name = exec::EnvironmentValue(variable)) return {*name, true};
  }
  return {};
}

}  // namespace easydata::credentials
