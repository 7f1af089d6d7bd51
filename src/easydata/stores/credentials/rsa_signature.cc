#include "easydata/stores/credentials/rsa_signature.h"

#include <cerrno>
#include <cstddef>
#include <limits>
#include <memory>

#include "easydata/exec/loaded_library.h"
#include "easydata/http/server_error.h"

namespace easydata::credentials {
namespace {

// The few names of libcrypto that are needed, as its documentation has them: its headers need not
// be there. 1.1.1 and 3 agree on them.
using PasswordCallback = int (*)(char*, int, int, void*);
struct CryptoLibrary {
  void* (*new_memory_bio)(const void* bytes, int size);
  int (*free_bio)(void* bio);
  void* (*read_private_key)(void* bio, void** key, PasswordCallback password, void* context);
  void (*free_key)(void* key);
  void* (*new_digest)();
  void (*free_digest)(void* digest);
  const void* (*sha256)();
  int (*begin_signing)(void* digest, void** context, const void* kind, void* engine, void* key);
  int (*sign)(void* digest, unsigned char* out, size_t* size, const unsigned char* message,
              size_t message_size);
  void (*clear_errors)();
};

constexpr const char* kNames[] = {"libcrypto.so.3", "libcrypto.so.1.1"};

Status NoCrypto(const std::string& why) {
  return http::ServerError(
      ENOENT,
      "to sign by a service account's key takes OpenSSL 1.1.1 or newer (Debian: apt install "
      "libssl3): ",
      why);
}

Result<CryptoLibrary> LoadCrypto() {
  exec::LoadedLibrary library(kNames);
  CryptoLibrary crypto = {};
  library.Find("BIO_new_mem_buf", &crypto.new_memory_bio);
  library.Find("BIO_free", &crypto.free_bio);
  library.Find("PEM_read_bio_PrivateKey", &crypto.read_private_key);
  library.Find("EVP_PKEY_free", &crypto.free_key);
  library.Find("EVP_MD_CTX_new", &crypto.new_digest);
  library.Find("EVP_MD_CTX_free", &crypto.free_digest);
  library.Find("EVP_sha256", &crypto.sha256);
  library.Find("EVP_DigestSignInit", &crypto.begin_signing);
  library.Find("EVP_DigestSign", &crypto.sign);
  library.Find("ERR_clear_error", &crypto.clear_errors);
  if (!library.problem().empty()) return NoCrypto(library.problem());
  return crypto;
}

/// Gives no password: by itself, libcrypto would ask the terminal for one.
int NoPassword(char*, int, int, void*) { return 0; }

Result<std::string> SignWith(const CryptoLibrary& crypto, const std::string& private_key,
                             std::string_view message) {
  if (private_key.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return Status::Invalid("the private key is too long");
  }
  const std::unique_ptr<void, int (*)(void*)> bio(
      crypto.new_memory_bio(private_key.data(), static_cast<int>(private_key.size())),
      crypto.free_bio);
  const std::unique_ptr<void, void (*)(void*)> key(
      bio == nullptr ? nullptr : crypto.read_private_key(bio.get(), nullptr, NoPassword, nullptr),
      crypto.free_key);
  if (key == nullptr) {
    return Status::Invalid("the private key is not one in PEM (-----BEGIN PRIVATE KEY-----)");
  }
  const std::unique_ptr<void, void (*)(void*)> digest(crypto.new_digest(), crypto.free_digest);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  size_t size = 0;
  const bool is_ready =
      digest != nullptr &&
      crypto.begin_signing(digest.get(), nullptr, crypto.sha256(), nullptr, key.get()) == 1 &&
      crypto.sign(digest.get(), nullptr, &size, bytes, message.size()) == 1;
  std::string out(size, '\0');
  if (!is_ready || crypto.sign(digest.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                               bytes, message.size()) != 1) {
    return Status::Invalid("the private key is of a kind that does not sign by RSA");
  }
  out.resize(size);
  return out;
}

}  // namespace

Result<std::string> SignByRsa(const std::string& private_key, std::string_view message) {
  static const Result<CryptoLibrary> crypto = LoadCrypto();
  ARROW_RETURN_NOT_OK(crypto.status());
  auto signature = SignWith(*crypto, private_key, message);
  // What is left in this thread's list of errors would be taken for their own by others in the
  // process that use the library.
  crypto->clear_errors();
  return signature;
}

}  // namespace easydata::credentials
