#pragma once

#include <string>

namespace easydata::jinja {

/// Thrown inside this module where a rendering cannot go on; Template::Render makes a Status of it.
struct RenderError {
  std::string message;
  /// The template asks for what Jinja2 does and we do not.
  bool is_unsupported = false;
  /// It would take more time or memory than a template may.
  bool is_bound = false;
};

[[noreturn]] inline void Fail(std::string message) { throw RenderError{std::move(message)}; }
[[noreturn]] inline void FailUnsupported(std::string what) {
  throw RenderError{std::move(what), /*is_unsupported=*/true};
}
[[noreturn]] inline void FailBound(std::string message) {
  throw RenderError{std::move(message), /*is_unsupported=*/false, /*is_bound=*/true};
}

}  // namespace easydata::jinja
