//===- Device.h - Where device kernels run --------------------------------------===//
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

/// Blocks, and threads in a block.
struct LaunchSize {
  std::array<int64_t, 3> grid, block;
  /// All blocks run at the same time, so that they may wait for each other.
  bool cooperative = false;
  /// "[2, 1, 1] blocks of [32, 1, 1] threads"
  std::string describe() const;
};

/// Points of a training step that `bench` measures between.
enum class StepMark { Forward, Backward, Update, End };
constexpr int kStepMarks = 4;

/// Something with memory of its own that runs a program's kernels. Copies, fills and launches
/// happen in the order of the calls, but for launches on the sub stream, and the calls may return
/// before. Everything throws Error, also
/// for what an earlier call has started. For one host thread.
class Device {
public:
  /// Of all memory that a device gives, in bytes.
  static constexpr uint64_t alignment = 256;

  virtual ~Device() = default;

  /// Memory of at least `size` bytes, never null. Throws Error when there is not enough.
  void *allocate(uint64_t size);
  /// Kernels that were launched before may still use the memory. Null does nothing.
  void release(void *memory);
  /// Bytes in use, and the most there were since resetPeakBytes().
  uint64_t liveBytes() const { return live; }
  uint64_t peakBytes() const { return peak; }
  void resetPeakBytes() { peak = live; }

  /// The arena is memory for the temporaries of one compiled function at a time; what is in it has
  /// no meaning between calls. Lets it have at least `size` bytes.
  void reserveArena(uint64_t size);
  /// Gives all of it back, until it is reserved again.
  void releaseArena();
  /// `size` bytes that begin `offset` bytes behind the start of the arena.
  void *takeSlice(uint64_t offset, uint64_t size);
  void dropSlice(void *memory);

  /// Whether there is memory for an arena of `arena` bytes and then for blocks of `sizes`, in this
  /// order, once the blocks `released` are released.
  bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes,
            uint64_t arena);
  /// Bytes, as far as they are known.
  struct MemoryInfo {
    uint64_t free = 0, total = 0;
  };
  virtual MemoryInfo memoryInfo() = 0;

  /// `from` may change as soon as the call returns.
  virtual void copyToDevice(void *to, const void *from, uint64_t bytes) = 0;
  /// `to` holds the data after the next synchronize() and must stay in place until then.
  virtual void copyToHost(void *to, const void *from, uint64_t bytes) = 0;
  virtual void fill(void *to, uint8_t value, uint64_t bytes) = 0;

  /// Like copyToDevice(), but the copy does not wait for what was launched: `to` is memory that
  /// only copyAhead() writes and only takeAhead() reads.
  virtual void copyAhead(void *to, const void *from, uint64_t bytes) = 0;
  /// Copies on the device what copyAhead() brings to `from`, in the order of all other work.
  virtual void takeAhead(void *to, const void *from, uint64_t bytes) = 0;
  /// Before the first copyAhead() to memory that was allocated: work that was queued by now may
  /// still use it.
  virtual void beginAhead() {}
  /// Before the release of such memory: what is queued later may use it, once it was copied to.
  /// An error is reported by the next call.
  virtual void endAhead() noexcept {}

  /// Starts kernel `kernel` of the program. arguments[i] points to eight bytes that begin with
  /// argument i; unused ones are zero. Throws Error when not all blocks of a cooperative launch can
  /// be on the device at a time.
  virtual void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) = 0;
  /// Launches between the two belong to one call of a compiled function: they may be started
  /// together at its end, or before the next copy.
  virtual void beginCall() {}
  virtual void endCall() {}
  /// bppsa_rt_select_stream and its like, within a call.
  virtual void selectStream(int64_t stream) = 0;
  virtual void recordEvent(int64_t event) = 0;
  virtual void waitEvent(int64_t event) = 0;
  /// Returns when everything is done.
  virtual void synchronize() = 0;

  /// Notes when the device gets to this point of its work, once somebody wants to know.
  void mark(StepMark which) {
    if (marking)
      note(which);
  }
  void wantMarks() { marking = true; }
  /// Seconds on the device between two marks that were passed; after synchronize().
  virtual double seconds(StepMark from, StepMark to) = 0;

  /// One line: its name and what it can do.
  virtual std::string description() const = 0;
  /// How many blocks of threads compute at the same time, if each is alone where it runs.
  virtual int64_t multiprocessors() const = 0;

protected:
  /// `slicesAreApart`: each slice of the arena has memory of its own, whose ends are known.
  explicit Device(bool slicesAreApart);

  virtual void note(StepMark which) = 0;
  /// Slices that are apart: `slice` stands for `size` bytes at `offset` of the arena.
  virtual void noteSlice(void *slice, uint64_t offset, uint64_t size) {}
  /// Null: there is no such memory.
  virtual void *obtain(uint64_t size) = 0;
  virtual void giveBack(void *memory) = 0;
  virtual bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes) = 0;

private:
  void count(uint64_t size);
  void poison(void *memory, uint64_t size);

  std::unordered_map<void *, uint64_t> sizes;
  uint64_t live = 0, peak = 0;
  bool slicesAreApart, marking = false;
  void *arena = nullptr;
  uint64_t arenaSize = 0;
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

/// A GPU behind the CUDA driver.
std::unique_ptr<Device> makeCudaDevice(const bppsa_device_kernel *kernels,
                                       const bppsa_device_image *images);

/// "1.50 GiB"
std::string describeBytes(uint64_t bytes);

} // namespace bppsa::runtime

/// A device that emulates `kernels`; the caller owns it. Only programs with emulated kernels are
/// linked with the library of the emulator, which defines this.
extern "C" __attribute__((weak)) bppsa::runtime::Device *
bppsa_make_emulated_device(const bppsa_device_kernel *kernels);

#endif // BPPSA_RUNTIME_DEVICE_DEVICE_H
