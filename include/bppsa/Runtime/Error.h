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

/// Invalid input or an unsupported request: exit status 1.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class DivergedError : public Error {
public:
  using Error::Error;
};

/// An invalid command line: exit status 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// No GPU found: exit status 77.
class NoDeviceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Receives the messages of reportError() instead of stderr; null restores printing.
using ErrorPrinter = void (*)(const char *message, int status);
void setErrorPrinter(ErrorPrinter printer);

/// Must be called in a catch block. Prints the exception and returns the exit status.
int reportError() noexcept;

/// Runs `action` for compiled code; an error ends the program.
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

/// Quotes `name`, truncated and with escaped control characters, because names in files are
/// arbitrary.
std::string quote(const std::string &name);

/// "[3, B, 1]"
std::string list(const std::vector<int64_t> &values);
std::string list(const std::vector<std::string> &values);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_ERROR_H
