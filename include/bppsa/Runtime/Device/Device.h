//===- Device.h - Where device kernels run --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DEVICE_H
#define BPPSA_RUNTIME_DEVICE_H

#include "bppsa/Runtime/ObjectInterface.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace bppsa::runtime {

/// Blocks, and threads in a block.
struct LaunchSize {
  std::array<int64_t, 3> grid, block;
  /// "[2, 1, 1] blocks of [32, 1, 1] threads"
  std::string describe() const;
};

/// Points of a training step that `bench` measures between.
enum class StepMark { Forward, Backward, Update, End };
constexpr int stepMarks = 4;

/// Something with memory of its own that runs a program's kernels. Copies, fills and launches
/// happen in the order of the calls, but the calls may return before. Everything throws Error, also
/// for what an earlier call has started. For one host thread.
class Device {
public:
  /// Of all memory that a device gives, in bytes.
  static constexpr uint64_t alignment = 256;

  virtual ~Device() = default;

  /// Memory of at least `size` bytes, never null. Throws Error when there is not enough, which says
  /// how many samples would fit.
  void *allocate(uint64_t size);
  /// Kernels that were launched before may still use the memory. Null does nothing.
  void release(void *memory);
  /// Bytes in use, and the most there were since resetPeakBytes().
  uint64_t liveBytes() const { return live; }
  uint64_t peakBytes() const { return peak; }
  void resetPeakBytes() { peak = live; }

  /// `from` may change as soon as the call returns.
  virtual void copyToDevice(void *to, const void *from, uint64_t bytes) = 0;
  /// `to` holds the data after the next synchronize() and must stay in place until then.
  virtual void copyToHost(void *to, const void *from, uint64_t bytes) = 0;
  virtual void fill(void *to, uint8_t value, uint64_t bytes) = 0;
  /// Starts kernel `kernel` of the program; argument i is at arguments[i].
  virtual void launch(int64_t kernel, const LaunchSize &size, void **arguments) = 0;
  /// Returns when everything is done.
  virtual void synchronize() = 0;

  /// Notes when the device gets to this point of its work.
  virtual void mark(StepMark which) = 0;
  /// Seconds on the device between two marks that were passed; after synchronize().
  virtual double seconds(StepMark from, StepMark to) = 0;

  /// One line: its name and what it can do.
  virtual std::string description() const = 0;

  /// For messages when memory ends: what follows works on `samples` samples, `fixedBytes` do not
  /// depend on their number.
  void noteBatch(int64_t samples, uint64_t fixedBytes);

protected:
  Device();

  /// Bytes, as far as they are known.
  struct Room {
    uint64_t free = 0, total = 0;
  };
  virtual Room room() = 0;
  /// Null: there is no such memory.
  virtual void *obtain(uint64_t size) = 0;
  virtual void giveBack(void *memory) = 0;

private:
  std::string describeShortage(uint64_t size);

  std::unordered_map<void *, uint64_t> sizes;
  uint64_t live = 0, peak = 0, fixed = 0;
  int64_t samples = 0;
  /// Fresh memory is filled with NaN, which shows kernels that read what nothing has written.
  bool poisons;
};

/// Whether the program has kernels for a device, and whether that is the emulated one.
inline bool isDeviceProgram() { return bppsa_device_kernels[0].name != nullptr; }
inline bool isEmulatedProgram() { return bppsa_device_kernels[0].emulated != nullptr; }

/// The device of this program, made at first use; null in CPU programs. Throws NoDeviceError when
/// there is none.
Device *programDevice();

/// What orders the threads of emulated kernels; to be set before the device is used.
void setEmulationSeed(uint64_t seed);
uint64_t emulationSeed();

/// A GPU behind the CUDA driver, and the emulator.
std::unique_ptr<Device> makeCudaDevice(const bppsa_device_kernel *kernels,
                                       const bppsa_device_image *images);
std::unique_ptr<Device> makeEmulatedDevice(const bppsa_device_kernel *kernels);

/// "1.50 GiB"
std::string describeBytes(uint64_t bytes);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DEVICE_H
