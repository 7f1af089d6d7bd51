// Arbitrary bytes as what says who asks: the files of the AWS command line and of Google, and what
// services answer to requests for credentials. There are credentials then that a request can carry,
// or an error in a sentence.
//
// Byte 0 chooses the chain and the environment; parts end at NULs: a file of settings, a second
// one, and the answers (scripted_curl.h). No program is run: what names one is passed over.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/exec/child_program.h"
#include "easydata/stores/credentials/aws_answers.h"
#include "easydata/stores/credentials/aws_credentials.h"
#include "easydata/stores/credentials/aws_profile.h"
#include "easydata/stores/credentials/google_credentials.h"
#include "easydata/stores/s3/s3_store.h"
#include "finding.h"
#include "scripted_curl.h"

namespace easydata {
namespace {

using fuzz::Fail;

constexpr std::string_view kRunsPrograms = "credential_process";

/// A file in memory, whose content is set again for each input.
class MemoryFile {
 public:
  explicit MemoryFile(const char* variable) : descriptor_(memfd_create(variable, 0)) {
    setenv(variable, path().c_str(), 1);
  }

  void Write(std::string_view text) const {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      Fail("the file cannot be written", text);
    }
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

bool NamesPrograms(std::string_view input) {
  return std::search(input.begin(), input.end(), kRunsPrograms.begin(), kRunsPrograms.end(),
                     [](char a, char b) {
                       return std::tolower(static_cast<unsigned char>(a)) == b;
                     }) != input.end();
}

void CheckStatus(const Status& status, std::string_view input) {
  using enum arrow::StatusCode;
  fuzz::CheckForeseen(status, {IOError, Invalid}, input);
}

void CheckCredentials(const http::Credentials& found, bool is_aws, std::string_view input) {
  // They stand in headers.
  for (const std::string* text : {&found.key, &found.token}) {
    if (text->find_first_of("\r\n") != std::string::npos) {
      Fail("credentials of more than one line", input);
    }
  }
  if (is_aws ? found.key.empty() || found.secret.empty() : found.token.empty()) {
    Fail("credentials that lack a part", input);
  }
}

void CheckCommand(std::string_view text) {
  const auto words = exec::SplitCommand(text);
  if (!words.ok()) return CheckStatus(words.status(), text);
  std::string quoted;
  for (const std::string& word : *words) {
    quoted += " '";
    for (const char c : word) quoted += c == '\'' ? "'\"'\"'" : std::string(1, c);
    quoted += "'";
  }
  if (exec::SplitCommand(quoted).ValueOrDie() != *words) Fail("quoted they are other words", text);
}

void Check(const uint8_t* data, size_t size) {
  if (size < 1) return;
  std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  if (NamesPrograms(input)) return;
  static const MemoryFile config("AWS_CONFIG_FILE");
  static const MemoryFile keys("AWS_SHARED_CREDENTIALS_FILE");
  static const MemoryFile google("GOOGLE_APPLICATION_CREDENTIALS");
  auto next_part = [rest = input]() mutable {
    const size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return std::pair(part, rest);
  };
  const auto [first, after_first] = next_part();
  const auto [second, after_second] = next_part();

  stores::StorageOptions options;
  options.retries = 0;
  options.retry_timeout = 0.2;
  const bool is_aws = (data[0] & 1) == 0;
  if (is_aws) {
    config.Write(first);
    keys.Write(second);
    const bool is_container = (data[0] & 2) != 0;
    is_container ? setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2", 1)
                 : unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if ((data[0] & 4) != 0) options.profile = "p";
    fuzz::SetAnswers(after_second);
  } else {
    google.Write(first);
    fuzz::SetAnswers(after_first);
  }
  const auto finder = is_aws ? credentials::MakeAwsCredentialFinder(options)
                             : credentials::MakeGoogleCredentialFinder(options);
  const auto found = finder->Find();
  CheckStatus(found.status(), input);
  if (found.ok() && found->has_value()) CheckCredentials(**found, is_aws, input);

  if (is_aws) CheckStatus(s3::S3Store::Make(options).status(), input);
  CheckStatus(credentials::ParseAwsCredentials(first, "a program").status(), input);
  CheckCommand(first);
}

}  // namespace
}  // namespace easydata

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Nothing of this machine says who asks, and there is no program to ask.
  for (const char* name : {"HOME", "PATH", "CLOUDSDK_CONFIG"}) setenv(name, "/nonexistent", 1);
  for (const char* name :
       {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"}) {
    unsetenv(name);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::Check(data, size);
  return 0;
}
