//===- Model.h - Description of a compiled model --------------------------------===//
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

/// An extent: a number, a symbol, or `op` (+ * floordiv ceildiv mod) of two extents.
struct Extent {
  enum class Kind { Number, Symbol, Operation };
  Kind kind = Kind::Number;
  int64_t number = 0;
  /// Position in Model::symbols.
  size_t symbol = 0;
  std::string op;
  std::vector<Extent> operands;
};

/// Values of the model's symbols, by position in Model::symbols; empty: not known yet.
using Symbols = std::vector<std::optional<int64_t>>;

/// The value of `extent`, or nothing where a symbol is not known.
std::optional<int64_t> evaluate(const Extent &extent, const Symbols &symbols);

/// A graph input, a graph output, or the array of the loss.
struct ArrayInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Extent> shape;
  /// The axis that carries samples, in the layout that was chosen.
  std::optional<int64_t> batchAxis;
  std::optional<int64_t> timeAxis;
  BatchAxes batchAxes;
  /// Graph inputs: `grad` computes the gradient of the loss with respect to it.
  bool gradient = false;
  /// In a stream, a state: for an input the output that holds it after the last step, for an output
  /// the input that holds it before the first one, where it is zero if a file lacks it.
  std::string carried = {};
  /// The loss's array: its values are class indices below this number.
  std::optional<int64_t> classes;
  /// Graph inputs: their values are indices into dimensions of these sizes, -size to size - 1.
  std::vector<Extent> indexBounds;
  /// Graph inputs: their values are lengths of samples, 1 to each of these numbers of steps.
  std::vector<Extent> lengthBounds;
};

/// A loss of an output, and the arrays of a file that it reads.
struct LossInfo {
  /// `cross-entropy`, `mse`, ...
  std::string kind;
  /// The graph output.
  std::string output;
  /// What it is multiplied by in the sum of all losses.
  double factor = 1;
  /// `target`, or `target.OUTPUT` where there are several losses.
  std::optional<ArrayInfo> target;
  /// The weights of its positions, where compiled functions take them: `weight` or `weight.OUTPUT`.
  std::optional<ArrayInfo> weight;
  /// Whether the array of that name of a file holds them: no graph input has the name.
  bool readsWeight = false;

  bool hasClasses() const { return target && target->classes; }
};

struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  bool trained = true;
  /// A running statistic: not trained, but steps compute its next value.
  bool statistic = false;
  bool changes() const { return trained || statistic; }
  /// Whether elements that are zero in the ONNX file stay zero.
  bool pruned = false;
  /// Positions along the first axis whose elements are not trained.
  std::vector<int64_t> frozenRows = {};
  /// Where the values are in the ONNX file: byte offset of the first, bytes from one to the next.
  uint64_t offset = 0, stride = 4;
};

/// A stage of a pipeline: its rank, and its floating-point operations.
struct StageInfo {
  int rank;
  double forward, cotangents, parameters;
  /// Trained parameters that it reads and another stage updates.
  std::vector<std::string> reads = {};
};

/// One way to compute the gradients.
struct VariantInfo {
  std::string name;
  /// "sequential" or "scan"
  std::string backward;
  /// The scan's plan ("chunked:32"); empty for sequential.
  std::string plan;
  /// What a vector holds: "lanes" (samples), "units" (hidden units of one sample) or "chunks" (of
  /// time, in chains; elsewhere units). On a device "blocks": a sample has a block of threads.
  std::string mapping = "lanes";
};

/// An op in which a function looks for NaNs, in the order in which they run.
struct TracedNode {
  /// The node of the model and its operator; empty for the loss.
  std::string name, op;
  bool isBackward = false;
  /// It runs in the steps of a loop.
  bool isInLoop = false;
  /// Ops of one loop have the same group.
  int64_t group = 0;
};

struct Model {
  std::string version, source, target, optimizer;
  std::vector<std::string> symbols;
  /// The least value of each symbol, by position.
  std::vector<int64_t> minSizes;
  std::vector<ArrayInfo> inputs, outputs;
  /// At least one.
  std::vector<LossInfo> losses;
  /// Positions with this target have no weight.
  std::optional<int64_t> ignoreIndex;
  /// By which the weight of a position with this target is multiplied; empty for ones.
  std::vector<float> classWeights;
  /// Whether results for a sample depend on other samples of the batch, in each layout.
  std::vector<bool> mixingLayouts;
  /// The layout that was chosen.
  size_t layout = 0;
  std::vector<ParameterInfo> parameters;
  std::vector<VariantInfo> variants;
  /// What tensor cores multiply in a program for GPUs: `fp32`, `tf32` or `bf16`.
  std::string precision;
  /// The chains of a step of a program for GPUs, for predictions of its time.
  std::vector<cost::ChainCost> deviceChains;
  /// The chains of a step of a program for CPUs, which rule out scans that cannot win.
  std::vector<cost::HostChain> hostChains;
  /// Bytes that loops over time may keep of their steps, as the program was compiled; 0 for any.
  int64_t memoryLimit = 0;
  int64_t optimizerStates = 0;
  /// Default hyperparameters: lr, weight_decay, beta1 (the momentum's or rmsprop's constant where
  /// that is the optimizer), beta2, eps.
  std::map<std::string, double> hyper;
  /// Floating-point operations of a training step on one sample and time step.
  int64_t flopsPerPosition = 0;
  /// What each argument of a compiled function is, by function.
  std::map<std::string, std::vector<std::string>> functions;
  /// Of functions that tell when gradients are final, in programs for several ranks: the parameters
  /// with gradients in the order in which they are first needed.
  std::map<std::string, std::vector<std::string>> firstUses;
  /// Of `nans.step` and `nans.grad`, by `step` and `grad`; empty without `--check-nan`.
  std::map<std::string, std::vector<TracedNode>> tracedNodes;
  /// Whether steps take the statistics of the samples of all ranks.
  bool sharesStatistics = false;
  /// Values of all states of each loop whose cotangents ranks with shares of the steps can scan.
  std::vector<int64_t> shardScans;
  /// The ranks of a pipeline, 0 for none, and the stages that steps are cut into.
  int64_t pipelineRanks = 0;
  std::vector<StageInfo> stages;
  /// Whether these are interlocked modules, in the order of their losses.
  bool areModules = false;
  /// Whether these form gradients of parameters apart from cotangents.
  bool splitsBackward = false;

  /// "[T, 16, 1]"
  std::string shapeText(const std::vector<Extent> &shape) const;
  std::string extentText(const Extent &extent) const;
  /// The extents of `shape`; throws Error where a symbol is not known.
  std::vector<int64_t> extents(const std::vector<Extent> &shape, const Symbols &symbols) const;
  /// The array that argument `argument` of a function is, where its shape is not that of a
  /// parameter or a scalar; else null.
  const ArrayInfo *arrayOf(const std::string &argument) const;
  /// The size of the batch or time axis of the inputs, where it is a number.
  std::optional<int64_t> fixedSize(std::optional<int64_t> ArrayInfo::*axis) const;
  /// Whether a step is that of a stream, with states as inputs and outputs.
  bool isStream() const;
  /// Whether an input is sliced into batches.
  bool hasSamples() const;
  bool mixesSamples() const { return mixingLayouts[layout]; }
  /// What is appended to the names of the arrays and results of a loss: `.OUTPUT` where there are
  /// several.
  std::string suffixOf(const LossInfo &loss) const;
  /// The one loss whose target holds classes; null where there is none or several.
  const LossInfo *classLoss() const;
  /// "cross-entropy, mse", and the names of their outputs.
  std::string lossText() const;
  std::string lossOutputs() const;
  bool hasFunction(const std::string &name) const { return functions.count(name) != 0; }
};

/// Reads the description that is part of the program; `onnxSize` bounds the parameters' offsets.
Model parseModel(const std::string &json, uint64_t onnxSize);

/// Chooses the first layout in which inputs, outputs and `target` carry samples along the axes
/// that each "NAME:AXIS" of --batch-axis says.
void setBatchAxes(Model &model, const std::vector<std::string> &assignments);

/// Throws Error where no input has an axis to slice into batches, or the target has none that goes
/// with it.
void requireSamples(const Model &model);

/// Binds the symbols in the shape of array `info` to the extents found. On a mismatch returns what
/// is wrong, else an empty text. `origin[symbol]` says which array a symbol got its value from.
std::string bindShape(const Model &model, const ArrayInfo &info, const std::vector<int64_t> &found,
                      Symbols &symbols, std::vector<std::string> &origin);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_MODEL_H
