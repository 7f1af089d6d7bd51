#include "easydata/tokenizer/tokenizer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/tokenizer/added_tokens.h"
#include "easydata/tokenizer/byte_alphabet.h"
#include "easydata/tokenizer/decode/lossy_utf8.h"
#include "easydata/tokenizer/id_buffer.h"
#include "easydata/tokenizer/kernels.h"
#include "easydata/tokenizer/model/bpe_model.h"
#include "easydata/tokenizer/model/word_encoder.h"
#include "easydata/tokenizer/normalize/nfc.h"
#include "easydata/tokenizer/tokenizer_spec.h"
#include "easydata/tokenizer/utf8.h"

namespace easydata {
namespace {

// Offsets inside a text are 32 bits wide.
constexpr size_t kMaxTextBytes = std::numeric_limits<int32_t>::max();

// Text that one task of EncodeChunked takes.
constexpr int64_t kTaskBytes = int64_t{1} << 20;

Status InvalidText(std::string_view text) {
  return Status::Invalid(
      "text is not valid UTF-8; decode it properly or replace what is broken (byte ",
      FirstInvalidUtf8(text), ")");
}

// The texts of a string or large_string array, seen as one.
struct TextColumn {
  const arrow::Array* array;
  const char* data = "";
  const char* readable_end = data;  // no byte from here on may be read
  const int32_t* offsets = nullptr;
  const int64_t* large_offsets = nullptr;

  static Result<TextColumn> Make(const arrow::Array& array) {
    TextColumn column{&array};
    std::shared_ptr<arrow::Buffer> data;
    if (array.type_id() == arrow::Type::STRING) {
      const auto& strings = static_cast<const arrow::StringArray&>(array);
      column.offsets = strings.raw_value_offsets();
      data = strings.value_data();
    } else if (array.type_id() == arrow::Type::LARGE_STRING) {
      const auto& strings = static_cast<const arrow::LargeStringArray&>(array);
      column.large_offsets = strings.raw_value_offsets();
      data = strings.value_data();
    } else {
      return Status::TypeError("texts must be an Arrow array of string or large_string; got ",
                               array.type()->ToString());
    }
    if (data != nullptr && data->size() > 0) {
      column.data = reinterpret_cast<const char*>(data->data());
      column.readable_end = column.data + data->size();
    }
    return column;
  }

  int64_t offset(int64_t row) const {
    return offsets != nullptr ? offsets[row] : large_offsets[row];
  }
  int64_t bytes(int64_t begin, int64_t end) const {
    return array->length() == 0 ? 0 : offset(end) - offset(begin);
  }
  std::string_view text(int64_t row) const {
    return {data + offset(row), static_cast<size_t>(offset(row + 1) - offset(row))};
  }

  // Whether rows begin..end are valid UTF-8 and short enough, told in one pass over them.
  bool AreValid(int64_t begin, int64_t end) const {
    if (begin == end || bytes(begin, end) == 0) return true;
    if (!simdjson::validate_utf8(data + offset(begin), static_cast<size_t>(bytes(begin, end))))
      return false;
    for (int64_t row = begin; row < end; ++row) {
      const std::string_view value = text(row);
      if (value.size() > kMaxTextBytes || (!value.empty() && utf8::IsContinuation(value[0])))
        return false;
    }
    return true;
  }

  // The first reason for which AreValid is false.
  Status Explain(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      const std::string_view value = text(row);
      if (value.size() > kMaxTextBytes) {
        return Status::Invalid(
            "row ", row, ": text of more than 2 GiB; cut it first (bytes: ", value.size(), ")");
      }
      if (!simdjson::validate_utf8(value.data(), value.size())) {
        return InvalidText(value).WithMessage("row ", row, ": ", InvalidText(value).message());
      }
    }
    return Status::OK();
  }
};

// Ids of consecutive rows.
struct EncodedRows {
  std::vector<int64_t> ends;  // in ids
  std::shared_ptr<arrow::Buffer> ids;
  int64_t num_ids = 0;
  int64_t num_truncated = 0;
};

// A run of rows of one chunk, and what became of it.
struct EncodeTask {
  const TextColumn* column;
  int64_t begin;
  int64_t end;
  EncodedRows rows;
  Status status;
};

template <typename ListArray, typename Offset>
Result<std::shared_ptr<arrow::Array>> MakeLists(const std::vector<EncodeTask>& tasks,
                                                std::shared_ptr<arrow::Array> values,
                                                std::shared_ptr<arrow::Buffer> validity,
                                                int64_t null_count, int64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((length + 1) * sizeof(Offset)));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  *out++ = 0;
  int64_t base = 0;
  for (const EncodeTask& task : tasks) {
    for (const int64_t end : task.rows.ends) *out++ = static_cast<Offset>(base + end);
    base += task.rows.num_ids;
  }
  return std::make_shared<ListArray>(
      std::make_shared<typename ListArray::TypeClass>(arrow::int32()), length,
      std::shared_ptr<arrow::Buffer>(std::move(offsets)), std::move(values), std::move(validity),
      null_count);
}

// The validity of rows that may come from several arrays; nothing when no row is null.
Result<std::shared_ptr<arrow::Buffer>> JoinValidity(const std::vector<EncodeTask>& tasks,
                                                    int64_t length, int64_t* null_count) {
  *null_count = 0;
  std::shared_ptr<arrow::Buffer> validity;
  int64_t base = 0;
  for (const EncodeTask& task : tasks) {
    for (int64_t row = task.begin; row < task.end && task.column->array->null_count() > 0; ++row) {
      if (task.column->array->IsValid(row)) continue;
      if (validity == nullptr) {
        ARROW_ASSIGN_OR_RAISE(validity, arrow::AllocateBuffer((length + 7) / 8));
        std::memset(validity->mutable_data(), 0xFF, static_cast<size_t>(validity->size()));
      }
      const int64_t position = base + row - task.begin;
      validity->mutable_data()[position / 8] &= static_cast<uint8_t>(~(1u << position % 8));
      ++*null_count;
    }
    base += task.end - task.begin;
  }
  return validity;
}

// Joins what tasks made, in their order.
Result<std::shared_ptr<arrow::Array>> JoinTasks(const std::vector<EncodeTask>& tasks) {
  int64_t length = 0, num_ids = 0;
  for (const EncodeTask& task : tasks) {
    length += task.end - task.begin;
    num_ids += task.rows.num_ids;
  }
  int64_t null_count;
  ARROW_ASSIGN_OR_RAISE(auto validity, JoinValidity(tasks, length, &null_count));
  std::shared_ptr<arrow::Buffer> ids;
  if (tasks.size() == 1) {
    ids = tasks[0].rows.ids;
  } else {
    ARROW_ASSIGN_OR_RAISE(ids,
                          arrow::AllocateBuffer(num_ids * static_cast<int64_t>(sizeof(int32_t))));
    uint8_t* out = ids->mutable_data();
    for (const EncodeTask& task : tasks) {
      std::memcpy(out, task.rows.ids->data(), static_cast<size_t>(task.rows.ids->size()));
      out += task.rows.ids->size();
    }
  }
  auto values = std::make_shared<arrow::Int32Array>(num_ids, std::move(ids));
  if (num_ids > std::numeric_limits<int32_t>::max()) {
    return MakeLists<arrow::LargeListArray, int64_t>(tasks, std::move(values), std::move(validity),
                                                     null_count, length);
  }
  return MakeLists<arrow::ListArray, int32_t>(tasks, std::move(values), std::move(validity),
                                              null_count, length);
}

}  // namespace

std::string TokenizerFingerprint(std::string_view json) {
  std::string minified(json.size(), '\0');
  size_t size = 0;
  if (simdjson::minify(json.data(), json.size(), minified.data(), size) == simdjson::SUCCESS) {
    minified.resize(size);
  } else {
    minified = json;
  }
  return ToHex(Hash64(minified)) + ToHex(Hash64(minified, 1));
}

// What a thread encodes with; one at work per thread, kept for the next.
struct EncodeWorker {
  WordEncoder encoder;
  std::vector<TextPart> raw_parts;
  std::vector<TextPart> normalized_parts;
  std::string normalized;
  std::string prefixed;
};

class Tokenizer::Impl {
 public:
  Impl(TokenizerSpec spec, std::unique_ptr<const BpeModel> model, AddedTokens added,
       const Kernels* kernels, int64_t word_cache_bytes, std::string fingerprint)
      : spec_(std::move(spec)),
        model_(std::move(model)),
        added_(std::move(added)),
        kernels_(kernels),
        word_cache_bytes_(word_cache_bytes),
        fingerprint_(std::move(fingerprint)) {}

  // A worker for the caller alone.
  std::unique_ptr<EncodeWorker> TakeWorker() const {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<EncodeWorker> worker = std::move(idle_.back());
        idle_.pop_back();
        return worker;
      }
    }
    std::call_once(seeds_once_, [this] { seeds_ = MakeSeedWords(*model_); });
    return std::unique_ptr<EncodeWorker>(new EncodeWorker{
        WordEncoder(model_.get(), spec_.pattern, kernels_, word_cache_bytes_, seeds_),
        {},
        {},
        {},
        {}});
  }

  void GiveBack(std::unique_ptr<EncodeWorker> worker) const {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
  }

  // Appends the ids of a valid text to the worker's. Returns whether the text was cut.
  bool EncodeText(std::string_view text, const char* readable_end, const EncodeOptions& options,
                  EncodeWorker* worker) const {
    IdBuffer& ids = worker->encoder.ids();
    const int64_t num_special =
        options.add_special_tokens ? static_cast<int64_t>(spec_.prefix.size() + spec_.suffix.size())
                                   : 0;
    if (num_special > 0) ids.Append(spec_.prefix);
    const bool truncate = options.max_length > 0 && options.max_length >= num_special;
    const size_t limit =
        truncate ? ids.size() + static_cast<size_t>(options.max_length - num_special) : SIZE_MAX;
    EncodeBody(text, readable_end, limit, worker);
    const bool cut = ids.size() > limit;
    if (cut) ids.Resize(limit);
    if (num_special > 0) ids.Append(spec_.suffix);
    return cut;
  }

  Status EncodeRows(EncodeTask* task, const EncodeOptions& options) const {
    const TextColumn& column = *task->column;
    if (!column.AreValid(task->begin, task->end)) return column.Explain(task->begin, task->end);
    std::unique_ptr<EncodeWorker> worker = TakeWorker();
    IdBuffer& ids = worker->encoder.ids();
    ids.Resize(0);
    EncodedRows& rows = task->rows;
    rows.ends.reserve(static_cast<size_t>(task->end - task->begin));
    const bool has_nulls = column.array->null_count() > 0;
    for (int64_t row = task->begin; row < task->end; ++row) {
      if (!has_nulls || column.array->IsValid(row)) {
        rows.num_truncated +=
            EncodeText(column.text(row), column.readable_end, options, worker.get()) ? 1 : 0;
      }
      rows.ends.push_back(static_cast<int64_t>(ids.size()));
    }
    rows.num_ids = static_cast<int64_t>(ids.size());
    ARROW_ASSIGN_OR_RAISE(rows.ids, id_buffers_->Release(&ids));
    GiveBack(std::move(worker));
    return Status::OK();
  }

  const TokenizerSpec& spec() const { return spec_; }
  const BpeModel& model() const { return *model_; }
  const AddedTokens& added() const { return added_; }
  const Kernels& kernels() const { return *kernels_; }
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  // Raw added tokens first, then each piece between them is normalized and searched for the others.
  void EncodeBody(std::string_view text, const char* readable_end, size_t limit,
                  EncodeWorker* worker) const {
    worker->raw_parts.clear();
    if (!added_.raw().Split(text, &worker->raw_parts)) {
      EncodeRawPiece(text, readable_end, limit, worker);
      return;
    }
    IdBuffer& ids = worker->encoder.ids();
    for (const TextPart& part : worker->raw_parts) {
      if (ids.size() > limit) return;
      if (part.id >= 0) {
        *ids.Reserve(1) = part.id;
        ids.Resize(ids.size() + 1);
      } else {
        EncodeRawPiece(text.substr(part.begin, part.end - part.begin), readable_end, limit, worker);
      }
    }
  }

  void EncodeRawPiece(std::string_view piece, const char* readable_end, size_t limit,
                      EncodeWorker* worker) const {
    if (spec_.nfc && !NfcNormalizer::IsInert(piece)) {
      NfcNormalizer::Get().Normalize(piece, &worker->normalized);
      piece = worker->normalized;
      readable_end = piece.data() + piece.size();
    }
    worker->normalized_parts.clear();
    if (!added_.normalized().Split(piece, &worker->normalized_parts)) {
      EncodePiece(piece, readable_end, limit, worker);
      return;
    }
    IdBuffer& ids = worker->encoder.ids();
    for (const TextPart& part : worker->normalized_parts) {
      if (ids.size() > limit) return;
      if (part.id >= 0) {
        *ids.Reserve(1) = part.id;
        ids.Resize(ids.size() + 1);
      } else {
        EncodePiece(piece.substr(part.begin, part.end - part.begin), readable_end, limit, worker);
      }
    }
  }

  void EncodePiece(std::string_view piece, const char* readable_end, size_t limit,
                   EncodeWorker* worker) const {
    if (spec_.add_prefix_space && !piece.empty() && piece[0] != ' ') {
      worker->prefixed.assign(" ").append(piece);
      piece = worker->prefixed;
      readable_end = piece.data() + piece.size();
    }
    worker->encoder.Encode(piece, readable_end, limit);
  }

  const TokenizerSpec spec_;
  const std::unique_ptr<const BpeModel> model_;
  const AddedTokens added_;
  const Kernels* const kernels_;
  const int64_t word_cache_bytes_;
  const std::string fingerprint_;

  const std::shared_ptr<IdBufferPool> id_buffers_ = std::make_shared<IdBufferPool>();
  mutable std::once_flag seeds_once_;
  mutable std::vector<WordSlot> seeds_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<EncodeWorker>> idle_;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(std::string_view json,
                                                             const TokenizerOptions& options) {
  const Kernels* kernels =
      options.kernels.empty() ? &BestKernels() : FindKernels(options.kernels.c_str());
  if (kernels == nullptr) {
    return Status::Invalid("no such tokenizer kernels in this build or on this processor: ",
                           options.kernels);
  }
  ARROW_ASSIGN_OR_RAISE(TokenizerSpec spec, ParseTokenizerSpec(json));
  ARROW_ASSIGN_OR_RAISE(auto model, BpeModel::Make(spec, kernels->merge));
  ARROW_ASSIGN_OR_RAISE(auto added, AddedTokens::Make(spec, *model));
  // What the model and the matchers have taken over.
  spec.tokens = StringTable();
  spec.ids = {};
  spec.merges = {};
  spec.added_tokens = {};
  return std::shared_ptr<const Tokenizer>(new Tokenizer(
      std::make_unique<Impl>(std::move(spec), std::move(model), std::move(added), kernels,
                             options.word_cache_bytes, TokenizerFingerprint(json))));
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
  if (text.size() > kMaxTextBytes) {
    return Status::Invalid("text of more than 2 GiB; cut it first (bytes: ", text.size(), ")");
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) return InvalidText(text);
  std::unique_ptr<EncodeWorker> worker = impl_->TakeWorker();
  IdBuffer& buffer = worker->encoder.ids();
  buffer.Resize(0);
  impl_->EncodeText(text, text.data() + text.size(), options, worker.get());
  ids->assign(buffer.data(), buffer.data() + buffer.size());
  impl_->GiveBack(std::move(worker));
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> Tokenizer::EncodeBatch(const arrow::Array& texts,
                                                             const EncodeOptions& options,
                                                             int64_t* num_truncated) const {
  ARROW_ASSIGN_OR_RAISE(const TextColumn column, TextColumn::Make(texts));
  std::vector<EncodeTask> tasks(1);
  tasks[0].column = &column;
  tasks[0].begin = 0;
  tasks[0].end = texts.length();
  ARROW_RETURN_NOT_OK(impl_->EncodeRows(&tasks[0], options));
  if (num_truncated != nullptr) *num_truncated = tasks[0].rows.num_truncated;
  return JoinTasks(tasks);
}

Result<std::shared_ptr<arrow::Array>> Tokenizer::EncodeChunked(const arrow::ChunkedArray& texts,
                                                               const EncodeOptions& options,
                                                               int num_threads,
                                                               int64_t* num_truncated) const {
  std::vector<TextColumn> columns;
  for (const auto& chunk : texts.chunks()) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), TextColumn::Make(*chunk));
  }
  std::vector<EncodeTask> tasks;
  for (const TextColumn& column : columns) {
    for (int64_t begin = 0; begin < column.array->length();) {
      int64_t end = begin + 1;
      while (end < column.array->length() && column.bytes(begin, end) < kTaskBytes) ++end;
      tasks.push_back({&column, begin, end, {}, {}});
      begin = end;
    }
  }
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < tasks.size();) {
      tasks[i].status = impl_->EncodeRows(&tasks[i], options);
      if (!tasks[i].status.ok()) next = tasks.size();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(tasks.size(), static_cast<size_t>(std::max(num_threads, 1)));
       ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (num_truncated != nullptr) *num_truncated = 0;
  for (const EncodeTask& task : tasks) {
    ARROW_RETURN_NOT_OK(task.status);
    if (num_truncated != nullptr) *num_truncated += task.rows.num_truncated;
  }
  return JoinTasks(tasks);
}

Result<std::string> Tokenizer::Decode(std::span<const int32_t> ids,
                                      bool skip_special_tokens) const {
  const bool byte_level = impl_->spec().byte_level_decoder;
  std::string bytes;
  bool first = true;
  for (const int32_t id : ids) {
    std::string_view token;
    if (const AddedToken* added = impl_->added().FindId(id); added != nullptr) {
      if (skip_special_tokens && added->special) continue;
      token = added->content;
    } else if (impl_->model().HasId(id)) {
      token = impl_->model().IdToToken(id);
    } else {
      continue;
    }
    if (!byte_level) {
      if (!first) bytes.push_back(' ');
      bytes.append(token);
      first = false;
    } else if (!ByteAlphabet::Get().ToBytes(token, &bytes)) {
      bytes.append(token);
    }
  }
  return byte_level ? LossyUtf8(bytes) : bytes;
}

std::optional<int32_t> Tokenizer::TokenToId(std::string_view token) const {
  if (const AddedToken* added = impl_->added().FindContent(token); added != nullptr)
    return added->id;
  const int32_t id = impl_->model().TokenToId(token);
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

std::optional<std::string> Tokenizer::IdToToken(int32_t id) const {
  if (const AddedToken* added = impl_->added().FindId(id); added != nullptr) return added->content;
  if (!impl_->model().HasId(id)) return std::nullopt;
  return std::string(impl_->model().IdToToken(id));
}

std::string Tokenizer::fingerprint() const { return impl_->fingerprint(); }

int64_t Tokenizer::vocab_size() const { return impl_->model().size() + impl_->added().num_new(); }

const char* Tokenizer::pattern_name() const {
  switch (impl_->spec().pattern) {
    case SplitPattern::kGpt2:
      return "gpt2";
    case SplitPattern::kLlama3:
      return "llama3";
    case SplitPattern::kQwen2:
      break;
  }
  return "qwen2";
}

const char* Tokenizer::kernels_name() const { return impl_->kernels().name; }

}  // namespace easydata
