//===- DeviceMirror.cpp - Arrays shared by host and device ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Device/DeviceMirror.h"
#include "bppsa/Runtime/Device/Device.h"

#include <utility>

using namespace bppsa::runtime;

DeviceMirror::~DeviceMirror() {
  if (spare) {
    programDevice()->endPrefetch();
    programDevice()->release(spare);
  }
  if (device)
    programDevice()->release(device);
}

DeviceMirror &DeviceMirror::operator=(DeviceMirror &&other) noexcept {
  std::swap(host, other.host);
  std::swap(device, other.device);
  std::swap(spare, other.spare);
  std::swap(hasSpare, other.hasSpare);
  std::swap(capacity, other.capacity);
  std::swap(bytes, other.bytes);
  std::swap(newer, other.newer);
  return *this;
}

void *DeviceMirror::address(const void *part) {
  if (!device)
    device = programDevice()->allocate(capacity);
  if (hasSpare && !spare) {
    spare = programDevice()->allocate(capacity);
    programDevice()->beginPrefetch();
  }
  return static_cast<char *>(device) +
         (static_cast<const char *>(part) - static_cast<const char *>(host));
}

void DeviceMirror::addBlocks(std::vector<void *> &blocks) const {
  for (void *block : {device, spare})
    if (block)
      blocks.push_back(block);
}

void DeviceMirror::hostChanged(uint64_t used) {
  bytes = used;
  newer = Side::Host;
}

void DeviceMirror::toDevice() {
  if (newer == Side::Host)
    programDevice()->copyToDevice(address(host), host, bytes);
  else if (newer == Side::Spare)
    programDevice()->takePrefetched(address(host), spare, bytes);
  else
    return;
  newer = Side::Neither;
}

void DeviceMirror::prefetchArray() {
  if (newer != Side::Host || !spare)
    return;
  programDevice()->prefetchArray(spare, host, bytes);
  newer = Side::Spare;
}

void DeviceMirror::toHost() {
  if (newer != Side::Device)
    return;
  programDevice()->copyToHost(host, device, bytes);
  newer = Side::Neither;
}

void DeviceMirror::fetch() {
  if (newer != Side::Device)
    return;
  toHost();
  programDevice()->synchronize();
}
