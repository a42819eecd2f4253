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

/// Array addresses do not change when the batch is refilled.
struct Batch {
  struct Loss {
    Array target;
    Array weight;
    /// The weight in a mean over batches: the sum of position weights with class weights, or the
    /// number of samples.
    double lossWeight = 0;
    /// The sum of position weights, without class weights.
    double positions = 0;
  };

  std::vector<Array> inputs;
  std::vector<Loss> losses;
  /// Mirrors of inputs, then of target and weights of each loss. Empty for missing arrays.
  std::vector<DeviceMirror> mirrors;
  Symbols symbols;
  int64_t samples = 0;

  Array &array(size_t index);
  const Array &array(size_t index) const { return const_cast<Batch *>(this)->array(index); }

  std::vector<double> lossWeights() const;
  /// Throws Error if all positions have weight zero. `what` names the batch.
  void requireWeight(const std::string &what) const;
  [[noreturn]] static void refuseWithoutWeight(const std::string &what);

  /// Enables prefetchArray(). Must precede the use as an argument.
  void keepSpares();
  /// Starts copying to the device. Earlier calls still see the previous contents, and the batch may
  /// be refilled.
  void prefetchArray();
  void addTo(const Model &model, ViewTable &views);
};

/// The steps [first, first + count) of sequences with `all` steps.
struct StepWindow {
  int64_t first = 0, count = 0, all = 0;
};

/// Shard `number` of `shares` shards of ceil(T / shares) steps. A shard without steps holds the
/// last step instead.
struct TimeShardSpec {
  int number = 0, shares = 1;

  StepWindow of(int64_t steps) const;
  static int64_t filled(int64_t steps, int shares);
};

enum class TargetUse { Needed, Ignored };

/// Shuffles blocks of `samples` consecutive samples, then the samples of each group of `together`
/// blocks.
struct ShuffleBlocks {
  int64_t samples, together;
};

/// The arrays of an .npz file, or of a directory's files concatenated along the batch axes.
///
/// Arrays are float32, float16 or any integer type if all values fit. Initial states of streams
/// default to zero, position weights to one. Positions beyond the length of their sample, or with
/// the ignored target, get weight zero. If the model fixes its batch size, the number of samples
/// must be a multiple of it.
///
/// Only the time steps of `share` are used. Beyond `memory` bytes, blocks are read and checked when
/// a batch needs them, if the arrays can be read in place.
class Dataset {
public:
  static constexpr int64_t defaultMemory = 256 << 20;

  /// Throws Error for files that do not match the model.
  Dataset(const std::string &path, const Model &model, TargetUse use,
          int64_t memory = defaultMemory, TimeShardSpec share = {});
  /// The arrays must outlive the data set.
  Dataset(const ArrayArguments &arrays, const Model &model, TargetUse use,
          int64_t memory = defaultMemory, TimeShardSpec share = {});
  /// Creates random data with a fixed seed. Symbols other than batch and time default to their
  /// minimum.
  static Dataset synthetic(const Model &model, int64_t samples, int64_t steps,
                           const Symbols &others);

  std::string title() const;
  std::vector<std::string> paths() const;
  void setMemory(int64_t memory);
  ShuffleBlocks shuffleBlocks() const;
  bool isInMemory() const { return isHeld; }
  int64_t samples() const { return count; }
  std::vector<int64_t> all() const;
  /// Returns the steps of the shard, if inputs have a time axis.
  std::optional<int64_t> steps() const;
  /// The steps of the shard within the sequences.
  StepWindow window() const { return ownSteps; }
  uint32_t fingerprint() const { return checksum; }
  std::optional<int64_t> fixedBatch() const { return fixed; }

  /// Throws Error if batches of `size` are impossible, or indices are out of range.
  void requireBatches(int64_t size) const { requireBatches(size, count); }
  void requireBatches(int64_t size, int64_t samples) const;
  Batch newBatch(int64_t largest) const;
  void gather(const int64_t *order, int64_t size, Batch &batch) const;
  void copy(const Batch &from, Batch &to) const;
  /// Returns one sample of each block that `order` needs from `first` on, in order of first use.
  std::vector<int64_t> samplesToReadAhead(const std::vector<int64_t> &order, int64_t first) const;
  /// Does nothing if that would evict a block in use.
  void readAhead(int64_t sample) const { findBlock(sample); }
  void resize(int64_t size, Batch &batch) const;
  Batch whole() const;
  bool isWeighted(size_t number) const;
  bool isWeighted() const;
  void weigh(Batch &batch) const;
  void requireWeight(const Batch &batch, const std::string &what) const;

private:
  struct Column {
    const ArrayInfo *info;
    size_t slot;
    DType dtype;
    std::vector<int64_t> shape;
    /// The product of extents before the batch axis, and the bytes after it. Without a batch axis,
    /// `outer` is 1.
    int64_t outer = 1, inner = 1;
    bool isStored = true;
    Buffer data;

    bool isSliced() const { return info->batchAxis.has_value(); }
    int64_t sampleBytes() const { return outer * inner; }
    int64_t sampleElements() const {
      return sampleBytes() / static_cast<int64_t>(elementSize(dtype));
    }
  };
  /// Consecutive samples of all columns, each sample contiguous.
  struct Block {
    int64_t first = 0, count = 0;
    std::vector<Buffer> data;
    /// The last run that used this block. Initially above all runs, so that blocks read ahead are
    /// not evicted.
    int64_t used = 0;
  };
  struct Bound {
    size_t column;
    int64_t least, most;
    const char *meaning;
  };

  explicit Dataset(const Model &model) : model(&model) {}
  void open();
  std::map<std::string, NpyHeader> joinFiles();
  void addColumn(const ArrayInfo &info, size_t slot, DType dtype,
                 const std::vector<int64_t> &shape);
  void addColumns(const std::map<std::string, NpyHeader> &headers);
  std::vector<int64_t> sharedShape(const ArrayInfo &info, std::vector<int64_t> shape);
  std::vector<int64_t> slicedShape(const Column &column, int64_t size) const;
  Symbols bindSlices(int64_t size) const;
  void countSamples();
  /// The weights of the loss have the next slot.
  size_t slotOf(size_t number) const { return model->inputs.size() + 2 * number; }
  size_t lossOf(const Column &column) const { return (column.slot - slotOf(0)) / 2; }
  bool isWeight(const Column &column) const {
    return column.slot >= slotOf(0) && column.slot == slotOf(lossOf(column)) + 1;
  }
  std::string where(const std::string &path, const ArrayInfo &info) const;
  void addSynthetic(const ArrayInfo &info, size_t slot, const Symbols &symbols,
                    class Random &random);
  int64_t bytesPerSample() const;
  int64_t heldSamples() const;
  int64_t blockSamples() const;
  /// Reads columns without batch axis, and all samples if they are kept in memory.
  void load();
  static void toSamples(const Column &column, int64_t samples, int64_t size, const std::byte *from,
                        std::byte *to);
  Buffer makeDefault(const Column &column, int64_t bytes) const;
  /// Converts samples from `start` of `file` to the layout of blocks. Throws Error for invalid
  /// values.
  void takeSamples(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                   const std::byte *from, std::byte *to) const;
  void readSamples(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                   std::byte *to) const;
  void checkValues(const Column &column, const std::byte *values, int64_t elements,
                   const Position &position) const;
  Position positions(const Column &column, const ArrayFile &file, int64_t start) const;
  /// Returns true if the data set uses only some of the time steps.
  bool isShared(const Column &column) const {
    return ownSteps.count != ownSteps.all && column.info->timeAxis;
  }
  std::vector<int64_t> beginOf(const Column &column, int64_t start) const;
  /// Calls `visit` with byte offset and size of each contiguous piece of the column's `samples`
  /// samples from `start`, in order.
  void forEachPiece(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                    int64_t size, const std::function<void(int64_t, int64_t)> &visit) const;
  Array readWhole(const Column &column, const ArrayFile &file) const;
  Buffer loadShared(const Column &column) const;
  Buffer readShared(const Column &column, const ArrayFile &file) const;
  Buffer fillSliced(const Column &column, int64_t first, int64_t samples) const;
  Block loadBlock(int64_t first, int64_t samples) const;
  /// Reads the block if necessary. Returns null if that would evict a block that the current run
  /// needs.
  Block *findBlock(int64_t sample) const;
  /// Calls `visit` with the first sample in each file and the number of samples.
  template <typename Visit> void forEachFile(int64_t first, int64_t samples, Visit &&visit) const;
  void requireBound(const Bound &bound, const Block &block) const;
  void requireBounds(const Symbols &symbols) const;
  const std::byte *values(const Block &block, size_t column) const {
    return columns[column].isSliced() ? block.data[column].data() : columns[column].data.data();
  }
  void copySamples(const std::vector<const Block *> &from, const int64_t *order, int64_t first,
                   int64_t size, Batch &batch) const;
  void maskPositions(const Column &column, const Block &block, Buffer &target,
                     Buffer &weight) const;

  const Model *model;
  std::string name;
  /// The inputs in model order, then target and weights of each loss.
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
  /// Mutable, because it is a cache. Keyed by block index.
  mutable std::map<int64_t, Block> blocks;
  mutable std::vector<Bound> bounds;
  mutable int64_t run = 0;
};

/// Other symbols default to their minimum. Throws Error if the model fixes a different size.
Symbols syntheticSymbols(const Model &model, int64_t samples, int64_t steps, const Symbols &others);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_DATASET_H
