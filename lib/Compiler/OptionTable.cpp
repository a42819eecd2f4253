//===- OptionTable.cpp - table of compiler options ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/OptionTable.h"
#include "bppsa/Support/NpyVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace bppsa;
using llvm::ArrayRef;
using llvm::StringRef;
using Mistake = std::optional<std::string>;
using Options = CompileOptions;
using Form = OptionForm;
using Group = OptionGroup;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename T>
static Mistake setWord(T &to, StringRef found, ArrayRef<std::pair<StringRef, T>> words) {
  std::string accepted;
  for (auto [number, word] : llvm::enumerate(words)) {
    if (word.first == found) {
      to = word.second;
      return std::nullopt;
    }
    bool isLast = number + 1 == words.size();
    accepted += (number == 0 ? "" : isLast ? " or " : ", ") + word.first.str();
  }
  return "must be " + accepted + ", found '" + found.str() + "'";
}

static Mistake setFlag(bool &to, StringRef found) {
  return setWord<bool>(to, found,
                       {{"", true}, {"true", true}, {"false", false}, {"1", true}, {"0", false}})
             ? Mistake("must be true or false, or have no value, found '" + found.str() + "'")
             : std::nullopt;
}

template <typename T> static Mistake setInteger(T &to, StringRef found) {
  int64_t number;
  if (found.getAsInteger(10, number))
    return "must be a whole number, found '" + found.str() + "'";
  to = number;
  return std::nullopt;
}

static Mistake setNumber(double &to, StringRef found) {
  if (found.getAsDouble(to))
    return "must be a number, found '" + found.str() + "'";
  return std::nullopt;
}

static void append(std::vector<std::string> &to, StringRef found) {
  for (StringRef part : llvm::split(found, ','))
    to.push_back(part.str());
}

static Mistake setText(std::string &to, StringRef found) {
  to = found.str();
  return std::nullopt;
}

/// Parses a whole number of bytes with an optional suffix K, M or G.
static Mistake setBytes(std::optional<int64_t> &to, StringRef found) {
  StringRef text = found;
  int64_t unit = 1, count;
  for (auto [letter, factor] : {std::pair("K", 10), std::pair("M", 20), std::pair("G", 30)})
    if (text.consume_back(letter))
      unit = int64_t(1) << factor;
  if (text.getAsInteger(10, count) || count < 0 || count > INT64_MAX / unit)
    return "must be a whole number of bytes, or one with K, M or G, found '" + found.str() + "'";
  to = count * unit;
  return std::nullopt;
}

static Mistake setEmitKind(Options &options, StringRef found) {
  return setWord<EmitKind>(options.emit, found,
                           {{"exe", EmitKind::Executable},
                            {"shared", EmitKind::Shared},
                            {"obj", EmitKind::Object},
                            {"mlir", EmitKind::MLIR},
                            {"llvm", EmitKind::LLVM},
                            {"asm", EmitKind::Assembly},
                            {"ptx", EmitKind::PTX},
                            {"report", EmitKind::Report},
                            {"initializers", EmitKind::Initializers}});
}

static Mistake setPhase(Options &options, StringRef found) {
  return setWord<Phase>(options.stopAfter, found,
                        {{"import", Phase::Import},
                         {"loss", Phase::Loss},
                         {"differentiate", Phase::Differentiate},
                         {"scan", Phase::Scan},
                         {"lower", Phase::Lower},
                         {"end", Phase::End}});
}

static Mistake setOptLevel(Options &options, StringRef found) {
  if (found.size() != 1 || found[0] < '0' || found[0] > '3')
    return "must be followed by 0, 1, 2 or 3, found '" + found.str() + "'";
  options.optLevel = found[0] - '0';
  return std::nullopt;
}

static Mistake setLosses(Options &options, StringRef found) {
  options.training.losses.clear();
  append(options.training.losses, found);
  return std::nullopt;
}

static Mistake setLossWeights(Options &options, StringRef found) {
  for (StringRef part : llvm::split(found, ',')) {
    double weight;
    if (Mistake mistake = setNumber(weight, part))
      return mistake;
    options.training.lossWeights.push_back(weight);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

#define SETTER(SET, FIELD)                                                                         \
  [](Options &o, StringRef found) -> Mistake { return SET(o.FIELD, found); }
#define ADDER(FIELD)                                                                               \
  [](Options &o, StringRef found) -> Mistake {                                                     \
    o.FIELD.push_back(found.str());                                                                \
    return std::nullopt;                                                                           \
  }
#define APPENDER(FIELD)                                                                            \
  [](Options &o, StringRef found) -> Mistake {                                                     \
    append(o.FIELD, found);                                                                        \
    return std::nullopt;                                                                           \
  }

static const OptionInfo kOptions[] = {
    {"batch-axis", Form::Repeated, Group::Model, "NAME:AXIS",
     "Sample axis of a graph input or output", ADDER(batchAxes)},
    {"bind", Form::Repeated, Group::Model, "NAME=VALUE",
     "Graph input that is a constant (a scalar or a comma-separated list), or symbolic dimension "
     "that is a number",
     ADDER(bindings)},
    {"carry", Form::Repeated, Group::Model, "IN:OUT",
     "The model is one step of a stream: graph output OUT is graph input IN of the next step",
     APPENDER(carries)},
    {"dynamic", Form::Repeated, Group::Model, "NAME:AXIS",
     "Axis of a graph input that takes any size, though the exporter fixed one",
     ADDER(dynamicAxes)},
    {"freeze", Form::Value, Group::Model, "REGEX", "Float initializers that are not trained",
     SETTER(setText, training.freeze)},
    {"freeze-rows", Form::Repeated, Group::Model, "NAME:ROW",
     "Row of an initializer to keep constant", ADDER(freezeRows)},
    {"prune-zeros", Form::Flag, Group::Model, "",
     "Keep zero elements of matrices and convolution kernels zero, and drop them from explicit "
     "Jacobians",
     SETTER(setFlag, pruneZeros)},
    {"step-axis", Form::Repeated, Group::Model, "NAME:AXIS",
     "With --carry: axis of size 1 that carries steps", ADDER(stepAxes)},
    {"train", Form::Value, Group::Model, "REGEX",
     "Float initializers that are trained though they look like constants of an exporter",
     SETTER(setText, train)},
    {"training-mode", Form::OptionalValue, Group::Model, "REGEX",
     "BatchNormalization and Dropout nodes that are trained as with training_mode 1, all or those "
     "whose names match",
     SETTER(setText, trainingMode.emplace())},
    {"untie", Form::OptionalValue, Group::Model, "REGEX",
     "Initializers of their own for the uses of those that look merged, or of those whose names "
     "match",
     SETTER(setText, untie.emplace())},

    {"class-weights", Form::Value, Group::Loss, "FILE.npy",
     "A weight for each class of cross-entropy or nll", SETTER(setText, classWeightsFile)},
    {"ignore-index", Form::Value, Group::Loss, "I",
     "Positions of cross-entropy and nll with this target count nothing",
     SETTER(setInteger, training.ignoreIndex)},
    {"interlock", Form::Value, Group::Loss, "N",
     "Cut the model into modules at the outputs of --loss-on; cotangents pass N - 1 modules down: "
     "1 trains each module by its own loss, 2 by the loss of the next module",
     SETTER(setInteger, training.interlock)},
    {"interlock-combine", Form::Value, Group::Loss, "KIND",
     "How a module combines the N losses that reach it: last (default), sum or mean",
     SETTER(setText, training.interlockCombine)},
    {"label-smoothing", Form::Value, Group::Loss, "X",
     "Share of each target of cross-entropy that is spread over all classes (default 0)",
     SETTER(setNumber, training.labelSmoothing)},
    {"loss", Form::Value, Group::Loss, "KIND",
     "cross-entropy (default), nll, mse, l1, huber, bce-with-logits, vjp: the sum of outputs times "
     "targets, or none: the model's own scalar output is the loss; one, or one for each output of "
     "--loss-on",
     setLosses},
    {"loss-on", Form::Repeated, Group::Loss, "NAME",
     "Graph outputs that feed the losses (default: first; all of type float32 with --loss=vjp)",
     APPENDER(training.lossOn)},
    {"loss-weights", Form::Repeated, Group::Loss, "X",
     "Weight of each of several losses in their sum (default 1)", setLossWeights},
    {"optimizer", Form::Value, Group::Loss, "KIND",
     "sgd, momentum, adam (default), adamw or rmsprop", SETTER(setText, training.optimizer)},

    {"backward", Form::Value, Group::Backward, "KIND",
     "Backward passes of the program: auto (default; both, chosen at run time), scan (by the plan "
     "of --scan) or sequential (step by step)",
     [](Options &o, StringRef found) {
       return setWord<BackwardKind>(o.training.backward, found,
                                    {{"auto", BackwardKind::Auto},
                                     {"scan", BackwardKind::Scan},
                                     {"sequential", BackwardKind::Sequential}});
     }},
    {"backward-order", Form::Value, Group::Backward, "ORDER",
     "When gradients of parameters are formed: in-order, reverse-first:K, reverse-first:auto or "
     "defer:L:J[,L:J...] (default: as differentiation has them)",
     SETTER(setText, training.backwardOrder)},
    {"backward-streams", Form::Value, Group::Backward, "S",
     "Streams of backward passes (--target=cuda): 1 (default), 2 (parameter gradients on the "
     "second stream) or 2:joint (the cost model decides which operations run concurrently)",
     SETTER(setText, training.backwardStreams)},
    {"jacobians", Form::Value, Group::Backward, "KIND",
     "structured (default), or dense: Jacobians of scans with all elements, computed column by "
     "column, to check the structured ones",
     SETTER(setText, training.jacobians)},
    {"check-nan", Form::Flag, Group::Backward, "",
     "Let programs name the node that produces the first NaN (grad --check-nan, train --check-nan; "
     "--target=cpu)",
     SETTER(setFlag, training.tracesNaNs)},
    {"memory-limit", Form::Value, Group::Backward, "BYTES",
     "Maximum memory for explicit Jacobians of layers per sample (default 1G) and for states kept "
     "by loops over graphs (default 0), such as 500M or 2G; 0 for no limit",
     SETTER(setBytes, training.memoryLimit)},
    {"scan", Form::Value, Group::Backward, "PLAN",
     "auto (default), linear, blelloch, hybrid:L, chunked:C, or chunked: C is chosen at run time",
     SETTER(setText, training.scan)},

    {"O", Form::Value, Group::Target, "LEVEL", "Optimisation level, 0 to 3 (default 3)",
     setOptLevel},
    {"distributed", Form::Value, Group::Target, "KIND",
     "mpi: the program also trains on the processes of Open MPI's mpirun, each with a share of "
     "every batch",
     SETTER(setText, distributed)},
    {"pipeline", Form::Value, Group::Target, "P",
     "Cut steps into stages, which the ranks of `mpirun -n P` compute; gradients are computed "
     "sequentially (--distributed=mpi)",
     SETTER(setInteger, training.pipelineRanks)},
    {"pipeline-placement", Form::Value, Group::Target, "PLACE",
     "Which stages a rank has: neighbours (default), v (two, there and back, for zb-v, v-half and "
     "v-min) or modulo:G (groups of G in turns) (--split-backward)",
     SETTER(setText, training.pipelinePlacement)},
    {"pipeline-chunks", Form::Value, Group::Target, "C",
     "The stages of each rank (default: 1; 2 with v, 2G with modulo:G) (--split-backward)",
     SETTER(setInteger, training.pipelineChunks)},
    {"split-backward", Form::Flag, Group::Target, "",
     "Stages form gradients of parameters apart from cotangents, for all --pipeline-schedule but "
     "gpipe and 1f1b (--pipeline)",
     SETTER(setFlag, training.splitBackward)},
    {"sync-bn", Form::Flag, Group::Target, "",
     "BatchNormalization in training mode takes the statistics of the samples of all ranks "
     "(--distributed=mpi)",
     SETTER(setFlag, training.syncBatchNorm)},
    {"shard-time", Form::Flag, Group::Target, "",
     "Programs can cut the steps of every sequence over ranks (train --shard-time; "
     "--distributed=mpi)",
     SETTER(setFlag, training.shardTime)},
    {"scan-shards", Form::Flag, Group::Target, "",
     "Such programs can also go back by a scan over ranks (train --shard-backward; --shard-time)",
     SETTER(setFlag, training.scanShards)},
    {"emulate", Form::Flag, Group::Target, "", "Run GPU kernels on the CPU (--target=cuda)",
     SETTER(setFlag, emulate)},
    {"gpu-arch", Form::Repeated, Group::Target, "ARCH",
     "GPU architectures (--target=cuda; default sm_90)", APPENDER(gpuArchitectures)},
    {"mcpu", Form::Value, Group::Target, "CPU",
     "Generate code for one CPU (native or an LLVM name) instead of every x86-64 level",
     SETTER(setText, mcpu)},
    {"precision", Form::Value, Group::Target, "KIND",
     "Precision of tensor-core products (--target=cuda): fp32 (default), tf32 or bf16",
     SETTER(setText, training.precision)},
    {"target", Form::Value, Group::Target, "KIND",
     "Processor of the kernels: cpu (default; x86-64) or cuda (NVIDIA GPUs)",
     [](Options &o, StringRef found) {
       return setWord<TargetKind>(o.training.target, found,
                                  {{"cpu", TargetKind::CPU}, {"cuda", TargetKind::CUDA}});
     }},

    {"compile-to", Form::Value, Group::Output, "PHASE",
     "Stop after a phase and write that IR: import (the forward function), loss, differentiate "
     "(with gradients), scan (with scan plans), lower (the LLVM dialect) or end (default)",
     setPhase},
    {"dump-phases-to", Form::Value, Group::Output, "DIR", "Write the IR after every phase",
     SETTER(setText, dumpDirectory)},
    {"emit", Form::Value, Group::Output, "KIND",
     "Output: exe (default; a trainable program), shared (a shared library), obj (an object file), "
     "mlir (IR before target-specific passes), llvm (LLVM IR), asm (assembly, --target=cpu), ptx "
     "(--target=cuda), report (costs of scan plans, as a page) or initializers (which are trained, "
     "and why, as JSON)",
     setEmitKind},
    {"report-batch", Form::Value, Group::Output, "B",
     "Number of samples that a report assumes for a dynamic batch (default 16)",
     SETTER(setInteger, reportBatch)},
    {"report-length", Form::Value, Group::Output, "T",
     "Number of time steps that a report assumes for a dynamic sequence length (default 1000)",
     SETTER(setInteger, reportLength)},
};

ArrayRef<OptionInfo> bppsa::getOptionTable() { return kOptions; }

const OptionInfo *bppsa::findOption(StringRef name) {
  const auto *found =
      llvm::find_if(kOptions, [&](const OptionInfo &option) { return option.name == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

StringRef bppsa::guessOption(StringRef name) {
  unsigned best = name.size() / 3 + 1;
  StringRef guess;
  for (const OptionInfo &option : kOptions)
    if (unsigned distance = name.edit_distance(option.name);
        distance <= best && option.name.size() > 1) {
      best = distance;
      guess = option.name;
    }
  return guess;
}

static std::string spell(StringRef name) { return (name.size() == 1 ? "-" : "--") + name.str(); }

std::optional<std::string> bppsa::setOption(CompileOptions &options, StringRef name,
                                            StringRef value) {
  const OptionInfo *option = findOption(name);
  if (!option) {
    StringRef guess = guessOption(name);
    return "unknown option '" + name.str() + "'" +
           (guess.empty() ? "" : ", did you mean '" + guess.str() + "'");
  }
  if (Mistake mistake = option->set(options, value))
    return spell(name) + " " + *mistake;
  return std::nullopt;
}

std::optional<std::string> bppsa::readOptionFiles(CompileOptions &options) {
  if (options.classWeightsFile.empty())
    return std::nullopt;
  llvm::Expected<std::vector<float>> weights = readNpyVector(options.classWeightsFile);
  if (weights && !weights->empty()) {
    options.training.classWeights = std::move(*weights);
    return std::nullopt;
  }
  return "--class-weights: " +
         (weights ? options.classWeightsFile + ": is empty" : llvm::toString(weights.takeError()));
}
