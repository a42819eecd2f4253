//===- DeviceMirror.h - Arrays that host and device share -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H
#define BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H

#include <cstdint>
#include <vector>

namespace bppsa::runtime {

/// The device's copy of an array of the host, and which of the two is up to date. In CPU programs
/// there is no copy and the host's array always is.
class DeviceMirror {
public:
  DeviceMirror() = default;
  /// The array must stay where it is. Device memory is taken at first use.
  DeviceMirror(void *host, uint64_t bytes) : host(host), capacity(bytes), bytes(bytes) {}
  ~DeviceMirror();
  DeviceMirror(DeviceMirror &&other) noexcept { *this = static_cast<DeviceMirror &&>(other); }
  DeviceMirror &operator=(DeviceMirror &&other) noexcept;

  /// Where the device has what is at `part` of the host's array; the copy may be out of date.
  void *address(const void *part);

  /// From now on the array has a second copy on the device, for copyAhead(). To be called before
  /// the first use.
  void keepSpare() { hasSpare = true; }
  bool hasMemory() const { return device != nullptr; }
  /// Adds the blocks that it has on the device.
  void addBlocks(std::vector<void *> &blocks) const;
  /// Bytes of the array, and how many times the device has them.
  uint64_t size() const { return capacity; }
  int copies() const { return hasSpare ? 2 : 1; }

  /// The host has written the first `used` bytes, or any of them; the rest has no meaning.
  void hostChanged(uint64_t used);
  void hostChanged() { hostChanged(capacity); }
  /// A kernel that was launched writes the device's copy.
  void deviceChanged() { newer = Side::Device; }

  /// Brings the device's copy up to date for what is launched next.
  void toDevice();
  /// Begins to copy what the host has written, beside the work of what was launched, which still
  /// sees the data of before. The next toDevice() takes it over. The host's array may change.
  void copyAhead();
  /// Brings the host's array up to date by the next Device::synchronize().
  void toHost();
  /// Does so at once.
  void fetch();

private:
  /// Spare: the second copy on the device.
  enum class Side { Neither, Host, Device, Spare };

  void *host = nullptr, *device = nullptr, *spare = nullptr;
  bool hasSpare = false;
  uint64_t capacity = 0, bytes = 0;
  Side newer = Side::Host;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H
