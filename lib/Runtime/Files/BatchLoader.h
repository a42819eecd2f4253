//===- BatchLoader.h - Prefetching batch loader ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_FILES_BATCHLOADER_H
#define BPPSA_LIB_RUNTIME_FILES_BATCHLOADER_H

#include "bppsa/Runtime/Files/Dataset.h"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace bppsa::runtime {

/// Fills consecutive batches. If samples are not in memory, a thread reads them in advance, and the
/// data set must not be used otherwise until the last batch.
class BatchLoader {
public:
  /// The batch at index n of `order` has `sizeAt(n)` samples, at most `largest`; 0 marks the end.
  /// `data` and `order` must outlive the loader unchanged.
  BatchLoader(const Dataset &data, const std::vector<int64_t> &order, int64_t first,
              int64_t largest, std::function<int64_t(int64_t)> sizeAt);
  ~BatchLoader();
  BatchLoader(const BatchLoader &) = delete;

  void next(Batch &batch);

private:
  void startThread(int64_t largest);
  void work();
  void fillSlots();
  void readAhead(int64_t position);
  bool waitForSlot();
  bool waitForBatch();

  const Dataset &data;
  const std::vector<int64_t> &order;
  int64_t at;
  std::function<int64_t(int64_t)> sizeAt;
  /// One sample of each block that the thread will read.
  std::vector<int64_t> ahead;
  int64_t begin, blocksRead = 0;
  std::vector<Batch> slots;
  std::mutex mutex;
  std::condition_variable wasFilled, wasTaken;
  int64_t filled = 0, taken = 0;
  bool stopping = false;
  bool hasEnded = false;
  std::exception_ptr error;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_BATCHLOADER_H
