#pragma once

#include <memory>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/address.h"

namespace easydata {

/// Makes an error about one row: `message` says what, why and what to do; the address is put before
/// it.
///
/// Where a text chunk is decoded before its first row number is known, the row number counts from
/// the chunk's start; the source stage that hands the error out calls ShiftRowError() once it is.
Status RowError(Address address, const std::string& message,
                arrow::StatusCode code = arrow::StatusCode::Invalid);

/// Gives an error a row: the same error, but with the address, which moves along with
/// ShiftRowError(). For errors whose own detail must survive, such as exceptions of callables; its
/// message stays as it is.
Status RowErrorOf(Address address, const Status& cause);

/// What RowErrorOf() was given, or null.
const Status* RowErrorCause(const Status& status);

/// The address of an error made by RowError() or RowErrorOf(), or null.
const Address* RowErrorAddress(const Status& status);

/// The same error about a row elsewhere; others come back as they are.
Status MoveRowError(const Status& status, Address address);

/// The same error with its row number moved on by `rows`; other errors come back as they are.
Status ShiftRowError(const Status& status, int64_t rows);

}  // namespace easydata
