#include "operators/refused_rows.h"

#include <arrow/record_batch.h>

#include "operators/engine_gil.h"
#include "operators/rows.h"

namespace easydata {

Result<std::string> PythonRowText(const Batch& batch, int64_t row) {
  EngineGil gil;
  if (!gil.held()) return EngineGil::Ending();
  try {
    const nb::list made = RowConverter().Convert(*batch.rows, row, 1);
    std::string text;
    if (!JsonTextOf(made[0], &text).ok()) text = nb::cast<std::string>(nb::repr(made[0]));
    return text;
  } catch (nb::python_error& raised) {
    return PythonError(raised);
  }
}

}  // namespace easydata
