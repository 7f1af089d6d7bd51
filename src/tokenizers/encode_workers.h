#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tokenizers/added_tokens.h"
#include "tokenizers/id_buffer.h"
#include "tokenizers/piece_encoder.h"
#include "tokenizers/tokenizer_plan.h"

namespace easydata::tokenizers {

/// The encoders of one thread.
struct EncodeWorker {
  std::unique_ptr<PieceEncoder> encoder;
  /// For what `encoder` does not take; made when it is needed.
  std::unique_ptr<PieceEncoder> staged;
  std::vector<TextPart> raw_parts;
  std::vector<TextPart> normalized_parts;
  std::string normalized;

  IdBuffer& ids() { return encoder->ids(); }
};

/// The workers of a tokenizer: one for each thread at work, kept for the next one with their
/// caches. Thread-safe. A forked process starts with none: a lock that another thread held at the
/// fork would never be released in it.
class EncodeWorkers {
 public:
  /// The plan outlives it.
  explicit EncodeWorkers(const TokenizerPlan* plan);
  ~EncodeWorkers();

  /// A worker for the caller alone, to be given back.
  std::unique_ptr<EncodeWorker> Take() const;
  void GiveBack(std::unique_ptr<EncodeWorker> worker) const;

  /// Where the ids of workers are turned into Arrow buffers.
  const std::shared_ptr<IdBufferPool>& id_buffers() const { return of_this_process().id_buffers; }

 private:
  struct Process {
    explicit Process(pid_t pid) : pid(pid) {}

    const pid_t pid;
    std::shared_ptr<IdBufferPool> id_buffers = std::make_shared<IdBufferPool>();
    std::once_flag tables_once;
    EncoderTables tables;
    std::mutex mutex;
    std::vector<std::unique_ptr<EncodeWorker>> idle;
  };

  Process& of_this_process() const;

  const TokenizerPlan* plan_;
  mutable std::atomic<Process*> process_;
};

}  // namespace easydata::tokenizers
