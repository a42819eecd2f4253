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

/// Fills consecutive batches. If the samples are not in memory and several threads may be used, a
/// background thread reads and checks them in advance. The data set must then not be used otherwise
/// until the last batch has been loaded.
class BatchLoader {
public:
  /// Loads consecutive batches from `order`, starting at index `first`. The batch at index n has
  /// `sizeAt(n)` samples, at most `largest`; 0 marks the end. `data` and `order` must outlive the
  /// loader unchanged.
  BatchLoader(const Dataset &data, const std::vector<int64_t> &order, int64_t first,
              int64_t largest, std::function<int64_t(int64_t)> sizeAt);
  ~BatchLoader();
  BatchLoader(const BatchLoader &) = delete;

  /// Fills `batch` with the next samples. Throws the errors of Dataset::gather().
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
  /// One sample of each block that the thread will read, the start index, and the number of blocks
  /// read so far.
  std::vector<int64_t> ahead;
  int64_t begin, blocksRead = 0;
  /// A ring buffer of batches that `thread` fills.
  std::vector<Batch> slots;
  std::mutex mutex;
  std::condition_variable wasFilled, wasTaken;
  /// By the thread, and by next().
  int64_t filled = 0, taken = 0;
  bool stopping = false;
  bool hasEnded = false;
  std::exception_ptr error;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_BATCHLOADER_H
