//===- BatchStream.h - Batches provided by a caller -----------------------===//
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

/// Thrown to end the run.
struct StreamEnded {};

class BatchStream {
public:
  virtual ~BatchStream() = default;

  virtual std::optional<int64_t> perEpoch() const = 0;
  /// Returns the next batch, valid until the next call, or null at an epoch's end; the following
  /// call starts the next epoch. Throws Error and StreamEnded.
  virtual const Batch *next() = 0;
  virtual void compute() = 0;
  virtual std::string variant() const = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_BATCHSTREAM_H
