//===- Dataset.h - Samples and batches ------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_DATASET_H
#define BPPSA_RUNTIME_FILES_DATASET_H

#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Files/ArrayChecks.h"
#include "bppsa/Runtime/Files/ArrayFiles.h"
#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// The arrays of one batch. Their addresses do not change when the batch is refilled.
struct Batch {
  struct Loss {
    Array target;
    Array weight;
    /// The weight of this batch in a mean over batches: the sum of its position weights, scaled by
    /// class weights, or the number of samples if positions are not weighted.
    double lossWeight = 0;
    /// The sum of its position weights, without class weights.
    double positions = 0;
  };

  std::vector<Array> inputs;
  /// Empty if targets are not read.
  std::vector<Loss> losses;
  /// One per input, then one for the target and one for the weights of each loss. Missing arrays
  /// have empty mirrors.
  std::vector<DeviceMirror> mirrors;
  Symbols symbols;
  int64_t samples = 0;

  Array &array(size_t index);
  const Array &array(size_t index) const { return const_cast<Batch *>(this)->array(index); }

  std::vector<double> lossWeights() const;
  /// Throws Error if all positions of all losses have weight zero. `what` names the batch.
  void requireWeight(const std::string &what) const;
  [[noreturn]] static void refuseWithoutWeight(const std::string &what);

  /// Enables prefetchArray(). Must be called before the batch is an argument of calls.
  void keepSpares();
  /// In device programs, starts copying the contents of the batch to the device. Calls started
  /// before still see the previous contents. The batch may then be refilled.
  void prefetchArray();
  void addTo(const Model &model, ViewTable &views);
};

/// The steps [first, first + count) of sequences with `all` steps.
struct StepWindow {
  int64_t first = 0, count = 0, all = 0;
};

/// The time shard of a data set: shard `number` of `shares` shards of ceil(T / shares) steps. The
/// last shard may be shorter. A shard without steps holds the last step instead.
struct TimeShardSpec {
  int number = 0, shares = 1;

  StepWindow of(int64_t steps) const;
  static int64_t filled(int64_t steps, int shares);
};

enum class TargetUse {
  Needed,
  /// Targets are optional and ignored.
  Ignored
};

/// How a data set is shuffled: blocks of `samples` consecutive samples are put in random order, and
/// the samples of each group of `together` blocks are shuffled. A single block that holds all
/// samples yields a full shuffle.
struct ShuffleBlocks {
  int64_t samples, together;
};

/// The arrays of an .npz file, or the files of a directory concatenated along the batch axes,
/// checked against the model.
///
/// Floating-point arrays must be float32 or float16. Integer arrays may have any NumPy integer type
/// if all values fit. Initial states of streams default to zero and position weights to one.
/// Positions beyond the length of their sample, or with the ignored target, get weight zero. If the
/// model fixes its batch size, the number of samples must be a multiple of it.
///
/// Only the time steps of `share` are used, and only they are read if arrays can be read in place.
/// A data set of more than `memory` bytes is not kept in memory: its blocks are read and checked
/// when a batch needs them. Arrays that cannot be read in place are always kept.
class Dataset {
public:
  static constexpr int64_t defaultMemory = 256 << 20;

  /// Throws Error, naming file and array, for files that do not match the model.
  Dataset(const std::string &path, const Model &model, TargetUse use,
          int64_t memory = defaultMemory, TimeShardSpec share = {});
  /// Uses arrays of the embedding program, which must outlive the data set.
  Dataset(const ArrayArguments &arrays, const Model &model, TargetUse use,
          int64_t memory = defaultMemory, TimeShardSpec share = {});
  /// Creates random data with a fixed seed, for timing only. Symbols other than batch and time axes
  /// are taken from `others`, defaulting to their minimum.
  static Dataset synthetic(const Model &model, int64_t samples, int64_t steps,
                           const Symbols &others);

  std::string title() const;
  std::vector<std::string> paths() const;
  void setMemory(int64_t memory);
  ShuffleBlocks shuffleBlocks() const;
  bool isInMemory() const { return isHeld; }
  int64_t samples() const { return count; }
  std::vector<int64_t> all() const;
  /// The number of time steps of the shard, if the model's inputs have a time axis.
  std::optional<int64_t> steps() const;
  /// The time steps of the shard within the sequences of the files.
  StepWindow window() const { return ownSteps; }
  uint32_t fingerprint() const { return checksum; }
  std::optional<int64_t> fixedBatch() const { return fixed; }

  /// Throws Error if the samples cannot be divided into batches of `size`, or if the arrays contain
  /// indices out of range.
  void requireBatches(int64_t size) const { requireBatches(size, count); }
  void requireBatches(int64_t size, int64_t samples) const;
  Batch newBatch(int64_t largest) const;
  /// Fills `batch` with the samples `order[0..size)`.
  void gather(const int64_t *order, int64_t size, Batch &batch) const;
  void copy(const Batch &from, Batch &to) const;
  /// Returns one sample of each block that `order` needs from index `first` on, in order of first
  /// use.
  std::vector<int64_t> samplesToReadAhead(const std::vector<int64_t> &order, int64_t first) const;
  /// Reads the block of `sample`, unless that would evict a block in use.
  void readAhead(int64_t sample) const { findBlock(sample); }
  /// Sets the size of `batch` to `size` samples, leaving their values undefined.
  void resize(int64_t size, Batch &batch) const;
  Batch whole() const;
  bool isWeighted(size_t number) const;
  bool isWeighted() const;
  void weigh(Batch &batch) const;
  void requireWeight(const Batch &batch, const std::string &what) const;

private:
  struct Column {
    const ArrayInfo *info;
    /// In a batch.
    size_t slot;
    DType dtype;
    /// The shape with all samples of the data set.
    std::vector<int64_t> shape;
    /// The product of the extents before the batch axis, and the bytes of the extents after it.
    /// Without a batch axis, `outer` is 1 and `inner` covers the whole array.
    int64_t outer = 1, inner = 1;
    bool isStored = true;
    /// The values of arrays without batch axis.
    Buffer data;

    bool isSliced() const { return info->batchAxis.has_value(); }
    int64_t sampleBytes() const { return outer * inner; }
    int64_t sampleElements() const {
      return sampleBytes() / static_cast<int64_t>(elementSize(dtype));
    }
  };
  /// Consecutive samples of all columns with a batch axis. The batch axis is moved to the front, so
  /// each sample is contiguous.
  struct Block {
    int64_t first = 0, count = 0;
    std::vector<Buffer> data;
    /// The last run of copied samples that used this block. Until the first use, it exceeds all
    /// runs, so that blocks read ahead are not evicted.
    int64_t used = 0;
  };
  /// The valid range of a column's elements.
  struct Bound {
    size_t column;
    int64_t least, most;
    const char *meaning;
  };

  explicit Dataset(const Model &model) : model(&model) {}
  // Dataset.cpp
  void open();
  std::map<std::string, NpyHeader> joinFiles();
  void addColumn(const ArrayInfo &info, size_t slot, DType dtype,
                 const std::vector<int64_t> &shape);
  void addColumns(const std::map<std::string, NpyHeader> &headers);
  std::vector<int64_t> sharedShape(const ArrayInfo &info, std::vector<int64_t> shape);
  std::vector<int64_t> slicedShape(const Column &column, int64_t size) const;
  Symbols bindSlices(int64_t size) const;
  void countSamples();
  /// The slot of the target of loss `number`. Its weights have the next slot.
  size_t slotOf(size_t number) const { return model->inputs.size() + 2 * number; }
  size_t lossOf(const Column &column) const { return (column.slot - slotOf(0)) / 2; }
  bool isWeight(const Column &column) const {
    return column.slot >= slotOf(0) && column.slot == slotOf(lossOf(column)) + 1;
  }
  std::string where(const std::string &path, const ArrayInfo &info) const;
  void addSynthetic(const ArrayInfo &info, size_t slot, const Symbols &symbols,
                    class Random &random);
  // SampleBlocks.cpp
  int64_t bytesPerSample() const;
  /// The number of samples in memory, and the number of samples per block, if not all samples are
  /// in memory.
  int64_t heldSamples() const;
  int64_t blockSamples() const;
  /// Reads columns without a batch axis, and all samples if they are kept in memory.
  void load();
  /// Moves the batch axis of `samples` samples to the front. The input is in C order with elements
  /// of `size` bytes.
  static void toSamples(const Column &column, int64_t samples, int64_t size, const std::byte *from,
                        std::byte *to);
  Buffer makeDefault(const Column &column, int64_t bytes) const;
  /// Converts `samples` samples of an array in `file`, starting at its sample `start`, to the
  /// layout of blocks. Throws Error for invalid values.
  void takeSamples(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                   const std::byte *from, std::byte *to) const;
  void readSamples(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                   std::byte *to) const;
  void checkValues(const Column &column, const std::byte *values, int64_t elements,
                   const Position &position) const;
  Position positions(const Column &column, const ArrayFile &file, int64_t start) const;
  // TimeShares.cpp
  /// The data set uses only some of the column's time steps.
  bool isShared(const Column &column) const {
    return ownSteps.count != ownSteps.all && column.info->timeAxis;
  }
  /// The multi-index of the data set's part of an array in `file`, starting at sample `start`.
  std::vector<int64_t> beginOf(const Column &column, int64_t start) const;
  /// Calls `visit` with the offset and size in bytes of each contiguous piece of `samples` samples,
  /// starting at `start`, of the column's array in `file`, in order. `size` is the element size.
  void forEachPiece(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                    int64_t size, const std::function<void(int64_t, int64_t)> &visit) const;
  Array readWhole(const Column &column, const ArrayFile &file) const;
  // SampleBlocks.cpp
  Buffer loadShared(const Column &column) const;
  Buffer readShared(const Column &column, const ArrayFile &file) const;
  Buffer fillSliced(const Column &column, int64_t first, int64_t samples) const;
  Block loadBlock(int64_t first, int64_t samples) const;
  /// Returns the block of `sample`, reading it if necessary. Returns null if that would evict a
  /// block that the current run needs.
  Block *findBlock(int64_t sample) const;
  /// Calls `visit` for each file that contains some of the samples [first, first + samples), with
  /// the index of the first one in the file and their number.
  template <typename Visit> void forEachFile(int64_t first, int64_t samples, Visit &&visit) const;
  void requireBound(const Bound &bound, const Block &block) const;
  /// Requires that indices are within the dimensions they index, and that lengths are within the
  /// sequences.
  void requireBounds(const Symbols &symbols) const;
  const std::byte *values(const Block &block, size_t column) const {
    return columns[column].isSliced() ? block.data[column].data() : columns[column].data.data();
  }
  // Batches.cpp
  void copySamples(const std::vector<const Block *> &from, const int64_t *order, int64_t first,
                   int64_t size, Batch &batch) const;
  // PositionWeights.cpp
  /// Sets the weight in `column` to zero for positions with an ignored target or beyond the length
  /// of their sample.
  void maskPositions(const Column &column, const Block &block, Buffer &target,
                     Buffer &weight) const;

  const Model *model;
  std::string name;
  /// The inputs in model order, then, if they are read, the target and the weights of each loss.
  std::vector<Column> columns;
  bool hasTargets = true;
  std::vector<ArrayFile> files;
  std::optional<int64_t> fixed;
  int64_t count = 0;
  uint32_t checksum = 0;
  int64_t memory = defaultMemory;
  TimeShardSpec share;
  StepWindow ownSteps;
  bool isHeld = true;
  /// By block index. Mutable, because reading batches changes which blocks are cached but not the
  /// data set.
  mutable std::map<int64_t, Block> blocks;
  mutable std::vector<Bound> bounds;
  mutable int64_t run = 0;
};

/// Returns the symbol values for `samples` samples of `steps` steps. Other symbols are taken from
/// `others`, defaulting to their minimum. Throws Error if the model fixes a different size.
Symbols syntheticSymbols(const Model &model, int64_t samples, int64_t steps, const Symbols &others);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_DATASET_H
