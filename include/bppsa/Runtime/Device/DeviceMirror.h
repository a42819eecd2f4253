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

/// The device copy of a host array, tracking which of the two is current. CPU programs have no
/// copy.
class DeviceMirror {
public:
  DeviceMirror() = default;
  /// The host array must not move. Device memory is allocated at first use.
  DeviceMirror(void *host, uint64_t bytes) : host(host), capacity(bytes), bytes(bytes) {}
  ~DeviceMirror();
  DeviceMirror(DeviceMirror &&other) noexcept { *this = static_cast<DeviceMirror &&>(other); }
  DeviceMirror &operator=(DeviceMirror &&other) noexcept;

  /// The device address that corresponds to `part` of the host array. The copy may be out of date.
  void *address(const void *part);

  /// Adds a second device copy for prefetchArray(). Must be called before the first use.
  void keepSpare() { hasSpare = true; }
  bool hasMemory() const { return device != nullptr; }
  void addBlocks(std::vector<void *> &blocks) const;
  /// In bytes, and as a number of device copies.
  uint64_t size() const { return capacity; }
  int copies() const { return hasSpare ? 2 : 1; }

  /// The host has modified the array. Only the first `used` bytes are meaningful.
  void hostChanged(uint64_t used);
  void hostChanged() { hostChanged(capacity); }
  void deviceChanged() { newer = Side::Device; }

  void toDevice();
  /// Starts copying the host data without waiting for launched work, which still sees the previous
  /// data. The next toDevice() makes the new data visible. The host array may be overwritten.
  void prefetchArray();
  /// Updates the host array by the next Device::synchronize().
  void toHost();
  void fetch();

private:
  /// Spare is the second device copy.
  enum class Side { Neither, Host, Device, Spare };

  void *host = nullptr, *device = nullptr, *spare = nullptr;
  bool hasSpare = false;
  uint64_t capacity = 0, bytes = 0;
  Side newer = Side::Host;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DEVICE_DEVICEMIRROR_H
