//===- Keys.h - keys of program descriptions --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A compiled program contains a JSON description of its model, written by the compiler and read by
// the run time. docs/Reference/ProgramDescription.md lists the keys of each object.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_KEYS_H
#define BPPSA_PROGRAM_KEYS_H

#include <cstdint>

namespace bppsa::program {

/// The version of the schema. Increment it if a reader of the previous version would misread the
/// description or lack required information.
inline constexpr int64_t kSchemaVersion = 1;

namespace keys {
// The program.
inline constexpr char kSchema[] = "schema";
inline constexpr char kVersion[] = "version";
inline constexpr char kSource[] = "source";
inline constexpr char kTarget[] = "target";
inline constexpr char kLosses[] = "losses";
inline constexpr char kOptimizer[] = "optimizer";
inline constexpr char kSymbols[] = "symbols";
inline constexpr char kMinSizes[] = "least_sizes";
inline constexpr char kInputs[] = "inputs";
inline constexpr char kOutputs[] = "outputs";
inline constexpr char kMixingLayouts[] = "mixing_layouts";
inline constexpr char kParameters[] = "parameters";
inline constexpr char kVariants[] = "variants";
inline constexpr char kMemoryLimit[] = "memory_limit";
inline constexpr char kRolledUp[] = "rolled_up";
inline constexpr char kOptimizerStates[] = "optimizer_states";
inline constexpr char kHyper[] = "hyper";
inline constexpr char kFlopsPerPosition[] = "flops_per_position";
inline constexpr char kFunctions[] = "functions";
inline constexpr char kFirstUses[] = "first_uses";
inline constexpr char kTracedNodes[] = "traced_nodes";
inline constexpr char kPipeline[] = "pipeline";
inline constexpr char kStages[] = "stages";
inline constexpr char kModules[] = "modules";
inline constexpr char kSplitBackward[] = "split_backward";
inline constexpr char kShardScans[] = "shard_scans";
inline constexpr char kSyncBn[] = "sync_bn";
inline constexpr char kIgnoreIndex[] = "ignore_index";
inline constexpr char kClassWeights[] = "class_weights";
inline constexpr char kLabelSmoothing[] = "label_smoothing";
inline constexpr char kPrecision[] = "precision";
inline constexpr char kDeviceChains[] = "device_chains";
inline constexpr char kHostChains[] = "host_chains";
inline constexpr char kClassification[] = "classification";
inline constexpr char kConstantWeights[] = "constant_weights";
// Losses.
inline constexpr char kLoss[] = "loss";
inline constexpr char kOutput[] = "output";
inline constexpr char kFactor[] = "factor";
inline constexpr char kTargetArray[] = "target_array";
// Arrays.
inline constexpr char kName[] = "name";
inline constexpr char kDtype[] = "dtype";
inline constexpr char kShape[] = "shape";
inline constexpr char kBatchAxes[] = "batch_axes";
inline constexpr char kTimeAxis[] = "time_axis";
inline constexpr char kCarried[] = "carried";
inline constexpr char kGradient[] = "gradient";
inline constexpr char kIndexBounds[] = "index_bounds";
inline constexpr char kLengthBounds[] = "length_bounds";
inline constexpr char kClasses[] = "classes";
// Parameters.
inline constexpr char kTrained[] = "trained";
inline constexpr char kOffset[] = "offset";
inline constexpr char kStride[] = "stride";
inline constexpr char kStatistic[] = "statistic";
inline constexpr char kPruned[] = "pruned";
inline constexpr char kFrozenRows[] = "frozen_rows";
// Variants, and the order of their backward passes.
inline constexpr char kBackward[] = "backward";
inline constexpr char kMapping[] = "mapping";
inline constexpr char kPlan[] = "plan";
inline constexpr char kBackwardOrder[] = "backward_order";
inline constexpr char kOrder[] = "order";
inline constexpr char kPeakBytes[] = "peak_bytes";
inline constexpr char kInOrderPeakBytes[] = "in_order_peak_bytes";
// Chains of time loops, for time predictions.
inline constexpr char kRows[] = "rows";
inline constexpr char kColumns[] = "columns";
inline constexpr char kHasOffset[] = "has_offset";
inline constexpr char kSavedBytes[] = "saved_bytes";
inline constexpr char kEmittedBytes[] = "emitted_bytes";
inline constexpr char kCycles[] = "cycles";
inline constexpr char kInstructions[] = "instructions";
inline constexpr char kWarps[] = "warps";
inline constexpr char kResident[] = "resident";
inline constexpr char kLinkOperations[] = "link_operations";
inline constexpr char kColumnOperations[] = "column_operations";
inline constexpr char kDepth[] = "depth";
inline constexpr char kUnitOperations[] = "unit_operations";
inline constexpr char kUnitDepth[] = "unit_depth";
inline constexpr char kBytes[] = "bytes";
// Pipeline stages, rolled-up loops and nodes checked for NaNs.
inline constexpr char kRank[] = "rank";
inline constexpr char kForward[] = "forward";
inline constexpr char kCotangents[] = "cotangents";
inline constexpr char kReads[] = "reads";
inline constexpr char kSteps[] = "steps";
inline constexpr char kNodes[] = "nodes";
inline constexpr char kNode[] = "node";
inline constexpr char kOp[] = "op";
inline constexpr char kInLoop[] = "in_loop";
inline constexpr char kGroup[] = "group";
// The classification of an initializer.
inline constexpr char kKind[] = "kind";
inline constexpr char kReason[] = "reason";
} // namespace keys

} // namespace bppsa::program

#endif // BPPSA_PROGRAM_KEYS_H
