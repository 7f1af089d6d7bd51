#include "easydata/source/grain_order_stage.h"

#include <arrow/array/builder_base.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/json/json_column.h"
#include "easydata/order/permutation.h"
#include "easydata/source/block_cache.h"
#include "easydata/source/file_rules.h"
#include "easydata/source/kept_blocks.h"
#include "easydata/source/row_index.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/failing_stage.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::source {
namespace {

/// A row of empty texts and lists; null where a type has no value that is empty.
Result<std::shared_ptr<arrow::RecordBatch>> EmptyRow(const std::shared_ptr<arrow::Schema>& schema) {
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    if (field->type()->id() == arrow::Type::DICTIONARY || json::IsJsonField(*field)) {
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), arrow::MakeArrayOfNull(field->type(), 1));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(field->type()));
    ARROW_RETURN_NOT_OK(builder->AppendEmptyValue());
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), builder->Finish());
  }
  return arrow::RecordBatch::Make(schema, 1, std::move(columns));
}

Result<Batch> WithPaddingColumn(Batch batch, const std::string& name,
                                const std::vector<bool>& is_padding) {
  arrow::BooleanBuilder builder;
  ARROW_RETURN_NOT_OK(builder.AppendValues(is_padding));
  ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
  ARROW_ASSIGN_OR_RAISE(batch.rows, batch.rows->AddColumn(batch.rows->num_columns(), name, column));
  return batch;
}

/// Rows that are read by themselves need not be many: fewer stay in the processor's caches, and in
/// memory that is there already. Of blocks, many rows are taken each time that it is read.
int64_t RowsPerBatch(const Source& source, const GrainOrderOptions& options) {
  constexpr int64_t kMostTaken = 1024;
  return source.takes_rows() ? std::min(options.rows_per_batch, kMostTaken)
                             : options.rows_per_batch;
}

/// The columns of the rows that come out, where those of the source are `schema`.
std::shared_ptr<arrow::Schema> WithPaddingField(std::shared_ptr<arrow::Schema> schema,
                                                const std::string& padding_column) {
  if (padding_column.empty()) return schema;
  return schema->AddField(schema->num_fields(), arrow::field(padding_column, arrow::boolean()))
      .ValueOrDie();
}

class GrainOrderStage : public FailingStage {
 public:
  GrainOrderStage(std::shared_ptr<const Source> source, const GrainOrderOptions& options,
                  std::shared_ptr<arrow::Schema> schema, const StageContext& context)
      : source_(std::move(source)),
        options_(options),
        source_schema_(schema),
        schema_(std::move(schema)),
        context_(context),
        count_context_{context.pool, [bytes = bytes_read_](int64_t n) { *bytes += n; }},
        // The tasks read on their own: one that waits for others of its pool could wait for ever.
        read_context_{nullptr, count_context_.count_bytes},
        grid_(RowsPerBatch(*source_, options) * context.lanes),
        cache_(ReadsBlocksOf(source_, {options.columns}, source_schema_, read_context_),
               options.cache_bytes) {
    schema_ = WithPaddingField(std::move(schema_), options_.padding_column);
  }

  ~GrainOrderStage() override { Cancel(); }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    // A task gives all rows of its block at once.
    if (op->piecewise() != nullptr) return false;
    ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    ops_.push_back(std::move(op));
    return true;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    if (!AllKeepRows(ops_) || !AllKeepRows(ops)) {
      return std::string(
          "its rows are shuffled one by one, and some of them are left out after that");
    }
    if (keeping.limit != nullptr)
      return std::string("its rows are shuffled before they are limited");
    if (!options_.padding_column.empty()) return std::string("it has rows that stand for none");
    if (keeping.counted != nullptr) return CountKept(keeping);
    for (const auto& op : ops) {
      ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    }
    ops_.insert(ops_.end(), ops.begin(), ops.end());
    num_kept_ops_ = std::ssize(ops_);
    kept_schema_ = schema_;
    auto maker = std::make_shared<PieceMaker>(source_, OnError::kRaise, source_schema_);
    ARROW_RETURN_NOT_OK(maker->Keep(ops_, keeping));
    kept_.emplace(ReadsKeptBlocksOf(source_, {options_.columns}, source_schema_, read_context_,
                                    std::move(maker), keeping, &cancelled_),
                  options_.cache_bytes);
    return std::string();
  }

  Cursor Save() const override {
    return Cursor::Of([position = position_] { return nlohmann::json{{"place", position}}; });
  }

  Status Restore(const nlohmann::json& cursor) override {
    position_ = cursor.at("place").get<int64_t>();
    return Status::OK();
  }

  Result<std::optional<int64_t>> NumRows() override {
    if (!AllKeepRows(ops_)) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountRows());
    const auto share = ShareOf(rows);
    return context_.ShareOf(share.end - share.begin);
  }

  Result<bool> Seek(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(const auto rows, NumRows());
    // A batch of one of several lanes begins on the grid only.
    if (!rows.has_value() || row > *rows || context_.lanes > 1) return false;
    position_ = row;
    return true;
  }

  void Cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (map_ != nullptr) map_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.bytes_read = *bytes_read_;
    const ReadShare whole = {0, static_cast<double>(share_rows_) * row_bytes_};
    const auto rows = static_cast<double>(std::max<int64_t>(share_rows_, 1));
    stats.read = whole.Of(static_cast<double>(position_) / rows);
    stats.busy_seconds = busy_.seconds();
    return stats;
  }

 private:
  struct IndexRange {
    int64_t begin;
    int64_t end;
  };
  struct Done {
    int64_t end;  // after the last row, or the row of the error
    AppliedBatch applied;
  };

  Result<std::optional<Batch>> DoNext() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    ARROW_RETURN_NOT_OK(pending_);
    if (map_ == nullptr) ARROW_RETURN_NOT_OK(Start());
    ARROW_ASSIGN_OR_RAISE(auto done, map_->Next());
    if (!done.has_value()) return std::nullopt;
    Batch& batch = done->applied.batch;
    num_rows_ += batch.num_rows();
    pending_ = done->applied.error;
    if (!pending_.ok() && batch.num_rows() == 0 && batch.dropped.empty()) return pending_;
    position_ = done->end;
    return std::move(batch);
  }

  /// Rows of the source.
  Result<int64_t> CountRows() {
    if (!index_.shards.empty()) return index_.num_rows();
    RowIndex index;  // kept once all of it is known
    for (size_t shard : options_.shards) {
      if (cancelled_) return Status::Cancelled("the stream was closed");
      ARROW_ASSIGN_OR_RAISE(Blocks blocks, source_->CountBlocks(shard, count_context_));
      index.shards.push_back(shard);
      index.refs.push_back(
          std::make_shared<const ShardRef>(ShardRef{options_.name, source_->shard_names()[shard]}));
      index.ends.push_back(index.num_rows() + blocks.row_starts.back());
      index.blocks.push_back(std::move(blocks));
    }
    index_ = std::move(index);
    return index_.num_rows();
  }

  Status Start() {
    ARROW_RETURN_NOT_OK(CountRows().status());
    ARROW_RETURN_NOT_OK(CheckNumbers());
    const auto share = ShareOf(index_.num_rows());
    first_row_ = share.begin;
    const int64_t num_rows = share.end - share.begin;
    NoteSize(num_rows);
    if (position_ > num_rows) {
      return Status::Invalid("the saved position is at row ", position_, " of a source of ",
                             num_rows, ": its files were changed since");
    }
    if (num_rows > 0 && options_.seed.has_value()) {
      const uint64_t seed = *options_.seed + static_cast<uint64_t>(context_.epoch);
      order_.emplace(static_cast<uint64_t>(num_rows), static_cast<uint32_t>(seed));
    }
    auto map = std::make_unique<exec::OrderedMap<IndexRange, Done>>(
        context_.pool, context_.pool->num_threads() + 1,
        [this, num_rows, next = position_]() mutable -> Result<std::optional<IndexRange>> {
          if (next >= num_rows) return std::nullopt;
          const int64_t begin = next;
          // On a grid, so that a position means the same batch after a restore.
          next = std::min((begin / grid_ + 1) * grid_, num_rows);
          return IndexRange{begin, next};
        },
        [this](IndexRange range) { return Work(range); });
    std::lock_guard<std::mutex> lock(mutex_);
    map_ = std::move(map);
    if (cancelled_) map_->Cancel();
    return Status::OK();
  }

  /// Notes how much there is of the share, for progress.
  void NoteSize(int64_t rows) {
    double bytes = 0;
    for (const size_t shard : options_.shards) {
      bytes += static_cast<double>(source_->KnownBytes(shard).value_or(0));
    }
    share_rows_ = rows;
    if (bytes > 0 && index_.num_rows() > 0) {
      row_bytes_ = bytes / static_cast<double>(index_.num_rows());
    }
  }

  RowShare::Range ShareOf(int64_t source_rows) const {
    if (options_.numbers != nullptr) return {0, std::ssize(*options_.numbers)};
    return options_.share.Of(source_rows);
  }

  Status CheckNumbers() const {
    if (options_.numbers == nullptr) return Status::OK();
    for (const int64_t number : *options_.numbers) {
      if (number >= 0 && number < index_.num_rows()) continue;
      return Status::IndexError("there is no row ", number, ": the source has ", index_.num_rows());
    }
    return Status::OK();
  }

  /// The first of this lane's indices of the order from `index` on.
  int64_t OfThisLane(int64_t index) const {
    return index + (context_.lane - index % context_.lanes + context_.lanes) % context_.lanes;
  }

  /// Runs on the pool: gathers the rows of a range of the order and applies the ops to them.
  Result<Done> Work(IndexRange range) {
    if (kept_.has_value()) {
      auto made = WorkOnKept(range);
      if (made.ok() || made.status().IsCancelled()) return made;
      // Rows before one that is in error come first, and it is told as by who keeps nothing.
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<int64_t> numbers = NumbersOf(range);
    std::vector<Batch> parts;
    std::vector<RowRef> rows(numbers.size());
    ARROW_RETURN_NOT_OK(source_->takes_rows()
                            ? TakeRows(numbers, &parts, &rows)
                            : TakeFromBlocks(numbers, source_schema_, &cache_, &parts, &rows));
    ARROW_RETURN_NOT_OK(AddPadding(numbers, &parts, &rows));
    ARROW_ASSIGN_OR_RAISE(Batch batch, GatherRows(parts, rows, source_schema_));
    if (!options_.padding_column.empty()) {
      ARROW_ASSIGN_OR_RAISE(
          batch, WithPaddingColumn(std::move(batch), options_.padding_column, IsPadding(numbers)));
    }
    busy_.Add("read", std::chrono::steady_clock::now() - begin);
    Done done{range.end, ApplyOps(ops_, std::move(batch), &busy_)};
    if (!done.applied.error.ok()) {
      done.end = OfThisLane(range.begin) + done.applied.rows_before * context_.lanes;
    }
    return done;
  }

  /// The same, of blocks that are kept as some of the ops leave them.
  Result<Done> WorkOnKept(IndexRange range) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<int64_t> numbers = NumbersOf(range);
    std::vector<Batch> parts;
    std::vector<RowRef> rows(numbers.size());
    ARROW_RETURN_NOT_OK(TakeFromBlocks(numbers, kept_schema_, &*kept_, &parts, &rows));
    const size_t num_real = parts.size();
    ARROW_RETURN_NOT_OK(AddPadding(numbers, &parts, &rows));
    for (size_t i = num_real; i < parts.size(); ++i) {
      AppliedBatch empty =
          ApplyOpsToWhole({ops_.begin(), ops_.begin() + num_kept_ops_}, parts[i], &busy_);
      ARROW_RETURN_NOT_OK(empty.error);
      parts[i] = std::move(empty.batch);
    }
    ARROW_ASSIGN_OR_RAISE(Batch batch, GatherRows(parts, rows, kept_schema_));
    busy_.Add("cache", std::chrono::steady_clock::now() - begin);
    Done done{range.end,
              ApplyOps({ops_.begin() + num_kept_ops_, ops_.end()}, std::move(batch), &busy_)};
    if (!done.applied.error.ok()) {
      done.end = OfThisLane(range.begin) + done.applied.rows_before * context_.lanes;
    }
    return done;
  }

  /// The rows of a range of the order that are this lane's.
  std::vector<int64_t> NumbersOf(IndexRange range) const {
    std::vector<int64_t> numbers;
    for (int64_t index = OfThisLane(range.begin); index < range.end; index += context_.lanes) {
      if (options_.numbers != nullptr) {
        numbers.push_back((*options_.numbers)[static_cast<size_t>(index)]);
        continue;
      }
      numbers.push_back(first_row_ +
                        (order_.has_value()
                             ? static_cast<int64_t>((*order_)[static_cast<uint64_t>(index)])
                             : index));
    }
    return numbers;
  }

  /// Counts all blocks of the source, and those that are kept.
  Result<std::string> CountKept(const BlockKeeping& keeping) const {
    KeptPieces pieces(source_, keeping);
    keeping.counted->rows_left.reset();  // which blocks they are of is known when they are read
    for (const size_t shard : options_.shards) {
      ARROW_ASSIGN_OR_RAISE(const Blocks blocks, source_->ListBlocks(shard));
      CountKeptBlocks(&pieces, shard, source_->shard_names()[shard], blocks, 0, blocks.count,
                      keeping.counted);
    }
    return std::string();
  }

  /// Reads rows of the source by themselves, each shard's in the order of the file.
  Status TakeRows(const std::vector<int64_t>& numbers, std::vector<Batch>* parts,
                  std::vector<RowRef>* rows) const {
    struct Wanted {
      int64_t row;
      size_t index;
    };
    std::map<size_t, std::vector<Wanted>> by_shard;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= real_rows()) continue;
      const auto [shard, row] = index_.RowOf(numbers[i]);
      by_shard[shard].push_back({row, i});
    }
    for (auto& [shard, wanted] : by_shard) {
      std::sort(wanted.begin(), wanted.end(),
                [](const Wanted& a, const Wanted& b) { return a.row < b.row; });
      std::vector<int64_t> of_shard;
      Batch part;
      for (const Wanted& each : wanted) {
        (*rows)[each.index] = {static_cast<int32_t>(parts->size()),
                               static_cast<int64_t>(of_shard.size())};
        of_shard.push_back(each.row);
        part.addresses.Append(index_.refs[shard], each.row, -1, 1);
      }
      ARROW_ASSIGN_OR_RAISE(part.rows,
                            source_->TakeRows(index_.shards[shard], index_.refs[shard], of_shard,
                                              {options_.columns}, source_schema_, read_context_));
      parts->push_back(std::move(part));
    }
    return Status::OK();
  }

  /// Takes rows of the source out of their blocks, of which no more than one is held at a time.
  Status TakeFromBlocks(const std::vector<int64_t>& numbers,
                        const std::shared_ptr<arrow::Schema>& schema, BlockCache* cache,
                        std::vector<Batch>* parts, std::vector<RowRef>* rows) {
    struct Wanted {
      std::vector<RowRef> rows;
      std::vector<size_t> indices;
    };
    std::map<std::pair<size_t, int64_t>, Wanted> by_block;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= real_rows()) continue;
      const RowIndex::Location at = index_.At(numbers[i]);
      Wanted& wanted = by_block[{at.shard, at.block}];
      wanted.rows.push_back({0, at.row});
      wanted.indices.push_back(i);
    }
    for (const auto& [key, wanted] : by_block) {
      const auto& [shard, block] = key;
      ARROW_ASSIGN_OR_RAISE(auto whole, cache->Get(index_.refs[shard], index_.shards[shard],
                                                   index_.blocks[shard], block));
      for (size_t i = 0; i < wanted.indices.size(); ++i) {
        (*rows)[wanted.indices[i]] = {static_cast<int32_t>(parts->size()), static_cast<int64_t>(i)};
      }
      ARROW_ASSIGN_OR_RAISE(parts->emplace_back(),
                            GatherRows(SharedBatches{whole}, wanted.rows, schema));
    }
    return Status::OK();
  }

  /// Rows of the source that are given; empty ones follow.
  int64_t real_rows() const {
    return std::min(index_.num_rows(), options_.share.real_rows.value_or(index_.num_rows()));
  }

  std::vector<bool> IsPadding(const std::vector<int64_t>& numbers) const {
    std::vector<bool> out;
    for (const int64_t number : numbers) out.push_back(number >= real_rows());
    return out;
  }

  /// Adds empty rows for those behind the source's last one, whose numbers go on from it.
  Status AddPadding(const std::vector<int64_t>& numbers, std::vector<Batch>* parts,
                    std::vector<RowRef>* rows) const {
    const auto shard = std::make_shared<const ShardRef>(ShardRef{options_.name, "padding"});
    std::shared_ptr<arrow::RecordBatch> empty;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < real_rows()) continue;
      if (empty == nullptr) {
        ARROW_ASSIGN_OR_RAISE(empty, EmptyRow(source_schema_));
      }
      (*rows)[i] = {static_cast<int32_t>(parts->size()), 0};
      Batch& part = parts->emplace_back();
      part.rows = empty;
      part.addresses.Append(shard, numbers[i], -1, 1);
    }
    return Status::OK();
  }

  const std::shared_ptr<const Source> source_;
  const GrainOrderOptions options_;
  const std::shared_ptr<arrow::Schema> source_schema_;
  std::shared_ptr<arrow::Schema> schema_;
  const StageContext context_;
  const std::shared_ptr<std::atomic<int64_t>> bytes_read_ =
      std::make_shared<std::atomic<int64_t>>(0);
  const ReadContext count_context_;  // for the thread that calls Next() and NumRows()
  const ReadContext read_context_;   // for tasks of the pool
  const int64_t grid_;  // rows of a batch of all lanes; a lane has its share of their rows
  BlockCache cache_;
  BusyTimes busy_;
  std::vector<std::shared_ptr<const BatchOp>> ops_;
  std::optional<BlockCache> kept_;  // of blocks as the first num_kept_ops_ of the ops leave them
  std::shared_ptr<arrow::Schema> kept_schema_;
  int64_t num_kept_ops_ = 0;
  RowIndex index_;
  std::optional<order::GrainIndexShuffle> order_;
  int64_t first_row_ = 0;  // of the share
  int64_t position_ = 0;   // of the next row to hand out, in the share
  int64_t num_rows_ = 0;
  int64_t share_rows_ = 0;  // of the share
  double row_bytes_ = 1;    // of a row's file, on average
  Status pending_;          // comes out with the next call
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards map_ against Cancel()
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<IndexRange, Done>> map_;
};

Result<std::shared_ptr<arrow::Schema>> SchemaOfShare(const Source& source,
                                                     const GrainOrderOptions& options) {
  if (options.shards.empty()) return source.Schema(options.columns, 0);
  return source.ColumnsOfShards(options.columns, {}, options.shards, /*is_look=*/false);
}

}  // namespace

RowShare::Range RowShare::Of(int64_t source_rows) const {
  const int64_t rows = num_rows.value_or(std::min(source_rows, real_rows.value_or(source_rows)));
  const int64_t least = rows / parts;
  const int64_t more = rows % parts;  // parts with one row more
  const int64_t begin = part * least + std::min(part, more);
  return {begin, begin + least + (part < more ? 1 : 0)};
}

config::FieldList GrainOrderOptions::Fields() {
  using O = GrainOrderOptions;
  return config::Joined(
      {{
           config::Field{"name", &O::name,
                         "What errors, statistics and positions call the source."},
           config::Field{"seed", &O::seed,
                         "With the epoch, what determines the order; None: the rows' own."},
       },
       config::FieldsOf(
           &O::share,
           {
               config::Field{"part", &RowShare::part, "Which share of the rows, from 0."},
               config::Field{"parts", &RowShare::parts, "Shares that the rows are dealt to."},
               config::Field{"num_rows", &RowShare::num_rows,
                             "Rows that all shares have together; unset: the source's."},
               config::Field{"real_rows", &RowShare::real_rows,
                             "Rows of the source that are read; empty ones stand for the "
                             "others. Unset: all."},
           }),
       {config::Field{"padding_column", &O::padding_column,
                      "A column that says which rows are empty ones; \"\": none."}}});
}

Result<StreamPlan> GrainRowsPlan(std::shared_ptr<const Source> source, GrainOrderOptions options) {
  const RowShare& share = options.share;
  if (share.num_rows.value_or(0) < 0 || share.real_rows.value_or(0) < 0 || share.part < 0 ||
      share.part >= share.parts) {
    return Status::Invalid("there is no part ", share.part, " of ", share.parts, " of a dataset");
  }
  if (options.seed > std::numeric_limits<uint32_t>::max()) {
    return Status::Invalid("a seed of Grain's is below 2^32; it is ", *options.seed);
  }
  options.shards.resize(source->shard_names().size());
  std::iota(options.shards.begin(), options.shards.end(), size_t{0});
  nlohmann::json described = source->Describe();
  if (options.seed.has_value()) described["seed"] = *options.seed;
  described["part"] = share.part;
  described["parts"] = share.parts;
  if (share.num_rows.has_value()) described["num_rows"] = *share.num_rows;
  if (share.real_rows.has_value()) described["real_rows"] = *share.real_rows;
  auto node = MakeNode("grain_rows", described);
  node->facts.why_undivided = "rows in a random order";
  node->facts.finitude = Finitude::kFinite;
  node->files = {source, &source->shard_names()};
  node->storage = source->storage();
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [source, options]() -> Result<std::shared_ptr<arrow::Schema>> {
    ARROW_ASSIGN_OR_RAISE(auto schema, SchemaOfShare(*source, options));
    return WithPaddingField(std::move(schema), options.padding_column);
  };
  plan.make = [source = std::move(source), options = std::move(options)](
                  const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto schema, SchemaOfShare(*source, options));
    return Timed(MakeGrainOrderStage(source, options, std::move(schema), context), "workers");
  };
  return plan;
}

Result<StreamPlan> SelectedRowsPlan(std::shared_ptr<const Source> source, GrainOrderOptions options,
                                    std::shared_ptr<const std::vector<int64_t>> numbers) {
  options.shards.resize(source->shard_names().size());
  std::iota(options.shards.begin(), options.shards.end(), size_t{0});
  options.seed = std::nullopt;
  nlohmann::json described = source->Describe();
  described["rows"] = std::ssize(*numbers);
  const std::string_view bytes(reinterpret_cast<const char*>(numbers->data()),
                               numbers->size() * sizeof(int64_t));
  described["numbers"] = ToHex(Hash64(bytes));
  if (options.columns.has_value()) described["columns"] = DescribeColumns(*options.columns);
  options.numbers = std::move(numbers);
  auto node = MakeNode("select_rows", described);
  node->rules = FileRules();
  node->facts.why_undivided = "rows that are selected one by one";
  node->facts.finitude = Finitude::kFinite;
  node->files = {source, &source->shard_names()};
  node->storage = source->storage();
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [source, options] { return SchemaOfShare(*source, options); };
  plan.make = [source = std::move(source), options = std::move(options)](
                  const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto schema, SchemaOfShare(*source, options));
    return Timed(MakeGrainOrderStage(source, options, std::move(schema), context), "workers");
  };
  return plan;
}

std::unique_ptr<Stage> MakeGrainOrderStage(std::shared_ptr<const Source> source,
                                           const GrainOrderOptions& options,
                                           std::shared_ptr<arrow::Schema> schema,
                                           const StageContext& context) {
  return std::make_unique<GrainOrderStage>(std::move(source), options, std::move(schema), context);
}

}  // namespace easydata::source
