//===- NpyVector.cpp - reads vectors from .npy files ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/NpyVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace bppsa;
using llvm::StringRef;

static llvm::Error refuse(StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(path + ": " + message);
}

/// Returns the value of `'key': `, up to the next comma outside of parentheses.
static StringRef getEntry(StringRef header, StringRef key) {
  StringRef text = header.split(("'" + key + "':").str()).second.ltrim();
  return text.starts_with("(") ? text.take_front(text.find(')') + 1) : text.split(',').first.trim();
}

llvm::Expected<std::vector<float>> bppsa::readNpyVector(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return refuse(path, "cannot be read: " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  constexpr StringRef magic = "\x93NUMPY";
  if (!bytes.starts_with(magic) || bytes.size() < 12)
    return refuse(path, "is not a .npy file");
  // The header size has two bytes in version 1, four in later ones.
  size_t wide = bytes[magic.size()] == 1 ? 2 : 4, start = magic.size() + 2 + wide;
  const char *at = bytes.data() + magic.size() + 2;
  size_t size =
      wide == 2 ? llvm::support::endian::read16le(at) : llvm::support::endian::read32le(at);
  if (size > bytes.size() - start)
    return refuse(path, "is truncated");
  StringRef header = bytes.substr(start, size), data = bytes.drop_front(start + size);
  StringRef type = getEntry(header, "descr"), shape = getEntry(header, "shape");
  size_t width = type == "'<f4'" ? 4 : type == "'<f8'" ? 8 : 0;
  if (width == 0)
    return refuse(path, "holds elements of type " + type + ", expected float32 and float64");
  size_t count = 0;
  if (!shape.consume_front("(") || !shape.consume_back(",)") || shape.getAsInteger(10, count))
    return refuse(path, "holds an array of another shape than (N,); one axis is required");
  if (data.size() / width != count || data.size() % width != 0)
    return refuse(path, "holds " + llvm::Twine(data.size()) + " bytes of data, expected " +
                            llvm::Twine(count * width));
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    const char *element = data.data() + i * width;
    values.push_back(width == 4 ? llvm::bit_cast<float>(llvm::support::endian::read32le(element))
                                : static_cast<float>(llvm::bit_cast<double>(
                                      llvm::support::endian::read64le(element))));
  }
  return values;
}
