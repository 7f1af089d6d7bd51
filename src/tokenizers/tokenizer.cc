#include "tokenizers/tokenizer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/exec/parallel_for.h"
#include "tokenizers/encode_workers.h"
#include "tokenizers/id_lists.h"
#include "tokenizers/text_column.h"
#include "tokenizers/text_fragments.h"
#include "tokenizers/tokenizer_plan.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// Text that one task of EncodeChunked takes. Texts several times as long are cut.
constexpr size_t kTaskBytes = size_t{1} << 20;

// Less text has smaller tasks, this many for each thread, down to that size.
constexpr int64_t kTasksPerThread = 24;
constexpr int64_t kLeastTaskBytes = int64_t{1} << 15;

// Ids to reserve for this much text: hardly any has more, and memory that is not written takes no
// pages. A result beyond that grows with its ids.
size_t ExpectedIds(int64_t text_bytes) {
  constexpr int64_t kMost = int64_t{1} << 28;
  return static_cast<size_t>(std::min(text_bytes / 2, kMost));
}

// A run of rows of one chunk, or some fragments of one row, and its result.
struct EncodeTask {
  const TextColumn* column;
  int64_t begin;
  int64_t end;
  std::vector<TextFragment> fragments = {};
  bool is_first = true;  // of the tasks of its row
  bool is_last = true;
  EncodedRows rows = {};

  // Of its text.
  int64_t num_bytes() const {
    if (fragments.empty()) return column->bytes(begin, end);
    int64_t bytes = 0;
    for (const TextFragment& fragment : fragments) {
      bytes += static_cast<int64_t>(fragment.text.size());
    }
    return bytes;
  }
};

}  // namespace

void CutTexts::Add(const CutTexts& next, int64_t first_row) {
  texts += next.texts;
  ids += next.ids;
  for (const int64_t row : next.first_rows) NoteRow(first_row + row);
}

std::string TokenizerFingerprint(std::string_view json, const TokenizerOptions& options) {
  std::string minified(json.size(), '\0');
  size_t size = 0;
  if (simdjson::minify(json.data(), json.size(), minified.data(), size) == simdjson::SUCCESS) {
    minified.resize(size);
  } else {
    minified = json;
  }
  return ToHex(Hash64(minified)) + ToHex(Hash64(minified, 1)) +
         (options.split_special_tokens ? "-split" : "") + (options.truncate_left ? "-left" : "");
}

class Tokenizer::Impl {
 public:
  Impl(std::unique_ptr<const TokenizerPlan> plan, std::string fingerprint, bool truncate_left)
      : plan_(std::move(plan)),
        fingerprint_(std::move(fingerprint)),
        truncate_left_(truncate_left),
        workers_(plan_.get()) {}

  const std::shared_ptr<const TokenizerPlan>& plan() const { return plan_; }
  const std::string& fingerprint() const { return fingerprint_; }
  const EncodeWorkers& workers() const { return workers_; }

  // The truncation in force: the caller's length takes precedence over the file's.
  std::optional<Truncation> TruncationFor(const EncodeOptions& options) const {
    if (options.max_length <= 0) return plan_->truncation();
    Truncation truncation;
    truncation.max_length = options.max_length;
    truncation.left = truncate_left_;
    return truncation;
  }

  // Whether the ids of a text are those of its fragments between a constant beginning and end.
  bool TakesFragments(const EncodeOptions& options) const {
    return !TruncationFor(options) && plan_->post().layout(options.add_special_tokens).WrapsOnce();
  }

  // Appends the ids of a valid text to the worker's. Returns whether the text was cut.
  Result<CutTexts> EncodeText(std::string_view text, const char* readable_end,
                              const EncodeOptions& options, EncodeWorker* worker) const {
    IdBuffer& ids = worker->ids();
    const TextLayout& layout = plan_->post().layout(options.add_special_tokens);
    const bool wraps = layout.WrapsOnce();
    if (wraps) ids.Append(layout.constants[0]);
    const size_t begin = ids.size();
    const std::optional<Truncation> truncation = TruncationFor(options);
    const int64_t num_added = options.add_special_tokens ? plan_->post().num_added : 0;
    size_t limit = SIZE_MAX;
    if (truncation && !truncation->left && !options.count_cut) {
      if (const auto kept = KeptIds(*truncation, num_added)) limit = begin + *kept;
    }
    ARROW_RETURN_NOT_OK(EncodeBody(text, readable_end, limit, worker));
    CutTexts cut;
    if (truncation) {
      const size_t whole = ids.size();
      ARROW_ASSIGN_OR_RAISE(const bool is_cut, TruncateIds(*truncation, num_added, begin, &ids));
      if (is_cut) cut = {1, static_cast<int64_t>(whole - ids.size())};
    }
    if (wraps) {
      ids.Append(layout.constants[1]);
    } else {
      ARROW_RETURN_NOT_OK(LayOutText(layout, begin, &ids));
    }
    return cut;
  }

  // Gives the ids to `joiner` as those of part `part`.
  Status RunTask(EncodeTask* task, const EncodeOptions& options, size_t part,
                 IdJoiner* joiner) const {
    std::unique_ptr<EncodeWorker> worker = workers_.Take();
    const size_t expected = ExpectedIds(task->num_bytes());
    if (worker->ids().capacity() == 0) worker->ids() = workers_.id_buffers()->Take(expected);
    worker->ids().Resize(0);
    worker->ids().Reserve(expected);
    const Status status = task->fragments.empty() ? EncodeRows(task, options, worker.get())
                                                  : EncodeFragments(task, options, worker.get());
    if (status.ok()) {
      EncodedRows& rows = task->rows;
      rows.num_ids = static_cast<int64_t>(worker->ids().size());
      rows.texts = &task->column->array();
      rows.first_row = task->begin;
      joiner->Add(part, std::exchange(worker->ids(), IdBuffer()));
    }
    workers_.GiveBack(std::move(worker));
    return status;
  }

  // Cuts the rows of columns into tasks; one thread takes each column whole.
  Result<std::vector<EncodeTask>> MakeTasks(const std::vector<TextColumn>& columns,
                                            const EncodeOptions& options, int num_threads) const {
    std::vector<EncodeTask> tasks;
    const bool takes_fragments = num_threads > 1 && TakesFragments(options);
    int64_t num_bytes = 0;
    for (const TextColumn& column : columns) {
      num_bytes += column.bytes(0, column.array().length());
    }
    const int64_t limit =
        std::clamp(num_threads > 1 ? num_bytes / (kTasksPerThread * num_threads) : num_bytes,
                   kLeastTaskBytes, static_cast<int64_t>(kTaskBytes));
    for (const TextColumn& column : columns) {
      const int64_t length = column.array().length();
      for (int64_t begin = 0; begin < length;) {
        int64_t end = begin + 1;
        if (takes_fragments && column.bytes(begin, end) >= int64_t{4 * kTaskBytes} &&
            column.array().IsValid(begin)) {
          ARROW_RETURN_NOT_OK(AddFragmentTasks(column, begin, &tasks));
        } else {
          while (end < length && column.bytes(begin, end + 1) <= limit) ++end;
          tasks.push_back({&column, begin, end});
        }
        begin = end;
      }
    }
    return tasks;
  }

  // Runs tasks and joins their lists in their order, or gives the first error.
  Result<std::shared_ptr<arrow::Array>> RunTasks(std::span<EncodeTask> tasks,
                                                 const EncodeOptions& options, int num_threads,
                                                 CutTexts* cut) const {
    int64_t num_bytes = 0;
    for (const EncodeTask& task : tasks) num_bytes += task.num_bytes();
    IdJoiner joiner(tasks.size(), ExpectedIds(num_bytes), workers_.id_buffers().get());
    ARROW_RETURN_NOT_OK(exec::ParallelFor(tasks.size(), num_threads, [&](size_t i) {
      return RunTask(&tasks[i], options, i, &joiner);
    }));
    std::vector<EncodedRows> parts;
    parts.reserve(tasks.size());
    CutTexts all_cut;
    for (EncodeTask& task : tasks) {
      for (const int64_t row : task.rows.first_cut_rows) all_cut.NoteRow(row);
      all_cut.texts += task.rows.num_cut_texts;
      all_cut.ids += task.rows.num_cut_ids;
      parts.push_back(std::move(task.rows));
    }
    if (cut != nullptr) *cut = std::move(all_cut);
    ARROW_ASSIGN_OR_RAISE(auto ids, joiner.Finish());
    ARROW_ASSIGN_OR_RAISE(auto lists, JoinRows(parts, std::move(ids)));
    const auto& padding = plan_->padding();
    return options.pad && padding ? PadLists(*padding, lists) : lists;
  }

 private:
  Status EncodeRows(EncodeTask* task, const EncodeOptions& options, EncodeWorker* worker) const {
    const TextColumn& column = *task->column;
    ARROW_RETURN_NOT_OK(column.Check(task->begin, task->end));
    IdBuffer& ids = worker->ids();
    EncodedRows& rows = task->rows;
    rows.ends.reserve(static_cast<size_t>(task->end - task->begin));
    const bool has_nulls = column.array().null_count() > 0;
    for (int64_t row = task->begin; row < task->end; ++row) {
      if (!has_nulls || column.array().IsValid(row)) {
        const Result<CutTexts> cut =
            EncodeText(column.text(row), column.readable_end(), options, worker);
        if (!cut.ok()) {
          return cut.status().WithMessage("row ", row, ": ", cut.status().message());
        }
        if (cut->texts > 0 && rows.first_cut_rows.size() < CutTexts::kMostRows) {
          rows.first_cut_rows.push_back(row);
        }
        rows.num_cut_texts += cut->texts;
        rows.num_cut_ids += cut->ids;
      }
      rows.ends.push_back(static_cast<int64_t>(ids.size()));
    }
    return Status::OK();
  }

  Status AddFragmentTasks(const TextColumn& column, int64_t row,
                          std::vector<EncodeTask>* tasks) const {
    ARROW_RETURN_NOT_OK(column.Check(row, row + 1));
    std::unique_ptr<EncodeWorker> worker = workers_.Take();
    auto groups = CutText(*plan_, column.text(row), kTaskBytes, worker.get());
    workers_.GiveBack(std::move(worker));
    for (size_t i = 0; i < groups.size(); ++i) {
      tasks->push_back(
          {&column, row, row + 1, std::move(groups[i]), i == 0, i + 1 == groups.size()});
    }
    return Status::OK();
  }

  Status EncodeFragments(EncodeTask* task, const EncodeOptions& options,
                         EncodeWorker* worker) const {
    IdBuffer& ids = worker->ids();
    const TextLayout& layout = plan_->post().layout(options.add_special_tokens);
    if (task->is_first) ids.Append(layout.constants[0]);
    for (const TextFragment& fragment : task->fragments) {
      if (fragment.id >= 0) {
        ids.Append(fragment.id);
        continue;
      }
      const char* const readable_end = task->column->readable_end();
      const Status status =
          fragment.is_rest
              ? worker->encoder->EncodeRest(fragment.text, readable_end, SIZE_MAX)
              : EncodeRawPiece(fragment.text, fragment.at_start, readable_end, SIZE_MAX, worker);
      if (!status.ok()) return status.WithMessage("row ", task->begin, ": ", status.message());
    }
    if (!task->is_last) return Status::OK();
    ids.Append(layout.constants[1]);
    task->rows.ends.push_back(static_cast<int64_t>(ids.size()));
    return Status::OK();
  }

  // Raw added tokens first, then each piece between them is normalized and searched for the others.
  Status EncodeBody(std::string_view text, const char* readable_end, size_t limit,
                    EncodeWorker* worker) const {
    worker->raw_parts.clear();
    if (!plan_->added().raw().Split(text, &worker->raw_parts)) {
      return EncodeRawPiece(text, true, readable_end, limit, worker);
    }
    IdBuffer& ids = worker->ids();
    for (const TextPart& part : worker->raw_parts) {
      if (ids.size() > limit) break;
      if (part.id >= 0) {
        ids.Append(part.id);
      } else {
        ARROW_RETURN_NOT_OK(EncodeRawPiece(text.substr(part.begin, part.end - part.begin),
                                           part.begin == 0, readable_end, limit, worker));
      }
    }
    return Status::OK();
  }

  Status EncodeRawPiece(std::string_view piece, bool at_start, const char* readable_end,
                        size_t limit, EncodeWorker* worker) const {
    const size_t origin =
        at_start && !piece.empty() ? static_cast<size_t>(utf8::Decode(piece.data()).length) : 0;
    if (plan_->encoders_normalize()) {
      if (plan_->TakesRaw(piece)) {
        return worker->encoder->Encode(piece, origin, readable_end, limit);
      }
      if (worker->staged == nullptr) worker->staged = plan_->MakeStagedEncoder();
      IdBuffer& ids = worker->staged->ids();
      ids.Resize(0);
      ARROW_RETURN_NOT_OK(
          EncodeStages(piece, origin, readable_end, SIZE_MAX, worker, worker->staged.get()));
      worker->ids().Append(ids.data(), ids.size());
      return Status::OK();
    }
    return EncodeStages(piece, origin, readable_end, limit, worker, worker->encoder.get());
  }

  // A piece is normalized and searched for normalized added tokens.
  Status EncodeStages(std::string_view piece, size_t origin, const char* readable_end, size_t limit,
                      EncodeWorker* worker, PieceEncoder* encoder) const {
    if (const Normalizer* normalizer = plan_->normalizer();
        normalizer != nullptr && !normalizer->IsInert(piece)) {
      ARROW_RETURN_NOT_OK(plan_->asks_for_origin() && origin > 0
                              ? normalizer->NormalizeWithOrigin(piece, &origin, &worker->normalized)
                              : normalizer->Normalize(piece, &worker->normalized));
      piece = worker->normalized;
      readable_end = piece.data() + piece.size();
      ARROW_RETURN_NOT_OK(CheckGrownSize(piece.size(), "normalizer"));
    }
    worker->normalized_parts.clear();
    if (!plan_->added().normalized().Split(piece, &worker->normalized_parts)) {
      return encoder->Encode(piece, origin, readable_end, limit);
    }
    for (const TextPart& part : worker->normalized_parts) {
      if (encoder->ids().size() > limit) break;
      if (part.id >= 0) {
        encoder->ids().Append(part.id);
      } else {
        const std::string_view rest = piece.substr(part.begin, part.end - part.begin);
        const size_t rest_origin = std::clamp(origin, part.begin, part.end) - part.begin;
        ARROW_RETURN_NOT_OK(encoder->Encode(rest, rest_origin, readable_end, limit));
      }
    }
    return Status::OK();
  }

  const std::shared_ptr<const TokenizerPlan> plan_;
  const std::string fingerprint_;
  const bool truncate_left_;
  const EncodeWorkers workers_;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(std::string_view json,
                                                             const TokenizerOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto plan, TokenizerPlan::Make(json, options));
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::make_unique<Impl>(
      std::move(plan), TokenizerFingerprint(json, options), options.truncate_left)));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromFile(const std::string& path,
                                                             const TokenizerOptions& options) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) {
    return Status::IOError("cannot open the tokenizer file ", path, ": ", std::strerror(errno));
  }
  std::string json;
  char block[1 << 16];
  for (size_t n; (n = std::fread(block, 1, sizeof(block), file.get())) > 0;) json.append(block, n);
  if (std::ferror(file.get()) != 0) {
    return Status::IOError("cannot read the tokenizer file ", path, ": ", std::strerror(errno));
  }
  Result<std::shared_ptr<const Tokenizer>> result = FromJson(json, options);
  if (!result.ok()) {
    return result.status().WithMessage(path, ": ", result.status().message());
  }
  return result;
}

Status Tokenizer::Encode(std::string_view text, const EncodeOptions& options,
                         std::vector<int32_t>* ids) const {
  ARROW_RETURN_NOT_OK(CheckText(text));
  std::unique_ptr<EncodeWorker> worker = impl_->workers().Take();
  IdBuffer& buffer = worker->ids();
  buffer.Resize(0);
  const Status status =
      impl_->EncodeText(text, text.data() + text.size(), options, worker.get()).status();
  if (status.ok()) {
    if (const auto& padding = impl_->plan()->padding(); options.pad && padding) {
      PadIds(*padding, PaddedLength(*padding, static_cast<int64_t>(buffer.size())), 0, &buffer);
    }
    ids->assign(buffer.data(), buffer.data() + buffer.size());
  }
  impl_->workers().GiveBack(std::move(worker));
  return status;
}

Result<std::shared_ptr<arrow::Array>> Tokenizer::EncodeBatch(const arrow::Array& texts,
                                                             const EncodeOptions& options,
                                                             CutTexts* cut) const {
  ARROW_ASSIGN_OR_RAISE(const TextColumn column, TextColumn::Make(texts));
  EncodeTask task = {&column, 0, texts.length()};
  return impl_->RunTasks({&task, 1}, options, 1, cut);
}

Result<std::shared_ptr<arrow::Array>> Tokenizer::EncodeChunked(const arrow::ChunkedArray& texts,
                                                               const EncodeOptions& options,
                                                               int num_threads,
                                                               CutTexts* cut) const {
  std::vector<TextColumn> columns;
  columns.reserve(static_cast<size_t>(texts.num_chunks()));
  for (const auto& chunk : texts.chunks()) {
    ARROW_ASSIGN_OR_RAISE(const TextColumn column, TextColumn::Make(*chunk));
    columns.push_back(column);
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<EncodeTask> tasks,
                        impl_->MakeTasks(columns, options, num_threads));
  return impl_->RunTasks(tasks, options, num_threads, cut);
}

std::shared_ptr<const TextDecoder> Tokenizer::decoder() const {
  return {impl_->plan(), impl_->plan()->decoder().get()};
}

Result<std::string> Tokenizer::Decode(std::span<const int32_t> ids,
                                      bool skip_special_tokens) const {
  return decoder()->Decode(ids, skip_special_tokens);
}

Result<std::shared_ptr<arrow::Array>> Tokenizer::DecodeBatch(const arrow::Array& lists,
                                                             bool skip_special_tokens,
                                                             int num_threads) const {
  return decoder()->DecodeBatch(lists, skip_special_tokens, num_threads);
}

Result<std::vector<int32_t>> Tokenizer::AddedIds() const {
  std::vector<int32_t> ids;
  for (const auto& [id, flags] : AddedTokenFlags()) ids.push_back(id);
  return ids;
}

std::optional<int32_t> Tokenizer::TokenToId(std::string_view token) const {
  const TokenizerPlan& plan = *impl_->plan();
  if (const AddedToken* added = plan.added().FindContent(token); added != nullptr) {
    return added->id;
  }
  const int32_t id = plan.model().TokenToId(token);
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

std::optional<std::string> Tokenizer::IdToToken(int32_t id) const {
  const TokenizerPlan& plan = *impl_->plan();
  if (const AddedToken* added = plan.added().FindId(id); added != nullptr) return added->pattern;
  const std::optional<std::string_view> token = plan.model().IdToToken(id);
  return token ? std::optional<std::string>(*token) : std::nullopt;
}

std::vector<std::pair<int32_t, Tokenizer::AddedFlags>> Tokenizer::AddedTokenFlags() const {
  std::vector<std::pair<int32_t, AddedFlags>> flags;
  for (const AddedToken& token : impl_->plan()->added().tokens()) {
    flags.emplace_back(token.id, AddedFlags{token.special, token.lstrip, token.rstrip,
                                            token.normalized, token.single_word});
  }
  return flags;
}

std::string Tokenizer::fingerprint() const { return impl_->fingerprint(); }

int64_t Tokenizer::vocab_size() const {
  return impl_->plan()->model().size() + impl_->plan()->added().num_new();
}

int64_t Tokenizer::id_limit() const {
  int64_t limit = impl_->plan()->model().id_limit();
  for (const AddedToken& added : impl_->plan()->added().tokens()) {
    limit = std::max<int64_t>(limit, int64_t{added.id} + 1);
  }
  return limit;
}

const std::vector<std::pair<std::string, std::string>>& Tokenizer::steps() const {
  return impl_->plan()->steps();
}

}  // namespace easydata::tokenizers
