//===- Error.cpp - Errors of the trainer ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"

#include <atomic>
#include <cstdio>
#include <new>
#include <utility>

using namespace bppsa::runtime;

static std::atomic<ErrorPrinter> errorPrinter{nullptr};

void bppsa::runtime::setErrorPrinter(ErrorPrinter printer) { errorPrinter = printer; }

static size_t characterLength(const std::string &text, size_t at) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  unsigned lead = byte(at);
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  unsigned code = lead & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte(at + i) & 0x3f);
  }
  static const unsigned least[] = {0xa0, 0x800, 0x10000};
  bool surrogate = code >= 0xd800 && code < 0xe000;
  return lead >= 0xc0 && lead < 0xf8 && code >= least[length - 2] && code < 0x110000 && !surrogate
             ? length
             : 0;
}

/// The flag is true if `longest` bytes covered all of the text.
static std::pair<std::string, bool> escape(const std::string &text, size_t longest) {
  static const char *digits = "0123456789abcdef";
  std::string out;
  size_t at = 0;
  while (at < text.size() && at < longest) {
    size_t length = characterLength(text, at);
    unsigned char c = text[at];
    out +=
        length ? text.substr(at, length) : std::string{'\\', 'x', digits[c >> 4], digits[c & 15]};
    at += length ? length : 1;
  }
  return {std::move(out), at >= text.size()};
}

std::string bppsa::runtime::quote(const std::string &name) {
  auto [out, isAll] = escape(name, /*longest=*/120);
  return "'" + out + (isAll ? "'" : "...'");
}

static int print(const char *message, int status) {
  if (ErrorPrinter printer = errorPrinter)
    printer(message, status);
  else
    fprintf(stderr, "error: %s\n", message);
  return status;
}

/// Words of the command line may contain line breaks.
static int reportLine(const char *message, int status) {
  try {
    return print(escape(message, std::string::npos).first.c_str(), status);
  } catch (const std::bad_alloc &) {
    return print(message, status);
  }
}

int bppsa::runtime::reportError() noexcept {
  try {
    throw;
  } catch (const UsageError &error) {
    return reportLine(error.what(), 2);
  } catch (const NoDeviceError &error) {
    return reportLine(error.what(), 77);
  } catch (const std::bad_alloc &) {
    return print("out of memory; use a smaller --batch or less data", 1);
  } catch (const std::exception &error) {
    return reportLine(error.what(), 1);
  }
}

template <typename T> static std::string join(const std::vector<T> &values) {
  std::ostringstream out;
  out << "[";
  for (size_t i = 0; i < values.size(); ++i)
    out << (i ? ", " : "") << values[i];
  out << "]";
  return out.str();
}

std::string bppsa::runtime::list(const std::vector<int64_t> &values) { return join(values); }
std::string bppsa::runtime::list(const std::vector<std::string> &values) { return join(values); }
