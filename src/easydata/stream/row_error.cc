#include "easydata/stream/row_error.h"

#include <cstring>
#include <utility>

namespace easydata {
namespace {

constexpr const char kTypeId[] = "easydata::RowError";

/// Keeps the address and the bare message beside the Status, so that the row can still be
/// renumbered.
class RowErrorDetail : public arrow::StatusDetail {
 public:
  RowErrorDetail(Address address, std::string message, Status cause = Status::OK())
      : address_(std::move(address)), message_(std::move(message)), cause_(std::move(cause)) {}
  const char* type_id() const override { return kTypeId; }
  // The address is in the message already.
  std::string ToString() const override { return "row error"; }

  const Address& address() const { return address_; }
  const std::string& message() const { return message_; }
  /// OK where the message is all there is.
  const Status& cause() const { return cause_; }

 private:
  Address address_;
  std::string message_;
  Status cause_;
};

const RowErrorDetail* Detail(const Status& status) {
  if (status.ok() || status.detail() == nullptr) return nullptr;
  if (std::strcmp(status.detail()->type_id(), kTypeId) != 0) return nullptr;
  return static_cast<const RowErrorDetail*>(status.detail().get());
}

}  // namespace

Status RowError(Address address, const std::string& message, arrow::StatusCode code) {
  std::string text = address.ToString() + ": " + message;
  return Status(code, std::move(text),
                std::make_shared<RowErrorDetail>(std::move(address), message));
}

Status RowErrorOf(Address address, const Status& cause) {
  return Status(cause.code(), cause.message(),
                std::make_shared<RowErrorDetail>(std::move(address), cause.message(), cause));
}

const Status* RowErrorCause(const Status& status) {
  const RowErrorDetail* detail = Detail(status);
  return detail == nullptr || detail->cause().ok() ? nullptr : &detail->cause();
}

const Address* RowErrorAddress(const Status& status) {
  const RowErrorDetail* detail = Detail(status);
  return detail == nullptr ? nullptr : &detail->address();
}

Status MoveRowError(const Status& status, Address address) {
  const RowErrorDetail* detail = Detail(status);
  if (detail == nullptr) return status;
  if (!detail->cause().ok()) return RowErrorOf(std::move(address), detail->cause());
  return RowError(std::move(address), detail->message(), status.code());
}

Status ShiftRowError(const Status& status, int64_t rows) {
  const RowErrorDetail* detail = Detail(status);
  if (detail == nullptr || rows == 0) return status;
  Address address = detail->address();
  address.row += rows;
  return MoveRowError(status, std::move(address));
}

}  // namespace easydata
