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
  /// All blocks must be resident at the same time, because they wait for each other.
  bool cooperative = false;
  /// "[2, 1, 1] blocks of [32, 1, 1] threads"
  std::string describe() const;
};

/// Points of a training step between which `bench` measures time.
enum class StepMark { Forward, Backward, Update, End };
constexpr int kStepMarks = 4;

/// A device with separate memory that runs a program's kernels. Copies, fills and launches execute
/// asynchronously in call order, except for launches on the sub stream. All functions throw Error,
/// including errors of work started earlier. For use by one host thread.
class Device {
public:
  static constexpr uint64_t alignment = 256;

  virtual ~Device() = default;

  /// Throws Error if there is not enough memory.
  void *allocate(uint64_t size);
  /// Frees memory, which kernels launched before may still use. Ignores null.
  void release(void *memory);
  /// The bytes in use, and their maximum since resetPeakBytes().
  uint64_t liveBytes() const { return live; }
  uint64_t peakBytes() const { return peak; }
  void resetPeakBytes() { peak = live; }

  /// Grows the arena to at least `size` bytes. The arena holds the temporaries of one compiled
  /// function; its contents are undefined between calls.
  void reserveArena(uint64_t size);
  void releaseArena();
  void *allocateSlice(uint64_t offset, uint64_t size);
  void freeSlice(void *memory);

  /// Returns true if there is enough memory for an arena of `arena` bytes followed by blocks of
  /// `sizes`, in this order, after releasing the blocks `released`.
  bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes,
            uint64_t arena);
  /// In bytes.
  struct MemoryInfo {
    uint64_t free = 0, total = 0;
  };
  virtual MemoryInfo memoryInfo() = 0;

  /// `from` may be overwritten as soon as the call returns.
  virtual void copyToDevice(void *to, const void *from, uint64_t bytes) = 0;
  /// `to` is filled by the next synchronize() and must stay valid until then.
  virtual void copyToHost(void *to, const void *from, uint64_t bytes) = 0;
  virtual void fill(void *to, uint8_t value, uint64_t bytes) = 0;

  /// Like copyToDevice(), but the copy does not wait for previous launches. `to` must only be
  /// written by prefetchArray() and only be read by copyToHostAsync().
  virtual void prefetchArray(void *to, const void *from, uint64_t bytes) = 0;
  /// Copies data of prefetchArray() on the device, in order with all other work.
  virtual void copyToHostAsync(void *to, const void *from, uint64_t bytes) = 0;
  /// Must be called before the first prefetchArray() to newly allocated memory, which previously
  /// queued work may still use.
  virtual void beginPrefetch() {}
  /// Must be called before releasing such memory, so that work queued later waits for the last
  /// copy. Errors are reported by the next call.
  virtual void endPrefetch() noexcept {}

  /// Launches kernel `kernel` of the program. arguments[i] points to eight bytes, argument i padded
  /// with zeros. Throws Error if the blocks of a cooperative launch cannot all be resident at the
  /// same time.
  virtual void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) = 0;
  /// Delimit the launches of one call of a compiled function. They may be started together at the
  /// end of the call or before the next copy.
  virtual void beginCall() {}
  virtual void endCall() {}
  /// Implement bppsa_rt_select_stream and the like within a call.
  virtual void selectStream(int64_t stream) = 0;
  virtual void recordEvent(int64_t event) = 0;
  virtual void waitEvent(int64_t event) = 0;
  virtual void synchronize() = 0;

  /// Records the time when the device reaches this point of its work, if wantMarks() was called.
  void mark(StepMark which) {
    if (marking)
      note(which);
  }
  void wantMarks() { marking = true; }
  /// The device time between two marks in seconds. Requires synchronize().
  virtual double seconds(StepMark from, StepMark to) = 0;

  virtual std::string description() const = 0;
  virtual int64_t multiprocessors() const = 0;

protected:
  /// `hasSeparateSlices`: whether each slice of the arena is allocated separately, so that accesses
  /// beyond its bounds are detected.
  explicit Device(bool hasSeparateSlices);

  virtual void note(StepMark which) = 0;
  /// With separate slices: `slice` represents `size` bytes at `offset` of the arena.
  virtual void recordSlice(void *slice, uint64_t offset, uint64_t size) {}
  /// Null if there is no memory.
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
  /// Fills new memory with NaN, to expose kernels that read uninitialized memory.
  bool poisons;
};

/// Return true if the program has device kernels, and if they are emulated.
inline bool isDeviceProgram() { return bppsa_device_kernels[0].name != nullptr; }
inline bool isEmulatedProgram() { return bppsa_device_kernels[0].emulated != nullptr; }

/// The device of this program, created at first use; null in CPU programs. Throws NoDeviceError if
/// there is none.
Device *programDevice();

/// Seeds the execution order of emulated threads. Must be called before the device is used.
void setEmulationSeed(uint64_t seed);
uint64_t emulationSeed();

std::unique_ptr<Device> makeCudaDevice(const bppsa_device_kernel *kernels,
                                       const bppsa_device_image *images);

/// "1.50 GiB"
std::string describeBytes(uint64_t bytes);

} // namespace bppsa::runtime

/// Creates a device that emulates `kernels`, owned by the caller. Only programs with emulated
/// kernels are linked with the emulator library that defines it.
extern "C" __attribute__((weak)) bppsa::runtime::Device *
bppsa_make_emulated_device(const bppsa_device_kernel *kernels);

#endif // BPPSA_RUNTIME_DEVICE_DEVICE_H
