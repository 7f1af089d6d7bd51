#include <algorithm>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {
namespace {

using jinja::Value;

struct EmbeddingMaker : ExampleMaker, std::enable_shared_from_this<EmbeddingMaker> {
  EmbeddingMaker(std::shared_ptr<const ExampleContext> context, const EmbeddingOptions& options,
                 SpecialFrame frame)
      : context(std::move(context)), options(options), frame(std::move(frame)) {}

  const char* name() const override { return "embedding"; }
  std::vector<std::string> fields() const override {
    std::vector<std::string> names = {options.query_field, options.positive_field};
    if (options.negative_field.has_value()) names.push_back(*options.negative_field);
    return names;
  }
  std::vector<std::string> unnamed_fields() const override {
    std::vector<std::string> names;
    for (const ExampleWriter::Column& column : columns()) names.push_back(column.name);
    return names;
  }
  std::vector<ExampleWriter::Column> columns() const override {
    constexpr auto kMask = ExampleWriter::Kind::kMask;
    std::vector<ExampleWriter::Column> made = {{"query_input_ids"},
                                               {"query_attention_mask", kMask},
                                               {"positive_input_ids"},
                                               {"positive_attention_mask", kMask}};
    if (options.negative_field.has_value()) {
      made.push_back({"negative_input_ids"});
      made.push_back({"negative_attention_mask", kMask});
    }
    return made;
  }
  std::unique_ptr<ExampleDrafts> Start() const override;
  config::Json described() const override { return config::WriteConfig(options); }
  const ExampleOptions& example_options() const override { return options.example; }

  const std::shared_ptr<const ExampleContext> context;
  const EmbeddingOptions options;
  const std::vector<std::string> texts = fields();
  const std::vector<ExampleWriter::Column> made = columns();
  const SpecialFrame frame;
};

class EmbeddingDrafts : public ExampleDrafts {
 public:
  explicit EmbeddingDrafts(std::shared_ptr<const EmbeddingMaker> maker)
      : maker_(std::move(maker)) {}

  Status Read(const Row& row) override {
    Draft draft = {.row = row.number};
    ARROW_ASSIGN_OR_RAISE(auto made, MadeColumns(row.fields, maker_->made[0].name, maker_->made));
    if (made.has_value()) {
      draft.made = *std::move(made);
      drafts_.push_back(std::move(draft));
      return Status::OK();
    }
    for (const std::string& field : maker_->texts) {
      ARROW_ASSIGN_OR_RAISE(const Value value, row.fields.Get(field));
      ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(value, field));
      draft.pieces.push_back(row.pieces.Add(text, /*add_special_tokens=*/true, row.number));
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  Status Write(const TextPieces& pieces, ExampleWriter* writer) const override {
    const EmbeddingOptions& options = maker_->options;
    const TokenRoles& tokens = maker_->context->tokens;
    Filling filling = {.value = tokens.pad_id, .left = tokens.pad_left};
    if (options.example.has_fixed_shapes()) filling.length = options.max_length;
    const auto tail =
        std::min<int64_t>(static_cast<int64_t>(maker_->frame.after.size()), options.max_length);
    for (const Draft& draft : drafts_) {
      if (!draft.made.empty()) {
        for (size_t i = 0; i < draft.made.size(); ++i) writer->Put(i, draft.made[i]);
        writer->EndExample(draft.row);
        continue;
      }
      int64_t cut = 0;
      for (size_t i = 0; i < draft.pieces.size(); ++i) {
        const auto ids = pieces.ids(draft.pieces[i]);
        const auto total = static_cast<int64_t>(ids.size());
        const int64_t length = std::min(total, options.max_length);
        if (length < total) {
          writer->Add(2 * i, ids.first(static_cast<size_t>(length - tail)));
          writer->Put(2 * i, ids.last(static_cast<size_t>(tail)), filling);
        } else {
          writer->Put(2 * i, ids, filling);
        }
        writer->PutOnes(2 * i + 1, length, filling);
        cut += total - length;
      }
      writer->Cut(draft.row, cut);
      writer->EndExample(draft.row);
    }
    return Status::OK();
  }

 private:
  struct Draft {
    int64_t row = 0;
    std::vector<int> pieces = {};
    /// The columns of a row that has them already.
    std::vector<std::vector<int32_t>> made = {};
  };

  const std::shared_ptr<const EmbeddingMaker> maker_;
  std::vector<Draft> drafts_;
};

std::unique_ptr<ExampleDrafts> EmbeddingMaker::Start() const {
  return std::make_unique<EmbeddingDrafts>(shared_from_this());
}

}  // namespace

Result<std::shared_ptr<const ExampleMaker>> EmbeddingExamples(
    std::shared_ptr<const ExampleContext> context, const EmbeddingOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(SpecialFrame frame, FindSpecialFrame(*context->encoder));
  return std::make_shared<EmbeddingMaker>(std::move(context), options, std::move(frame));
}

}  // namespace easydata::trainer
