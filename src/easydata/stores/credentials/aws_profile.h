#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::credentials {

/// What a section of a file of the AWS command line says: by name in lower case. What is nested in
/// "s3 =" is by "s3.endpoint_url".
using AwsSection = std::map<std::string, std::string>;

/// Reads a file as botocore does (configparser of Python): sections in brackets, "name = value",
/// whole lines of comments after "#" or ";", and indented lines that go on with a value. Invalid
/// says path and line, never what stands there.
/// https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
Result<std::map<std::string, AwsSection>> ParseAwsFile(std::string_view text,
                                                       const std::string& path);

/// A value of a section; nothing where it is absent or empty.
std::optional<std::string> ValueIn(const AwsSection& section, const std::string& name);

/// The profiles of the two files of the AWS command line, which AWS_SHARED_CREDENTIALS_FILE and
/// AWS_CONFIG_FILE name, or ~/.aws/credentials and ~/.aws/config. What the first one says of a
/// profile is preferred.
class AwsProfiles {
 public:
  static Result<AwsProfiles> Read();

  /// A profile; nullptr where neither file has it.
  const AwsSection* Find(const std::string& name) const;

  /// The address that the environment or a profile says for a service ("s3", "sts"), of its own
  /// or for all.
  /// https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
  Result<std::optional<std::string>> EndpointOf(const std::string& service,
                                                const AwsSection& profile) const;

  /// The error for a profile that neither file has: with their paths, and near names.
  Status Missing(const std::string& name) const;

  /// "/home/me/.aws/credentials (absent) and /home/me/.aws/config".
  const std::string& paths() const { return paths_; }

 private:
  std::map<std::string, AwsSection> profiles_ = {};
  std::map<std::string, AwsSection> services_ = {};
  std::string paths_ = {};
};

/// The profile that is asked for, and whether it was said: by `option`, AWS_PROFILE or
/// AWS_DEFAULT_PROFILE. "default" otherwise.
struct AwsProfileName {
  std::string name = "default";
  bool is_said = false;
};
AwsProfileName ChosenProfile(const std::optional<std::string>& option);

}  // namespace easydata::credentials
