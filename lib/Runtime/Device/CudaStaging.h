//===- CudaStaging.h - Copies through page-locked memory ------------------===//
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

/// Copies through page-locked memory; other copies block the host.
class Staging {
public:
  Staging(const Driver &driver, Stream stream);

  void upload(Address to, const void *from, uint64_t bytes);
  /// Fills `to` by finish().
  void download(void *to, Address from, uint64_t bytes);
  /// All work on the stream must have completed.
  void finish();

private:
  /// Uploads fill one half while copies from the other may still run.
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
