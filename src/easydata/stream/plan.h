#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/column_padding.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/stage.h"
#include "easydata/stream/unit.h"
#include "easydata/stream/vocabulary.h"

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
  /// Of columns whose makers know how they are filled up; null: none.
  ColumnPaddingsPtr paddings;
  /// What its tokens mean; null: it is not known, or there are none. Files are asked when somebody
  /// has to know.
  VocabularyFunction vocabularies;
  /// Divides it into units, each of which StageContext::unit makes by itself; null: it cannot be.
  DivideFunction divide;
  /// Who keeps it from being divided: "a mix".
  std::string why_undivided;

  Result<Vocabularies> Tokens() const {
    return vocabularies == nullptr ? Vocabularies() : vocabularies();
  }
  bool is_endless() const { return finitude == Finitude::kEndless; }
};

struct ComparedNode;  // stream/fingerprint.h
struct PlanNode;

/// How an option compares with what a state has kept of it, where the two need not be equal. The
/// module that writes the option has its rule.
struct OptionRule {
  const char* option = "";
  /// Whether the state or the plan may lack it.
  bool may_lack = false;
  /// Options are compared in the order of their ranks, those of one rank in that of their keys.
  int rank = 0;
  /// Whether it may differ from the saved one; null: never.
  bool (*may_differ)(const ComparedNode& node) = nullptr;
  /// The error message where it differs; null, or where it is "": one of all options.
  std::string (*explain)(const ComparedNode& node, const std::string& option) = nullptr;
  /// Whether states keep it as it is, however long it is: for messages.
  bool is_kept = false;
};

/// One of the streams that a node reads. Its prefix tells it from the others: "sources[code].".
struct PlanInput {
  std::string prefix;
  std::shared_ptr<const PlanNode> node;
  /// There may be many like it: states keep a few bytes of each (Fingerprint).
  bool is_folded = false;
};

/// One operator of a plan, and what it reads: nodes make up a tree, which never changes.
struct PlanNode {
  /// The operator: "source", "select", "tokenize", "mix", "pack", ...
  std::string name;
  /// Its options as a JSON object: what, with the inputs, determines the rows that come. It holds
  /// nothing that may change between a save and a restore (ranks, threads, buffers).
  std::shared_ptr<const nlohmann::json> options;
  /// Rules of those options that have one; they live as long as the program.
  std::span<const OptionRule> rules;
  std::vector<PlanInput> inputs;
  /// False where a part of it cannot be recognised in another process: a lambda, a closure. A run
  /// does without; what stores data and looks it up later refuses such a node.
  bool has_identity = true;
  /// What tells it from others in another process and is not in `options`, which a saved state
  /// compares: of what stores data and looks it up later. Where it has no identity, why.
  std::string identity;
  /// Whether one row comes out for each that goes in, in the same order or another.
  bool keeps_row_count = false;
  StreamFacts facts;  // of the stream that comes out
  /// Files that the operator itself reads; null: none.
  std::shared_ptr<const std::vector<std::string>> files;
  /// Bytes of these files, where all of them are known.
  std::optional<double> file_bytes;
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

/// A node of a plan, and what its keys in a description of the plan begin with.
struct KeyedNode {
  const PlanNode* node;
  std::string stream;   // keys of the stream that it is an operator of: "sources[code]."
  std::string options;  // keys of its options: "sources[code].source."
};

/// The nodes of a plan, upstream first. `stream` is put before all keys.
std::vector<KeyedNode> KeyedNodes(const PlanNode& node, const std::string& stream = "");

/// Prints the columns that a node reads: {name: kind}.
nlohmann::json DescribeColumns(const std::vector<ColumnRequest>& columns);

/// Calls `visit` for every node of a plan, upstream first.
void VisitNodes(const PlanNode& node, const std::function<void(const PlanNode&)>& visit);

/// What the files of a plan took so far of other machines.
files::IoCounts IoCountsOf(const PlanNode& node);

/// Bytes of the files of a plan; nothing where it reads none, or not all are known.
std::optional<double> BytesOfFiles(const PlanNode& node);

/// Whether every operator of a plan can be recognised in another process.
bool HasIdentity(const PlanNode& node);

}  // namespace easydata
