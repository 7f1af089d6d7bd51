#include "easydata/source/record_files.h"

#include <algorithm>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/source/damaged_file.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {
namespace {

constexpr int kOpenedAtOnce = 16;  // a footer of another machine is waited for

// Records that are worth a thread.
constexpr size_t kLeastOfThread = 256;

}  // namespace

Result<std::unique_ptr<const RecordFiles>> RecordFiles::Open(std::vector<files::FileInfo> files) {
  auto out = std::unique_ptr<RecordFiles>(new RecordFiles());
  out->infos_ = std::move(files);
  out->files_.resize(out->infos_.size());
  ARROW_RETURN_NOT_OK(exec::ParallelFor(out->files_.size(), kOpenedAtOnce, [&](size_t i) -> Status {
    const files::FileInfo& info = out->infos_[i];
    ARROW_ASSIGN_OR_RAISE(auto opened, storage::OpenFile(info));
    auto file = record_file::ArrayRecordFile::Open(std::move(opened), /*keeps=*/true);
    if (!file.ok()) return NotWhole(info.uri, "ArrayRecord file", file.status());
    out->files_[i] = *std::move(file);
    return Status::OK();
  }));
  for (const auto& file : out->files_) out->ends_.push_back(out->size() + file->num_records());
  return out;
}

Result<std::string_view> RecordFiles::Read(int64_t record, record_file::RecordScratch* scratch,
                                           record_file::Records* held) const {
  ARROW_ASSIGN_OR_RAISE(const auto found, Find(record));
  auto read = files_[found.first]->ReadRecord(found.second, scratch, held);
  if (!read.ok()) return Named(found.first, read.status());
  return read;
}

Result<RecordFiles::Many> RecordFiles::ReadMany(const std::vector<int64_t>& records) const {
  // In the order of the files, each part by a thread of its own.
  std::vector<Wanted> order(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const auto found, Find(records[i]));
    order[i] = {found.first, found.second, i};
  }
  std::sort(order.begin(), order.end());
  const auto most = static_cast<size_t>(exec::AvailableCores());
  const size_t count = std::clamp<size_t>(records.size() / kLeastOfThread, 1, most);
  Many out;
  out.parts_.resize(count);
  out.found_.resize(records.size());
  ARROW_RETURN_NOT_OK(exec::ParallelFor(count, static_cast<int>(count), [&](size_t part) {
    const size_t begin = order.size() * part / count;
    const size_t end = order.size() * (part + 1) / count;
    return ReadPart(std::span(order).subspan(begin, end - begin), part, &out);
  }));
  return out;
}

Status RecordFiles::ReadPart(std::span<const Wanted> wanted, size_t part, Many* out) const {
  std::string* const bytes = &out->parts_[part];
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin < wanted.size(); begin += numbers.size()) {
    const size_t file = wanted[begin].file;
    numbers.clear();
    for (size_t i = begin; i < wanted.size() && wanted[i].file == file; ++i) {
      numbers.push_back(wanted[i].number);
    }
    const Status read = files_[file]->Read(numbers, [&](size_t index, std::string_view record) {
      out->found_[wanted[begin + index].index] = {part, bytes->size(), record.size()};
      bytes->append(record);
      return Status::OK();
    });
    ARROW_RETURN_NOT_OK(Named(file, read));
  }
  return Status::OK();
}

Result<std::pair<size_t, int64_t>> RecordFiles::Find(int64_t record) const {
  const int64_t number = record < 0 ? record + size() : record;
  if (number < 0 || number >= size()) {
    return Status::IndexError("there is no record ", record, ": there are ", size());
  }
  const auto file =
      static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin());
  return std::pair(file, number - (file == 0 ? 0 : ends_[file - 1]));
}

Status RecordFiles::Named(size_t file, const Status& status) const {
  if (status.ok() || !files::IsOfContent(status) || status.IsNotImplemented()) return status;
  return Status::IOError(infos_[file].uri, ": ", status.message(),
                         "; the file is damaged: get it again");
}

}  // namespace easydata::source
