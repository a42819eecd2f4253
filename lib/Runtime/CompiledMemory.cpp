//===- CompiledMemory.cpp - Memory functions of compiled code -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Allocation and copying for compiled functions. In a device program they operate on device memory.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Memory.h"

#include <cstring>
#include <new>

using namespace bppsa::runtime;

static void *allocateOnDevice(uint64_t alignment, uint64_t size) {
  return orFail([&] {
    if (alignment > Device::alignment)
      fail("a kernel needs memory aligned to ", alignment, " bytes, the device gives ",
           Device::alignment, "; compile the model again");
    return programDevice()->allocate(size);
  });
}

static void *outOfMemory(uint64_t size) {
  return orFail([&]() -> void * {
    fail("out of memory (", size, " more bytes were needed); use a smaller --batch");
  });
}

/// Must be cheap, as it is noticeable in short calls.
static void *allocate(uint64_t alignment, uint64_t size) {
  if (isDeviceProgram())
    return allocateOnDevice(alignment, size);
  void *block = nullptr;
  try {
    block = allocateBlock(alignment, size);
  } catch (const std::bad_alloc &) {
  }
  if (!block)
    return outOfMemory(size);
  noteBlock(block);
  return block;
}

namespace {
struct UnrankedMemref {
  int64_t rank;
  void *descriptor;
};

struct Memref {
  explicit Memref(const UnrankedMemref *source)
      : words(static_cast<int64_t *>(source->descriptor)) {}
  int64_t size(int64_t axis) const { return words[3 + axis]; }
  int64_t stride(int64_t rank, int64_t axis) const { return words[3 + rank + axis]; }
  char *start(int64_t elementSize) const {
    return reinterpret_cast<char *>(words[1]) + words[2] * elementSize;
  }
  int64_t *words;
};
} // namespace

static void copyStrided(char *to, const char *from, const Memref &target, const Memref &source,
                        int64_t rank, int64_t axis, int64_t elementSize) {
  if (axis == rank) {
    memcpy(to, from, elementSize);
    return;
  }
  int64_t toStep = target.stride(rank, axis) * elementSize;
  int64_t fromStep = source.stride(rank, axis) * elementSize;
  if (axis == rank - 1 && toStep == elementSize && fromStep == elementSize) {
    memcpy(to, from, source.size(axis) * elementSize);
    return;
  }
  for (int64_t i = 0, end = source.size(axis); i < end; ++i)
    copyStrided(to + i * toStep, from + i * fromStep, target, source, rank, axis + 1, elementSize);
}

extern "C" {
void *_mlir_memref_to_llvm_alloc(uint64_t size) { return allocate(64, size); }
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size) {
  return allocate(alignment, size);
}
void _mlir_memref_to_llvm_free(void *block) {
  if (!isDeviceProgram()) {
    forgetBlock(block);
    return freeBlock(block);
  }
  orFail([&] { programDevice()->release(block); });
}

void _mlir_ciface_bppsa_rt_arena_take(bppsa_arena_slice *slice, int64_t offset, int64_t size) {
  void *memory = orFail([&] { return programDevice()->allocateSlice(offset, size); });
  *slice = {memory, memory, 0, size, 1};
}
void _mlir_ciface_bppsa_rt_arena_drop(bppsa_arena_slice *slice) {
  orFail([&] { programDevice()->freeSlice(slice->allocated); });
}

/// Implements memref.copy for non-contiguous layouts.
void memrefCopy(int64_t elementSize, UnrankedMemref *from, UnrankedMemref *to) {
  if (isDeviceProgram())
    orFail([] { fail("a host function copies arrays of the device; compile the model again"); });
  Memref source(from), target(to);
  for (int64_t axis = 0; axis < from->rank; ++axis)
    if (source.size(axis) == 0)
      return;
  copyStrided(target.start(elementSize), source.start(elementSize), target, source, from->rank, 0,
              elementSize);
}
}
