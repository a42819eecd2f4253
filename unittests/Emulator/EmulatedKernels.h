//===- EmulatedKernels.h - helpers for hand-written kernels -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_EMULATOR_EMULATEDKERNELS_H
#define BPPSA_UNITTESTS_EMULATOR_EMULATEDKERNELS_H

#include "bppsa/Emulator/Emulator.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace bppsa::runtime {

constexpr uint32_t wholeWarp = ~0u;

template <typename T> constexpr uint32_t naturalAlignment() {
  return (sizeof(T) == 4 ? 2u : sizeof(T) == 8 ? 3u : 0u) << BPPSA_EMU_ALIGNMENT_SHIFT;
}

template <typename T> T load(const T *address, const char *site = "load") {
  bppsa_emu_access(address, sizeof(T), naturalAlignment<T>(), site);
  return *address;
}

template <typename T> void store(T *address, T value, const char *site = "store") {
  bppsa_emu_access(address, sizeof(T), naturalAlignment<T>() | BPPSA_EMU_WRITE, site);
  *address = value;
}

/// Adds with a compare-and-swap loop, like atomicrmw fadd.
inline float atomicAdd(float *address, float value, const char *site = "atomic") {
  bppsa_emu_access(address, sizeof(float),
                   naturalAlignment<float>() | BPPSA_EMU_WRITE | BPPSA_EMU_ATOMIC, site);
  float old, sum;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do
    sum = old + value;
  while (
      !__atomic_compare_exchange(address, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

/// A barrier between blocks: increments `counter` and waits until it has reached `count`.
inline void awaitBlocks(uint32_t *counter, uint32_t count, const char *site) {
  constexpr uint32_t atomic = naturalAlignment<uint32_t>() | BPPSA_EMU_ATOMIC;
  bppsa_emu_barrier(site);
  if (bppsa_emu_tid_x() == 0) {
    bppsa_emu_access(counter, sizeof *counter, atomic | BPPSA_EMU_WRITE, site);
    __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
    do {
      bppsa_emu_access(counter, sizeof *counter, atomic, site);
      bppsa_emu_poll(counter, sizeof *counter, site);
    } while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < count);
  }
  bppsa_emu_barrier(site);
}

inline float shuffle(uint32_t mode, float value, uint32_t lane, uint32_t clamp,
                     uint32_t mask = wholeWarp, uint8_t *inRange = nullptr,
                     const char *site = "shuffle") {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = bppsa_emu_shuffle(mode, mask, bits, lane, clamp, inRange, site);
  memcpy(&value, &bits, sizeof bits);
  return value;
}

template <typename T> T *shared(uint64_t index = 0) {
  return static_cast<T *>(bppsa_emu_shared(index * sizeof(T)));
}

template <typename T> T argument(void **arguments, int index) {
  return *static_cast<T *>(arguments[index]);
}

template <typename T> class DeviceArray {
public:
  DeviceArray(Emulator &device, const std::vector<T> &values)
      : emulator(device), count(values.size()),
        data(static_cast<T *>(device.allocate(values.size() * sizeof(T)))) {
    memcpy(data, values.data(), count * sizeof(T));
  }
  DeviceArray(const DeviceArray &) = delete;
  ~DeviceArray() { emulator.release(data); }
  std::vector<T> values() const { return std::vector<T>(data, data + count); }

private:
  Emulator &emulator;
  size_t count;

public:
  T *data;
};

} // namespace bppsa::runtime

#endif // BPPSA_UNITTESTS_EMULATOR_EMULATEDKERNELS_H
