#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "easydata/base/status.h"
#include "easydata/config/field.h"
#include "easydata/http/http_store.h"

namespace easydata::stores {

/// How files on other machines are reached: who asks, where, and how patiently. Secrets among it
/// stand in no plan, state, log or error.
struct StorageOptions {
  static constexpr const char* kName = "StorageOptions";
  static constexpr const char* kDoc = "How files on object stores and web servers are reached.";

  bool anonymous = false;
  std::optional<std::string> key;
  std::optional<std::string> secret;
  std::optional<std::string> token;
  std::optional<std::string> profile;
  std::optional<std::string> region;
  std::optional<std::string> endpoint_url;
  std::string addressing_style = "auto";
  bool requester_pays = false;
  std::optional<config::Named<std::string>> headers;
  int64_t retries = 10;
  double retry_delay = 0.1;
  std::variant<double, std::string> retry_timeout = 300.0;
  double connect_timeout = 10;
  double stall_timeout = 15;
  int64_t max_in_flight = 64;
  std::optional<std::string> ca_file;
  std::optional<config::Named<config::AnyValue>> fsspec;

  static auto Fields() {
    using O = StorageOptions;
    return std::tuple{
        config::Field{"anonymous", &O::anonymous, "Ask without credentials."},
        config::Field{"key", &O::key, "Access key of S3; unset: the platform's own."},
        config::Field{"secret", &O::secret, "Secret key of S3."},
        config::Field{"token", &O::token,
                      "Session token of S3; access token of Google Cloud, or the path of a file "
                      "of its credentials; bearer token of a web server."},
        config::Field{"profile", &O::profile,
                      "Profile in the files of the AWS command line; unset: AWS_PROFILE."},
        config::Field{"region", &O::region,
                      "Region of the bucket; unset: the platform's, or the one that S3 says."},
        config::Field{"endpoint_url", &O::endpoint_url,
                      "Address of a store that is not Amazon's or Google's own."},
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
        config::Field{"fsspec", &O::fsspec,
                      "Arguments of fsspec's file system, for schemes that are reached through "
                      "it: {name: value}. They are taken for secrets."},
    };
  }

  /// Reads options by these names, and by those that users of s3fs, gcsfs, pyarrow, polars and the
  /// AWS command line write: "anon", "client_kwargs": {"endpoint_url"}, "aws_access_key_id", ...
  /// Invalid for others, by name and never with a value.
  static Result<StorageOptions> FromJson(const nlohmann::json& json);

  /// All that is set, with its secrets: for a copy in another process.
  nlohmann::json ToJson() const;

  /// Limits and retries as requests have them.
  http::HttpOptions http() const;
};

}  // namespace easydata::stores
