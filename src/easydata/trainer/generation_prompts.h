#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/jinja/value.h"
#include "easydata/trainer/example_context.h"

namespace easydata::trainer {

/// Knows what a chat template opens an assistant's turn with: the tokens that a model is given
/// before it writes.
///
/// They are those of a short conversation with `add_generation_prompt` that are not there without
/// it, so that they depend on the template and its options and on no row. Thread-safe.
class GenerationPrompts {
 public:
  /// The tokens before a turn that follows a message of role `after` ("user" or "tool").
  Result<std::shared_ptr<const std::vector<int32_t>>> Find(const ExampleContext& context,
                                                           const jinja::Value& tools,
                                                           const jinja::Value& options,
                                                           std::string_view after);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const std::vector<int32_t>>> known_;
};

}  // namespace easydata::trainer
