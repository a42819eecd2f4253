//===- Model.h - Description of a compiled model --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_MODEL_H
#define BPPSA_RUNTIME_MODEL_H

#include "bppsa/CostModel/Machines/HostCost.h"
#include "bppsa/Runtime/Files/DType.h"
#include "bppsa/Support/BatchAxes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bppsa::runtime {

/// An extent: a constant, a symbol, or `op` (+ * floordiv ceildiv mod) applied to two extents.
struct Extent {
  enum class Kind { Number, Symbol, Operation };
  Kind kind = Kind::Number;
  int64_t number = 0;
  size_t symbol = 0;
  std::string op;
  std::vector<Extent> operands;
};

/// Symbol values, indexed like Model::symbols; nullopt if not yet known.
using Symbols = std::vector<std::optional<int64_t>>;

/// Nothing if a symbol is unknown.
std::optional<int64_t> evaluate(const Extent &extent, const Symbols &symbols);

/// A graph input, a graph output, or a target or weight array of a loss.
struct ArrayInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Extent> shape;
  /// In the selected layout.
  std::optional<int64_t> batchAxis;
  std::optional<int64_t> timeAxis;
  BatchAxes batchAxes;
  /// Graph inputs: `grad` computes the gradient with respect to this input.
  bool gradient = false;
  /// Carried states of a stream: for an input, the output that holds the state after the last step;
  /// for an output, the input that holds the state before the first step, which is zero if the data
  /// file lacks it.
  std::string carried = {};
  /// Targets: the values are class indices below this count.
  std::optional<int64_t> classes;
  /// Graph inputs: the values are indices into dimensions of these sizes, from -size to size - 1.
  std::vector<Extent> indexBounds;
  /// Graph inputs: the values are sample lengths, from 1 to each of these step counts.
  std::vector<Extent> lengthBounds;
};

/// A loss on one output and the arrays it reads from a data file.
struct LossInfo {
  /// `cross-entropy`, `mse`, ...
  std::string kind;
  std::string output;
  /// In the sum of all losses.
  double factor = 1;
  /// Named `target`, or `target.OUTPUT` if there are several losses.
  std::optional<ArrayInfo> target;
  /// The position weights if compiled functions take them, named `weight` or `weight.OUTPUT`.
  std::optional<ArrayInfo> weight;
  /// The data file provides the weights under that name. False if a graph input has the same name.
  bool readsWeight = false;

  bool hasClasses() const { return target && target->classes; }
};

struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  bool trained = true;
  /// A running statistic: not trained, but each step computes its next value.
  bool statistic = false;
  bool changes() const { return trained || statistic; }
  /// Elements that are zero in the ONNX file stay zero.
  bool pruned = false;
  /// Indices along the first axis whose elements are not trained.
  std::vector<int64_t> frozenRows = {};
  /// The location in the ONNX file: byte offset of the first value and bytes between consecutive
  /// values.
  uint64_t offset = 0, stride = 4;
};

/// A pipeline stage: its rank and the floating-point operations of its parts.
struct StageInfo {
  int rank;
  double forward, cotangents, parameters;
  /// Trained parameters that this stage reads and another stage updates.
  std::vector<std::string> reads = {};
};

struct VariantInfo {
  std::string name;
  /// "sequential" or "scan"
  std::string backward;
  /// The scan plan ("chunked:32"); empty for sequential variants.
  std::string plan;
  /// The contents of a vector: "lanes" (samples), "units" (hidden units of one sample) or "chunks"
  /// (time chunks in chains, hidden units elsewhere). Device programs use "blocks": one thread
  /// block per sample.
  std::string mapping = "lanes";
};

/// An operation checked for NaNs. Operations are listed in execution order.
struct TracedNode {
  /// The ONNX node and its operator; both empty for the loss.
  std::string name, op;
  bool isBackward = false;
  bool isInLoop = false;
  /// Operations of the same loop share a group.
  int64_t group = 0;
};

struct Model {
  std::string version, source, target, optimizer;
  std::vector<std::string> symbols;
  /// By symbol.
  std::vector<int64_t> minSizes;
  std::vector<ArrayInfo> inputs, outputs;
  /// Never empty.
  std::vector<LossInfo> losses;
  /// Positions with this target have weight zero.
  std::optional<int64_t> ignoreIndex;
  /// Factors for position weights by target class; empty if all are one.
  std::vector<float> classWeights;
  /// For each layout, whether the results for a sample depend on other samples of the batch.
  std::vector<bool> mixingLayouts;
  size_t layout = 0;
  std::vector<ParameterInfo> parameters;
  std::vector<VariantInfo> variants;
  /// The tensor core input precision in GPU programs: `fp32`, `tf32` or `bf16`.
  std::string precision;
  /// GPU programs: the chains of a step, for predicting its time.
  std::vector<cost::ChainCost> deviceChains;
  /// CPU programs: the chains of a step, for ruling out scans that cannot be faster.
  std::vector<cost::HostChain> hostChains;
  /// The compile-time limit, in bytes, for residuals that time loops keep; 0 for no limit.
  int64_t memoryLimit = 0;
  int64_t optimizerStates = 0;
  /// Default hyperparameters: lr, weight_decay, beta1 (also the momentum or rmsprop constant),
  /// beta2, eps.
  std::map<std::string, double> hyper;
  /// Floating-point operations of a training step per sample and time step.
  int64_t flopsPerPosition = 0;
  /// Argument names by compiled function.
  std::map<std::string, std::vector<std::string>> functions;
  /// Functions that report when gradients are final (in programs for several ranks): the parameters
  /// with gradients, in order of first use.
  std::map<std::string, std::vector<std::string>> firstUses;
  /// The nodes traced by `nans.step` and `nans.grad`, under the keys `step` and `grad`. Empty
  /// without `--check-nan`.
  std::map<std::string, std::vector<TracedNode>> tracedNodes;
  /// Steps compute batch statistics over the samples of all ranks.
  bool sharesStatistics = false;
  /// For each loop whose cotangents can be scanned over the time shards of ranks, the total size of
  /// its states.
  std::vector<int64_t> shardScans;
  /// The number of pipeline ranks (0 if there is no pipeline) and the stages of a step.
  int64_t pipelineRanks = 0;
  std::vector<StageInfo> stages;
  /// The stages are interlocked modules, in the order of their losses.
  bool areModules = false;
  /// Stages compute parameter gradients separately from cotangents.
  bool splitsBackward = false;

  /// "[T, 16, 1]"
  std::string shapeText(const std::vector<Extent> &shape) const;
  std::string extentText(const Extent &extent) const;
  /// Throws Error if a symbol is unknown.
  std::vector<int64_t> extents(const std::vector<Extent> &shape, const Symbols &symbols) const;
  /// Returns the array passed as function argument `argument`, or null for parameters and scalars.
  const ArrayInfo *arrayOf(const std::string &argument) const;
  /// The constant size of the inputs' batch or time axis, if it is fixed.
  std::optional<int64_t> fixedSize(std::optional<int64_t> ArrayInfo::*axis) const;
  /// A stream has carried states as inputs and outputs.
  bool isStream() const;
  /// Returns true if an input can be sliced into batches.
  bool hasSamples() const;
  bool mixesSamples() const { return mixingLayouts[layout]; }
  /// The suffix of array and result names of a loss: `.OUTPUT` if there are several losses,
  /// otherwise empty.
  std::string suffixOf(const LossInfo &loss) const;
  /// The only loss with class targets; null if there is none or more than one.
  const LossInfo *classLoss() const;
  /// "cross-entropy, mse", and the names of their outputs.
  std::string lossText() const;
  std::string lossOutputs() const;
  bool hasFunction(const std::string &name) const { return functions.count(name) != 0; }
};

/// `onnxSize` bounds the parameters' offsets.
Model parseModel(const std::string &json, uint64_t onnxSize);

/// Selects the first layout that satisfies every "NAME:AXIS" of --batch-axis for inputs, outputs
/// and `target`.
void setBatchAxes(Model &model, const std::vector<std::string> &assignments);

/// Throws Error if no input has a batch axis, or if a target has none although its output does.
void requireSamples(const Model &model);

/// Binds the symbols in the shape of array `info` to the extents in `found`. Returns a description
/// of the mismatch, or an empty string. `origin[symbol]` names the array that bound each symbol.
std::string bindShape(const Model &model, const ArrayInfo &info, const std::vector<int64_t> &found,
                      Symbols &symbols, std::vector<std::string> &origin);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_MODEL_H
