//===- BatchStream.h - Batches that a caller gives -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_BATCHSTREAM_H
#define BPPSA_LIB_RUNTIME_TRAINING_BATCHSTREAM_H

#include "bppsa/Runtime/Files/Dataset.h"

#include <optional>
#include <string>

namespace bppsa::runtime {

/// Thrown where there are no more batches and the run is to end.
struct StreamEnded {};

/// Batches of any sizes, in an order of their own, epoch after epoch.
class BatchStream {
public:
  virtual ~BatchStream() = default;

  /// How many an epoch has, where that is known before its end.
  virtual std::optional<int64_t> perEpoch() const = 0;
  /// The next batch, which stays until the next call; null at the end of an epoch, after which the
  /// next one begins. Throws Error where it is none that the model takes, and StreamEnded.
  virtual const Batch *next() = 0;
  /// Calls the function that the stream is for on it.
  virtual void compute() = 0;
  /// The variant that computes it.
  virtual std::string variant() const = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_BATCHSTREAM_H
