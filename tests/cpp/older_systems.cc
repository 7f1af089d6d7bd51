// Does what python/older_systems/older_systems.cc defines anew; ends with the line of the first
// check that does not hold. Built and run by tests/python/tools/test_older_systems.py.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#define CHECK(condition)                                                                \
  do {                                                                                  \
    if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), std::exit(1); \
  } while (false)

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

void Files(const char* folder) {
  const std::string file = std::string(folder) + "/file", link = std::string(folder) + "/link";
  std::FILE* out = std::fopen(file.c_str(), "w");
  std::fputs("twelve bytes", out);
  std::fflush(out);
  std::filesystem::create_symlink(file, link);
  struct stat found;
  CHECK(stat(link.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 12);
  CHECK(lstat(link.c_str(), &found) == 0 && S_ISLNK(found.st_mode));
  CHECK(fstat(fileno(out), &found) == 0 && found.st_size == 12);
  CHECK(stat("/there/is/nothing", &found) == -1 && errno == ENOENT);
  std::fclose(out);
  int files = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    files += each.is_symlink() || each.is_regular_file();
  }
  CHECK(files == 2);
}

void Threads() {
  std::once_flag once;
  int calls = 0;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_wanted = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::call_once(once, [&] { ++calls; });
      pthread_setname_np(pthread_self(), "a-name");
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return is_wanted; });
    });
  }
  CHECK(mutex.try_lock());
  std::thread([&] { CHECK(!mutex.try_lock()); }).join();
  is_wanted = true;
  mutex.unlock();
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  CHECK(calls == 1);

  pthread_key_t key;
  static int destroyed = 0;
  CHECK(pthread_key_create(&key, [](void* value) { destroyed += *static_cast<int*>(value); }) == 0);
  int seven = 7;
  std::thread([&] { CHECK(pthread_setspecific(key, &seven) == 0); }).join();
  CHECK(destroyed == 7);
}

// A wait of more than a second, which the old call is given in parts; and none at all.
void Waits() {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock<std::mutex> lock(mutex);
  const auto begin = Clock::now();
  CHECK(!changed.wait_for(lock, milliseconds(1200), [] { return false; }));
  CHECK(Clock::now() - begin >= milliseconds(1200));
  CHECK(changed.wait_until(lock, begin) == std::cv_status::timeout);
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  CHECK(future.wait_for(milliseconds(10)) == std::future_status::timeout);
  std::thread([&] { promise.set_value(5); }).join();
  CHECK(future.wait_for(milliseconds(10)) == std::future_status::ready && future.get() == 5);
}

struct Counted {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

void Exceptions() {
  int alive = 0;
  for (int i = 0; i < 1000; ++i) {
    std::exception_ptr first;
    try {
      throw Counted(&alive);
    } catch (...) {
      first = std::current_exception();
    }
    std::exception_ptr second = first;
    first = nullptr;
    CHECK(alive == 1);
    try {
      std::rethrow_exception(second);
    } catch (const Counted&) {
    }
    second = nullptr;
    CHECK(alive == 0);
  }
  volatile long many = -1;
  try {
    delete[] new int[many];
    CHECK(false);
  } catch (const std::bad_alloc&) {
  }
}

void Numbers() {
  char text[64];
  const double wanted = 0.1 + 0.2;
  const char* end = std::to_chars(text, text + sizeof(text), wanted).ptr;
  CHECK(std::string_view(text, end - text) == "0.30000000000000004");
  double found = 0;
  std::from_chars(text, end, found);
  CHECK(found == wanted);
}

void Libraries() {
  void* library = dlopen("libm.so.6", RTLD_NOW);
  CHECK(library != nullptr && dlsym(library, "cos") != nullptr && dlerror() == nullptr);
  CHECK(dlopen("libthere-is-none.so", RTLD_NOW) == nullptr);
  CHECK(std::strstr(dlerror(), "libthere-is-none.so") != nullptr);
}

void Counts() {
  auto shared = std::make_shared<int>(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared] {
      for (int n = 0; n < 100'000; ++n) std::shared_ptr<int>(shared).reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  CHECK(shared.use_count() == 1);
}

}  // namespace

// A library, as a wheel's module is: `folder` is an empty folder.
extern "C" __attribute__((visibility("default"))) void try_older_systems(const char* folder) {
  Files(folder);
  Threads();
  Waits();
  Exceptions();
  Numbers();
  Libraries();
  Counts();
}
