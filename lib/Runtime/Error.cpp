//===- Error.cpp - Errors of the trainer ----------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"

using namespace bppsa::runtime;

std::string bppsa::runtime::quote(const std::string &name) {
  constexpr size_t longest = 120;
  std::string out = "'";
  for (unsigned char c : name.substr(0, longest)) {
    static const char *digits = "0123456789abcdef";
    if (c < 0x20 || c == 0x7f)
      out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    else
      out += static_cast<char>(c);
  }
  return out + (name.size() > longest ? "...'" : "'");
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
