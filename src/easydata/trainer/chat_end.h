#pragma once

#include <string>

#include "easydata/base/status.h"
#include "easydata/jinja/value.h"
#include "easydata/trainer/example_context.h"

namespace easydata::trainer {

/// What is to be said of how chats end, which depends on no row: that the template's answers do not
/// end in the tokenizer's EOS token, so that a model does not learn to stop by it. "" where they
/// do, or nothing can be told. `tools` and `options` are those that the template is given.
Result<std::string> ChatEndNotice(const ExampleContext& context, const jinja::Value& tools,
                                  const jinja::Value& options);

}  // namespace easydata::trainer
