//===- DeviceMirror.h - Arrays that host and device share -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DEVICEMIRROR_H
#define BPPSA_RUNTIME_DEVICEMIRROR_H

#include <cstdint>

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

  /// The host has written the first `used` bytes, or any of them; the rest has no meaning.
  void hostChanged(uint64_t used);
  void hostChanged() { hostChanged(capacity); }
  /// A kernel that was launched writes the device's copy.
  void deviceChanged() { newer = Side::Device; }

  /// Brings the device's copy up to date for what is launched next.
  void toDevice();
  /// Brings the host's array up to date by the next Device::synchronize().
  void toHost();
  /// Does so at once.
  void fetch();

private:
  enum class Side { Neither, Host, Device };

  void *host = nullptr, *device = nullptr;
  uint64_t capacity = 0, bytes = 0;
  Side newer = Side::Host;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DEVICEMIRROR_H
