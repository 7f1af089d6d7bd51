#include "easydata/source/source.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <numeric>

namespace easydata {
namespace {

/// Levenshtein's distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void DecodedBlock::SetRows(std::shared_ptr<arrow::RecordBatch> batch, int64_t skip) {
  num_rows = batch->num_rows();
  skip = std::min(skip, num_rows);
  rows = skip == 0 ? std::move(batch) : batch->Slice(skip);
  runs = {{skip, num_rows - skip}};
}

std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> near;
  const size_t limit = std::max<size_t>(1, wanted.size() / 3);
  for (const std::string& name : names) {
    if (wanted.size() + limit < name.size() || name.size() + limit < wanted.size()) continue;
    const size_t distance = Distance(wanted, name);
    if (distance <= limit) near.emplace_back(distance, name);
  }
  if (near.empty()) return "";
  std::sort(near.begin(), near.end());
  std::string out = "; did you mean " + near[0].second;
  if (near.size() > 1) out += " or " + near[1].second;
  return out + "?";
}

}  // namespace easydata
