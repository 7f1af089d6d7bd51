// Binds the module to the names that older systems have, too: those of glibc 2.28 and of its time's
// libstdc++ (wheels' tag manylinux_2_28; EASYDATA_OLDER_SYSTEMS). What a newer system's headers
// call by a new name is defined here, hidden, by means of the old one. Each definition names the
// version that its symbol came with.

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

// This file alone defines what others only declare.
#define EASYDATA_DEFINE extern "C" __attribute__((visibility("hidden"), used))
#define EASYDATA_OLD_NAME(alias, symbol) __asm__(".symver " #alias ", " symbol)

// glibc 2.32: says whether there is one thread alone. Never: libstdc++ then counts references
// atomically.
extern "C" {
__attribute__((visibility("hidden"), used)) char __libc_single_threaded = 0;
}

// glibc 2.33: they were inline functions of headers before.
extern "C" {
int __xstat(int version, const char* path, struct stat* out);
int __lxstat(int version, const char* path, struct stat* out);
int __fxstat(int version, int file, struct stat* out);
}
EASYDATA_DEFINE int stat(const char* path, struct stat* out) noexcept {
  return __xstat(1, path, out);
}
EASYDATA_DEFINE int lstat(const char* path, struct stat* out) noexcept {
  return __lxstat(1, path, out);
}
EASYDATA_DEFINE int fstat(int file, struct stat* out) noexcept { return __fxstat(1, file, out); }

// glibc 2.34: libpthread and libdl became parts of libc.
extern "C" int old_once(pthread_once_t* once, void (*function)());
EASYDATA_OLD_NAME(old_once, "pthread_once@GLIBC_2.2.5");
EASYDATA_DEFINE int pthread_once(pthread_once_t* once, void (*function)()) {
  return old_once(once, function);
}

extern "C" int old_try_lock(pthread_mutex_t* mutex);
EASYDATA_OLD_NAME(old_try_lock, "pthread_mutex_trylock@GLIBC_2.2.5");
EASYDATA_DEFINE int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return old_try_lock(mutex);
}

extern "C" int old_key_create(pthread_key_t* key, void (*destroy)(void*));
EASYDATA_OLD_NAME(old_key_create, "pthread_key_create@GLIBC_2.2.5");
EASYDATA_DEFINE int pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
  return old_key_create(key, destroy);
}

extern "C" int old_set_specific(pthread_key_t key, const void* value)
    __attribute__((access(none, 2)));
EASYDATA_OLD_NAME(old_set_specific, "pthread_setspecific@GLIBC_2.2.5");
EASYDATA_DEFINE int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  return old_set_specific(key, value);
}

extern "C" int old_set_name(pthread_t thread, const char* name);
EASYDATA_OLD_NAME(old_set_name, "pthread_setname_np@GLIBC_2.12");
EASYDATA_DEFINE int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  return old_set_name(thread, name);
}

extern "C" void* old_open(const char* file, int mode);
EASYDATA_OLD_NAME(old_open, "dlopen@GLIBC_2.2.5");
EASYDATA_DEFINE void* dlopen(const char* file, int mode) noexcept { return old_open(file, mode); }

extern "C" void* old_symbol(void* library, const char* name);
EASYDATA_OLD_NAME(old_symbol, "dlsym@GLIBC_2.2.5");
EASYDATA_DEFINE void* dlsym(void* library, const char* name) noexcept {
  return old_symbol(library, name);
}

extern "C" char* old_error();
EASYDATA_OLD_NAME(old_error, "dlerror@GLIBC_2.2.5");
EASYDATA_DEFINE char* dlerror() noexcept { return old_error(); }

// glibc 2.30. The old call waits by the wall clock, which somebody may set: so it waits for a
// second at most, and the caller, who has to allow for waking up for nothing, asks again.
extern "C" int old_timed_wait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                              const timespec* until);
EASYDATA_OLD_NAME(old_timed_wait, "pthread_cond_timedwait@GLIBC_2.3.2");
EASYDATA_DEFINE int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                           clockid_t clock, const timespec* until) {
  constexpr long long kSecond = 1'000'000'000;
  timespec now;
  clock_gettime(clock, &now);
  long long left = (until->tv_sec - now.tv_sec) * kSecond + (until->tv_nsec - now.tv_nsec);
  if (left <= 0) return ETIMEDOUT;
  const bool is_cut = left > kSecond;
  if (is_cut) left = kSecond;
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  left += wall.tv_nsec;
  wall.tv_sec += left / kSecond;
  wall.tv_nsec = left % kSecond;
  const int status = old_timed_wait(condition, mutex, &wall);
  return status == ETIMEDOUT && is_cut ? 0 : status;
}

// GLIBCXX_3.4.30: std::condition_variable::wait.
extern "C" void old_wait(void* condition, void* lock);
EASYDATA_OLD_NAME(old_wait,
                  "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
EASYDATA_DEFINE void new_wait(void* condition, void* lock) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void new_wait(void* condition, void* lock) { old_wait(condition, lock); }

// CXXABI_1.3.13: std::exception_ptr counts its references itself. A copy that is never destroyed
// adds one, a destroyed copy takes one.
extern "C" void old_copy(void* out, const void* pointer);
EASYDATA_OLD_NAME(old_copy, "_ZNSt15__exception_ptr13exception_ptrC1ERKS0_@CXXABI_1.3.3");
extern "C" void old_destroy(void* pointer);
EASYDATA_OLD_NAME(old_destroy, "_ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");
EASYDATA_DEFINE void add_reference(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void add_reference(void* pointer) {
  void* copy;
  old_copy(&copy, pointer);
}
EASYDATA_DEFINE void release(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void release(void* pointer) {
  void* held = *static_cast<void**>(pointer);
  old_destroy(&held);
  *static_cast<void**>(pointer) = nullptr;
}

// GLIBCXX_3.4.29: what new[] throws for a size that cannot be.
extern "C" [[noreturn]] void old_bad_alloc() __asm__("_ZSt17__throw_bad_allocv");
EASYDATA_DEFINE void bad_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
void bad_length() { old_bad_alloc(); }
