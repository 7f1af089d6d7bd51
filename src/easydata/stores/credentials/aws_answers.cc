#include "easydata/stores/credentials/aws_answers.h"

#include <cerrno>
#include <nlohmann/json.hpp>

#include "easydata/http/answer_text.h"
#include "easydata/http/iso_time.h"
#include "easydata/http/server_error.h"
#include "easydata/json/bounded_json.h"

namespace easydata::credentials {
namespace {

Status BadAnswer(const std::string& source, const std::string& what) {
  return http::ServerError(EACCES, source, " gives no AWS credentials: ", what);
}

}  // namespace

Result<std::chrono::system_clock::time_point> ParseExpiry(const std::string& text,
                                                          const std::string& source) {
  if (text.empty()) return std::chrono::system_clock::time_point::max();
  const auto time = http::ParseIsoTime(text);
  if (!time.has_value()) {
    return BadAnswer(source, "its Expiration is not a time such as 2026-11-25T10:00:00Z");
  }
  return *time;
}

Result<http::Credentials> ParseAwsCredentials(std::string_view text, const std::string& source) {
  const auto parsed = json::ParseBoundedJson(text);
  if (!parsed.ok() || !parsed->is_object()) {
    return BadAnswer(source, "its answer is not an object in JSON");
  }
  const nlohmann::json& json = *parsed;
  if (const auto version = json.find("Version"); version != json.end() && *version != 1) {
    return BadAnswer(source, "its answer is of another Version than 1");
  }
  http::Credentials out;
  out.key = http::JsonText(json, "AccessKeyId");
  out.secret = http::JsonText(json, "SecretAccessKey");
  out.token = http::JsonText(json, "SessionToken");
  if (out.token.empty()) out.token = http::JsonText(json, "Token");
  if (out.key.empty() || out.secret.empty()) {
    std::string words = http::JsonText(json, "Message");
    if (words.empty()) words = http::JsonText(json, "message");
    if (words.empty()) words = http::JsonText(json, "Code");
    return BadAnswer(source, words.empty() ? "its answer has no AccessKeyId and SecretAccessKey"
                                           : words.substr(0, 300));
  }
  ARROW_ASSIGN_OR_RAISE(out.expires, ParseExpiry(http::JsonText(json, "Expiration"), source));
  return out;
}

}  // namespace easydata::credentials
