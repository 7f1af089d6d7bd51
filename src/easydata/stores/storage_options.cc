#include "easydata/stores/storage_options.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <string_view>
#include <utility>

#include "easydata/config/descriptor.h"

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

milliseconds Milliseconds(double seconds) {
  return milliseconds(static_cast<int64_t>(std::min(seconds, 1e9) * 1000));
}

}  // namespace

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
  config::Problems problems;
  config::CheckKeys(given, config::FieldNames<StorageOptions>(), "storage_options", &problems);
  StorageOptions out;
  if (problems.empty()) {
    config::ForEachField<StorageOptions>([&](const auto& field) {
      // A value may be a secret: what is wrong with it is said by type alone.
      const auto found = given.find(field.name);
      using Traits = config::ValueTraits<typename std::decay_t<decltype(field)>::Value>;
      if (found != given.end() && !Traits::Fits(*found)) {
        problems.push_back({config::Problem::Kind::kValue,
                            std::string("storage_options.") + field.name,
                            "must be " + Traits::Expected()});
        return;
      }
      config::ReadField(field, given, &out, "storage_options", &problems);
    });
  }
  if (!problems.empty()) return Status::Invalid(problems.front().ToString());
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
  const StorageOptions defaults;
  config::ForEachField<StorageOptions>([&](const auto& field) {
    const auto value = config::WriteField(field, *this);
    if (value != config::WriteField(field, defaults)) out[field.name] = value;
  });
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

}  // namespace easydata::stores
