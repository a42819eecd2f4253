//===- ImageProgram.cpp - Load the image appended to a program ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../CAPI/RuntimeSymbols.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ProgramImage.h"
#include "bppsa/Runtime/Session.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sys/mman.h>

using namespace bppsa::runtime;

static constexpr const char *kSelf = "/proc/self/exe";

template <typename T> static void read(std::ifstream &file, T *to, uint64_t count) {
  file.read(reinterpret_cast<char *>(to), static_cast<std::streamsize>(count * sizeof(T)));
}

static const void *findFunction(const char *name) {
  static const auto symbols = bppsa::capi::getRuntimeSymbols();
  for (auto [known, address] : symbols)
    if (strcmp(known, name) == 0)
      return address;
  const void *found = dlsym(RTLD_DEFAULT, name);
  if (!found)
    fail("the C library of this machine has no function ", quote(name));
  return found;
}

static void map(std::ifstream &file, const ImageHeader &header,
                const std::vector<ImageSegment> &segments, std::streamoff bytes) {
  void *place = reinterpret_cast<void *>(kImageAddress);
  if (mmap(place, header.span, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != place)
    fail("the program cannot be mapped (", strerror(errno), ")");
  for (const ImageSegment &segment : segments) {
    file.seekg(bytes + static_cast<std::streamoff>(segment.offset));
    read(file, reinterpret_cast<char *>(segment.address), segment.size);
  }
}

static ImageHeader load() {
  std::ifstream file(kSelf, std::ios::binary);
  ImageEnd end = {};
  file.seekg(-static_cast<std::streamoff>(sizeof end), std::ios::end);
  read(file, &end, 1);
  if (!file || memcmp(end.magic, kImageMagic, sizeof end.magic) != 0)
    fail("there is no model in this program; bppsa.build appends one");
  ImageHeader header;
  file.seekg(static_cast<std::streamoff>(end.offset));
  read(file, &header, 1);
  std::vector<ImageSegment> segments(header.segments);
  std::vector<ImageImport> imports(header.imports);
  std::vector<char> names(header.nameBytes);
  read(file, segments.data(), segments.size());
  read(file, imports.data(), imports.size());
  read(file, names.data(), names.size());
  map(file, header, segments, file.tellg());
  if (!file)
    fail("this program is cut short; build it again");
  for (const ImageImport &import : imports)
    *reinterpret_cast<const void **>(import.place) = findFunction(&names[import.name]);
  for (const ImageSegment &segment : segments)
    if (mprotect(reinterpret_cast<void *>(segment.address), segment.size,
                 static_cast<int>(segment.protection)) != 0)
      fail("the program cannot be made executable (", strerror(errno), ")");
  return header;
}

ProgramInterface bppsa::runtime::linkedProgram() {
  static const ImageHeader header = load();
  auto at = [](uint64_t address) { return reinterpret_cast<void *>(address); };
  const uint64_t *places = header.symbols;
  return {static_cast<const char *>(at(places[0])),
          *static_cast<const uint64_t *>(at(places[1])),
          static_cast<const unsigned char *>(at(places[2])),
          *static_cast<const uint64_t *>(at(places[3])),
          static_cast<const bppsa_function *>(at(places[4])),
          static_cast<const bppsa_instruction_set *>(at(places[5])),
          static_cast<const void *const **>(at(places[6]))};
}
