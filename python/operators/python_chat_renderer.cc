#include "operators/python_chat_renderer.h"

#include <nanobind/stl/string.h>

#include <string>
#include <string_view>

#include "easydata/chat/mark_text.h"
#include "easydata/jinja/python_text.h"
#include "operators/call_borrowed.h"
#include "operators/engine_gil.h"
#include "operators/rows.h"

namespace easydata {
namespace {

nb::object JsonToPythonOrNone(const jinja::Value& value) {
  if (value.Is(jinja::ValueKind::kNone)) return nb::none();
  std::string text;
  jinja::AppendJson(value, {}, &text);
  return JsonTextToPython(text);
}

}  // namespace

void ReadRendered(nb::handle made, chat::RenderedChat* out) {
  const auto parts = nb::cast<nb::tuple>(made);
  out->text = nb::cast<std::string>(parts[0]);
  out->marks.clear();
  out->has_text_marks = nb::cast<bool>(parts[2]);
  out->knows_tools = false;
  for (const nb::handle each : parts[1]) {
    const auto mark = nb::cast<nb::tuple>(each);
    jinja::Mark read;
    chat::ReadMarkText(nb::cast<std::string>(mark[0]), &read);
    read.message = mark[1].is_none() ? jinja::Mark::kUnknown : nb::cast<uint32_t>(mark[1]);
    read.begin = nb::cast<size_t>(mark[2]);
    read.end = nb::cast<size_t>(mark[3]);
    out->marks.push_back(read);
  }
}

Status PythonChatRenderer::Render(const chat::ChatRequest& request, chat::RenderedChat* out) const {
  EngineGil gil;
  if (!gil.held()) return EngineGil::Ending();
  const nb::object render = render_.Get();
  if (!render.is_valid()) return Borrowed::Gone();
  try {
    const nb::object made = CallPython([&] {
      return render(JsonToPythonOrNone(request.messages), JsonToPythonOrNone(request.tools),
                    JsonToPythonOrNone(request.options), request.add_generation_prompt,
                    request.trace);
    });
    ReadRendered(made, out);
    return Status::OK();
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_ValueError) || error.matches(PyExc_TypeError)) {
      return Status::Invalid(nb::cast<std::string>(nb::str(error.value())));
    }
    return render_.Error(error);
  } catch (const nb::cast_error&) {
    return Status::Invalid("the renderer gave something else than text and marks");
  }
}

}  // namespace easydata
