//===- Error.h - Errors of the trainer ------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_ERROR_H
#define BPPSA_RUNTIME_ERROR_H

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace bppsa::runtime {

/// Invalid user input or an unsupported request: one line on stderr and exit status 1.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A loss or a gradient is not finite.
class DivergedError : public Error {
public:
  using Error::Error;
};

/// An invalid command line: one line on stderr and exit status 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The program needs a GPU but finds none: one line on stderr and exit status 77.
class NoDeviceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Receives the messages and exit statuses of reportError() instead of stderr; null restores
/// printing.
using ErrorPrinter = void (*)(const char *message, int status);
void setErrorPrinter(ErrorPrinter printer);

/// Must be called in a catch block. Prints the exception as one line on stderr and returns the exit
/// status.
int reportError() noexcept;

/// Runs `action`, which compiled code calls, so no exception may propagate. An error ends the
/// program.
template <typename Action> auto orExit(Action &&action) noexcept {
  try {
    return action();
  } catch (...) {
    _exit(reportError());
  }
}

template <typename... Args> std::string text(const Args &...args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args> [[noreturn]] void fail(const Args &...args) {
  throw Error(text(args...));
}

/// Quotes `name` on one line. Bytes that are neither printable ASCII nor valid UTF-8 are escaped
/// and long names are truncated, because names in files are arbitrary.
std::string quote(const std::string &name);

/// "[3, B, 1]"
std::string list(const std::vector<int64_t> &values);
std::string list(const std::vector<std::string> &values);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_ERROR_H
