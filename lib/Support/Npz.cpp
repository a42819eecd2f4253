//===- Npz.cpp - NumPy archives -------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/Npz.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include <limits>
#include <memory>
#include <minizip/unzip.h>
#include <minizip/zip.h>

using namespace llvm;
using namespace bppsa;

static constexpr char npyMagic[] = "\x93NUMPY";
static constexpr size_t npyMagicSize = 6;

size_t bppsa::getNpyElementSize(StringRef type) {
  return StringSwitch<size_t>(type)
      .Cases({"<f4", "<i4"}, 4)
      .Cases({"<f8", "<i8"}, 8)
      .Case("|b1", 1)
      .Default(0);
}

//===----------------------------------------------------------------------===//
// Headers of single arrays
//===----------------------------------------------------------------------===//

/// The text after `'key':` in the header's dictionary, left-trimmed.
static StringRef getHeaderEntry(StringRef header, StringRef key) {
  size_t position = header.find(("'" + key + "':").str());
  if (position == StringRef::npos)
    return {};
  return header.drop_front(position + key.size() + 3).ltrim();
}

/// Parses the tuple `(2, 3)`; fails on anything else.
static bool parseShape(StringRef text, SmallVectorImpl<int64_t> &shape) {
  size_t end = text.find(')');
  if (!text.consume_front("(") || end == StringRef::npos)
    return false;
  SmallVector<StringRef> parts;
  text.take_front(end - 1).split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t size = 0;
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, size) || size < 0)
      return false;
    shape.push_back(size);
  }
  return true;
}

/// Number of bytes of `array`, nothing where it does not fit.
static std::optional<size_t> getByteSize(const NpyArray &array) {
  size_t bytes = getNpyElementSize(array.type);
  for (int64_t size : array.shape)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes))
      return std::nullopt;
  return bytes;
}

/// Rewrites the elements of a Fortran-ordered array in C order.
static void makeRowMajor(NpyArray &array) {
  size_t bytes = getNpyElementSize(array.type);
  std::vector<char> source = array.data;
  SmallVector<int64_t> index(array.shape.size(), 0);
  for (size_t to = 0, count = source.size() / bytes; to < count; ++to) {
    size_t from = 0;
    for (size_t axis = index.size(); axis-- > 0;)
      from = from * array.shape[axis] + index[axis];
    std::copy_n(source.begin() + from * bytes, bytes, array.data.begin() + to * bytes);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < array.shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

/// Fills type, shape and data of `array` from the bytes of a .npy file.
static Error parseNpy(StringRef bytes, NpyArray &array) {
  auto fail = [](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), message);
  };
  if (bytes.size() < npyMagicSize + 6 || !bytes.starts_with(npyMagic))
    return fail("not a .npy array");
  unsigned major = static_cast<unsigned char>(bytes[npyMagicSize]);
  size_t lengthBytes = major == 1 ? 2 : 4;
  const char *length = bytes.data() + npyMagicSize + 2;
  size_t headerSize =
      major == 1 ? support::endian::read16le(length) : support::endian::read32le(length);
  bytes = bytes.drop_front(npyMagicSize + 2 + lengthBytes);
  if (headerSize > bytes.size())
    return fail("the .npy header is cut off");
  StringRef header = bytes.take_front(headerSize);

  StringRef type = getHeaderEntry(header, "descr");
  if (!type.consume_front("'"))
    return fail("the .npy header has no simple element type");
  array.type = type.take_until([](char c) { return c == '\''; }).str();
  if (getNpyElementSize(array.type) == 0)
    return fail("found element type '" + array.type +
                "'; use float32, float64, int32, int64 or bool");
  if (!parseShape(getHeaderEntry(header, "shape"), array.shape))
    return fail("the .npy header has no valid shape");
  bytes = bytes.drop_front(headerSize);
  if (getByteSize(array) != bytes.size())
    return fail("found " + Twine(bytes.size()) +
                " bytes of data, which is not what its shape needs");
  array.data.assign(bytes.begin(), bytes.end());
  if (getHeaderEntry(header, "fortran_order").starts_with("True"))
    makeRowMajor(array);
  return Error::success();
}

/// The bytes of a .npy header for `array`, padded so that data is aligned.
static std::string makeHeader(const NpyArray &array) {
  std::string shape =
      join(map_range(array.shape, [](int64_t size) { return std::to_string(size); }), ", ");
  if (array.shape.size() == 1)
    shape += ",";
  std::string text =
      "{'descr': '" + array.type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((npyMagicSize + 4 + text.size() + 1) % 64 != 0)
    text += ' ';
  text += '\n';
  std::string header(npyMagic, npyMagicSize);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

/// Reads the current entry of `archive`; fails where it is damaged.
static Error readEntry(unzFile archive, NpyArray &array) {
  char name[512] = {};
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(archive, &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      unzOpenCurrentFile(archive) != UNZ_OK)
    return createStringError("the archive is damaged");
  StringRef stem(name);
  stem.consume_back(".npy");
  array.name = stem.str();
  // The size in the archive's directory is not trusted: data arrives in blocks.
  std::string bytes;
  std::vector<char> block(1 << 20);
  int count = 0;
  while ((count = unzReadCurrentFile(archive, block.data(), block.size())) > 0)
    bytes.append(block.data(), count);
  if (unzCloseCurrentFile(archive) != UNZ_OK || count < 0)
    return createStringError("array '" + array.name + "': the archive is damaged");
  if (Error error = parseNpy(bytes, array))
    return createStringError("array '" + array.name + "': " + toString(std::move(error)));
  return Error::success();
}

Expected<std::vector<NpyArray>> bppsa::readNpz(const std::string &path) {
  std::unique_ptr<void, int (*)(unzFile)> archive(unzOpen64(path.c_str()), unzClose);
  if (!archive)
    return createStringError(path + ": cannot be opened as an .npz archive");
  std::vector<NpyArray> arrays;
  for (int status = unzGoToFirstFile(archive.get()); status != UNZ_END_OF_LIST_OF_FILE;
       status = unzGoToNextFile(archive.get())) {
    if (status != UNZ_OK)
      return createStringError(path + ": the archive is damaged");
    arrays.emplace_back();
    if (Error error = readEntry(archive.get(), arrays.back()))
      return createStringError(path + ": " + toString(std::move(error)));
  }
  return arrays;
}

/// Writes `bytes` to the open entry of `archive`, in pieces minizip can count.
static bool writeBytes(zipFile archive, StringRef bytes) {
  constexpr size_t pieceSize = 1 << 30;
  for (; !bytes.empty(); bytes = bytes.drop_front(std::min(bytes.size(), pieceSize)))
    if (zipWriteInFileInZip(archive, bytes.data(), std::min(bytes.size(), pieceSize)) != ZIP_OK)
      return false;
  return true;
}

Error bppsa::writeNpz(const std::string &path, ArrayRef<NpyArray> arrays) {
  zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  if (!archive)
    return createStringError(path + ": cannot be written");
  bool written = true;
  for (const NpyArray &array : arrays) {
    zip_fileinfo info = {};
    // Without compression; sizes of 4 GiB and more need the 64-bit form.
    bool isLarge = array.data.size() >= std::numeric_limits<uint32_t>::max() - 4096;
    written &=
        zipOpenNewFileInZip64(archive, (array.name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0,
                              nullptr, /*method=*/0, /*level=*/0, isLarge) == ZIP_OK &&
        writeBytes(archive, makeHeader(array)) &&
        writeBytes(archive, StringRef(array.data.data(), array.data.size())) &&
        zipCloseFileInZip(archive) == ZIP_OK;
  }
  if (zipClose(archive, nullptr) != ZIP_OK || !written)
    return createStringError(path + ": cannot be written");
  return Error::success();
}
