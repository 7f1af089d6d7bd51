#include "easydata/stores/storage_options.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/config/descriptor.h"
#include "easydata/files/address.h"
#include "easydata/http/answer_text.h"

namespace easydata::stores {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

struct Alias {
  std::string_view name;
  std::string_view option;
};

// As users of s3fs, gcsfs, pyarrow, polars (object_store) and the AWS command line write them.
constexpr Alias kAliases[] = {
    {"anon", "anonymous"},
    {"access_key", "key"},
    {"access_key_id", "key"},
    {"aws_access_key_id", "key"},
    {"secret_key", "secret"},
    {"secret_access_key", "secret"},
    {"aws_secret_access_key", "secret"},
    {"session_token", "token"},
    {"aws_session_token", "token"},
    {"bearer_token", "token"},
    {"aws_profile", "profile"},
    {"region_name", "region"},
    {"aws_region", "region"},
    {"endpoint", "endpoint_url"},
    {"aws_endpoint", "endpoint_url"},
    {"aws_endpoint_url", "endpoint_url"},
    {"aws_allow_http", ""},  // an endpoint's address says so
    {"allow_http", ""},
};

std::string_view OptionOf(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.option;
  }
  return name;
}

/// Puts an option where it is not yet; Invalid where it says another thing.
Status Take(std::string_view option, const Json& value, Json* out) {
  if (option.empty() || value.is_null()) return Status::OK();
  Json& known = (*out)[std::string(option)];
  if (!known.is_null() && known != value) {
    return Status::Invalid("storage_options: ", option, " is given twice, with two values");
  }
  known = value;
  return Status::OK();
}

/// Milliseconds of "90", "90s", "5m", "1h"; nothing for other texts.
std::optional<milliseconds> ParseDuration(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double factor = 0;
  if (unit.empty() || unit == "s") factor = 1000;
  if (unit == "ms") factor = 1;
  if (unit == "m" || unit == "min") factor = 60'000;
  if (unit == "h") factor = 3'600'000;
  if (factor == 0 || value * factor > 1e12) return std::nullopt;
  return milliseconds(static_cast<int64_t>(value * factor));
}

/// Takes the white space at the ends of a text, as one has that was read from a file, and refuses
/// what a header cannot have. The value may be a secret.
Status Clean(const std::string& name, std::string* value) {
  *value = http::Trimmed(*value);
  const bool is_one_line = std::all_of(value->begin(), value->end(),
                                       [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (is_one_line) return Status::OK();
  return Status::Invalid("storage_options.", name,
                         " has a line end or another control character within; give it without");
}

/// Whether a header may be called so (RFC 9110, token).
bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || kOthers.find(static_cast<char>(c)) != kOthers.npos;
  });
}

Status CleanHeaders(config::Named<std::string>* headers) {
  for (auto& [name, value] : headers->values) {
    if (!IsHeaderName(name)) {
      return Status::Invalid("storage_options.headers: ", EscapedText(name, 40),
                             " is no name of a header, which has letters, digits and \"-\"");
    }
    ARROW_RETURN_NOT_OK(Clean("headers." + name, &value));
  }
  return Status::OK();
}

milliseconds Milliseconds(double seconds) {
  return milliseconds(static_cast<int64_t>(std::min(seconds, 1e9) * 1000));
}

}  // namespace

config::FieldList StorageOptions::Fields() {
  using O = StorageOptions;
  return {
      config::Field{"anonymous", &O::anonymous, "Ask without credentials."},
      config::Field{"key", &O::key, "Access key of S3; unset: the platform's own."},
      config::Field{"secret", &O::secret, "Secret key of S3."},
      config::Field{
          "token", &O::token,
          "Session token of S3; access token of Google Cloud, or its credentials: the path "
          "of their file, or what it holds ({\"type\": \"service_account\", ...}); bearer "
          "token of a web server; user access token of the Hugging Face Hub, unset: HF_TOKEN, or "
          "that of `hf auth login`."},
      config::Field{"profile", &O::profile,
                    "Profile in the files of the AWS command line; unset: AWS_PROFILE."},
      config::Field{"region", &O::region,
                    "Region of the bucket; unset: the platform's, or the one that S3 says."},
      config::Field{"endpoint_url", &O::endpoint_url,
                    "Address of a store that is not Amazon's, Google's or Hugging Face's own."},
      config::Field{"addressing_style", &O::addressing_style,
                    "Where the bucket's name stands: in the path, or before the host's name; "
                    "auto: in the path where endpoint_url is set."}
          .OneOf({"auto", "path", "virtual"}),
      config::Field{"requester_pays", &O::requester_pays,
                    "Pay for what is read of buckets that ask for it."},
      config::Field{"headers", &O::headers,
                    "Headers for a web server: {name: value}. They are taken for secrets."},
      config::Field{"retries", &O::retries,
                    "Attempts in a row that bring nothing new, after the first."}
          .AtLeast(0),
      config::Field{"retry_delay", &O::retry_delay,
                    "Seconds before the first retry; the wait doubles with each."}
          .AtLeast(0),
      config::Field{"retry_timeout", &O::retry_timeout,
                    "Longest time in which nothing new comes: seconds, or \"5m\"."}
          .AtLeast(0),
      config::Field{"connect_timeout", &O::connect_timeout, "Seconds to reach a server in."}
          .MoreThan(0),
      config::Field{"stall_timeout", &O::stall_timeout,
                    "Seconds in which nothing may come, before a request is made anew."}
          .MoreThan(0),
      config::Field{"max_in_flight", &O::max_in_flight, "Requests to one server at once."}
          .AtLeast(1)
          .AtMost(64),
      config::Field{"ca_file", &O::ca_file,
                    "File of certificates (PEM) to trust; unset: the system's."},
      config::Field{
          "cache_dir", &O::cache_dir,
          "Folder of huggingface_hub's cache, whose files are read in place of the Hub's; "
          "unset: HF_HUB_CACHE."},
      config::Field{"fsspec", &O::fsspec,
                    "Arguments of fsspec's file system, for schemes that are reached through "
                    "it: {name: value}. They are taken for secrets."},
  };
}

Result<StorageOptions> StorageOptions::FromJson(const Json& json) {
  if (!json.is_object()) return Status::Invalid("storage_options: must be {name: value}");
  Json given = Json::object();
  for (const auto& [name, value] : json.items()) {
    if (name != "client_kwargs") {
      ARROW_RETURN_NOT_OK(Take(OptionOf(name), value, &given));
      continue;
    }
    if (!value.is_object()) {
      return Status::Invalid("storage_options: client_kwargs must be {name: value}");
    }
    for (const auto& [inner, inner_value] : value.items()) {
      ARROW_RETURN_NOT_OK(Take(OptionOf(inner), inner_value, &given));
    }
  }
  // Google's credentials may be given as what their file holds: they stay text.
  if (const auto token = given.find("token"); token != given.end() && token->is_object()) {
    *token = token->dump();
  }
  config::Problems problems;
  const auto& type = config::ConfigTypeOf<StorageOptions>();
  const config::Json options = given;
  config::CheckKeys(options, type.names(), "storage_options", &problems);
  StorageOptions out;
  if (problems.empty()) {
    for (const config::Field& field : type.fields) {
      // A value may be a secret: what is wrong with it is said by type alone.
      const auto found = options.find(field.name);
      if (found != options.end() && !field.type->fits(*found)) {
        problems.push_back({config::Problem::Kind::kValue,
                            std::string("storage_options.") + field.name,
                            "must be " + field.type->expected()});
        continue;
      }
      config::ReadField(type, field, options, &out, "storage_options", &problems);
    }
  }
  if (!problems.empty()) return Status::Invalid(problems.front().ToString());
  const std::pair<const char*, std::optional<std::string>*> texts[] = {
      {"key", &out.key},         {"secret", &out.secret}, {"token", &out.token},
      {"profile", &out.profile}, {"region", &out.region}, {"endpoint_url", &out.endpoint_url}};
  for (const auto& [name, text] : texts) {
    if (text->has_value()) ARROW_RETURN_NOT_OK(Clean(name, &**text));
  }
  if (out.headers.has_value()) ARROW_RETURN_NOT_OK(CleanHeaders(&*out.headers));
  if (out.endpoint_url.has_value()) {
    ARROW_RETURN_NOT_OK(CheckedEndpoint(*out.endpoint_url).status());
  }
  if (out.key.has_value() != out.secret.has_value()) {
    return Status::Invalid("storage_options: ", out.key.has_value() ? "secret" : "key",
                           " is missing: key and secret go together");
  }
  if (out.anonymous && (out.key.has_value() || out.profile.has_value())) {
    return Status::Invalid(
        "storage_options: anonymous=True and credentials are at odds; leave one of them out");
  }
  const auto* text = std::get_if<std::string>(&out.retry_timeout);
  if (text != nullptr && !ParseDuration(*text).has_value()) {
    return Status::Invalid(
        "storage_options: retry_timeout must be seconds, or like \"90s\" or "
        "\"5m\", not \"",
        *text, "\"");
  }
  return out;
}

Json StorageOptions::ToJson() const {
  Json out = Json::object();
  const auto& type = config::ConfigTypeOf<StorageOptions>();
  for (const config::Field& field : type.fields) {
    const auto value = config::WriteField(type, field, this);
    if (value != config::WriteField(type, field, type.defaults.get())) out[field.name] = value;
  }
  return out;
}

http::HttpOptions StorageOptions::http() const {
  http::HttpOptions out;
  out.limits.connect_timeout = Milliseconds(connect_timeout);
  out.limits.stall_timeout = Milliseconds(stall_timeout);
  out.limits.max_in_flight = static_cast<int>(max_in_flight);
  out.limits.ca_file = ca_file.value_or("");
  out.retries.retries = static_cast<int>(std::min<int64_t>(retries, 1'000'000));
  out.retries.first_wait = Milliseconds(retry_delay);
  const auto* text = std::get_if<std::string>(&retry_timeout);
  out.retries.retry_timeout =
      text == nullptr ? Milliseconds(std::get<double>(retry_timeout)) : *ParseDuration(*text);
  return out;
}

Result<std::string> CheckedEndpoint(const std::string& endpoint_url) {
  ARROW_ASSIGN_OR_RAISE(const files::Address address, files::Address::Parse(endpoint_url));
  if (!address.is_web()) {
    return Status::Invalid("endpoint_url must begin with http:// or https://, not be ", address);
  }
  if (!address.userinfo().empty() || !address.query().empty()) {
    return Status::Invalid("endpoint_url: ", address,
                           " has a user or a query, which stores do not take; give credentials in "
                           "storage_options: key and secret, or token");
  }
  std::string out = address.origin() + address.path();
  while (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace easydata::stores
