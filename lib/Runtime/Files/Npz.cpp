//===- Npz.cpp - NumPy archives -------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/Npz.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <sys/stat.h>

using namespace bppsa::runtime;

int64_t bppsa::runtime::elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    empty |= extent == 0;
    if (extent < 0 || (extent > 0 && __builtin_mul_overflow(count, extent, &count)) ||
        count > std::numeric_limits<int64_t>::max() / 16)
      fail("its shape ", list(shape), " is too large");
  }
  return empty ? 0 : count;
}

int64_t Array::elements() const { return elementCount(shape); }

static Buffer toCOrder(const Buffer &source, const std::vector<int64_t> &shape, size_t itemSize) {
  Buffer result(source.size());
  size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t i = 1; i < rank; ++i)
    stride[i] = stride[i - 1] * shape[i - 1];
  int64_t from = 0;
  for (size_t to = 0; to < source.size(); to += itemSize) {
    memcpy(result.data() + to, source.data() + from * itemSize, itemSize);
    for (size_t axis = rank; axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < shape[axis])
        break;
      from -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

namespace {
class Entry {
public:
  Entry(unzFile zip, uint64_t size) : zip(zip), left(size) {
    if (unzOpenCurrentFile(zip) != UNZ_OK)
      fail("it is damaged or compressed in a way other than deflate");
  }
  ~Entry() { unzCloseCurrentFile(zip); }

  uint64_t remaining() const { return left; }

  void read(void *to, uint64_t size) {
    if (size > left)
      fail("it is cut short");
    left -= size;
    for (auto *bytes = static_cast<char *>(to); size > 0;) {
      int got = unzReadCurrentFile(zip, bytes, std::min<uint64_t>(size, 1u << 30));
      if (got <= 0)
        fail("it is damaged");
      bytes += got;
      size -= got;
    }
  }

  void finish() {
    if (unzCloseCurrentFile(zip) != UNZ_OK)
      fail("it is damaged (the checksum is wrong)");
  }

private:
  unzFile zip;
  uint64_t left;
};
} // namespace

static NpyHeader readHeader(Entry &entry, uint32_t &checksum) {
  checksum = 0;
  auto read = [&](void *to, uInt size) {
    entry.read(to, size);
    checksum = static_cast<uint32_t>(crc32(checksum, static_cast<const Bytef *>(to), size));
  };
  unsigned char magic[8];
  read(magic, sizeof magic);
  if (memcmp(magic, "\x93NUMPY", 6) != 0)
    fail("it is not a .npy array");
  if (magic[6] < 1 || magic[6] > 3)
    fail("its .npy version ", int(magic[6]), " is not known");
  unsigned char length[4] = {0, 0, 0, 0};
  read(length, magic[6] == 1 ? 2 : 4);
  uint64_t size = length[0] | length[1] << 8 | length[2] << 16 | uint64_t(length[3]) << 24;
  if (size > (1u << 20))
    fail("its .npy header is damaged");
  std::string header(size, '\0');
  read(header.data(), static_cast<uInt>(size));
  return parseNpyHeader(header);
}

static uint64_t byteCount(const NpyHeader &header) {
  return elementCount(header.shape) * elementSize(header.dtype);
}

static NpyHeader checkEntry(unzFile zip, const unz_file_info64 &info, uint64_t &offset,
                            uint32_t &checksum) {
  if (info.flag & 1)
    fail("it is encrypted");
  // Deflate compresses at most 1032-fold.
  if (info.uncompressed_size / 1040 > info.compressed_size)
    fail("it is damaged (impossible size)");
  Entry entry(zip, info.uncompressed_size);
  offset = unzGetCurrentFileZStreamPos64(zip);
  uint32_t ofHeader;
  NpyHeader header = readHeader(entry, ofHeader);
  // The archive's CRC-32 covers header and elements.
  checksum = info.crc ^ static_cast<uint32_t>(crc32_combine(ofHeader, 0, entry.remaining()));
  offset += info.uncompressed_size - entry.remaining();
  if (uint64_t size = byteCount(header); size != entry.remaining())
    fail("its shape ", list(header.shape), " needs ", size, " bytes, found ", entry.remaining());
  return header;
}

/// Returns an error if the file's first and last bytes cannot be an archive's, otherwise an empty
/// string.
static std::string checkEnds(FILE *file, uint64_t size) {
  char magic[6] = {};
  if (size == 0)
    return "is empty; an .npz file of numpy.savez is needed";
  if (fread(magic, 1, sizeof magic, file) == sizeof magic && memcmp(magic, "\x93NUMPY", 6) == 0)
    return "is a single .npy array; save named arrays with numpy.savez";
  // The archive ends with a record of 22 bytes and a comment whose length is in the record.
  constexpr size_t record = 22;
  std::string tail(std::min<uint64_t>(size, record + 65535), '\0');
  if (fseeko(file, -static_cast<off_t>(tail.size()), SEEK_END) != 0 ||
      fread(tail.data(), 1, tail.size(), file) != tail.size())
    return text("cannot be read (", strerror(errno), ")");
  auto number = [&](size_t at) {
    return static_cast<unsigned char>(tail[at]) | static_cast<unsigned char>(tail[at + 1]) << 8;
  };
  for (size_t at = tail.size(); at-- > 0;)
    if (tail.compare(at, 4, "PK\5\6") == 0 && at + record <= tail.size() &&
        at + record + number(at + 20) == tail.size())
      return number(at + 10) == 0 ? "holds no arrays" : "";
  return "is damaged or no .npz file; an archive as numpy.savez writes it is needed";
}

static unzFile openArchive(const std::string &path, uint64_t &fileSize) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    fail(quote(path), ": cannot be read (", strerror(errno), ")");
  if (!S_ISREG(info.st_mode))
    fail(quote(path), ": is not a regular file");
  fileSize = info.st_size;
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    fail(quote(path), ": cannot be read (", strerror(errno), ")");
  std::string wrong = checkEnds(file, fileSize);
  fclose(file);
  unzFile zip = wrong.empty() ? unzOpen64(path.c_str()) : nullptr;
  if (!zip)
    fail(quote(path), ": ", wrong.empty() ? "the archive's directory is damaged" : wrong);
  return zip;
}

static std::string entryName(unzFile zip, uint64_t fileSize, unz_file_info64 &info) {
  std::string name(65536, '\0');
  if (unzGetCurrentFileInfo64(zip, &info, name.data(), name.size(), nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      info.compressed_size > fileSize)
    fail("the archive's directory is damaged");
  name.resize(std::min<size_t>(info.size_filename, name.size()));
  if (name.size() < 5 || name.compare(name.size() - 4, 4, ".npy") != 0)
    fail("holds ", quote(name), ", which is not a .npy array");
  return name.substr(0, name.size() - 4);
}

void NpzReader::failAt(const std::string &name, const std::string &what) const {
  fail(quote(path), ": ", name.empty() ? "" : "array " + quote(name) + ": ", what);
}

NpzReader::NpzReader(const std::string &path) : path(path) {
  uint64_t fileSize = 0;
  archive = openArchive(path, fileSize);
  try {
    readDirectory(fileSize);
  } catch (...) {
    unzClose(archive);
    throw;
  }
}

uint32_t bppsa::runtime::fingerprintOf(const std::map<std::string, NpyHeader> &headers,
                                       const std::map<std::string, uint32_t> &checksums) {
  uint32_t sum = 0;
  for (const auto &[name, header] : headers) {
    std::string words = text(name, " ", npyDescr(header.dtype), " ", list(header.shape), " ",
                             header.fortranOrder, " ", checksums.at(name));
    sum = static_cast<uint32_t>(
        crc32(sum, reinterpret_cast<const Bytef *>(words.data()), static_cast<uInt>(words.size())));
  }
  return sum;
}

NpzReader::~NpzReader() { unzClose(archive); }

void NpzReader::readDirectory(uint64_t fileSize) {
  std::string name;
  try {
    int state = unzGoToFirstFile(archive);
    for (; state == UNZ_OK; state = unzGoToNextFile(archive)) {
      name.clear();
      unz_file_info64 info;
      name = entryName(archive, fileSize, info);
      uint64_t offset = 0;
      auto [header, isNew] =
          found.emplace(name, checkEntry(archive, info, offset, checksums[name]));
      if (!isNew)
        fail("it is there twice");
      if (info.compression_method == 0 &&
          (!header->second.fortranOrder || header->second.shape.size() < 2))
        offsets[name] = offset;
      unz64_file_pos position;
      unzGetFilePos64(archive, &position);
      positions[name] = {position.pos_in_zip_directory, position.num_of_file};
    }
    name.clear();
    if (state != UNZ_END_OF_LIST_OF_FILE)
      fail("the archive's directory is damaged");
  } catch (const Error &error) {
    failAt(name, error.what());
  }
}

std::optional<uint64_t> NpzReader::offset(const std::string &name) const {
  auto found = offsets.find(name);
  return found == offsets.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

Array NpzReader::read(const std::string &name) {
  const NpyHeader &header = found.at(name);
  auto [offset, number] = positions.at(name);
  unz64_file_pos position{offset, number};
  Array array{header.dtype, header.shape, Buffer()};
  try {
    uint64_t size = byteCount(header);
    unz_file_info64 info;
    if (unzGoToFilePos64(archive, &position) != UNZ_OK ||
        unzGetCurrentFileInfo64(archive, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
      fail("it is damaged");
    Entry entry(archive, info.uncompressed_size);
    uint32_t ofHeader;
    readHeader(entry, ofHeader);
    array.data = Buffer(size);
    entry.read(array.data.data(), size);
    entry.finish();
    if (header.fortranOrder && array.shape.size() > 1)
      array.data = toCOrder(array.data, array.shape, elementSize(array.dtype));
  } catch (const Error &error) {
    failAt(name, error.what());
  } catch (const std::bad_alloc &) {
    failAt(name, "not enough memory");
  }
  return array;
}

static voidpf openStream(voidpf opaque, const void *, int) { return opaque; }
static int keepStream(voidpf, voidpf stream) { return fflush(static_cast<FILE *>(stream)); }

NpzWriter::NpzWriter(const std::string &path) : path(path), file(path) {
  zlib_filefunc64_def functions;
  fill_fopen64_filefunc(&functions);
  functions.zopen64_file = openStream;
  functions.zclose_file = keepStream;
  functions.opaque = file.stream();
  archive = zipOpen2_64(path.c_str(), APPEND_STATUS_CREATE, nullptr, &functions);
  if (!archive)
    fail(quote(path), ": cannot be written");
}

NpzWriter::~NpzWriter() {
  if (archive)
    zipClose(archive, nullptr);
}

void NpzWriter::add(const std::string &name, DType dtype, const std::vector<int64_t> &shape,
                    const void *data) {
  if (!names.insert(name).second)
    fail(quote(path), ": two results have the name ", quote(name));
  std::string header = npyHeader(dtype, shape);
  uint64_t size = elementCount(shape) * elementSize(dtype);
  zip_fileinfo info = {};
  // Use the DOS epoch, so that equal contents give equal files.
  info.dosDate = 1 << 21 | 1 << 16;
  int zip64 = size + header.size() >= 0xffffffffu;
  int state = zipOpenNewFileInZip64(archive, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0,
                                    nullptr, 0, 0, zip64);
  if (state == ZIP_OK)
    state = zipWriteInFileInZip(archive, header.data(), header.size());
  for (auto *bytes = static_cast<const char *>(data); state == ZIP_OK && size > 0;) {
    uint64_t chunk = std::min<uint64_t>(size, 1u << 30);
    state = zipWriteInFileInZip(archive, bytes, chunk);
    bytes += chunk;
    size -= chunk;
  }
  if (state == ZIP_OK)
    state = zipCloseFileInZip(archive);
  if (state != ZIP_OK)
    fail(quote(path), ": writing failed (", strerror(errno),
         "); the previous file, if any, is kept");
}

void NpzWriter::commit() {
  int state = zipClose(archive, nullptr);
  archive = nullptr;
  if (state != ZIP_OK)
    fail(quote(path), ": writing failed (", strerror(errno),
         "); the previous file, if any, is kept");
  file.commit();
}
