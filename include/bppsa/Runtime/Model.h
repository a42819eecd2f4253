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

/// A constant, a symbol, or `op` (+ * floordiv ceildiv mod) applied to two extents.
struct Extent {
  enum class Kind { Number, Symbol, Operation };
  Kind kind = Kind::Number;
  int64_t number = 0;
  size_t symbol = 0;
  std::string op;
  std::vector<Extent> operands;
};

/// Indexed like Model::symbols; nullopt if not yet known.
using Symbols = std::vector<std::optional<int64_t>>;

std::optional<int64_t> evaluate(const Extent &extent, const Symbols &symbols);

/// A graph input, a graph output, or an array that a loss reads.
struct ArrayInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Extent> shape;
  std::optional<int64_t> batchAxis;
  std::optional<int64_t> timeAxis;
  BatchAxes batchAxes;
  /// For graph inputs: `grad` computes their gradient.
  bool gradient = false;
  /// For an input, the output that holds its final state; for an output, the input that holds its
  /// initial state.
  std::string carried = {};
  /// For targets: the values are class indices below this count.
  std::optional<int64_t> classes;
  /// For graph inputs: the values index dimensions of these sizes, from -size to size - 1.
  std::vector<Extent> indexBounds;
  /// For graph inputs: the values are sample lengths, from 1 to each of these extents.
  std::vector<Extent> lengthBounds;
};

struct LossInfo {
  std::string kind;
  std::string output;
  double factor = 1;
  /// Named `target`, or `target.OUTPUT` if there are several losses.
  std::optional<ArrayInfo> target;
  std::optional<ArrayInfo> weight;
  /// False if a graph input has the same name.
  bool readsWeight = false;

  bool hasClasses() const { return target && target->classes; }
};

struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  bool trained = true;
  /// Running statistics are recomputed by each step instead of trained.
  bool statistic = false;
  bool changes() const { return trained || statistic; }
  bool pruned = false;
  /// Indices along the first axis that are not trained.
  std::vector<int64_t> frozenRows = {};
  /// The offset of the first value in the ONNX file, and the bytes between values.
  uint64_t offset = 0, stride = 4;
};

struct StageInfo {
  int rank;
  double forward, cotangents, parameters;
  /// Parameters of other stages that this stage reads.
  std::vector<std::string> reads = {};
};

struct VariantInfo {
  std::string name;
  std::string backward;
  std::string plan;
  /// "lanes" (samples per vector), "units" (hidden units of a sample) or "chunks" (of time). Device
  /// programs use "blocks" (a sample per thread block).
  std::string mapping = "lanes";
};

/// An operation checked for NaNs, in execution order.
struct TracedNode {
  /// Both empty for the loss.
  std::string name, op;
  bool isBackward = false;
  bool isInLoop = false;
  int64_t group = 0;
};

struct Model {
  std::string version, source, target, optimizer;
  std::vector<std::string> symbols;
  std::vector<int64_t> minSizes;
  std::vector<ArrayInfo> inputs, outputs;
  std::vector<LossInfo> losses;
  std::optional<int64_t> ignoreIndex;
  std::vector<float> classWeights;
  std::vector<bool> mixingLayouts;
  size_t layout = 0;
  std::vector<ParameterInfo> parameters;
  std::vector<VariantInfo> variants;
  /// `fp32`, `tf32` or `bf16`, for tensor core inputs in GPU programs.
  std::string precision;
  /// GPU programs use these costs to predict step times.
  std::vector<cost::ChainCost> deviceChains;
  /// CPU programs use these costs to rule out scans that cannot be faster.
  std::vector<cost::HostChain> hostChains;
  /// Bytes for residuals of time loops; 0 for no limit.
  int64_t memoryLimit = 0;
  int64_t optimizerStates = 0;
  /// beta1 is also the momentum or rmsprop constant.
  std::map<std::string, double> hyper;
  /// Floating-point operations of a training step, per sample and time step.
  int64_t flopsPerPosition = 0;
  std::map<std::string, std::vector<std::string>> functions;
  /// In programs for several ranks: the parameters with gradients of a function, in order of first
  /// use.
  std::map<std::string, std::vector<std::string>> firstUses;
  /// Nodes traced by `nans.step` and `nans.grad`; empty without `--check-nan`.
  std::map<std::string, std::vector<TracedNode>> tracedNodes;
  /// Batch statistics cover the samples of all ranks.
  bool sharesStatistics = false;
  /// The state size of each loop whose cotangents can be scanned over time shards.
  std::vector<int64_t> shardScans;
  int64_t pipelineRanks = 0;
  std::vector<StageInfo> stages;
  /// Stages are interlocked modules, in the order of their losses.
  bool areModules = false;
  /// Parameter gradients are separate from cotangents.
  bool splitsBackward = false;

  /// "[T, 16, 1]"
  std::string shapeText(const std::vector<Extent> &shape) const;
  std::string extentText(const Extent &extent) const;
  std::vector<int64_t> extents(const std::vector<Extent> &shape, const Symbols &symbols) const;
  /// Returns null for parameters and scalars.
  const ArrayInfo *arrayOf(const std::string &argument) const;
  std::optional<int64_t> fixedSize(std::optional<int64_t> ArrayInfo::*axis) const;
  /// Returns true if inputs and outputs have carried states.
  bool isStream() const;
  bool hasSamples() const;
  bool mixesSamples() const { return mixingLayouts[layout]; }
  /// Returns `.OUTPUT` if there are several losses, otherwise an empty string.
  std::string suffixOf(const LossInfo &loss) const;
  const LossInfo *classLoss() const;
  std::string lossText() const;
  std::string lossOutputs() const;
  bool hasFunction(const std::string &name) const { return functions.count(name) != 0; }
};

/// `onnxSize` bounds the parameters' offsets.
Model parseModel(const std::string &json, uint64_t onnxSize);

/// Selects the first layout that matches every "NAME:AXIS" of --batch-axis.
void setBatchAxes(Model &model, const std::vector<std::string> &assignments);

/// Throws Error if no input has a batch axis, or only a target lacks one.
void requireSamples(const Model &model);

/// Binds the symbols in the shape of `info`. Returns the mismatch or an empty string.
/// `origin[symbol]` names the array that bound each symbol.
std::string bindShape(const Model &model, const ArrayInfo &info, const std::vector<int64_t> &found,
                      Symbols &symbols, std::vector<std::string> &origin);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_MODEL_H
