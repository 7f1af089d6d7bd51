#include "tokenizers/encode_workers.h"

#include <unistd.h>

#include <utility>

namespace easydata::tokenizers {

EncodeWorkers::EncodeWorkers(const TokenizerPlan* plan)
    : plan_(plan), process_(new Process(getpid())) {}

EncodeWorkers::~EncodeWorkers() {
  Process* process = process_.load(std::memory_order_relaxed);
  if (process->pid == getpid()) delete process;
}

EncodeWorkers::Process& EncodeWorkers::of_this_process() const {
  const pid_t pid = getpid();
  Process* process = process_.load(std::memory_order_acquire);
  if (process->pid == pid) return *process;
  // The parent's is left as it is: the state of its lock is unknown.
  auto fresh = std::make_unique<Process>(pid);
  while (process->pid != pid) {
    if (process_.compare_exchange_weak(process, fresh.get(), std::memory_order_acq_rel)) {
      return *fresh.release();
    }
  }
  return *process;
}

std::unique_ptr<EncodeWorker> EncodeWorkers::Take() const {
  Process& process = of_this_process();
  {
    std::lock_guard lock(process.mutex);
    if (!process.idle.empty()) {
      std::unique_ptr<EncodeWorker> worker = std::move(process.idle.back());
      process.idle.pop_back();
      return worker;
    }
  }
  std::call_once(process.tables_once, [&] { process.tables = plan_->MakeTables(); });
  auto worker = std::make_unique<EncodeWorker>();
  worker->encoder = plan_->MakeEncoder(process.tables);
  return worker;
}

void EncodeWorkers::GiveBack(std::unique_ptr<EncodeWorker> worker) const {
  // The memory of one long text is not kept for all that follow.
  constexpr size_t kMostKeptIds = size_t{4} << 20;
  if (worker->ids().capacity() > kMostKeptIds) worker->ids() = IdBuffer();
  Process& process = of_this_process();
  std::lock_guard lock(process.mutex);
  process.idle.push_back(std::move(worker));
}

}  // namespace easydata::tokenizers
