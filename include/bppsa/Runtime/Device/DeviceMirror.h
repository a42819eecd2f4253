//===- DeviceMirror.h - Arrays shared by host and device ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H
#define BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H

#include <cstdint>
#include <vector>

namespace bppsa::runtime {

/// The device copy of a host array, tracking which of the two is current. Absent in CPU programs.
class DeviceMirror {
public:
  DeviceMirror() = default;
  /// The host array must not move.
  DeviceMirror(void *host, uint64_t bytes) : host(host), capacity(bytes), bytes(bytes) {}
  ~DeviceMirror();
  DeviceMirror(DeviceMirror &&other) noexcept { *this = static_cast<DeviceMirror &&>(other); }
  DeviceMirror &operator=(DeviceMirror &&other) noexcept;

  /// Returns the device address of `part`, whose contents may be out of date.
  void *address(const void *part);

  /// Adds a second device copy for prefetchArray(), before the first use.
  void enablePrefetch() { hasSpare = true; }
  bool hasMemory() const { return device != nullptr; }
  void addBlocks(std::vector<void *> &blocks) const;
  uint64_t size() const { return capacity; }
  int copies() const { return hasSpare ? 2 : 1; }

  /// Only the first `used` bytes are meaningful.
  void hostChanged(uint64_t used);
  void hostChanged() { hostChanged(capacity); }
  void deviceChanged() { newer = Side::Device; }

  void toDevice();
  /// Starts copying without waiting for launched work. The data becomes visible with the next
  /// toDevice(). The host array may be overwritten.
  void prefetchArray();
  /// Updates the host array by the next Device::synchronize().
  void toHost();
  void fetch();

private:
  enum class Side { Neither, Host, Device, Spare };

  void *host = nullptr, *device = nullptr, *spare = nullptr;
  bool hasSpare = false;
  uint64_t capacity = 0, bytes = 0;
  Side newer = Side::Host;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H
