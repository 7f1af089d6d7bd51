#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/stage.h"

namespace easydata::files {
class FileSystems;
struct IoCounts;
}  // namespace easydata::files

namespace easydata {

/// Whether a stream ends.
enum class Finitude { kFinite, kEndless, kUnknown };

/// What is known of a stream from its plan alone.
struct StreamFacts {
  Finitude finitude = Finitude::kUnknown;
  /// What the user can change where the stream does not end: a sentence.
  std::string why_endless;
  /// All rows have one length and are made of documents that others may share.
  bool is_packed = false;
  /// Equal parts of a step whose costs are balanced: shuffling downstream would undo it; 0: it is
  /// not balanced.
  int64_t balance_groups = 0;
  /// Carries on from pass to pass by itself, as Demand::passes asks.
  bool carries_passes = false;
  /// A schedule in it counts the steps of its consumer.
  bool counts_steps = false;
  /// Rows are filled up to one length, for a trainer: they cannot be packed.
  bool is_padded = false;

  bool is_endless() const { return finitude == Finitude::kEndless; }
};

struct PlanNode;

/// One of the streams that a node reads. Its prefix tells it from the others: "sources[code].".
struct PlanInput {
  std::string prefix;
  std::shared_ptr<const PlanNode> node;
};

/// One operator of a plan, and what it reads: nodes make up a tree, which never changes.
struct PlanNode {
  /// The operator: "source", "select", "tokenize", "mix", "pack", ...
  std::string name;
  /// Its options as a JSON object: what, with the inputs, determines the rows that come. It holds
  /// nothing that may change between a save and a restore (ranks, threads, buffers).
  std::shared_ptr<const nlohmann::json> options;
  std::vector<PlanInput> inputs;
  /// False where a part of it cannot be recognised in another process: a lambda, a closure. A run
  /// does without; what stores data and looks it up later refuses such a node.
  bool has_identity = true;
  /// Whether one row comes out for each that goes in, in the same order or another.
  bool keeps_row_count = false;
  StreamFacts facts;  // of the stream that comes out
  /// Files that the operator itself reads; null: none.
  std::shared_ptr<const std::vector<std::string>> files;
  /// What these are reached by; null: nothing that counts.
  std::shared_ptr<const files::FileSystems> storage;
  /// Fingerprint of the tokenizer that it uses; empty: none.
  std::string tokenizer;
};

/// Makes the stages of one pass: a new pass is a new stage.
using StageFactory = std::function<Result<std::unique_ptr<Stage>>(const StageContext&)>;

/// Gives the schema of a stream's batches, that of its stages, without making one: no thread is
/// started. A file is opened where nothing else knows its columns.
using SchemaFunction = std::function<Result<std::shared_ptr<arrow::Schema>>()>;

/// The recipe of a stream: makes its stages, and says what they are.
struct StreamPlan {
  StageFactory make;
  SchemaFunction schema;
  std::shared_ptr<const PlanNode> node;

  const StreamFacts& facts() const { return node->facts; }
};

/// Makes a node without inputs.
std::shared_ptr<PlanNode> MakeNode(std::string name, const nlohmann::json& options);

/// Makes a node that reads one stream, with that stream's facts: change those that differ.
std::shared_ptr<PlanNode> MakeNode(std::string name, const nlohmann::json& options,
                                   const StreamPlan& upstream);

/// Prints a plan as a flat JSON object: equal ones give equal streams.
///
/// {"plan": names of the operators, upstream first, "<operator>.<option>": ...}; the n-th operator
/// of one name has "<operator>[n].". What a node with several inputs reads comes after the prefix
/// of each: "sources[code].source.files".
nlohmann::json Describe(const PlanNode& node);

/// Prints the columns that a node reads: {name: kind}.
nlohmann::json DescribeColumns(const std::vector<ColumnRequest>& columns);

/// Calls `visit` for every node of a plan, upstream first.
void VisitNodes(const PlanNode& node, const std::function<void(const PlanNode&)>& visit);

/// What the files of a plan took so far of other machines.
files::IoCounts IoCountsOf(const PlanNode& node);

/// Whether every operator of a plan can be recognised in another process.
bool HasIdentity(const PlanNode& node);

}  // namespace easydata
