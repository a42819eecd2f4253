//===- NpyHeader.cpp - Headers of .npy arrays -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/NpyHeader.h"
#include "bppsa/Runtime/Error.h"

#include <cstring>
#include <set>

using namespace bppsa::runtime;

namespace {
/// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &header) : rest(header) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      std::string key = parseString();
      expect(':');
      if (key == "descr")
        header.dtype = dtypeOfNpy(parseString());
      else if (key == "fortran_order")
        header.fortranOrder = parseBool();
      else if (key == "shape")
        parseShape();
      else
        damaged();
      seen.insert(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (position != rest.size() || seen.size() != 3)
      damaged();
    return header;
  }

private:
  [[noreturn]] void damaged() { fail("its .npy header is damaged"); }

  void skipSpace() {
    while (position < rest.size() && strchr(" \t\r\n", rest[position]) && rest[position])
      ++position;
  }

  bool accept(char c) {
    skipSpace();
    if (position >= rest.size() || rest[position] != c)
      return false;
    ++position;
    return true;
  }

  void expect(char c) {
    if (!accept(c))
      damaged();
  }

  std::string parseString() {
    if (accept('['))
      fail("it has a structured element type; expected plain arrays");
    char mark = accept('"') ? '"' : '\'';
    if (mark == '\'')
      expect('\'');
    size_t end = rest.find(mark, position);
    if (end == std::string::npos)
      damaged();
    std::string value = rest.substr(position, end - position);
    position = end + 1;
    return value;
  }

  bool parseBool() {
    skipSpace();
    for (bool value : {true, false}) {
      std::string word = value ? "True" : "False";
      if (rest.compare(position, word.size(), word) == 0) {
        position += word.size();
        return value;
      }
    }
    damaged();
  }

  void parseShape() {
    expect('(');
    while (!accept(')')) {
      header.shape.push_back(parseNumber());
      // Python 2 wrote this suffix.
      accept('L');
      if (!accept(',')) {
        expect(')');
        break;
      }
      if (header.shape.size() > 32)
        damaged();
    }
  }

  int64_t parseNumber() {
    skipSpace();
    int64_t value = 0;
    size_t begin = position;
    for (; position < rest.size() && rest[position] >= '0' && rest[position] <= '9'; ++position)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, rest[position] - '0', &value))
        damaged();
    if (position == begin)
      damaged();
    return value;
  }

  const std::string &rest;
  NpyHeader header;
  size_t position = 0;
  std::set<std::string> seen;
};
} // namespace

NpyHeader bppsa::runtime::parseNpyHeader(const std::string &text) {
  return HeaderParser(text).parse();
}

std::string bppsa::runtime::npyHeader(DType dtype, const std::vector<int64_t> &shape) {
  std::string dict = text("{'descr': '", npyDescr(dtype), "', 'fortran_order': False, 'shape': (");
  for (int64_t extent : shape)
    dict += text(extent, ", ");
  dict += "), }";
  // Aligns elements to 64 bytes. Magic, version and length take 10.
  constexpr size_t prefix = 10, alignment = 64;
  size_t padded = (prefix + dict.size() + 1 + alignment - 1) / alignment * alignment;
  dict.append(padded - prefix - dict.size() - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 255);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}
