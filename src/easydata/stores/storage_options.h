#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
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
  std::optional<std::string> cache_dir;
  std::optional<config::Named<config::AnyValue>> fsspec;

  static config::FieldList Fields();

  /// Reads options by these names, and by those that users of s3fs, gcsfs, pyarrow, polars and the
  /// AWS command line write: "anon", "client_kwargs": {"endpoint_url"}, "aws_access_key_id", ...
  /// Invalid for others, by name and never with a value.
  static Result<StorageOptions> FromJson(const nlohmann::json& json);

  /// All that is set, with its secrets: for a copy in another process.
  nlohmann::json ToJson() const;

  /// Limits and retries as requests have them.
  http::HttpOptions http() const;
};

/// The address of a store that is not Amazon's or Google's own, without slashes at its end. Invalid
/// where it is no web address, or has a user or a query: these stand in options.
Result<std::string> CheckedEndpoint(const std::string& endpoint_url);

}  // namespace easydata::stores
