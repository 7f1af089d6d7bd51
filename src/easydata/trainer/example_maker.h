#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/row_fields.h"
#include "easydata/config/problem.h"
#include "easydata/stream/plan.h"
#include "easydata/trainer/example_context.h"
#include "easydata/trainer/example_options.h"
#include "easydata/trainer/example_writer.h"
#include "easydata/trainer/row_chats.h"
#include "easydata/trainer/text_pieces.h"

namespace easydata::trainer {

/// The text that an example is made of, and which parts of it are messages: for people to look at.
struct ExplainedText {
  struct Turn {
    std::string role;
    size_t begin = 0;  // bytes; both 0 where nothing of it was printed
    size_t end = 0;
    /// What the template leaves out of it: "content, tool_calls".
    std::string left_out = {};
  };
  std::string text;
  std::vector<Turn> turns = {};
  /// Why no example can be made of it; empty where one can.
  std::string error = {};
};

/// What is read of rows before their texts are encoded: of each row the examples to come.
class ExampleDrafts {
 public:
  struct Row {
    int64_t number;
    const chat::RowFields& fields;
    RowChats& chats;
    TextPieces& pieces;
    /// Where it is given, the texts of the row's examples are added to it.
    std::vector<ExplainedText>* explained = nullptr;
  };

  virtual ~ExampleDrafts() = default;

  /// Reads a row. Invalid or TypeError, saying what it lacks or has, where no example can be made
  /// of it; nothing is kept of it then.
  virtual Status Read(const Row& row) = 0;

  /// Writes the examples of all rows, in their order, once the texts are encoded.
  virtual Status Write(const TextPieces& pieces, ExampleWriter* writer) const = 0;
};

/// Names of the fields that rows have: of each form of rows once.
struct RowForms {
  std::vector<std::vector<std::string>> forms = {};
  /// Whether there are no others.
  bool is_all = false;
};

/// Makes the examples of one kind of trainer. Thread-safe.
class ExampleMaker {
 public:
  virtual ~ExampleMaker() = default;

  /// The name in plans and YAML: "sft".
  virtual const char* name() const = 0;
  /// The fields of rows that are looked at.
  virtual std::vector<std::string> fields() const = 0;
  /// Fields that are looked at, too, and that plans do not name, so that states which were saved
  /// before these were read stay good.
  virtual std::vector<std::string> unnamed_fields() const { return {}; }
  /// The columns that are made.
  virtual std::vector<ExampleWriter::Column> columns() const = 0;
  virtual std::unique_ptr<ExampleDrafts> Start() const = 0;
  /// The options as JSON, for plans.
  virtual config::Json described() const = 0;
  virtual const ExampleOptions& example_options() const = 0;
  /// Whether examples may be filled up to one length.
  virtual bool is_padded() const { return example_options().has_fixed_shapes(); }
  /// The label of what is not trained on.
  virtual int32_t ignored_label() const { return -100; }
  /// How columns are filled up where examples have lengths of their own.
  virtual ColumnPaddings paddings(const TokenRoles& tokens) const;
  /// The same for rows of these forms: it makes a column of what they have already of their
  /// examples, too. Null: no other than this one.
  virtual std::shared_ptr<const ExampleMaker> For(const RowForms& rows) const { return nullptr; }

  /// Whether a column is kept as rows have it.
  bool keeps(std::string_view column) const;
};

// One maker for each kind of options.
Result<std::shared_ptr<const ExampleMaker>> SftExamples(std::shared_ptr<const ExampleContext>,
                                                        const SftOptions& options);
Result<std::shared_ptr<const ExampleMaker>> PreferenceExamples(
    std::shared_ptr<const ExampleContext>, const PreferenceOptions& options);
/// `embedding` encodes prompts a second time, where it is given; `embedding_pad_id` fills these up.
Result<std::shared_ptr<const ExampleMaker>> UnpairedExamples(
    std::shared_ptr<const ExampleContext>, const UnpairedOptions& options,
    std::shared_ptr<const tokenizers::TextEncoder> embedding = nullptr,
    int32_t embedding_pad_id = 0);
Result<std::shared_ptr<const ExampleMaker>> PromptExamples(std::shared_ptr<const ExampleContext>,
                                                           const PromptOptions& options);
Result<std::shared_ptr<const ExampleMaker>> RewardExamples(std::shared_ptr<const ExampleContext>,
                                                           const RewardOptions& options);
Result<std::shared_ptr<const ExampleMaker>> EmbeddingExamples(std::shared_ptr<const ExampleContext>,
                                                              const EmbeddingOptions& options);

// Why examples are left out.
inline constexpr const char kNoLossReason[] = "no_loss";          // nothing of it is trained on
inline constexpr const char kLongPromptReason[] = "long_prompt";  // the prompt fills all there is
inline constexpr const char kTooLongReason[] = "too_long";
inline constexpr const char kEmptyAnswerReason[] = "empty_answer";

/// A field that must hold text; TypeError where it holds something else.
Result<std::string_view> TextOf(const jinja::Value& value, std::string_view field);

/// The ids that a row has in a field; nothing where it has none. TypeError where it has something
/// else.
Result<std::optional<std::vector<int32_t>>> IdsOf(const chat::RowFields& fields,
                                                  std::string_view field);

/// The mask that a row has in a field, of so many tokens; nothing where it has none. TypeError
/// where it has something else, Invalid where it has another length.
Result<std::optional<std::vector<int32_t>>> MaskOf(const chat::RowFields& fields,
                                                   std::string_view field, size_t num_tokens);

/// The columns of tokens of a row that has them all already: one list for each of `columns`, empty
/// for others. Nothing where it has not even `first`; KeyError where it has that one, but not all.
Result<std::optional<std::vector<std::vector<int32_t>>>> MadeColumns(
    const chat::RowFields& fields, const std::string& first,
    const std::vector<ExampleWriter::Column>& columns);

/// The forms of rows: names of fields that do not hold null. A row that cannot be read has none.
/// Where it is wanted, `first_rows` gets the numbers of the first rows of each form, and of those
/// of which other fields say something: hold no empty text, list or object.
RowForms FormsOf(const arrow::RecordBatch& rows, std::vector<int64_t>* first_rows = nullptr);

/// The texts that the examples of a row of JSON are made of. As ExampleDrafts::Read, but for what
/// a template leaves out, which is in the result.
Result<std::vector<ExplainedText>> ExplainRow(const ExampleMaker& maker,
                                              const ExampleContext& context, std::string_view json);

/// Names of the fields of a JSON row that examples of it are made of; all that are looked at, of a
/// row in error. IsPairWithoutPrompt tells the one error of rows that is said.
Result<std::set<std::string>> FieldsRead(const ExampleMaker& maker, const ExampleContext& context,
                                         std::string_view json_row);

/// The error of a row that has none of the fields that examples are made of.
Status NothingToRead(const chat::RowFields& fields, const char* expected);

}  // namespace easydata::trainer
