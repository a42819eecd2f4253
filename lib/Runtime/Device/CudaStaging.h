//===- CudaStaging.h - copies through page-locked memory ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DEVICE_CUDASTAGING_H
#define BPPSA_LIB_RUNTIME_DEVICE_CUDASTAGING_H

#include "CudaDriver.h"

#include <cstdint>
#include <vector>

namespace bppsa::runtime::cuda {

/// Only copies from and to page-locked host memory leave the host free while they happen.
class Staging {
public:
  /// For copies on `stream`.
  Staging(const Driver &driver, Stream stream);

  void upload(Address to, const void *from, uint64_t bytes);
  /// `to` is filled by finish(), or earlier.
  void download(void *to, Address from, uint64_t bytes);
  /// To be called when everything on the stream is done.
  void finish();

private:
  /// Uploads fill one half while the copies from the other one may still go on.
  struct Half {
    char *memory = nullptr;
    Event copied = nullptr;
    bool used = false;
  };
  struct Download {
    void *to;
    const char *from;
    uint64_t bytes;
  };
  /// Memory in the current half for up to `wanted` bytes; `wanted` becomes how many there are.
  char *reserve(uint64_t &wanted);

  const Driver &driver;
  Stream stream;
  Half halves[2];
  int current = 0;
  uint64_t filled = 0;
  char *incoming = nullptr;
  uint64_t incomingFilled = 0;
  std::vector<Download> downloads;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDASTAGING_H
