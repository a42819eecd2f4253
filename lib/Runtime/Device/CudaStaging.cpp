//===- CudaStaging.cpp - Copies through page-locked memory ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CudaStaging.h"
#include "bppsa/Runtime/Device/Device.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;
using namespace bppsa::runtime::cuda;

static constexpr uint64_t kHalfSize = uint64_t(4) << 20, kIncomingSize = uint64_t(1) << 20;
/// Copies move whole cache lines.
static constexpr uint64_t kPieceStep = 64;

static uint64_t roundUp(uint64_t bytes) {
  return (bytes + kPieceStep - 1) / kPieceStep * kPieceStep;
}

Staging::Staging(const Driver &driver, Stream stream) : driver(driver), stream(stream) {
  void *memory = nullptr;
  uint64_t size = 2 * kHalfSize + kIncomingSize;
  driver.check(driver.memHostAlloc(&memory, size, 0), "page-locking ", describeBytes(size));
  for (int i : {0, 1}) {
    halves[i].memory = static_cast<char *>(memory) + i * kHalfSize;
    driver.check(driver.eventCreate(&halves[i].copied, kEventWithoutTime), "creating an event");
  }
  incoming = static_cast<char *>(memory) + 2 * kHalfSize;
}

char *Staging::reserve(uint64_t &wanted) {
  if (filled == kHalfSize) {
    driver.check(driver.eventRecord(halves[current].copied, stream), "recording an event");
    halves[current].used = true;
    current = 1 - current;
    filled = 0;
    if (halves[current].used)
      driver.check(driver.eventSynchronize(halves[current].copied), "copying to the GPU");
    halves[current].used = false;
  }
  wanted = std::min(wanted, kHalfSize - filled);
  char *pieceMemory = halves[current].memory + filled;
  filled += roundUp(wanted);
  return pieceMemory;
}

void Staging::upload(Address to, const void *from, uint64_t bytes) {
  for (uint64_t done = 0, piece; done < bytes; done += piece) {
    piece = bytes - done;
    char *pieceMemory = reserve(piece);
    memcpy(pieceMemory, static_cast<const char *>(from) + done, piece);
    driver.check(driver.memcpyHtoDAsync(to + done, pieceMemory, piece, stream), "copying ",
                 describeBytes(bytes), " to the GPU");
  }
}

void Staging::download(void *to, Address from, uint64_t bytes) {
  void *target = to;
  // The driver splits large copies itself.
  if (bytes <= kIncomingSize - incomingFilled) {
    target = incoming + incomingFilled;
    downloads.push_back({to, incoming + incomingFilled, bytes});
    incomingFilled += roundUp(bytes);
  }
  driver.check(driver.memcpyDtoHAsync(target, from, bytes, stream), "copying ",
               describeBytes(bytes), " from the GPU");
}

void Staging::finish() {
  for (const Download &download : downloads)
    memcpy(download.to, download.from, download.bytes);
  downloads.clear();
  incomingFilled = 0;
  filled = 0;
  for (Half &half : halves)
    half.used = false;
}
