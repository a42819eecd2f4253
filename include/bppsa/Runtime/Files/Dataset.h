//===- Dataset.h - Samples and batches ------------------------------------------===//
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

/// The arrays of one batch. Their memory stays where it is when the batch is filled again.
struct Batch {
  /// What one of the model's losses reads.
  struct Loss {
    Array target;
    /// The weight of each position of the target.
    Array weight;
    /// What the mean loss of the batch counts in a mean over batches: the sum of the weights of its
    /// positions, or the number of samples where no position has a weight of its own.
    double lossWeight = 0;
    /// The sum of the weights of its positions, whatever their class.
    double positions = 0;
  };

  std::vector<Array> inputs;
  /// None where targets are not read.
  std::vector<Loss> losses;
  /// Of the inputs, then of the target and the weights of each loss; without memory where there are
  /// none.
  std::vector<DeviceMirror> mirrors;
  Symbols symbols;
  int64_t samples = 0;

  /// Array `index`, in the order of the mirrors.
  Array &array(size_t index);
  const Array &array(size_t index) const { return const_cast<Batch *>(this)->array(index); }

  /// What each loss counts.
  std::vector<double> lossWeights() const;
  /// Throws Error where every position of every loss has the weight zero; `what` says which batch
  /// it is.
  void requireWeight(const std::string &what) const;
  /// Throws that error.
  [[noreturn]] static void refuseWithoutWeight(const std::string &what);

  /// Lets copyAhead() work. To be called before the batch is an argument of calls.
  void keepSpares();
  /// In device programs, begins to copy what the batch was filled with; calls that were started
  /// before still work on what it held then. It may be filled again.
  void copyAhead();
  /// "input:NAME" for every input, the names of targets and weights.
  void addTo(const Model &model, ViewTable &views);
};

/// Steps of sequences, of which there are `all`.
struct StepWindow {
  int64_t first = 0, count = 0, all = 0;
};

/// Which steps of sequences a set has: of `shares` shares of ceil(T / shares) steps that of number
/// `number`. The last share may be shorter; those behind it have no steps, and a set has the last
/// step in their place.
struct TimeShare {
  int number = 0, shares = 1;

  StepWindow of(int64_t steps) const;
  /// How many shares have steps.
  static int64_t filled(int64_t steps, int shares);
};

enum class TargetUse {
  /// The array `target` must be there when the model's loss has one.
  Needed,
  /// It may be there and is not looked at.
  Ignored
};

/// How a set is shuffled: blocks of consecutive samples in a drawn order, and the samples of so
/// many blocks at a time among each other. One block holds all samples: they are shuffled as a
/// whole.
struct ShuffleBlocks {
  int64_t samples, together;
};

/// The arrays of an .npz file, or those of the files in a directory one after the other along the
/// batch axes, checked against the model.
///
/// Floating-point arrays must be float32. Where the model takes integers, every NumPy integer type
/// is accepted as long as all values fit. States of a stream may be missing and are zero then, and
/// weights of positions, which are one then. Positions beyond the length of their sample, and those
/// with the target that the program ignores, have the weight zero.
/// Where the model fixes its batch size, the set holds a multiple of it.
/// Of sequences it has the steps of `share`, and reads no others where arrays can be read in place.
/// A set of more bytes than `memory` is not held: blocks of it are read, and their values checked,
/// when a batch needs them. Only arrays that cannot be read in place are held whatever their size.
class Dataset {
public:
  static constexpr int64_t defaultMemory = 256 << 20;

  /// Throws Error, naming file and array, when the files do not fit the model.
  Dataset(const std::string &path, const Model &model, TargetUse use,
          int64_t memory = defaultMemory, TimeShare share = {});
  /// The same of arrays of the program that this library is embedded in, which must stay while the
  /// set is in use.
  Dataset(const ArrayArguments &arrays, const Model &model, TargetUse use,
          int64_t memory = defaultMemory, TimeShare share = {});
  /// Numbers drawn with a fixed seed, for timing only. Symbols other than those of batch and time
  /// axes take their value from `others`, else 1.
  static Dataset synthetic(const Model &model, int64_t samples, int64_t steps,
                           const Symbols &others);

  /// What messages call it: its path, or `arrays` where there is none.
  std::string title() const;
  /// The paths of its files.
  std::vector<std::string> paths() const;
  /// Changes the bytes of blocks that are held at a time.
  void setMemory(int64_t memory);
  ShuffleBlocks shuffleBlocks() const;
  /// Whether all samples are held in memory.
  bool isInMemory() const { return isHeld; }
  int64_t samples() const { return count; }
  /// The numbers of all samples.
  std::vector<int64_t> all() const;
  /// The number of time steps, where the model's inputs have them; those of the share.
  std::optional<int64_t> steps() const;
  /// Which steps of the sequences in the files these are.
  StepWindow window() const { return ownSteps; }
  uint32_t fingerprint() const { return checksum; }
  /// The batch size where the model fixes it.
  std::optional<int64_t> fixedBatch() const { return fixed; }

  /// Throws Error when batches of `size` samples cannot be cut from the arrays, or hold indices
  /// that are out of range.
  void requireBatches(int64_t size) const { requireBatches(size, count); }
  /// The same for `samples` of the samples.
  void requireBatches(int64_t size, int64_t samples) const;
  /// Memory for batches of up to `largest` samples.
  Batch newBatch(int64_t largest) const;
  /// Fills `batch` with the samples `order[0..size)`.
  void gather(const int64_t *order, int64_t size, Batch &batch) const;
  /// Fills `to` with what `from`, a batch of this set too, was filled with.
  void copy(const Batch &from, Batch &to) const;
  /// Samples of `order` from number `first` on, one of each block that is read for them, in the
  /// order in which they are.
  std::vector<int64_t> samplesToReadAhead(const std::vector<int64_t> &order, int64_t first) const;
  /// Reads the block of `sample`, where there is memory that others do not need more.
  void readAhead(int64_t sample) const { findBlock(sample); }
  /// Makes `batch` one of `size` samples, whatever they are.
  void resize(int64_t size, Batch &batch) const;
  /// The whole set as one batch.
  Batch whole() const;
  /// Whether positions of loss `number` count differently: it is a weighted mean.
  bool isWeighted(size_t number) const;
  /// Whether those of any do.
  bool isWeighted() const;
  /// Says what the losses of `batch`, whose arrays are filled, count.
  void weigh(Batch &batch) const;
  /// Batch::requireWeight() of a batch of this set.
  void requireWeight(const Batch &batch, const std::string &what) const;

private:
  /// One array.
  struct Column {
    const ArrayInfo *info;
    /// Its array in a batch, by the number of its mirror.
    size_t slot;
    DType dtype;
    /// The array's shape, with all samples of the set.
    std::vector<int64_t> shape;
    /// Product of the extents before the batch axis; bytes behind it, or of all without one.
    int64_t outer = 1, inner = 1;
    /// Whether the files hold it.
    bool isStored = true;
    /// What has no batch axis.
    Buffer data;

    bool isSliced() const { return info->batchAxis.has_value(); }
    int64_t sampleBytes() const { return outer * inner; }
    int64_t sampleElements() const {
      return sampleBytes() / static_cast<int64_t>(elementSize(dtype));
    }
  };
  /// Consecutive samples of all columns with a batch axis, which stands in front: a sample is
  /// contiguous.
  struct Block {
    int64_t first = 0, count = 0;
    std::vector<Buffer> data;
    /// Number of the last run of samples that were copied from it; above all numbers before there
    /// is one, so that what was read ahead stays.
    int64_t used = 0;
  };
  /// What the elements of a column must be, because of what the model takes them as.
  struct Bound {
    size_t column;
    int64_t least, most;
    const char *meaning;
  };

  explicit Dataset(const Model &model) : model(&model) {}
  // Dataset.cpp
  void open();
  /// The headers of all files together.
  std::map<std::string, NpyHeader> joinFiles();
  /// Adds the column of an array of which only the header is known, checked against `info`.
  void addColumn(const ArrayInfo &info, size_t slot, DType dtype,
                 const std::vector<int64_t> &shape);
  void addColumns(const std::map<std::string, NpyHeader> &headers);
  /// The extents of the share of an array of `shape`.
  std::vector<int64_t> sharedShape(const ArrayInfo &info, std::vector<int64_t> shape);
  std::vector<int64_t> slicedShape(const Column &column, int64_t size) const;
  Symbols bindSlices(int64_t size) const;
  void countSamples();
  /// The slot of the target of loss `number`; that of its weights is the next one.
  size_t slotOf(size_t number) const { return model->inputs.size() + 2 * number; }
  /// The number of the loss whose target or weights the column holds.
  size_t lossOf(const Column &column) const { return (column.slot - slotOf(0)) / 2; }
  bool isWeight(const Column &column) const {
    return column.slot >= slotOf(0) && column.slot == slotOf(lossOf(column)) + 1;
  }
  std::string where(const std::string &path, const ArrayInfo &info) const;
  void addSynthetic(const ArrayInfo &info, size_t slot, const Symbols &symbols,
                    class Random &random);
  // SampleBlocks.cpp
  int64_t bytesPerSample() const;
  /// Samples that are in memory at a time, and those of a block, where not all are.
  int64_t heldSamples() const;
  int64_t blockSamples() const;
  /// Reads what has no batch axis, and all samples where they are held.
  void load();
  /// Writes the values of `samples` samples in C order, of elements of `size` bytes, with the batch
  /// axis in front.
  static void toSamples(const Column &column, int64_t samples, int64_t size, const std::byte *from,
                        std::byte *to);
  Buffer makeDefault(const Column &column, int64_t bytes) const;
  /// Writes the values of `samples` samples, whose array in `file` is `from`, as they are in
  /// blocks; the first has the number `start` in the file. Throws Error where a value is wrong.
  void takeSamples(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                   const std::byte *from, std::byte *to) const;
  /// The same of what stands in the file.
  void readSamples(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                   std::byte *to) const;
  void checkValues(const Column &column, const std::byte *values, int64_t elements,
                   const Position &position) const;
  /// Says where elements of samples from number `start` of `file` on are in its array.
  Position positions(const Column &column, const ArrayFile &file, int64_t start) const;
  // TimeShares.cpp
  /// Whether the set has some of the steps of the column's array alone.
  bool isShared(const Column &column) const {
    return ownSteps.count != ownSteps.all && column.info->timeAxis;
  }
  /// Where the set's part of an array of `file` begins, from sample number `start` on.
  std::vector<int64_t> beginOf(const Column &column, int64_t start) const;
  /// Calls `visit`, in order, with the offsets and sizes of the pieces of consecutive bytes that
  /// hold `samples` samples, from number `start` on, of the column's array in `file`, whose
  /// elements have `size` bytes.
  void forEachPiece(const Column &column, const ArrayFile &file, int64_t start, int64_t samples,
                    int64_t size, const std::function<void(int64_t, int64_t)> &visit) const;
  /// All samples of the column's array in `file`, but of its steps those of the share.
  Array readWhole(const Column &column, const ArrayFile &file) const;
  // SampleBlocks.cpp
  Buffer loadShared(const Column &column) const;
  Buffer readShared(const Column &column, const ArrayFile &file) const;
  Buffer fillSliced(const Column &column, int64_t first, int64_t samples) const;
  Block loadBlock(int64_t first, int64_t samples) const;
  /// The block that holds `sample`; null where one must go that the current run needs.
  Block *findBlock(int64_t sample) const;
  /// Calls `visit` with each file that holds some of `samples` samples from `first` on, the number
  /// within the file of the first one and how many there are.
  template <typename Visit> void forEachFile(int64_t first, int64_t samples, Visit &&visit) const;
  void requireBound(const Bound &bound, const Block &block) const;
  /// Indices must lie inside of the dimensions that they pick from, and samples must end.
  void requireBounds(const Symbols &symbols) const;
  const std::byte *values(const Block &block, size_t column) const {
    return columns[column].isSliced() ? block.data[column].data() : columns[column].data.data();
  }
  // Batches.cpp
  void copySamples(const std::vector<const Block *> &from, const int64_t *order, int64_t first,
                   int64_t size, Batch &batch) const;
  // PositionWeights.cpp
  /// Takes the weight, that of `column`, off positions with an ignored target and beyond the
  /// lengths of the samples of `block`.
  void maskPositions(const Column &column, const Block &block, Buffer &target,
                     Buffer &weight) const;

  const Model *model;
  std::string name;
  /// The inputs in the model's order, then, where they are read, the target and the weights of each
  /// loss that has some.
  std::vector<Column> columns;
  /// Whether targets and weights are read.
  bool hasTargets = true;
  std::vector<ArrayFile> files;
  std::optional<int64_t> fixed;
  int64_t count = 0;
  uint32_t checksum = 0;
  int64_t memory = defaultMemory;
  TimeShare share;
  StepWindow ownSteps;
  /// Whether one block holds all samples.
  bool isHeld = true;
  /// By their number. Reading batches changes what is held, not what the set is.
  mutable std::map<int64_t, Block> blocks;
  mutable std::vector<Bound> bounds;
  mutable int64_t run = 0;
};

/// The values of the symbols for `samples` samples of `steps` steps. Other symbols take their value
/// from `others`, else their least one. Throws Error where the model fixes another size.
Symbols syntheticSymbols(const Model &model, int64_t samples, int64_t steps, const Symbols &others);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_DATASET_H
