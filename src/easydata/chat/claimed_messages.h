#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/conversation.h"
#include "easydata/chat/template_habits.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Something that a conversation says and its text does not have.
struct LostText {
  /// kTools: of the conversation, not of a message.
  static constexpr uint32_t kConversation = 0xFFFFFFFF;

  uint32_t message = kConversation;
  /// The one of Value::kContent, kReasoning, kCalls, kTools that it is.
  uint8_t source = 0;
  /// Of kCalls: which of them; kAnyCall: all.
  uint32_t call = jinja::Value::kAnyCall;
};

struct ClaimOptions {
  /// Other names of roles.
  const RoleMapping* roles = nullptr;
  /// What the template is known for.
  const HabitsOfRow* habits = nullptr;
  /// Reasoning may be left out.
  bool drops_reasoning = false;
};

/// Finds what of a conversation its text does not have: all content, reasoning and each call of
/// each message, and the tools, are looked for. Reasoning of earlier turns, which a template prints
/// in a conversation that ends with it, is the template's own business and not lost.
///
/// `request` is what was rendered, with a trace; without text marks, texts are searched for words.
/// Replaces *lost, which stays empty, and takes no memory, where nothing is.
Status FindLostTexts(const ChatRequest& request, const RenderedChat& rendered,
                     const ClaimOptions& options, std::vector<LostText>* lost);

/// Invalid, naming the first of what FindLostTexts finds and what to do, where it finds something.
Status CheckClaimed(const ChatRequest& request, const RenderedChat& rendered,
                    const ClaimOptions& options);

/// What a bit of Value::kSources is called.
std::string_view NameOfSource(uint8_t source);

/// What a lost text is, and what can be done, for people.
std::string DescribeLost(const LostText& lost, const jinja::Value& messages,
                         const RoleMapping& roles);

/// Invalid where the assistant is to be trained on a message that says nothing. IsEmptyAnswer tells
/// it from other errors. `field` is where the messages were read.
Status CheckSaysSomething(const jinja::Value& messages, const RoleMapping& roles,
                          std::string_view field);

/// The error of an answer that says nothing; `what` is the subject of a sentence.
Status EmptyAnswer(std::string_view what);
bool IsEmptyAnswer(const Status& status);

/// The first role of messages with text that nobody has told us of, and that was printed as it is;
/// empty where there is none.
std::string_view StrangeRole(const jinja::Value& messages, const RoleMapping& roles,
                             const std::vector<std::string>* own_roles);
std::string StrangeRoleNotice(std::string_view role);

}  // namespace easydata::chat
