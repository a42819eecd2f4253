//===- CompileOptions.cpp - validate options of the compiler --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/CompileOptions.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/Program/Losses.h"
#include "bppsa/Program/Optimizers.h"
#include "bppsa/Simulator/Placement.h"
#include "bppsa/Support/BackwardOrder.h"
#include "bppsa/Support/BatchAxes.h"
#include "bppsa/Target/GPUObject.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;
using program::LossKind;

/// Maximum number of stages; no model has more layers than this.
static constexpr int64_t kMaxStages = 1024;

namespace {
class Validator {
public:
  explicit Validator(const CompileOptions &options) : options(options) {}

  void checkTraining();
  void checkLosses();
  void checkClassOptions();
  void checkSchedule();
  void checkCarriedOrder();
  void checkStreams();
  void checkTarget();
  void checkTimeShards();
  void checkShardScans();
  void checkDistributed();
  void checkPlacement();
  void checkPipeline();
  void checkStageLosses();
  void checkNumbers();

  std::vector<std::string> mistakes;

private:
  void require(bool holds, const Twine &mistake) {
    if (!holds)
      mistakes.push_back(mistake.str());
  }
  void requireWord(StringRef option, StringRef value, ArrayRef<StringRef> accepted) {
    require(llvm::is_contained(accepted, value),
            option + " must be " + llvm::join(accepted.drop_back(), ", ") + " or " +
                accepted.back() + ", found '" + value + "'");
  }
  template <typename Table>
  void requireName(StringRef option, StringRef value, const Table &table) {
    require(program::findNamed(table, value),
            option + " must be " + program::listNames(table, "or") + ", found '" + value + "'");
  }

  const CompileOptions &options;
};
} // namespace

static bool isPlan(StringRef text) {
  if (text == "auto")
    return true;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<BPPSADialect>();
  return static_cast<bool>(PlanAttr::fromString(&context, text));
}

void Validator::checkLosses() {
  const TrainingOptions &training = options.training;
  for (const std::string &loss : training.losses)
    requireName("--loss", loss, program::kLosses);
  size_t outputs = std::max<size_t>(training.lossOn.size(), 1);
  require(!training.hasLoss(LossKind::VJP) ||
              (training.losses.size() == 1 && training.lossWeights.empty()),
          "--loss=vjp cannot be combined with another loss or with --loss-weights");
  auto count = [](size_t number) { return Twine(number); };
  require(training.losses.size() == 1 || training.losses.size() == outputs,
          "--loss must be one word or one for each of the " + count(outputs) +
              " outputs of --loss-on, found " + count(training.losses.size()));
  require(training.lossWeights.empty() || training.lossOn.size() > 1,
          "--loss-weights needs several outputs in --loss-on");
  require(training.lossWeights.empty() || training.lossWeights.size() == outputs,
          "--loss-weights must be one number for each of the " + count(outputs) +
              " outputs of --loss-on, found " + count(training.lossWeights.size()));
  require(llvm::all_of(training.lossWeights,
                       [](double weight) { return std::isfinite(weight) && weight >= 0; }) &&
              (training.lossWeights.empty() ||
               llvm::any_of(training.lossWeights, [](double weight) { return weight != 0; })),
          "--loss-weights must be finite, at least 0 and not all 0");
  for (auto [i, name] : llvm::enumerate(training.lossOn))
    require(!llvm::is_contained(ArrayRef(training.lossOn).take_front(i), name),
            "--loss-on must name each output once, found '" + name + "' twice");
}

void Validator::checkSchedule() {
  const TrainingOptions &training = options.training;
  require(training.interlock.value_or(1) >= 1,
          "--interlock must be at least 1, found " + Twine(training.interlock.value_or(1)));
  require(!training.interlock || !training.hasLoss(LossKind::VJP),
          "--interlock needs losses of modules, found --loss=vjp");
  require(training.interlock || training.interlockCombine.empty(),
          "--interlock-combine needs --interlock");
  if (!training.interlockCombine.empty())
    requireWord("--interlock-combine", training.interlockCombine, {"last", "sum", "mean"});
  std::optional<BackwardOrder> order = BackwardOrder::parse(training.backwardOrder);
  require(training.backwardOrder.empty() || order,
          "--backward-order must be in-order, reverse-first:K (K >= 0), reverse-first:auto or "
          "defer:L:J[,L:J...] (1 <= J < L, or next), found '" +
              training.backwardOrder + "'");
  if (order && order->carriesAny())
    checkCarriedOrder();
  if (!training.backwardStreams.empty())
    checkStreams();
}

void Validator::checkStreams() {
  const TrainingOptions &training = options.training;
  requireWord("--backward-streams", training.backwardStreams, {"1", "2", "2:joint"});
  if (training.backwardStreams == "1")
    return;
  StringRef option = "--backward-streams=";
  require(training.target == TargetKind::CUDA,
          option + training.backwardStreams + " needs --target=cuda; CPUs have no streams");
  require(training.backwardOrder.empty() || training.backwardOrder == "in-order",
          option + training.backwardStreams + " cannot be combined with --backward-order=" +
              training.backwardOrder + ", as it says when gradients of parameters are formed, too");
  require(!training.hasPullbacks(),
          option + training.backwardStreams +
              " cannot be combined with --loss=vjp, whose backward pass is a separate call");
}

/// Checks that steps that defer gradients to the next step run in one process on a CPU.
void Validator::checkCarriedOrder() {
  require(options.training.target == TargetKind::CPU,
          "--backward-order=defer:L:next needs --target=cpu");
  require(options.distributed.empty(),
          "--backward-order=defer:L:next cannot be combined with --distributed: ranks would wait "
          "for late gradients; use reverse-first:K");
  require(!options.training.hasPullbacks(), "--backward-order=defer:L:next cannot be combined with "
                                            "--loss=vjp, whose caller updates parameters");
}

void Validator::checkClassOptions() {
  const TrainingOptions &training = options.training;
  bool isCrossEntropy = training.hasLoss(LossKind::CrossEntropy);
  bool hasClasses = isCrossEntropy || training.hasLoss(LossKind::NLL);
  std::string found = llvm::join(training.losses, ",");
  require(hasClasses || !training.ignoreIndex,
          "--ignore-index needs --loss=cross-entropy or nll, found '" + found + "'");
  require(hasClasses || training.classWeights.empty(),
          "--class-weights needs --loss=cross-entropy or nll, found '" + found + "'");
  require(isCrossEntropy || training.labelSmoothing == 0,
          "--label-smoothing needs --loss=cross-entropy, found '" + found + "'");
  require(training.labelSmoothing >= 0 && training.labelSmoothing < 1,
          "--label-smoothing must be at least 0 and below 1, found " +
              std::to_string(training.labelSmoothing));
  require(llvm::all_of(training.classWeights,
                       [](float weight) { return std::isfinite(weight) && weight >= 0; }),
          "--class-weights must be finite and at least 0");
  require(training.classWeights.empty() ||
              llvm::any_of(training.classWeights, [](float weight) { return weight != 0; }),
          "--class-weights must not all be 0");
}

void Validator::checkTraining() {
  const TrainingOptions &training = options.training;
  checkLosses();
  checkClassOptions();
  checkSchedule();
  requireName("--optimizer", training.optimizer, program::kOptimizers);
  require(isPlan(training.scan),
          "--scan must be auto, linear, blelloch, hybrid:L (L >= 0) or chunked[:C] (C >= 1), "
          "found '" +
              training.scan + "'");
  requireWord("--jacobians", training.jacobians, {"structured", "dense"});
  require(training.jacobians != "dense" || training.hasLayerLinks(),
          "--jacobians=dense needs --backward=scan or --scan=PLAN, which form jacobians");
  require(training.getJacobianLimit() >= 0,
          "--memory-limit must be at least 0, found " + Twine(training.getJacobianLimit()));
  for (const std::string &text : options.batchAxes)
    require(BatchAxisRequest::parse(text).has_value(),
            "--batch-axis must be NAME:AXIS, found '" + text + "'");
  for (const std::string &text : options.dynamicAxes)
    require(BatchAxisRequest::parse(text).has_value(),
            "--dynamic must be NAME:AXIS, found '" + text + "'");
  require(options.dynamicAxes.empty() || options.carries.empty(),
          "--dynamic cannot be combined with --carry; use --batch-axis and --step-axis to describe "
          "the axes of a step");
  for (const std::string &text : options.freezeRows)
    require(FrozenRow::parse(text).has_value(),
            "--freeze-rows must be NAME:ROW, found '" + text + "'");
  for (const std::string &text : options.stepAxes)
    require(BatchAxisRequest::parse(text).has_value(),
            "--step-axis must be NAME:AXIS, found '" + text + "'");
  for (const std::string &text : options.bindings)
    require(BindRequest::parse(text).has_value(),
            "--bind must be NAME=VALUE or NAME=VALUE,VALUE,..., found '" + text + "'");
}

void Validator::checkTarget() {
  bool isCUDA = options.training.target == TargetKind::CUDA;
  require(isCUDA || !options.emulate, "--emulate needs --target=cuda");
  require(isCUDA || options.gpuArchitectures.empty(), "--gpu-arch needs --target=cuda");
  StringRef precision = options.training.precision;
  if (!precision.empty())
    requireWord("--precision", precision, {"fp32", "tf32", "bf16"});
  require(isCUDA || precision.empty(),
          "--precision needs --target=cuda; programs for CPUs compute in float32");
  require(isCUDA || options.emit != EmitKind::PTX, "--emit=ptx needs --target=cuda");
  require(!isCUDA || options.training.jacobians != "dense", "--jacobians=dense needs --target=cpu");
  require(!isCUDA || !options.training.tracesNaNs,
          "--check-nan needs --target=cpu; compile the model for the CPU to find the node");
  require(!isCUDA || options.emit != EmitKind::Assembly,
          "--emit=asm is for --target=cpu; use --emit=ptx");
  require(llvm::all_of(options.gpuArchitectures, isGPUArchitecture),
          "--gpu-arch must be a list like sm_80,sm_90 of architectures from sm_80 on, found '" +
              llvm::join(options.gpuArchitectures, ",") + "'");
}

void Validator::checkPlacement() {
  const TrainingOptions &training = options.training;
  require(training.splitBackward ||
              (training.pipelinePlacement == "neighbours" && !training.pipelineChunks),
          "--pipeline-placement and --pipeline-chunks need --split-backward, without which stages "
          "of one rank wait for each other");
  std::optional<schedule::PlacementKind> kind =
      schedule::parsePlacementKind(training.pipelinePlacement);
  require(kind.has_value(), "--pipeline-placement must be neighbours, v or modulo:G, found '" +
                                training.pipelinePlacement + "'");
  if (!training.pipelineRanks || !kind)
    return;
  int64_t ranks = *training.pipelineRanks;
  int64_t chunks = training.pipelineChunks.value_or(schedule::getDefaultNumStages(*kind));
  require(ranks >= 2 && ranks <= kMaxStages,
          "--pipeline must be 2 to " + Twine(kMaxStages) + ", found " + Twine(ranks));
  bool isV = kind->name == schedule::PlacementKind::Name::V;
  std::string taken = isV ? "2" : "a positive multiple of " + std::to_string(kind->group);
  require(schedule::isValidNumStages(*kind, chunks),
          "--pipeline-chunks must be " + Twine(taken) + " with --pipeline-placement=" +
              training.pipelinePlacement + ", found " + Twine(chunks));
  if (ranks < 1)
    return;
  require(chunks <= kMaxStages / ranks, "--pipeline-chunks makes " + Twine(chunks) +
                                            " stages on each of " + Twine(ranks) +
                                            " ranks, expected " + Twine(kMaxStages) + " in all");
}

void Validator::checkStageLosses() {
  const TrainingOptions &training = options.training;
  auto losses = static_cast<int64_t>(std::max(training.losses.size(), training.lossOn.size()));
  if (!training.interlock) {
    require(losses == 1,
            "--pipeline needs one loss, which the last stage computes, found " + Twine(losses));
    return;
  }
  require(losses == *training.pipelineRanks,
          "--pipeline of interlocked modules has a stage for each of them: --loss-on names " +
              Twine(losses) + ", found --pipeline=" + Twine(*training.pipelineRanks));
  require(!training.splitBackward, "--split-backward cannot be combined with --interlock, whose "
                                   "modules already send cotangents first");
}

void Validator::checkPipeline() {
  const TrainingOptions &training = options.training;
  require(training.pipelineRanks || !training.splitBackward, "--split-backward needs --pipeline");
  checkPlacement();
  if (!training.pipelineRanks)
    return;
  require(!options.distributed.empty(), "--pipeline needs --distributed=mpi");
  require(training.target == TargetKind::CPU,
          "--pipeline needs --target=cpu: stages exchange arrays in the host's memory");
  require(training.backward != BackwardKind::Scan && training.scan == "auto",
          "--pipeline needs sequential backward passes; remove --backward=scan and --scan");
  checkStageLosses();
  require(
      options.carries.empty(),
      "--pipeline cannot be combined with --carry, which runs all layers of a time step together");
  require(training.backwardOrder.empty(), "--pipeline cannot be combined with --backward-order");
  require(!training.syncBatchNorm,
          "--pipeline cannot be combined with --sync-bn: a stage already sees all samples");
}

void Validator::checkTimeShards() {
  require(!options.distributed.empty(), "--shard-time needs --distributed=mpi");
  require(options.training.target == TargetKind::CPU,
          "--shard-time needs --target=cpu: the run time exchanges states in the host's memory");
  require(!options.training.interlock, "--shard-time cannot be combined with --interlock, which "
                                       "needs the loss of each module separately");
  require(!options.training.syncBatchNorm, "--shard-time cannot be combined with --sync-bn: ranks "
                                           "divide the time steps, not the samples");
}

void Validator::checkShardScans() {
  const TrainingOptions &training = options.training;
  require(training.shardTime, "--scan-shards needs --shard-time");
  require(options.carries.empty(), "--scan-shards cannot be combined with --carry, whose states "
                                   "move between ranks after each step");
  require(training.getLoopLimit() == 0, "--scan-shards cannot be combined with --memory-limit: a "
                                        "scan over ranks keeps the states of all steps");
}

void Validator::checkDistributed() {
  checkPipeline();
  if (options.training.syncBatchNorm) {
    require(!options.distributed.empty(), "--sync-bn needs --distributed=mpi");
    require(options.training.target == TargetKind::CPU,
            "--sync-bn needs --target=cpu: the run time exchanges statistics in the host's memory");
    require(!options.training.interlock, "--sync-bn cannot be combined with --interlock, which "
                                         "needs the loss of each module separately");
  }
  if (options.training.shardTime)
    checkTimeShards();
  if (options.training.scanShards)
    checkShardScans();
  if (options.distributed.empty())
    return;
  require(options.distributed == "mpi",
          "--distributed must be mpi, found '" + options.distributed + "'");
  require(
      !options.training.tracesNaNs,
      "--distributed=mpi cannot be combined with --check-nan; compile the model for one process "
      "to find the node");
  require(options.emit != EmitKind::Shared,
          "--distributed=mpi is for programs, found --emit=shared");
  require(!options.training.hasLoss(LossKind::VJP),
          "--distributed=mpi needs a loss that is a mean over samples, found --loss=vjp");
#ifndef BPPSA_HAS_MPI
  require(false, "--distributed=mpi: this compiler was built without Open MPI; install "
                 "libopenmpi-dev and build it again");
#endif
}

void Validator::checkNumbers() {
  require(options.optLevel <= 3,
          "-O must be followed by 0, 1, 2 or 3, found " + Twine(options.optLevel));
  require(options.reportLength >= 1 && options.reportBatch >= 1,
          "--report-length and --report-batch must be at least 1");
}

std::vector<std::string> bppsa::validate(const CompileOptions &options) {
  Validator validator(options);
  validator.checkTraining();
  validator.checkTarget();
  validator.checkDistributed();
  validator.checkNumbers();
  return std::move(validator.mistakes);
}
