#include "easydata/transform/part_rows.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/base/nearest_name.h"
#include "easydata/json/json_column.h"
#include "easydata/json/python_json.h"
#include "easydata/order/permutation.h"
#include "easydata/stream/row_error.h"

namespace easydata::transform {
namespace {

// Parts are drawn by other numbers than shuffles of the same seed.
constexpr uint64_t kPartEntropy = 0x7061727473ULL;
constexpr double kShareError = 1e-6;

/// A number from 0 to below 1 of the bits of a hash.
double Fraction(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1.0p-53; }

uint64_t HashOfRow(uint64_t shard, int64_t row, uint64_t seed) {
  const uint64_t bits[] = {shard, static_cast<uint64_t>(row)};
  return Hash64({reinterpret_cast<const char*>(bits), sizeof(bits)}, seed);
}

constexpr char kKinds[] = "text, a whole number or a boolean";

/// What a value is told by: the text itself, or a number as it is written. Nothing for null.
Result<std::optional<std::string>> TextOf(const arrow::Array& column, bool is_json, int64_t row) {
  if (column.IsNull(row)) return std::nullopt;
  if (column.type_id() == arrow::Type::DICTIONARY) {
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(column);
    return TextOf(*encoded.dictionary(), is_json, encoded.GetValueIndex(row));
  }
  std::string_view text;
  switch (column.type_id()) {
    case arrow::Type::STRING:
      text = static_cast<const arrow::StringArray&>(column).GetView(row);
      break;
    case arrow::Type::LARGE_STRING:
      text = static_cast<const arrow::LargeStringArray&>(column).GetView(row);
      break;
    case arrow::Type::STRING_VIEW:
      text = static_cast<const arrow::StringViewArray&>(column).GetView(row);
      break;
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(column).Value(row) ? "true" : "false";
    default: {
      if (!arrow::is_integer(column.type_id())) {
        return Status::TypeError("is of type ", column.type()->ToString(), ", expected ", kKinds);
      }
      ARROW_ASSIGN_OR_RAISE(const auto scalar, column.GetScalar(row));
      return scalar->ToString();
    }
  }
  if (!is_json) return std::string(text);
  if (text == "null") return std::nullopt;
  if (text.starts_with('"')) {
    std::string plain;
    if (!json::UnescapeJsonString(text, &plain)) return std::string(text);
    return plain;
  }
  if (text.starts_with('{') || text.starts_with('[') ||
      (text != "true" && text != "false" && text.find_first_of(".eEN") != std::string_view::npos)) {
    return Status::TypeError("is ", text.substr(0, 40), ", expected ", kKinds);
  }
  return std::string(text);
}

/// The value of a field in a row of JSON; nothing where it is not there.
Result<std::optional<std::string>> TextOfField(std::string_view json, const std::string& field) {
  std::string kind;
  std::vector<json::JsonMember> members;
  json::JsonFault fault;
  if (!json::ReadPythonJson(json, &kind, &members, &fault)) return Status::Invalid(fault.message);
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const auto& member) { return member.key == field; });
  if (found == members.rend()) return std::nullopt;
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Append(found->raw));
  ARROW_ASSIGN_OR_RAISE(const auto value, builder.Finish());
  return TextOf(*value, /*is_json=*/true, 0);
}

class PartRowsOp : public BatchOp {
 public:
  PartRowsOp(PartOptions options, std::shared_ptr<const RowPlaces> places)
      : options_(std::move(options)), places_(std::move(places)) {
    const std::vector<double> ends = options_.Ends();
    const size_t index = options_.Index();
    begin_ = index == 0 ? 0 : ends[index - 1];
    end_ = index + 1 == ends.size() ? 1 : ends[index];
    if (places_->num_rows.value_or(0) > 0) counted_.emplace(options_, *places_->num_rows);
  }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }

  Result<Batch> Apply(Batch batch) const override {
    std::vector<int64_t> keep;
    keep.reserve(static_cast<size_t>(batch.num_rows()));
    if (options_.part_by.has_value()) {
      ARROW_RETURN_NOT_OK(KeepByValue(batch, &keep));
    } else {
      ARROW_RETURN_NOT_OK(KeepByPlace(batch.addresses, &keep));
    }
    if (std::ssize(keep) == batch.num_rows()) return batch;
    return batch.Take(keep);
  }

  const char* name() const override { return "part"; }

 private:
  bool Has(uint64_t hash) const {
    const double at = Fraction(hash);
    return at >= begin_ && at < end_;
  }

  Status KeepByPlace(const Addresses& addresses, std::vector<int64_t>* keep) const {
    int64_t i = 0;
    for (const Addresses::Run& run : addresses.runs()) {
      const auto found = places_->shards.find(run.shard->shard);
      if (found == places_->shards.end() && counted_.has_value()) {
        return Status::Invalid(run.shard->shard,
                               ": the rows of this shard were not counted, so they are in no part");
      }
      const RowPlaces::Shard shard =
          found != places_->shards.end()
              ? found->second
              : RowPlaces::Shard{Hash64(run.shard->shard, options_.part_seed), 0};
      for (int64_t k = 0; k < run.count; ++k, ++i) {
        const int64_t row = run.row + (run.sub_row < 0 ? k : 0);
        const bool has = counted_.has_value() ? counted_->Has(shard.first + row)
                                              : Has(HashOfRow(shard.key, row, options_.part_seed));
        if (has) keep->push_back(i);
      }
    }
    return Status::OK();
  }

  Status KeepByValue(const Batch& batch, std::vector<int64_t>* keep) const {
    const std::string& name = *options_.part_by;
    const auto& schema = *batch.rows->schema();
    const int index = schema.GetFieldIndex(name);
    const arrow::StringArray* const whole = index < 0 ? json::WholeRows(*batch.rows) : nullptr;
    if (index < 0 && whole == nullptr) {
      return Status::KeyError("part_by: there is no column ", name,
                              DidYouMean(name, schema.field_names()));
    }
    const bool is_json = index >= 0 && json::IsJsonField(*schema.field(index));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      auto text = index >= 0 ? TextOf(*batch.rows->column(index), is_json, row)
                             : TextOfField(whole->GetView(row), name);
      if (!text.ok()) {
        return RowError(batch.AddressOf(row),
                        "part_by: field \"" + name + "\" " + text.status().message(),
                        text.status().code());
      }
      if (!text->has_value()) {
        return RowError(batch.AddressOf(row),
                        "part_by: the row has no \"" + name +
                            "\" to tell its part by; leave such rows out before, or split by the "
                            "rows' places");
      }
      if (Has(Hash64(**text, options_.part_seed))) keep->push_back(row);
    }
    return Status::OK();
  }

  const PartOptions options_;
  const std::shared_ptr<const RowPlaces> places_;
  double begin_;
  double end_;
  std::optional<CountedParts> counted_;
};

}  // namespace

config::FieldList PartOptions::Fields() {
  using O = PartOptions;
  return {
      config::Field{"parts", &O::parts,
                    "Parts that the rows are divided into, {name: share}; the shares make up 1. "
                    "Every row is in one of them, in the same one in every run: exact shares where "
                    "the files say how many rows they have, else by a hash of the file's name "
                    "below the folder of all files, and the row's number."},
      config::Field{"part", &O::part, "The part that is read, by its name in parts."},
      config::Field{"part_seed", &O::part_seed, "Another one divides the rows in another way."},
      config::Field{"part_by", &O::part_by,
                    "A column by whose value rows are divided, in place of their places: rows "
                    "of one value are in one part, wherever they are."},
  };
}

Status PartOptions::Validate() const {
  config::Problems problems;
  Check("", &problems);
  if (!parts.has_value() && problems.empty()) return Status::Invalid("parts: name some");
  if (problems.empty()) return Status::OK();
  return Status::Invalid(problems.front().path, ": ", problems.front().text);
}

void PartOptions::Check(const std::string& path, config::Problems* problems) const {
  const auto add = [&](const char* option, std::string problem) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, option), std::move(problem)});
  };
  if (!parts.has_value()) {
    if (part.has_value()) {
      add("part", "= \"" + *part + "\" names one of parts, which are unset; give them, as {" +
                      *part + ": 0.02, rest: 0.98}");
    }
    if (part_seed != 0) add("part_seed", "is of parts, which are unset");
    if (part_by.has_value()) add("part_by", "is of parts, which are unset");
    return;
  }
  std::vector<std::string> names;
  double sum = 0;
  for (const auto& [name, share] : parts->values) {
    if (!(share > 0 && share <= 1)) {
      add("parts", "gives \"" + name + "\" a share of " + config::Shown(config::Json(share)) +
                       "; a share is above 0, and 1 at most");
      return;
    }
    names.push_back(name);
    sum += share;
  }
  if (names.empty()) return add("parts", "has no parts");
  if (std::abs(sum - 1) > kShareError) {
    add("parts", "must make up 1, and these make up " + config::Shown(config::Json(sum)) +
                     ": rows that are in no part would be lost; name a part for the rest");
    return;
  }
  if (!part.has_value()) return add("part", "is required with parts" + Suggestion("", names));
  if (std::find(names.begin(), names.end(), *part) == names.end()) {
    add("part", "= \"" + *part + "\" is none of parts" + Suggestion(*part, names));
  }
}

size_t PartOptions::Index() const {
  const auto found = std::find_if(parts->values.begin(), parts->values.end(),
                                  [&](const auto& named) { return named.first == *part; });
  return static_cast<size_t>(found - parts->values.begin());
}

std::vector<double> PartOptions::Ends() const {
  std::vector<double> ends;
  double sum = 0;
  for (const auto& [name, share] : parts->values) ends.push_back(sum += share);
  return ends;
}

struct CountedParts::Draw {
  order::Permutation order;
};

CountedParts::CountedParts(const PartOptions& options, int64_t num_rows)
    : draw_(new Draw{
          order::Permutation(static_cast<uint64_t>(num_rows), {options.part_seed, kPartEntropy})}) {
  const std::vector<double> ends = options.Ends();
  const size_t index = options.Index();
  const auto at = [&](size_t i) {
    return static_cast<int64_t>(std::llround(ends[i] * static_cast<double>(num_rows)));
  };
  begin_ = index == 0 ? 0 : at(index - 1);
  end_ = index + 1 == ends.size() ? num_rows : at(index);
}

CountedParts::~CountedParts() = default;

bool CountedParts::Has(int64_t row) const {
  const auto place = static_cast<int64_t>(draw_->order[static_cast<uint64_t>(row)]);
  return place >= begin_ && place < end_;
}

std::shared_ptr<const BatchOp> PartRows(PartOptions options,
                                        std::shared_ptr<const RowPlaces> places) {
  return std::make_shared<PartRowsOp>(std::move(options), std::move(places));
}

}  // namespace easydata::transform
