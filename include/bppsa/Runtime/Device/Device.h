//===- Device.h - Devices that run kernels --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DEVICE_DEVICE_H
#define BPPSA_RUNTIME_DEVICE_DEVICE_H

#include "bppsa/Runtime/ObjectInterface.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace bppsa::runtime {

struct LaunchSize {
  std::array<int64_t, 3> grid, block;
  bool cooperative = false;
  /// "[2, 1, 1] blocks of [32, 1, 1] threads"
  std::string describe() const;
};

/// Points between which `bench` measures time.
enum class StepMark { Forward, Backward, Update, End };
constexpr int kStepMarks = 4;

/// A device with separate memory, for use by one host thread. Copies, fills and launches execute
/// asynchronously in call order, except on the sub stream. All functions may throw errors of
/// earlier work.
class Device {
public:
  static constexpr uint64_t alignment = 256;

  virtual ~Device() = default;

  void *allocate(uint64_t size);
  /// Previously launched kernels may still use the memory.
  void release(void *memory);
  uint64_t liveBytes() const { return live; }
  uint64_t peakBytes() const { return peak; }
  void resetPeakBytes() { peak = live; }

  /// Grows the arena, which holds the temporaries of one compiled function.
  void reserveArena(uint64_t size);
  void releaseArena();
  void *allocateSlice(uint64_t offset, uint64_t size);
  void freeSlice(void *memory);

  /// Returns true if an arena of `arena` bytes and then blocks of `sizes` fit after releasing
  /// `released`.
  bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes,
            uint64_t arena);
  struct MemoryInfo {
    uint64_t free = 0, total = 0;
  };
  virtual MemoryInfo memoryInfo() = 0;

  /// `from` may be overwritten on return.
  virtual void copyToDevice(void *to, const void *from, uint64_t bytes) = 0;
  virtual void copyToHost(void *to, const void *from, uint64_t bytes) = 0;
  virtual void fill(void *to, uint8_t value, uint64_t bytes) = 0;

  /// Variant of copyToDevice() that does not wait for previous launches. Only takePrefetched() may
  /// read `to`.
  virtual void prefetchArray(void *to, const void *from, uint64_t bytes) = 0;
  /// Copies data of prefetchArray() on the device, in order with other work.
  virtual void takePrefetched(void *to, const void *from, uint64_t bytes) = 0;
  /// Must precede the first prefetchArray() to new memory, which queued work may still use.
  virtual void beginPrefetch() {}
  /// Must precede the release of such memory. Errors are reported by the next call.
  virtual void endPrefetch() noexcept {}

  /// arguments[i] points to eight bytes, argument i padded with zeros. Throws Error if the blocks
  /// of a cooperative launch cannot all be resident.
  virtual void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) = 0;
  /// Launches of one call of a compiled function may start together at its end.
  virtual void beginCall() {}
  virtual void endCall() {}
  virtual void selectStream(int64_t stream) = 0;
  virtual void recordEvent(int64_t event) = 0;
  virtual void waitEvent(int64_t event) = 0;
  virtual void synchronize() = 0;

  void mark(StepMark which) {
    if (marking)
      note(which);
  }
  void wantMarks() { marking = true; }
  /// Returns the seconds of device time between two marks. Requires synchronize().
  virtual double seconds(StepMark from, StepMark to) = 0;

  virtual std::string description() const = 0;
  virtual int64_t multiprocessors() const = 0;

protected:
  /// With `hasSeparateSlices`, each arena slice is a separate allocation, so that accesses beyond
  /// its bounds are detected.
  explicit Device(bool hasSeparateSlices);

  virtual void note(StepMark which) = 0;
  /// `slice` represents `size` bytes at `offset` of the arena.
  virtual void recordSlice(void *slice, uint64_t offset, uint64_t size) {}
  virtual void *obtain(uint64_t size) = 0;
  virtual void releaseMemory(void *memory) = 0;
  virtual bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes) = 0;

private:
  void count(uint64_t size);
  void poison(void *memory, uint64_t size);

  std::unordered_map<void *, uint64_t> sizes;
  uint64_t live = 0, peak = 0;
  bool hasSeparateSlices, marking = false;
  void *arena = nullptr;
  uint64_t arenaSize = 0;
  /// Fills new memory with NaN to expose uninitialized reads.
  bool poisons;
};

inline bool isDeviceProgram() { return bppsa_device_kernels[0].name != nullptr; }
inline bool isEmulatedProgram() { return bppsa_device_kernels[0].emulated != nullptr; }

/// Creates the device at first use; null in CPU programs. Throws NoDeviceError.
Device *programDevice();

void setEmulationSeed(uint64_t seed);
uint64_t emulationSeed();

std::unique_ptr<Device> makeCudaDevice(const bppsa_device_kernel *kernels,
                                       const bppsa_device_image *images);

/// "1.50 GiB"
std::string describeBytes(uint64_t bytes);

} // namespace bppsa::runtime

/// Creates a device, owned by the caller, that emulates `kernels`. Only defined in programs with
/// emulated kernels.
extern "C" __attribute__((weak)) bppsa::runtime::Device *
bppsa_make_emulated_device(const bppsa_device_kernel *kernels);

#endif // BPPSA_RUNTIME_DEVICE_DEVICE_H
