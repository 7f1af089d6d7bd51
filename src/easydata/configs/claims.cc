#include "easydata/configs/claims.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "easydata/configs/config_registry.h"

namespace easydata::configs {
namespace {

using config::Acting;
using config::ConfigDescriptor;
using config::FieldDescriptor;
using config::Json;
using config::Neighbour;

/// An operator of plans, or what runs them.
struct Operator {
  std::string_view name;
  /// The stage of a chain that brings it; "": none does, so that it is missed wherever it is not.
  std::string_view stage;
  /// Where an option of it acts.
  std::string_view where;
  enum class Presence {
    kNode,    // a node of a plan that rows go through
    kRunner,  // no node, or one of every plan: it is there wherever the stage is
    kTold,    // a node, and that it is absent is no mistake where the stage does its work
  } presence = Presence::kNode;
};
using enum Operator::Presence;

constexpr Operator kOperators[] = {
    {"source", "source", "rows are read", kRunner},
    {"source.files", "source", "rows are read from files"},
    {"source.remote", "source", "files are read from an object store or a web server"},
    {"source.csv", "source", "CSV files are read"},
    {"source.text", "source", "text files are read"},
    {"source.json", "source", "JSON files are read"},
    {"source.arrow", "source", "Arrow files are read"},
    {"source.tokens", "source", "files of tokens are read (.bin, .npy)"},
    {"source.text_field", "source", "lines of text get a column"},
    {"source.column", "source", "records of text get a column"},
    {"source.shuffle_window", "source", "rows are shuffled in windows"},
    {"limit", "source", "rows are counted"},
    // Rows in memory have no node: those of the part are selected.
    {"part", "source", "rows are divided into parts", kRunner},
    {"map", "source", "a callable makes rows"},
    {"rename", "source", "columns get other names"},
    {"cast", "source", "columns get types"},
    {"select", "source", "columns are chosen"},
    {"drop", "source", "columns are left out"},
    {"add_field", "source", "columns are added"},
    {"filter_non_empty", "source", "rows with empty columns are left out"},
    {"map.chat_template", "tokenize", "chats are rendered"},
    {"examples", "source", "a transform makes examples for a trainer"},
    {"tokenize", "tokenize", "documents are tokenized"},
    {"tokenize.text", "tokenize", "documents are tokenized that are no rendered chats", kTold},
    {"mix", "mix", "several datasets are mixed", kTold},
    {"pack", "pack", "documents are packed"},
    {"pack.text", "pack", "documents are packed that are no rendered chats", kTold},
    {"pack.shuffle", "pack", "packed rows are shuffled"},
    {"pack.balance", "pack", "packed rows are balanced"},
    {"loader", "load", "batches are made", kRunner},
    {"loader.shuffle", "load", "the loader shuffles rows (shuffle_buffer_size)"},
    {"loader.buckets", "load", "the loader puts rows in order of length (bucket_batches)"},
    {"writer", "save", "rows are saved", kRunner},
    {"writer.own", "save", "a dataset is saved by itself, before mix()"},
    {"pipeline", "source", "a pipeline runs", kRunner},
    {"cache", "cache", "rows are kept", kRunner},
    {"ray", "", "Ray runs the job", kRunner},
};

const Operator& OperatorOf(std::string_view node) {
  const Operator* found = nullptr;
  for (const Operator& each : kOperators) {
    if (each.name == node) return each;
    // An option of the operator: "source.field".
    if (node.starts_with(each.name) && node[each.name.size()] == '.') found = &each;
  }
  if (found == nullptr)
    throw std::logic_error("an option acts at no operator: " + std::string(node));
  return *found;
}

const ConfigDescriptor& ConfigNamed(const std::string& config) {
  return *FindConfig(config).ValueOrDie();
}

const FieldDescriptor* FindOption(const ConfigDescriptor& config, std::string_view name) {
  for (const FieldDescriptor& each : config.fields) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

const FieldDescriptor& OptionOf(const ConfigDescriptor& config, const std::string& name) {
  const FieldDescriptor* found = FindOption(config, name);
  if (found == nullptr) throw std::logic_error(config.name + " has no option " + name);
  return *found;
}

const Json& ValueOf(const FieldDescriptor& option, const Json& values) {
  const auto value = values.find(option.name);
  return value == values.end() ? option.default_value : *value;
}

bool IsSet(const FieldDescriptor& option, const Json& values) {
  const Json& value = ValueOf(option, values);
  // A config that is given with its defaults alone is given.
  if (!option.config.empty()) return values.contains(option.name) && !value.is_null();
  // None says something where it does not stand for the default.
  if (value.is_null()) return !option.default_value.is_null() && !option.rules.or_none;
  return value != option.default_value && value != option.rules.reads_as;
}

/// The options that those of a config act beside.
class Neighbours {
 public:
  /// `others` gives what the config of a name says.
  Neighbours(const ConfigDescriptor& config, const Json& values,
             std::function<const Json&(const std::string& config)> others)
      : config_(config), values_(values), others_(std::move(others)) {}

  /// Why an option does nothing beside its neighbours; nothing where they let it act.
  std::optional<IdleOption> WhyIdle(const Acting& acting) const {
    for (const Neighbour& each : acting.superseded_by) {
      if (Is(each, Find(each))) {
        return IdleOption{false, "", "has no effect, as " + Shown(each)};
      }
    }
    for (const Neighbour& each : acting.beside) {
      const Found found = Find(each);
      if (Is(each, found)) continue;
      // Beside another choice it is superseded; beside nothing it was meant to do something.
      const Json& value = ValueOf(found.option, found.values);
      const bool is_chosen =
          IsSet(found.option, found.values) || !(value.is_null() || value == false);
      return IdleOption{!is_chosen, "", "has no effect: it acts where " + Shown(each)};
    }
    return std::nullopt;
  }

 private:
  struct Found {
    const FieldDescriptor& option;
    const Json& values;
  };

  Found Find(const Neighbour& neighbour) const {
    const size_t dot = neighbour.option.find('.');
    if (dot == std::string::npos) return {OptionOf(config_, neighbour.option), values_};
    const std::string home = neighbour.option.substr(0, dot);
    return {OptionOf(ConfigNamed(home), neighbour.option.substr(dot + 1)), others_(home)};
  }

  static bool Is(const Neighbour& neighbour, const Found& found) {
    if (neighbour.values.empty()) return IsSet(found.option, found.values);
    const Json& value = ValueOf(found.option, found.values);
    return std::find(neighbour.values.begin(), neighbour.values.end(), value) !=
           neighbour.values.end();
  }

  static std::string Shown(const Neighbour& neighbour) {
    if (neighbour.values.empty()) return neighbour.option + " is set";
    std::string values;
    for (const Json& value : neighbour.values) {
      values.append(values.empty() ? "" : " or ").append(config::Shown(value));
    }
    return neighbour.option + " is " + values;
  }

  const ConfigDescriptor& config_;
  const Json& values_;
  const std::function<const Json&(const std::string&)> others_;
};

/// A dataset that is judged, with the operators of its rows.
struct Dataset {
  const DatasetReach* reach;
  const Json* values;
  /// Its operators, from when they are first asked for.
  std::shared_ptr<std::optional<std::set<std::string>>> operators;
  /// Its TokenizerConfig's options, as far as they are set.
  Json tokenizer;

  bool Has(const std::string& node) const {
    if (!operators->has_value()) *operators = reach->operators();
    return (*operators)->contains(node);
  }

  /// Whether the operator that `part` is a part of is there; one that is no part has its stage.
  bool Works(const Operator& part) const {
    const size_t dot = part.name.find('.');
    return dot == std::string_view::npos || Has(std::string(part.name.substr(0, dot)));
  }
};

class Judge {
 public:
  Judge(const Json& config, const std::set<std::string>& stages,
        const std::vector<DatasetReach>& reached)
      : config_(config), stages_(stages) {
    std::multimap<std::string_view, const DatasetReach*> by_name;
    for (const DatasetReach& each : reached) by_name.emplace(each.dataset, &each);
    const Json& listed = config.at("datasets");
    for (size_t i = 0; i < listed.size(); ++i) {
      const std::string name = listed[i].value("name", "dataset_" + std::to_string(i));
      const auto [begin, end] = by_name.equal_range(name);
      for (auto each = begin; each != end; ++each) {
        indices_.push_back(i);
        datasets_.push_back({each->second, &listed[i],
                             std::make_shared<std::optional<std::set<std::string>>>(),
                             TokenizerOf(listed[i])});
      }
    }
  }

  std::vector<IdleOption> Run() {
    for (size_t i = 0; i < datasets_.size(); ++i) {
      JudgeConfig(ConfigNamed("DatasetConfig"), *datasets_[i].values,
                  "datasets[" + std::to_string(indices_[i]) + "]", {&datasets_[i], 1});
    }
    JudgeConfig(ConfigNamed("PipelineConfig"), config_, "", datasets_);
    return std::move(found_);
  }

 private:
  using Datasets = std::span<const Dataset>;

  const Json& StageValues(const std::string& stage) const {
    static const Json none = Json::object();
    const auto values = config_.find(stage);
    return values == config_.end() ? none : *values;
  }

  Json TokenizerOf(const Json& dataset) const {
    Json options = Json::object();
    for (const Json* named : {&dataset, &StageValues("tokenize"), &config_}) {
      const auto value = named->find(named == &dataset ? "tokenizer" : "default_tokenizer");
      if (value == named->end() || value->is_null()) continue;
      if (value->is_object()) options = *value;
      break;
    }
    const auto own = dataset.find("tokenizer_kwargs");
    if (own != dataset.end() && own->is_object()) options.update(*own);
    return options;
  }

  void JudgeConfig(const ConfigDescriptor& config, const Json& values, const std::string& path,
                   Datasets datasets) {
    for (const auto& [name, value] : values.items()) {
      const FieldDescriptor* option = FindOption(config, name);
      if (option == nullptr || !IsSet(*option, values)) continue;
      const std::string at = config::JoinPath(path, name);
      const bool acts = JudgeOption(config, *option, values, at, datasets);
      if (!value.is_object()) continue;
      if (!option->config.empty()) {
        // One refusal is enough.
        if (!acts && found_.back().is_refused) continue;
        JudgeConfig(ConfigNamed(option->config), value, at, datasets);
      } else if (acts && !option->rules.options_of.empty()) {
        JudgeConfig(ConfigNamed(option->rules.options_of), value, at,
                    Users(*option, config, values, datasets));
        for (const auto& [also, why] : option->rules.also_takes) {
          if (value.contains(also)) AddTaken(config::JoinPath(at, also), why);
        }
      }
    }
  }

  void AddTaken(const std::string& path, const std::string& why) {
    found_.push_back({false, path, "is taken for compatibility: " + why});
  }

  /// Those of the datasets for which an option has a say.
  std::vector<Dataset> Users(const FieldDescriptor& option, const ConfigDescriptor& config,
                             const Json& values, Datasets datasets) const {
    std::vector<Dataset> users;
    for (const Dataset& dataset : datasets) {
      const auto idle = Beside(config, values, dataset).WhyIdle(option.rules.acting);
      if (!idle.has_value()) users.push_back(dataset);
    }
    return users;
  }

  /// Whether an option does something, or is not judged; if it does nothing, that is found.
  bool JudgeOption(const ConfigDescriptor& config, const FieldDescriptor& option,
                   const Json& values, const std::string& path, Datasets datasets) {
    const Acting& acting = option.rules.acting;
    // The options of most stages are judged one by one.
    const bool is_of_others = !option.config.empty() && acting.nodes.empty();
    if (is_of_others || option.name == "datasets") return true;
    if (!IsJudged(config, acting, datasets)) return true;
    if (!acting.compatibility.empty()) {
      AddTaken(path, acting.compatibility);
      return false;
    }
    for (const auto& [value, why] : acting.taken) {
      if (value != ValueOf(option, values)) continue;
      AddTaken(path, why);
      return false;
    }
    std::optional<IdleOption> refused, told;
    for (const Dataset& dataset : datasets) {
      std::optional<IdleOption> idle = WhyIdle(option, config, values, dataset);
      if (!idle.has_value()) return true;
      std::optional<IdleOption>* kept = idle->is_refused ? &refused : &told;
      if (!kept->has_value()) *kept = std::move(idle);
    }
    std::optional<IdleOption>& idle = refused.has_value() ? refused : told;
    if (!idle.has_value()) return true;
    idle->path = path;
    found_.push_back(*std::move(idle));
    return false;
  }

  /// Whether all stages that could heed an option are in the chain, or come too late: examples are
  /// tokens, whatever a chain does with them.
  bool IsJudged(const ConfigDescriptor& config, const Acting& acting, Datasets datasets) const {
    const bool is_of_rows = config.name == "DatasetConfig" || config.name == "TokenizerConfig";
    return std::all_of(acting.nodes.begin(), acting.nodes.end(), [&](const std::string& node) {
      const std::string stage(OperatorOf(node).stage);
      if (stage.empty() || stages_.contains(stage)) return true;
      return stage == "tokenize" && is_of_rows &&
             std::all_of(datasets.begin(), datasets.end(),
                         [](const Dataset& dataset) { return dataset.Has("examples"); });
    });
  }

  /// Why an option does nothing for the rows of a dataset; nothing where it does something.
  std::optional<IdleOption> WhyIdle(const FieldDescriptor& option, const ConfigDescriptor& config,
                                    const Json& values, const Dataset& dataset) const {
    const Acting& acting = option.rules.acting;
    if (auto idle = Beside(config, values, dataset).WhyIdle(acting)) return idle;
    IdleOption idle = {
        true, "", "has no effect on dataset \"" + dataset.reach->dataset + "\": it acts where "};
    for (const std::string& node : acting.nodes) {
      const Operator& found = OperatorOf(node);
      if (found.presence == kRunner || dataset.Has(node)) return std::nullopt;
      if (found.presence == kTold && dataset.Works(found)) idle.is_refused = false;
      if (&node != &acting.nodes.front()) idle.text += ", or where ";
      idle.text += found.where;
    }
    if (dataset.Has("examples." + option.name)) {
      idle.text += "; give it to what makes the dataset's examples: transform={\"name\": ..., \"" +
                   option.name + "\": " + config::Shown(ValueOf(option, values)) + "}";
    } else if (!acting.instead.empty()) {
      idle.text += "; " + acting.instead;
    }
    return idle;
  }

  Neighbours Beside(const ConfigDescriptor& config, const Json& values,
                    const Dataset& dataset) const {
    return {config, values, [this, &dataset](const std::string& other) -> const Json& {
              return ValuesOf(other, dataset);
            }};
  }

  /// What the config of that name says, for the rows of a dataset.
  const Json& ValuesOf(const std::string& config, const Dataset& dataset) const {
    if (config == "DatasetConfig") return *dataset.values;
    if (config == "TokenizerConfig") return dataset.tokenizer;
    for (const FieldDescriptor& stage : ConfigNamed("PipelineConfig").fields) {
      if (stage.config == config) return StageValues(stage.name);
    }
    return config_;
  }

  const Json& config_;
  const std::set<std::string>& stages_;
  std::vector<size_t> indices_;
  std::vector<Dataset> datasets_;
  std::vector<IdleOption> found_;
};

void AddOperators(const PlanNode& node, const std::string& stream, std::set<std::string>* found) {
  const auto own = std::find_if(node.inputs.begin(), node.inputs.end(),
                                [&](const PlanInput& input) { return input.prefix == stream; });
  for (const PlanInput& input : node.inputs) {
    if (own == node.inputs.end()) AddOperators(*input.node, stream, found);
  }
  if (own != node.inputs.end()) AddOperators(*own->node, stream, found);
  found->insert(node.name);
  if (node.files != nullptr && !node.files->empty()) {
    found->insert(node.name + ".files");
    const auto is_remote = [](const std::string& file) { return file.find("://") != file.npos; };
    if (std::any_of(node.files->begin(), node.files->end(), is_remote)) {
      found->insert(node.name + ".remote");
    }
  }
  for (const auto& [option, value] : node.options->items()) found->insert(node.name + "." + option);
  // What a source is a source of.
  const auto kind = node.options->find("kind");
  if (kind != node.options->end() && kind->is_string()) {
    found->insert(node.name + "." + kind->get<std::string>());
  }
  // Of what renders chats a plan has the description alone.
  const auto callable = node.options->find("callable");
  if (callable != node.options->end() && callable->is_string() &&
      callable->get_ref<const std::string&>().starts_with("chat_template(")) {
    found->insert(node.name + ".chat_template");
  }
  const bool is_judged = node.name == "tokenize" || node.name == "pack";
  if (is_judged && !found->contains("map.chat_template")) found->insert(node.name + ".text");
}

}  // namespace

std::set<std::string> OperatorsOf(const PlanNode& plan, const std::string& dataset) {
  std::set<std::string> found;
  AddOperators(plan, "sources[" + dataset + "].", &found);
  return found;
}

std::vector<IdleOption> FindIdleOptions(const Json& config, const std::set<std::string>& stages,
                                        const std::vector<DatasetReach>& datasets) {
  return Judge(config, stages, datasets).Run();
}

}  // namespace easydata::configs
