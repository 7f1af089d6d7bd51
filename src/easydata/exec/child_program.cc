#include "easydata/exec/child_program.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "easydata/exec/environment.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"

extern char** environ;

namespace easydata::exec {
namespace {

using ChildClock = std::chrono::steady_clock;

constexpr size_t kMostOutput = 1 << 20;  // bytes

/// A pipe that a child writes into.
class ChildPipe {
 public:
  ChildPipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) return;
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~ChildPipe() {
    CloseWriter();
    CloseReader();
  }
  ChildPipe(const ChildPipe&) = delete;
  ChildPipe& operator=(const ChildPipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  const std::string& text() const { return text_; }

  void CloseWriter() { Close(&ends_[1]); }

  /// Takes what is there.
  void Drain() {
    char piece[4096];
    while (reader() >= 0) {
      const ssize_t got = ::read(reader(), piece, sizeof(piece));
      if (got > 0) {
        // One byte above the limit tells that it was reached.
        const size_t taken = std::min(static_cast<size_t>(got), kMostOutput + 1 - text_.size());
        text_.append(piece, taken);
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got == 0 || errno != EAGAIN) CloseReader();
      return;
    }
  }

 private:
  void CloseReader() { Close(&ends_[0]); }

  static void Close(int* fd) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }

  int ends_[2] = {-1, -1};
  std::string text_ = {};
};

/// The child's signals are those of a program that a shell starts: Python ignores SIGPIPE.
void SetUsualSignals(posix_spawnattr_t* attributes) {
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(attributes, &signals);
  for (const int number : {SIGPIPE, SIGXFSZ}) sigaddset(&signals, number);
  posix_spawnattr_setsigdefault(attributes, &signals);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/// Starts a program; the errno where it does not start.
int Start(const std::vector<std::string>& command, const ChildPipe& output, const ChildPipe& errors,
          pid_t* child) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.writer(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetUsualSignals(&attributes);
  const int error =
      ::posix_spawnp(child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Waits for what comes next, or for a little while.
void WaitForOutput(const ChildPipe& output, const ChildPipe& errors) {
  pollfd waited[] = {{output.reader(), POLLIN, 0}, {errors.reader(), POLLIN, 0}};
  if (output.reader() < 0 && errors.reader() < 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it ends at any moment
  } else {
    ::poll(waited, 2, static_cast<int>(StopScope::kLook.count()));
  }
}

/// The last line that says something, not beyond what a message has room for.
std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin).substr(0, 300);
}

Status Failed(const std::string& program, int error, const std::string& why) {
  return arrow::internal::IOErrorFromErrno(error, "the program ", program, " ", why);
}

Status CheckEnd(const std::string& program, int status, const ChildPipe& output,
                const ChildPipe& errors) {
  std::string words = LastLine(errors.text());
  if (!words.empty()) words = ": " + words;
  if (WIFSIGNALED(status)) {
    return Failed(program, EIO, "was ended by signal " + std::to_string(WTERMSIG(status)) + words);
  }
  if (WEXITSTATUS(status) != 0) {
    return Failed(program, EIO, "ended with status " + std::to_string(WEXITSTATUS(status)) + words);
  }
  if (output.text().size() > kMostOutput) return Failed(program, EIO, "prints more than 1 MB");
  return Status::OK();
}

}  // namespace

Result<std::vector<std::string>> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == 0 && is_blank) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) {
      words.emplace_back();
      is_in_word = true;
    }
    const bool is_escape = c == '\\' && quote != '\'' && i + 1 < command.size();
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (is_escape && (quote == 0 || command[i + 1] == '"' || command[i + 1] == '\\')) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return Status::Invalid("a quote in the command has no end");
  if (words.empty()) return Status::Invalid("the command is empty");
  return words;
}

Result<std::string> OutputOf(const std::vector<std::string>& command,
                             std::chrono::milliseconds limit) {
  const std::string& program = command.front();
  ChildPipe output;
  ChildPipe errors;
  if (output.reader() < 0 || errors.reader() < 0) return Failed(program, EMFILE, "gets no pipe");
  pid_t child = -1;
  if (const int error = Start(command, output, errors, &child); error != 0) {
    return Failed(program, error, "does not start: " + std::string(std::strerror(error)));
  }
  output.CloseWriter();
  errors.CloseWriter();
  WaitScope waiting;
  const auto until = ChildClock::now() + limit;
  Status ended_early;
  int status = 0;
  for (;;) {
    output.Drain();
    errors.Drain();
    const pid_t ended = ::waitpid(child, &status, ended_early.ok() ? WNOHANG : 0);
    // ECHILD: the program ignores SIGCHLD, and the system took the status.
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (!ended_early.ok()) continue;
    if (StopScope::Interrupted()) {
      ended_early = Status::Cancelled("reading was stopped");
    } else if (ChildClock::now() > until) {
      ended_early = Failed(program, ETIMEDOUT,
                           "did not end within " + std::to_string(limit.count() / 1000) + " s");
    } else {
      WaitForOutput(output, errors);
      continue;
    }
    ::kill(child, SIGKILL);
  }
  ARROW_RETURN_NOT_OK(ended_early);
  // What it wrote last. What it started and left behind, with the same output, is not waited for.
  output.Drain();
  errors.Drain();
  ARROW_RETURN_NOT_OK(CheckEnd(program, status, output, errors));
  return output.text();
}

bool IsInPath(const std::string& program) {
  std::string path = EnvironmentValue("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace easydata::exec
