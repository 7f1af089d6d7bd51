#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/conversation.h"
#include "easydata/chat/row_fields.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Fields in which rows have a conversation.
inline constexpr std::string_view kMessageFields[] = {"messages", "conversations", "conversation"};

/// Fields beside a conversation that are a part of it: its system message, under one of these names
/// (a developer's is one of that role),
inline constexpr std::string_view kSystemFields[] = {"system", "system_prompt", "developer"};
/// the tools that the model may call, and options of the chat template.
inline constexpr std::string_view kToolsField = "tools";
inline constexpr std::string_view kOptionsField = "chat_template_kwargs";

/// The system message that a row has beside its conversation, as a list of one message; none where
/// it has none. TypeError where it is no text, Invalid where two fields say different things.
Result<jinja::Value> SystemBeside(const FieldGetter& row, jinja::Arena* arena);

/// Puts a system message of SystemBeside before the messages of a conversation, both as
/// ReadConversation makes them; where it begins with the same one, it stays as it is. Invalid where
/// it begins with another one.
Result<jinja::Value> WithSystem(const jinja::Value& system, const jinja::Value& messages,
                                jinja::Arena* arena);

/// Messages with the system message that their row has beside them, if any, before them: both
/// functions above in one, with the options that the messages were read with.
Result<jinja::Value> WithSystemBeside(const FieldGetter& row, const jinja::Value& messages,
                                      ConversationOptions options, ValueReader* reader,
                                      jinja::Arena* arena);

/// The tools that a row describes (ReadTools); none where it has none.
Result<jinja::Value> ToolsBeside(const FieldGetter& row, ValueReader* reader, jinja::Arena* arena);

/// What a row's `chat_template_kwargs` hold: a dict or none.
Result<jinja::Value> OptionsBeside(const FieldGetter& row, ValueReader* reader,
                                   jinja::Arena* arena);

/// Fields of instructions, and of what answers them: Alpaca's, and those of ms-swift.
struct InstructionFields {
  std::string_view instruction;
  std::string_view input;
  std::string_view answer;
};
inline constexpr InstructionFields kInstructions[] = {{"instruction", "input", "output"},
                                                      {"query", "", "response"}};
/// The turns before an instruction: pairs of a question and its answer.
inline constexpr std::string_view kHistoryField = "history";

/// Messages of a row that has an instruction, with its input in a line below it, and the turns of
/// its `history` before it; nothing where it has none. `*answer` is the field of the answer.
Result<std::optional<jinja::Value>> InstructionOf(const FieldGetter& row, ValueReader* reader,
                                                  jinja::Arena* arena, std::string_view* answer);

/// The messages of InstructionOf, and of its answer behind them: text, or messages. None where the
/// row lacks one of both.
Result<jinja::Value> AnsweredInstruction(const FieldGetter& row, ValueReader* reader,
                                         jinja::Arena* arena);

/// What a row has in the field of its conversation; of an empty name, its AnsweredInstruction.
Result<jinja::Value> ConversationIn(const FieldGetter& row, std::string_view field,
                                    ValueReader* reader, jinja::Arena* arena);

/// What errors call the field of a conversation that ConversationIn() reads.
inline std::string_view NameOfConversation(std::string_view field) {
  return field.empty() ? kInstructions[0].instruction : field;
}

/// What is read beside the conversation of a row, but for its tools; of an instruction, its own
/// fields, too.
std::vector<std::string> FieldsBeside(bool instructions);

/// Fields that change what is trained wherever they are read: rows that have one which nobody reads
/// are not what they were meant to be.
std::vector<std::string> MeaningfulFields();

/// A message of a role and a text.
jinja::Value MessageOf(std::string_view role, const jinja::Value& content, jinja::Arena* arena);

/// A list of the items of two.
jinja::Value JoinLists(const jinja::Value& first, const jinja::Value& second, jinja::Arena* arena);

}  // namespace easydata::chat
