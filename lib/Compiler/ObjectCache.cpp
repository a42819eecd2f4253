//===- ObjectCache.cpp - cache of compiled objects ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/ObjectCache.h"
#include "bppsa/Support/OutputFile.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Host.h"
#include <dlfcn.h>

using namespace bppsa;
using namespace llvm;
using Objects = std::vector<std::string>;

static std::string describeLibrary(const void *address) {
  Dl_info info;
  sys::fs::file_status status;
  if (!dladdr(address, &info) || sys::fs::status(info.dli_fname, status))
    return "";
  return std::string(info.dli_fname) + " " + std::to_string(status.getSize()) + " " +
         std::to_string(status.getLastModificationTime().time_since_epoch().count());
}

static std::string describeMachine() {
  std::string text = sys::getHostCPUName().str();
  StringMap<bool> features = sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto &feature : features)
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(names);
  text += join(names, ",");
  for (const void *address : {reinterpret_cast<const void *>(&bppsa::compileModelToFunctions),
                              reinterpret_cast<const void *>(&sys::getHostCPUName),
                              reinterpret_cast<const void *>(&mlir::registerMLIRContextCLOptions)})
    text += "\n" + describeLibrary(address);
  return text;
}

std::optional<std::string> bppsa::getObjectKey(const ModelSource &model, StringRef options) {
  std::unique_ptr<MemoryBuffer> file;
  StringRef bytes;
  if (model.bytes) {
    bytes = *model.bytes;
  } else {
    auto buffer = MemoryBuffer::getFile(model.path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
    if (!buffer)
      return std::nullopt;
    file = std::move(*buffer);
    bytes = file->getBuffer();
  }
  // A field of tensors with external data.
  if (bytes.contains("\x0a\x08location"))
    return std::nullopt;
  SHA256 hash;
  std::string machine = describeMachine();
  for (StringRef part : {StringRef(machine), options, sys::path::filename(model.path), bytes}) {
    char size[8];
    support::endian::write64le(size, part.size());
    hash.update(StringRef(size, sizeof size));
    hash.update(part);
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

namespace {
/// The contents of a cache file: a checksum, the objects, and the diagnostics. Integers have eight
/// bytes; texts are preceded by their size.
struct Entry {
  Objects objects;
  std::vector<CompileDiagnostic> remarks;

  std::string toBytes() const;
  static std::optional<Entry> fromBytes(StringRef bytes);
};

class Reader {
public:
  explicit Reader(StringRef bytes) : bytes(bytes) {}
  uint64_t takeNumber() {
    if (bytes.size() < 8) {
      isWhole = false;
      return 0;
    }
    uint64_t number = support::endian::read64le(bytes.data());
    bytes = bytes.drop_front(8);
    return number;
  }
  std::string takeText() {
    uint64_t size = takeNumber();
    isWhole &= size <= bytes.size();
    std::string text = bytes.take_front(isWhole ? size : 0).str();
    bytes = bytes.drop_front(text.size());
    return text;
  }
  bool isWhole = true;
  StringRef bytes;
};
} // namespace

static void addNumber(std::string &to, uint64_t number) {
  char bytes[8];
  support::endian::write64le(bytes, number);
  to.append(bytes, sizeof bytes);
}

static void addText(std::string &to, StringRef text) {
  addNumber(to, text.size());
  to += text;
}

std::string Entry::toBytes() const {
  std::string rest;
  addNumber(rest, objects.size());
  for (const std::string &object : objects)
    addText(rest, object);
  addNumber(rest, remarks.size());
  for (const CompileDiagnostic &remark : remarks) {
    addNumber(rest, static_cast<uint64_t>(remark.severity));
    addText(rest, remark.message);
  }
  std::string bytes;
  addNumber(bytes, xxh3_64bits(rest));
  return bytes + rest;
}

std::optional<Entry> Entry::fromBytes(StringRef bytes) {
  Reader reader(bytes);
  if (reader.takeNumber() != xxh3_64bits(reader.bytes))
    return std::nullopt;
  Entry entry;
  for (uint64_t i = reader.takeNumber(); i-- > 0 && reader.isWhole;)
    entry.objects.push_back(reader.takeText());
  for (uint64_t i = reader.takeNumber(); i-- > 0 && reader.isWhole;) {
    auto severity = static_cast<CompileDiagnostic::Severity>(reader.takeNumber());
    entry.remarks.push_back({severity, reader.takeText()});
  }
  if (!reader.isWhole || entry.objects.empty())
    return std::nullopt;
  return entry;
}

ObjectCache ObjectCache::fromEnvironment() {
  const char *directory = getenv("BPPSA_CACHE"), *size = getenv("BPPSA_CACHE_SIZE");
  uint64_t limit = uint64_t(1) << 30;
  if (size && StringRef(size).getAsInteger(10, limit))
    limit = uint64_t(1) << 30;
  return ObjectCache(directory ? directory : "", limit);
}

void ObjectCache::trim() const {
  struct File {
    sys::TimePoint<> used;
    uint64_t size;
    std::string path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (sys::fs::directory_iterator it(directory, error), end; it != end && !error;
       it.increment(error)) {
    ErrorOr<sys::fs::basic_file_status> status = it->status();
    if (!status || sys::path::extension(it->path()) != ".program")
      continue;
    files.push_back({status->getLastModificationTime(), status->getSize(), it->path()});
    total += status->getSize();
  }
  llvm::sort(files, [](const File &a, const File &b) { return a.used < b.used; });
  for (const File &file : files) {
    if (total <= limit)
      return;
    sys::fs::remove(file.path);
    sys::fs::remove(StringRef(file.path).drop_back(StringRef(".program").size()) + ".lock");
    total -= file.size;
  }
}

/// Reads a file and updates its time of last use.
static std::optional<Entry> readEntry(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  std::optional<Entry> entry = buffer ? Entry::fromBytes((*buffer)->getBuffer()) : std::nullopt;
  int file;
  if (entry &&
      !sys::fs::openFileForReadWrite(path, file, sys::fs::CD_OpenExisting, sys::fs::OF_None)) {
    sys::fs::setLastAccessAndModificationTime(file, std::chrono::system_clock::now());
    sys::fs::file_t native = sys::fs::convertFDToNativeFile(file);
    sys::fs::closeFile(native);
  }
  return entry;
}

std::optional<Objects> ObjectCache::get(
    StringRef key, const DiagnosticHandler &handler,
    llvm::function_ref<std::optional<Objects>(const DiagnosticHandler &)> compile) const {
  using Severity = CompileDiagnostic::Severity;
  std::string base = directory + "/" + key.str(), path = base + ".program";
  int lock;
  std::error_code error = sys::fs::create_directories(directory);
  if (!error)
    error = sys::fs::openFileForReadWrite(base + ".lock", lock, sys::fs::CD_OpenAlways,
                                          sys::fs::OF_None);
  if (error) {
    handler({Severity::Warning, "BPPSA_CACHE: " + directory + " cannot be used: " +
                                    error.message() + "; the program is not cached"});
    return compile(handler);
  }
  // Threads of this process may compile the same program in parallel; the last one to write wins.
  sys::fs::lockFile(lock);
  scope_exit unlock([&] {
    sys::fs::unlockFile(lock);
    sys::fs::file_t native = sys::fs::convertFDToNativeFile(lock);
    sys::fs::closeFile(native);
  });
  if (std::optional<Entry> entry = readEntry(path)) {
    for (const CompileDiagnostic &remark : entry->remarks)
      handler(remark);
    return std::move(entry->objects);
  }
  Entry entry;
  std::optional<Objects> objects = compile([&](const CompileDiagnostic &diagnostic) {
    entry.remarks.push_back(diagnostic);
    handler(diagnostic);
  });
  if (!objects)
    return std::nullopt;
  entry.objects = std::move(*objects);
  if (llvm::Error failed =
          writeFile(path, [&](raw_ostream &os) { os << entry.toBytes(); }, FileMode::Data))
    handler({Severity::Warning,
             "BPPSA_CACHE: " + toString(std::move(failed)) + "; the program is not cached"});
  trim();
  return std::move(entry.objects);
}
