//===- Dataset.h - Samples and batches ------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_DATASET_H
#define BPPSA_RUNTIME_FILES_DATASET_H

#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Files/Npz.h"
#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// The arrays of one batch. Their memory stays where it is when the batch is filled again.
struct Batch {
  std::vector<Array> inputs;
  Array target;
  /// The weight of each position of the target.
  Array weight;
  /// Of the inputs, then of the target, then of the weights.
  std::vector<DeviceMirror> mirrors;
  Symbols symbols;
  int64_t samples = 0;
  /// What the mean loss of the batch counts in a mean over batches: the sum of the weights of its
  /// positions, or the number of samples where no position has a weight of its own.
  double lossWeight = 0;
  /// Positions whose weight is not zero.
  int64_t counted = 0;

  /// Lets copyAhead() work. To be called before the batch is an argument of calls.
  void keepSpares();
  /// In device programs, begins to copy what the batch was filled with; calls that were started
  /// before still work on what it held then. It may be filled again.
  void copyAhead();
  /// "input:NAME" for every input, "target" and "weight".
  void addTo(const Model &model, ViewTable &views);
};

enum class TargetUse {
  /// The array `target` must be there when the model's loss has one.
  Needed,
  /// It may be there and is not looked at.
  Ignored
};

/// The arrays of an .npz file, checked against the model.
///
/// Floating-point arrays must be float32. Where the model takes integers, every NumPy integer type
/// is accepted as long as all values fit. States of a stream may be missing and are zero then, and
/// weights of positions, which are one then. Positions beyond the length of their sample, and those
/// with the target that the program ignores, have the weight zero.
/// Where the model fixes its batch size, the file holds a multiple of it.
class Dataset {
public:
  /// Throws Error, naming file and array, when the file does not fit the model.
  Dataset(const std::string &path, const Model &model, TargetUse use);
  /// Numbers drawn with a fixed seed, for timing only. Symbols other than those of batch and time
  /// axes take their value from `others`, else 1.
  static Dataset synthetic(const Model &model, int64_t samples, int64_t steps,
                           const Symbols &others);

  const std::string &path() const { return name; }
  int64_t samples() const { return count; }
  /// The numbers of all samples.
  std::vector<int64_t> all() const;
  /// The number of time steps, where the model's inputs have them.
  std::optional<int64_t> steps() const;
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
  /// The whole set as one batch.
  Batch whole() const;
  /// Whether positions count differently: the loss is a weighted mean.
  bool isWeighted() const;
  /// Says what the loss of `batch`, whose arrays are filled, counts.
  void weigh(Batch &batch) const;
  /// Throws Error where every position of `batch` has the weight zero; `what` says which it is.
  void requireWeight(const Batch &batch, const std::string &what) const;

private:
  /// One array with the batch axis brought to the front, so that a sample is contiguous.
  struct Column {
    const ArrayInfo *info;
    DType dtype;
    /// The array's shape as found in the file.
    std::vector<int64_t> shape;
    /// Product of the extents before the batch axis; bytes behind it.
    int64_t outer = 1, inner = 1;
    Buffer data;
  };

  explicit Dataset(const Model &model) : model(&model) {}
  /// Adds the column of an array of which only the header is known, checked against `info`.
  void addColumn(const ArrayInfo &info, DType dtype, const std::vector<int64_t> &shape);
  /// Checks the values of the column's array and brings its samples to the front.
  void fillColumn(Column &column, Array array);
  Array makeDefault(const Column &column) const;
  void addSynthetic(const ArrayInfo &info, const Symbols &symbols, class Random &random);
  std::vector<int64_t> slicedShape(const Column &column, int64_t size) const;
  Symbols bindSlices(int64_t size) const;
  void requireBounds(const Symbols &symbols) const;
  /// Refuses elements that are not in [least, most]; `meaning` says what the model takes them as.
  void requireBounds(const Column &column, int64_t least, int64_t most, const char *meaning) const;
  void countSamples();
  // PositionWeights.cpp
  /// The input that holds the lengths of the sequences that the loss has positions for, or null.
  const ArrayInfo *findLengths() const;
  /// Whether the weights of positions follow from other arrays.
  bool derivesWeights() const;
  /// Takes the weight off positions with an ignored target and beyond the lengths of samples.
  void maskPositions();
  std::string where(const ArrayInfo &info) const;

  const Model *model;
  std::string name;
  /// The inputs in the model's order, then the target and the weights where there are some.
  std::vector<Column> columns;
  std::optional<int64_t> fixed;
  int64_t count = 0;
  uint32_t checksum = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_DATASET_H
