//===- BatchLoader.h - Batches that are filled ahead of their time --------===//
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

/// Fills batches with samples, batch after batch. Where the samples are not held in memory and the
/// program may use several threads, one of its own reads and checks them before they are needed;
/// until the last batch is there, the set is then not to be used by others.
class BatchLoader {
public:
  /// The samples of batches in a row: `sizeAt(n)` of `order` from number n on, the first of which
  /// is `first`; 0 of them are the end. No batch has more than `largest`. Set and order must
  /// outlive the loader and stay as they are.
  BatchLoader(const Dataset &data, const std::vector<int64_t> &order, int64_t first,
              int64_t largest, std::function<int64_t(int64_t)> sizeAt);
  ~BatchLoader();
  BatchLoader(const BatchLoader &) = delete;

  /// Fills `batch` with the samples that are next; throws what Dataset::gather() throws of them.
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
  /// One sample of each block that the thread reads, where it begins, and how many it has read.
  std::vector<int64_t> ahead;
  int64_t begin, blocksRead = 0;
  /// Batches that are full, or that `thread` may fill.
  std::vector<Batch> slots;
  std::mutex mutex;
  std::condition_variable wasFilled, wasTaken;
  /// How many batches were filled by the thread, and taken from it.
  int64_t filled = 0, taken = 0;
  bool stopping = false;
  /// Whether the thread fills no more batches, and the error that ended it.
  bool hasEnded = false;
  std::exception_ptr error;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_BATCHLOADER_H
