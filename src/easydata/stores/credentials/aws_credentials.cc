#include "easydata/stores/credentials/aws_credentials.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "easydata/exec/child_program.h"
#include "easydata/exec/environment.h"
#include "easydata/stores/credentials/aws_answers.h"
#include "easydata/stores/credentials/aws_metadata.h"
#include "easydata/stores/credentials/aws_profile.h"
#include "easydata/stores/credentials/aws_token_service.h"

namespace easydata::credentials {
namespace {

constexpr std::chrono::seconds kProgramLimit{60};
constexpr const char* kGiveThem =
    "; give key and secret or a profile in storage_options, set these variables, or run `aws "
    "configure`; anonymous=True asks without credentials, for what everyone may read";

/// A key and its secret out of one source; nothing where it has neither.
Result<MaybeCredentials> Pair(const std::optional<std::string>& key,
                              const std::optional<std::string>& secret,
                              const std::optional<std::string>& token, const std::string& key_name,
                              const std::string& secret_name, const std::string& source) {
  if (!key.has_value() && !secret.has_value()) return std::nullopt;
  if (!key.has_value() || !secret.has_value()) {
    return Status::Invalid(source, " has ", key.has_value() ? key_name : secret_name, " without ",
                           key.has_value() ? secret_name : key_name, ": both belong together");
  }
  http::Credentials out;
  out.key = *key;
  out.secret = *secret;
  out.token = token.value_or("");
  return MaybeCredentials(std::move(out));
}

Result<MaybeCredentials> FromEnvironment() {
  auto token = exec::EnvironmentValue("AWS_SESSION_TOKEN");
  if (!token.has_value()) token = exec::EnvironmentValue("AWS_SECURITY_TOKEN");
  return Pair(exec::EnvironmentValue("AWS_ACCESS_KEY_ID"),
              exec::EnvironmentValue("AWS_SECRET_ACCESS_KEY"), token, "AWS_ACCESS_KEY_ID",
              "AWS_SECRET_ACCESS_KEY", "the environment");
}

std::optional<std::string> RegionOf(const stores::StorageOptions& options,
                                    const AwsSection& profile) {
  if (options.region.has_value()) return options.region;
  for (const char* variable : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = exec::EnvironmentValue(variable)) return region;
  }
  return ValueIn(profile, "region");
}

/// A profile, where it is looked for.
struct NamedSection {
  std::string name;
  const AwsSection& section;

  std::optional<std::string> Get(const char* value) const { return ValueIn(section, value); }
  std::string title() const { return "profile \"" + name + "\""; }
};

/// One look through the sources that AWS's own tools look at, in the order of botocore.
class AwsChain {
 public:
  AwsChain(const stores::StorageOptions& options, const AwsProfiles& profiles, NamedSection profile)
      : options_(options), profiles_(profiles), profile_(std::move(profile)) {}

  Result<MaybeCredentials> Find() {
    // Not what the environment says where the program says a profile.
    const bool uses_environment = !options_.profile.has_value();
    ARROW_ASSIGN_OR_RAISE(MaybeCredentials found, FromProfile(profile_, uses_environment));
    if (found.has_value()) return found;
    ARROW_ASSIGN_OR_RAISE(found, FindContainerCredentials(options_.http()));
    if (found.has_value()) return found;
    std::string why;
    ARROW_ASSIGN_OR_RAISE(found, FindEc2Credentials(options_.http(), &why));
    if (found.has_value()) return found;
    return CredentialError(
        "no AWS credentials are found: not in storage_options (key, secret), " +
        std::string(uses_environment ? "AWS_ACCESS_KEY_ID, " : "") + profile_.title() + " of " +
        profiles_.paths() +
        ", AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CONTAINER_CREDENTIALS_FULL_URI, nor by "
        "the metadata service of EC2 (" +
        why + ")" + kGiveThem);
  }

 private:
  Result<MaybeCredentials> FromProfile(const NamedSection& profile, bool uses_environment) {
    visited_.push_back(profile.name);
    const bool has_role =
        profile.Get("role_arn").has_value() && !profile.Get("web_identity_token_file").has_value();
    if (has_role) return FromRole(profile);
    return FromRest(profile, uses_environment);
  }

  /// All but a role that other credentials are needed for.
  Result<MaybeCredentials> FromRest(const NamedSection& profile, bool uses_environment) {
    ARROW_ASSIGN_OR_RAISE(MaybeCredentials found, FromWebIdentity(profile, uses_environment));
    if (found.has_value()) return found;
    if (profile.Get("sso_session").has_value() || profile.Get("sso_start_url").has_value()) {
      return FromCommandLine(profile, "signs in by SSO", "aws sso login");
    }
    ARROW_ASSIGN_OR_RAISE(found, FromKeys(profile));
    if (found.has_value()) return found;
    if (profile.Get("login_session").has_value()) {
      return FromCommandLine(profile, "signs in by a browser", "aws login");
    }
    return FromProcess(profile);
  }

  Result<MaybeCredentials> FromKeys(const NamedSection& profile) {
    auto token = profile.Get("aws_session_token");
    if (!token.has_value()) token = profile.Get("aws_security_token");
    return Pair(profile.Get("aws_access_key_id"), profile.Get("aws_secret_access_key"), token,
                "aws_access_key_id", "aws_secret_access_key", "AWS " + profile.title());
  }

  Result<AwsRole> RoleOf(const NamedSection& profile, const std::string& arn) {
    AwsRole role;
    role.arn = arn;
    role.session_name = profile.Get("role_session_name").value_or("");
    role.external_id = profile.Get("external_id");
    role.duration_seconds = profile.Get("duration_seconds");
    role.region = RegionOf(options_, profile_.section);
    ARROW_ASSIGN_OR_RAISE(role.endpoint_url, profiles_.EndpointOf("sts", profile_.section));
    return role;
  }

  Result<MaybeCredentials> FromRole(const NamedSection& profile) {
    if (profile.Get("mfa_serial").has_value()) {
      return CredentialError(
          "AWS " + profile.title() +
          " wants the code of a device (mfa_serial), which nobody types here; run "
          "`eval \"$(aws configure export-credentials --profile " +
          profile.name +
          " --format env)\"` before, without a profile in "
          "storage_options");
    }
    ARROW_ASSIGN_OR_RAISE(const http::Credentials source, SourceOf(profile));
    ARROW_ASSIGN_OR_RAISE(const AwsRole role, RoleOf(profile, *profile.Get("role_arn")));
    ARROW_ASSIGN_OR_RAISE(http::Credentials found, AssumeRole(role, source, options_.http()));
    return MaybeCredentials(std::move(found));
  }

  /// The credentials that a profile takes its role on with.
  Result<http::Credentials> SourceOf(const NamedSection& profile) {
    const auto source_profile = profile.Get("source_profile");
    const auto credential_source = profile.Get("credential_source");
    if (source_profile.has_value() == credential_source.has_value()) {
      return Status::Invalid("AWS ", profile.title(), " has role_arn with ",
                             source_profile.has_value() ? "both of" : "neither of",
                             " source_profile and credential_source: it takes one of them");
    }
    MaybeCredentials found;
    if (source_profile.has_value()) {
      ARROW_ASSIGN_OR_RAISE(found, FromSourceProfile(profile, *source_profile));
    } else {
      ARROW_ASSIGN_OR_RAISE(found, FromSource(profile, *credential_source));
    }
    if (found.has_value()) return *found;
    return CredentialError("no AWS credentials are found in the " +
                           (source_profile.has_value()
                                ? "source_profile \"" + *source_profile
                                : "credential_source \"" + *credential_source) +
                           "\" of " + profile.title());
  }

  Result<MaybeCredentials> FromSourceProfile(const NamedSection& profile, const std::string& name) {
    const AwsSection* const section = profiles_.Find(name);
    if (section == nullptr) return profiles_.Missing(name);
    const NamedSection source{name, *section};
    // A profile may have its own keys for the role that it says.
    if (name == profile.name) return FromKeys(source);
    if (std::find(visited_.begin(), visited_.end(), name) != visited_.end()) {
      return Status::Invalid("AWS profiles lead in a circle by source_profile: ", profile.title(),
                             " leads back to \"", name, "\"");
    }
    // Keys are preferred to a role there.
    const bool has_keys = source.Get("aws_access_key_id").has_value();
    return has_keys ? FromRest(source, /*uses_environment=*/false)
                    : FromProfile(source, /*uses_environment=*/false);
  }

  Result<MaybeCredentials> FromSource(const NamedSection& profile, const std::string& source) {
    if (source == "Environment") return FromEnvironment();
    if (source == "EcsContainer") return FindContainerCredentials(options_.http());
    if (source != "Ec2InstanceMetadata") {
      return Status::Invalid("AWS ", profile.title(), " has credential_source \"", source,
                             "\": it takes Environment, EcsContainer or Ec2InstanceMetadata");
    }
    std::string why;
    ARROW_ASSIGN_OR_RAISE(MaybeCredentials found, FindEc2Credentials(options_.http(), &why));
    if (found.has_value()) return found;
    return CredentialError("AWS " + profile.title() +
                           " takes its credentials from the metadata service of EC2: " + why);
  }

  Result<MaybeCredentials> FromWebIdentity(const NamedSection& profile, bool uses_environment) {
    const auto get = [&](const char* variable, const char* name) {
      auto value = uses_environment ? exec::EnvironmentValue(variable) : std::nullopt;
      return value.has_value() ? value : profile.Get(name);
    };
    const auto file = get("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
    if (!file.has_value()) return std::nullopt;
    const auto arn = get("AWS_ROLE_ARN", "role_arn");
    if (!arn.has_value()) {
      return Status::Invalid("AWS_WEB_IDENTITY_TOKEN_FILE, or web_identity_token_file of ",
                             profile.title(), ", needs AWS_ROLE_ARN or role_arn beside it");
    }
    ARROW_ASSIGN_OR_RAISE(AwsRole role, RoleOf(profile, *arn));
    role.external_id = std::nullopt;  // which this request does not have
    role.session_name = get("AWS_ROLE_SESSION_NAME", "role_session_name").value_or("");
    ARROW_ASSIGN_OR_RAISE(http::Credentials found,
                          AssumeRoleWithWebIdentity(role, exec::HomePath(*file), options_.http()));
    return MaybeCredentials(std::move(found));
  }

  Result<MaybeCredentials> FromProcess(const NamedSection& profile) {
    const auto command = profile.Get("credential_process");
    if (!command.has_value()) return std::nullopt;
    const std::string source = "credential_process of AWS " + profile.title();
    const auto words = exec::SplitCommand(*command);
    if (!words.ok()) return words.status().WithMessage(source, ": ", words.status().message());
    return FromProgram(*words, source, "");
  }

  /// SSO, and the like, are the command line's: it has the session, and renews it.
  Result<MaybeCredentials> FromCommandLine(const NamedSection& profile, const std::string& how,
                                           const std::string& login) {
    const std::string to_do = "run `" + login + " --profile " + profile.name + "`";
    if (!exec::IsInPath("aws")) {
      return CredentialError("AWS " + profile.title() + " " + how +
                             ", which takes the command line of AWS: install it "
                             "(https://aws.amazon.com/cli/) and " +
                             to_do);
    }
    return FromProgram({"aws", "configure", "export-credentials", "--profile", profile.name,
                        "--format", "process"},
                       "`aws configure export-credentials` for " + profile.title(),
                       "; " + to_do + " (it takes version 2.10 of the command line, or newer)");
  }

  static Result<MaybeCredentials> FromProgram(const std::vector<std::string>& command,
                                              const std::string& source, const std::string& to_do) {
    const auto output = exec::OutputOf(command, kProgramLimit);
    if (output.status().IsCancelled()) return output.status();
    if (!output.ok()) {
      return CredentialError(source + " gives no AWS credentials: " + output.status().message() +
                             to_do);
    }
    ARROW_ASSIGN_OR_RAISE(http::Credentials found, ParseAwsCredentials(*output, source));
    return MaybeCredentials(std::move(found));
  }

  const stores::StorageOptions& options_;
  const AwsProfiles& profiles_;
  const NamedSection profile_;
  std::vector<std::string> visited_ = {};
};

class AwsCredentialFinder final : public CredentialFinder {
 public:
  explicit AwsCredentialFinder(const stores::StorageOptions& options) : options_(options) {}

  Result<MaybeCredentials> Find() override {
    ARROW_ASSIGN_OR_RAISE(MaybeCredentials found, LookUp());
    if (found.has_value() && (HasLineEnd(found->key) || HasLineEnd(found->token))) {
      return CredentialError(
          "the AWS credentials that are found have a line end in them, and no request "
          "can carry them");
    }
    return found;
  }

 private:
  /// They are put into headers, which another line would be one more of.
  static bool HasLineEnd(const std::string& text) {
    return text.find_first_of("\r\n") != std::string::npos;
  }

  Result<MaybeCredentials> LookUp() {
    if (options_.anonymous) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(
        MaybeCredentials found,
        Pair(options_.key, options_.secret, options_.token, "key", "secret", "storage_options"));
    if (found.has_value()) return found;
    if (options_.token.has_value()) {
      return Status::Invalid(
          "storage_options has token without key and secret: S3 takes it along with these");
    }
    if (!options_.profile.has_value()) {
      ARROW_ASSIGN_OR_RAISE(found, FromEnvironment());
      if (found.has_value()) return found;
    }
    ARROW_ASSIGN_OR_RAISE(const AwsProfiles profiles, AwsProfiles::Read());
    const AwsProfileName chosen = ChosenProfile(options_.profile);
    const AwsSection none;
    const AwsSection* const section = profiles.Find(chosen.name);
    if (section == nullptr && chosen.is_said) return profiles.Missing(chosen.name);
    return AwsChain(options_, profiles, {chosen.name, section == nullptr ? none : *section}).Find();
  }

  const stores::StorageOptions options_;
};

}  // namespace

std::unique_ptr<CredentialFinder> MakeAwsCredentialFinder(const stores::StorageOptions& options) {
  return std::make_unique<AwsCredentialFinder>(options);
}

Result<AwsEndpoint> FindAwsEndpoint(const stores::StorageOptions& options) {
  if (options.region.has_value() && options.endpoint_url.has_value()) {
    return AwsEndpoint{options.region, options.endpoint_url};
  }
  ARROW_ASSIGN_OR_RAISE(const AwsProfiles profiles, AwsProfiles::Read());
  const AwsSection* section = profiles.Find(ChosenProfile(options.profile).name);
  if (section == nullptr && options.profile.has_value()) return profiles.Missing(*options.profile);
  const AwsSection none;
  if (section == nullptr) section = &none;
  AwsEndpoint endpoint;
  endpoint.region = RegionOf(options, *section);
  endpoint.endpoint_url = options.endpoint_url;
  if (!endpoint.endpoint_url.has_value()) {
    ARROW_ASSIGN_OR_RAISE(endpoint.endpoint_url, profiles.EndpointOf("s3", *section));
  }
  return endpoint;
}

}  // namespace easydata::credentials
