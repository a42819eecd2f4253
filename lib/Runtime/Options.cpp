//===- Options.cpp - The command line -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Options.h"
#include "Distributed/RankOptions.h"
#include "OptionNumbers.h"
#include "Training/Schedule.h"
#include "UnknownWords.h"
#include "Updates/StageOrders.h"
#include "bppsa/Program/Mappings.h"
#include "bppsa/Program/Optimizers.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iostream>

using namespace bppsa::runtime;
namespace program = bppsa::program;
namespace mappings = bppsa::program::mappings;

static std::vector<program::HyperParameter> hyperFlags(const std::string &name) {
  std::vector<program::HyperParameter> flags;
  if (const program::Optimizer *optimizer = program::findNamed(program::kOptimizers, name))
    std::copy_if(std::begin(optimizer->hyper), std::end(optimizer->hyper),
                 std::back_inserter(flags),
                 [](const program::HyperParameter &parameter) { return parameter.flag; });
  return flags;
}

static const char *const dataHelp =
    "An .npz file, or a directory of .npz files whose samples are concatenated, with one array per "
    "graph input, with the names and layouts of the ONNX graph, and the array `target` of the "
    "loss. Floating-point arrays are float32; integer arrays may have any integer type that holds "
    "their values.";

static void addCommon(CLI::App &command, Options &options) {
  addNumber(command, "--threads", options.threads, kThreadCounts,
            "Number of threads (default: all cores)");
  command.add_option("--affinity", options.affinity,
                     "CPUs, as in 0,2-4, to which all threads but the first are bound in order; "
                     "also sets the number of threads unless --threads is given");
  if (isEmulatedProgram())
    addNumber(command, "--emulate-seed", options.emulateSeed, kSeeds,
              "Order of emulated blocks, warps and threads: 0 (default) for the natural order, any "
              "other number as the seed of a random order");
  command
      .add_option("--batch-axis", options.batchAxes,
                  "NAME:AXIS, the axis of an input, an output or `target` that carries samples")
      ->take_all();
}

static void addMapping(CLI::App &command, Options &options) {
  command
      .add_option("--mapping", options.variant.mapping,
                  "Contents of a vector: auto (the fastest for the batch), lanes (one sample per "
                  "lane) or units (hidden units of one sample); blocks in programs for a GPU")
      ->check(CLI::IsMember(
          {"auto", mappings::kLanes, mappings::kUnits, mappings::kChunks, mappings::kBlocks}));
}

static void addVariant(CLI::App &command, Options &options) {
  command
      .add_option("--backward", options.variant.backward,
                  "How gradients are computed: auto (the fastest here), sequential or scan")
      ->check(CLI::IsMember({"auto", "sequential", "scan"}));
  command.add_option("--scan", options.variant.scan,
                     "The plan of the scan: auto, or the plan of the program (see info)");
  command.add_option("--calibration", options.variant.calibration,
                     "In programs for a GPU: a file of `bench --calibrate`, by which auto chooses");
  addMapping(command, options);
}

static void addNaNCheck(CLI::App &command, Options &options) {
  command.add_flag("--check-nan", options.checkNaN,
                   "If the loss or a gradient is not finite, name the node that produces the first "
                   "NaN (programs compiled with --check-nan)");
}

static void addSelection(CLI::App &command, Options &options) {
  command.add_option("--val-split", options.valSplit,
                     "Share of the samples of --data that validate instead of training, drawn by "
                     "--seed, or the last ones with --no-shuffle");
  command.add_option("--save-best", options.saveBest,
                     "Write the model of the best epoch so far to this ONNX file");
  command
      .add_option("--best", options.best,
                  "Criterion of the best epoch: loss (lowest on the validation data, the default) "
                  "or accuracy")
      ->check(CLI::IsMember({"loss", "accuracy"}));
  addNumber(command, "--patience", options.patience, kCounts,
            "Stop after so many epochs that were not better than the best one");
}

static void addTraining(CLI::App &command, Options &options, const Model &model) {
  command.add_option("--data", options.data, dataHelp);
  command.add_option("--val", options.val, "Data to validate with after each epoch");
  addNumber(command, "--epochs", options.epochs, kCounts, "Passes over the data (default: 1)");
  addNumber(command, "--batch", options.batch, kCounts,
            isDistributedProgram() ? "Samples in a batch, of all ranks together (default: 32)"
                                   : "Samples in a batch (default: 32)");
  addNumber(command, "--seed", options.seed, kSeeds,
            "Seed of the order of the samples (default: 0)");
  command
      .add_option_function<std::string>(
          "--shuffle-memory",
          [&options](const std::string &word) {
            options.shuffleMemory = parseBytes("--shuffle-memory", word);
          },
          "Bytes of the samples, as in 64M, that are shuffled together; no more of --data, and of "
          "--val, is held in memory (default: 256M)")
      ->type_name("SIZE");
  command.add_flag("!--no-shuffle", options.shuffle, "Keep the samples in the order of the file");
  command.add_option("--lr-schedule", options.schedule,
                     "constant, step:N:GAMMA (times GAMMA every N epochs), cosine[:MIN] or "
                     "plateau[:FACTOR[:N]] (times FACTOR after more than N epochs without a lower "
                     "validation loss, or training loss if there is no validation; default 0.1, "
                     "10); prefix warmup:N, for a linear increase in the first N batches");
  addNumber(command, "--accumulate", options.accumulate, kCounts,
            "Batches whose gradients one update takes together (default: 1)");
  addNumber(command, "--microbatches", options.microbatches, kCounts,
            "Equal parts of a batch, whose gradients one update takes together: M parts are "
            "--batch=B/M --accumulate=M");
  command.add_option("--clip-norm", options.clipNorm,
                     "Scale the gradient down to this Euclidean norm if it is larger");
  for (const program::HyperParameter &flag : hyperFlags(model.optimizer))
    if (auto found = model.hyper.find(flag.key); found != model.hyper.end())
      command.add_option_function<double>(
          flag.flag, [&options, key = flag.key](double value) { options.hyper[key] = value; },
          text(flag.help, " (default: ", found->second, ")"));
  command
      .add_option_function<std::vector<std::string>>(
          "--lr-for",
          [&options](const std::vector<std::string> &words) {
            for (const std::string &word : words)
              options.rateRules.push_back(RateRule::parse(word));
          },
          "REGEX=X, a learning rate for the trained initializers with a match in their names, in "
          "place of --lr; the last one that matches counts")
      ->take_all();
  command.add_option(
      "--ema", options.ema,
      "Average the weights with this decay per update; the average is validated and saved");
  addNumber(command, "--tbptt", options.tbptt, kCounts,
            "In programs of streams: cut sequences into segments of this many steps; states "
            "continue, gradients stop, and each segment has an update");
  command.add_option("--save", options.save, "Write the trained model to this ONNX file");
  addSelection(command, options);
  command.add_option("--checkpoint", options.checkpoint,
                     "Keep the state of the training in this file, written after each epoch and "
                     "when the training is interrupted");
  addNumber(command, "--checkpoint-every", options.checkpointEvery, kCounts,
            "Write the checkpoint also after every N batches");
  command.add_option("--resume", options.resume,
                     "Continue from this checkpoint, with its settings unless others are given");
  command.add_option("--log", options.log, "Write metrics to this file, a line of JSON an epoch");
  addNaNCheck(command, options);
  addVariant(command, options);
}

static void addTrain(CLI::App &app, Options &options, const Model &model) {
  CLI::App &command = *app.add_subcommand("train", "Train the model");
  addTraining(command, options, model);
  command.get_option("--data")->required();
  command.add_flag("--lr-find", options.lrFind,
                   "Only run some steps with rising learning rates, print their losses and suggest "
                   "a rate; nothing is saved");
  command.add_flag("--quiet", options.quiet, "Show no progress");
  if (isDistributedProgram())
    addRankOptions(command, options);
  else if (!model.firstUses.empty())
    addTraceOption(command, options,
                   "Write the timeline of all steps to this file, in the Chrome trace format");
  if (model.pipelineRanks > 0 && !model.areModules)
    addPipelineOptions(command, options);
  addCommon(command, options);
}

static void addOthers(CLI::App &app, Options &options) {
  CLI::App &eval = *app.add_subcommand("eval", "Print loss and accuracy as JSON");
  CLI::App &infer = *app.add_subcommand("infer", "Compute every graph output");
  CLI::App &grad = *app.add_subcommand(
      "grad",
      "Compute the loss and its gradient with respect to every trained initializer and every "
      "floating-point input; the file is one batch");
  for (CLI::App *command : {&eval, &infer, &grad})
    command->add_option("--data", options.data, dataHelp)->required();
  for (CLI::App *command : {&infer, &grad})
    command->add_option("--out", options.out, "The .npz file to write")->required();
  for (CLI::App *command : {&eval, &infer})
    addNumber(*command, "--batch", options.batch, kCounts, "Samples in a batch (default: 256)");
  eval.add_option("--metrics", options.metrics,
                  "f1, auc and confusion, with commas between them: also print them, by class")
      ->delimiter(',')
      ->check(CLI::IsMember({"f1", "auc", "confusion"}));
  addMapping(infer, options);
  addVariant(grad, options);
  addNaNCheck(grad, options);

  CLI::App &bench = *app.add_subcommand("bench", "Time training steps on synthetic data");
  addNumber(bench, "--seq-len", options.seqLen, kCounts, "Time steps");
  addNumber(bench, "--batch", options.batch, kCounts, "Samples in the batch");
  addNumber(bench, "--repeat", options.repeat, kCounts,
            "Training steps to take the median of (default: 20)");
  bench.add_flag("--calibrate", options.calibrate,
                 "In programs for a GPU: time every variant up to --seq-len and --batch and write "
                 "the constants by which auto chooses to --calibration");
  addVariant(bench, options);

  CLI::App &info = *app.add_subcommand("info", "Describe the model as JSON");
  info.add_flag("--compact", options.compact, "Print one line");
  CLI::Option *steps =
      addNumber(info, "--seq-len", options.seqLen, kCounts,
                "Also print the memory that training takes with so many time steps");
  CLI::Option *samples = addNumber(info, "--batch", options.batch, kCounts,
                                   "The samples in a batch that --seq-len is about (default: 16)");
  samples->needs(steps);
  for (CLI::App *command : {&eval, &infer, &grad, &bench, &info})
    addCommon(*command, options);
}

void bppsa::runtime::requireHyperRanges(const std::map<std::string, double> &hyper,
                                        const std::string &optimizer) {
  for (const program::HyperParameter &flag : hyperFlags(optimizer)) {
    auto found = hyper.find(flag.key);
    if (found == hyper.end())
      continue;
    double value = found->second;
    if (!std::isfinite(value) || value < 0 || (flag.isShare && value >= 1))
      fail(flag.flag, ": found ", value, ", expected a number of at least 0",
           flag.isShare ? " to below 1" : "");
  }
}

static void checkRateSearch(const Options &options) {
  bool others = options.schedule || options.epochs || options.ema || options.valSplit ||
                options.patience || !options.rateRules.empty();
  for (const std::string *path : {&options.save, &options.saveBest, &options.checkpoint,
                                  &options.resume, &options.log, &options.val})
    others |= !path->empty();
  if (options.lrFind && others)
    throw UsageError("--lr-find does not train a model that could be saved or validated; use it "
                     "only with --data, --batch and options of single steps");
}

static void checkRanges(const Options &options, const Model &model) {
  if (options.clipNorm && (!std::isfinite(*options.clipNorm) || *options.clipNorm <= 0))
    fail("--clip-norm: found ", *options.clipNorm, ", expected a number above 0");
  if (options.checkpointEvery && options.checkpoint.empty())
    throw UsageError("--checkpoint-every needs --checkpoint");
  if (options.valSplit && (options.validates || !options.val.empty()))
    throw UsageError("--val-split and --val exclude each other");
  if (options.valSplit && !(*options.valSplit > 0 && *options.valSplit < 1))
    fail("--val-split: found ", *options.valSplit, ", expected a number above 0 and below 1");
  bool selects = options.patience || options.best || !options.saveBest.empty();
  bool validates = options.validates || !options.val.empty() || options.valSplit;
  if (selects && !validates && options.resume.empty())
    throw UsageError("--patience, --save-best and --best need --val or --val-split");
  if (options.best && *options.best == "accuracy" && !model.classLoss())
    throw UsageError(text("--best=accuracy needs one loss with classes, found ", model.lossText()));
  if (options.accumulate && *options.accumulate > 1 && options.tbptt)
    throw UsageError("--accumulate and --tbptt exclude each other");
  if (model.pipelineRanks > 0)
    requirePlacement(model, options.pipeline);
  if (options.microbatches && (options.accumulate || options.tbptt))
    throw UsageError("--microbatches excludes --accumulate and --tbptt");
  if (options.checkNaN && (options.accumulate || options.microbatches || options.tbptt))
    throw UsageError("--check-nan recomputes whole batches; remove --accumulate, "
                     "--microbatches and --tbptt");
  if (options.ema && !(*options.ema > 0 && *options.ema < 1))
    fail("--ema: found ", *options.ema, ", expected a number above 0 and below 1");
  checkRateSearch(options);
  if (options.calibrate && !options.variant.isAuto())
    throw UsageError("--calibrate times every variant; remove --backward, --scan and --mapping");
  requireHyperRanges(options.hyper, model.optimizer);
  if (options.schedule)
    Schedule(*options.schedule);
}

/// Empty values are often unset variables of a script.
static void requireWords(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    for (const std::string &value : option->results())
      if (value.empty())
        throw UsageError(option->get_name() + ": found '', expected a value");
}

Options bppsa::runtime::parseOptions(int argc, char **argv, const Model &model) {
  Options options;
  CLI::App app(text("Trains and runs the model ", quote(model.source), ".",
                    isDistributedProgram() ? " With `mpirun -n P` train and eval (without "
                                             "--metrics) run on P ranks, other commands on one."
                                           : ""));
  app.require_subcommand(1);
  app.set_version_flag("--version", "bppsa " + model.version);
  addTrain(app, options, model);
  addOthers(app, options);
  checkFirstWord(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    app.exit(done);
    if (!std::cout.flush())
      fail("stdout: writing failed (", strerror(errno), ")");
    return options;
  } catch (const CLI::ParseError &error) {
    throw UsageError(describe(app, error));
  }
  CLI::App &command = *app.get_subcommands().front();
  options.command = command.get_name();
  requireWords(command);
  checkRanges(options, model);
  return options;
}

Options bppsa::runtime::parseSettings(const TrainingWords &words, const Model &model,
                                      bool validates) {
  Options options;
  options.validates = validates;
  CLI::App app;
  app.set_help_flag();
  addTraining(*app.add_subcommand("train"), options, model);
  std::vector<std::string> arguments;
  for (const auto &[name, value] : words)
    arguments.push_back(value ? text("--", name, "=", *value) : "--" + name);
  arguments.insert(arguments.begin(), "train");
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError &error) {
    throw UsageError(describe(app, error));
  }
  requireWords(*app.get_subcommands().front());
  checkRanges(options, model);
  return options;
}
