//===- Error.h - Errors of the trainer ------------------------------------------===//
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

/// Something the user gave or asked for cannot be used: one line on stderr and exit status 1.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A loss or a gradient is not finite.
class DivergedError : public Error {
public:
  using Error::Error;
};

/// The command line itself is wrong: one line on stderr and exit status 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The program needs a GPU and there is none: one line on stderr and exit status 77.
class NoDeviceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Says what reportError() does with a message and its exit status, in place of printing it; null:
/// it prints.
using ErrorPrinter = void (*)(const char *message, int status);
void setErrorPrinter(ErrorPrinter printer);

/// Inside a catch block: prints the exception as one line on stderr and returns the exit status.
int reportError() noexcept;

/// Runs `action` where no exception may leave, in what compiled code calls: an error ends the
/// program.
template <typename Action> auto orExit(Action &&action) noexcept {
  try {
    return action();
  } catch (...) {
    _exit(reportError());
  }
}

/// The text of all arguments, one after the other.
template <typename... Args> std::string text(const Args &...args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args> [[noreturn]] void fail(const Args &...args) {
  throw Error(text(args...));
}

/// `name` in quotes, always on one line: other bytes than printable ASCII and UTF-8 are escaped
/// and long names cut, because names come from files that may hold anything.
std::string quote(const std::string &name);

/// "[3, B, 1]"
std::string list(const std::vector<int64_t> &values);
std::string list(const std::vector<std::string> &values);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_ERROR_H
