//===- CommandLine.cpp - the flags of bppsa-schedule ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "bppsa/Runtime/Error.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

using namespace bppsa::schedule;
using bppsa::runtime::quote;
using bppsa::runtime::text;
using bppsa::runtime::UsageError;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Larger steps take gigabytes, and minutes.
static constexpr int32_t kMostDevices = 4096, kMostMicrobatches = 65536, kMostLayers = 1 << 20,
                         kMostOperations = 1 << 20;

template <typename Number> static std::optional<Number> parseNumber(const std::string &word) {
  Number value = {};
  const char *end = word.data() + word.size();
  auto [rest, error] = std::from_chars(word.data(), end, value);
  if (rest != end || error != std::errc())
    return std::nullopt;
  return value;
}

/// An option with a whole number from 1 to `most`.
static CLI::Option *addCount(CLI::App &app, const char *flag, int32_t &value, int32_t most,
                             const char *help) {
  CLI::callback_t parse = [flag, &value, most](const CLI::results_t &words) {
    std::optional<int32_t> number = parseNumber<int32_t>(words.front());
    if (!number || *number < 1 || *number > most)
      throw UsageError(text(flag, ": found ", quote(words.front()),
                            ", accepted are whole numbers from 1 to ", most));
    value = *number;
    return true;
  };
  return app.add_option(flag, parse, help)->type_name("N");
}

/// An option with a number from `least` to `most`.
template <typename Value>
static void addNumber(CLI::App &app, const char *flag, Value &value, double least, double most,
                      const char *help) {
  CLI::callback_t parse = [flag, &value, least, most](const CLI::results_t &words) {
    std::optional<double> number = parseNumber<double>(words.front());
    // No comparison holds for what is no number.
    if (!number || !(*number >= least && *number <= most))
      throw UsageError(text(flag, ": found ", quote(words.front()), ", accepted are numbers from ",
                            least, " to ", most));
    value = *number;
    return true;
  };
  app.add_option(flag, parse, help)->type_name("X");
}

static StageCost parseTimes(const std::string &word) {
  std::vector<double> values;
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, ',');) {
    std::optional<double> value = parseNumber<double>(part);
    if (!value || !(*value >= 0 && *value <= 1e12))
      throw UsageError(text("--times: found ", quote(part), " in ", quote(word),
                            ", accepted are four numbers F,B,W,COMM from 0 to 1e12"));
    values.push_back(*value);
  }
  if (values.size() != 4)
    throw UsageError(text("--times: found ", values.size(), " numbers in ", quote(word),
                          ", accepted are four, F,B,W,COMM"));
  if (values[0] + values[1] + values[2] == 0)
    throw UsageError("--times: a stage takes no time; one of F, B and W must be above 0");
  return {values[0], values[1], values[2], values[3]};
}

static std::optional<ScheduleKind> parseSchedule(const std::string &word) {
  if (word == "auto")
    return std::nullopt;
  std::optional<ScheduleKind> kind = parseScheduleKind(word);
  if (!kind)
    throw UsageError(text("--pipeline-schedule: found ", quote(word), ", accepted are ",
                          listScheduleKinds(), " and auto"));
  return kind;
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

static void addOptions(CLI::App &app, CommandLine &options) {
  addCount(app, "--stages", options.stages, kMostDevices, "Devices, each with one stage")
      ->required();
  addCount(app, "--microbatches", options.microbatches, kMostMicrobatches, "Microbatches of a step")
      ->required();
  app.add_option_function<std::string>(
         "--times", [&](const std::string &word) { options.times = parseTimes(word); },
         "F,B,W,COMM: what a stage takes of a microbatch forward, backward and for gradients of "
         "parameters, and from device to device; in any one unit")
      ->required();
  addCount(app, "--layers", options.layers, kMostLayers,
           "Layers that the stages have together, which ooo and modulo:G schedule one by one "
           "(default: 2 a stage, or 2 groups)");
  app.add_option_function<std::string>(
         "--pipeline-schedule",
         [&](const std::string &word) { options.schedule = parseSchedule(word); },
         listScheduleKinds() + " or auto (default), the one with the shortest step")
      ->type_name("NAME");
  app.add_flag("--forward-first", options.forwardFirst,
               "With ooo and modulo:G: a device runs its forward operations before the others");
  addNumber(app, "--memory-limit", options.memoryLimit, 1, 1e9,
            "The most activations on a device, in those that it keeps of one microbatch");
  addNumber(app, "--deferred-memory", options.deferredMemory, 0, 1,
            "What a gradient of parameters that waits needs of the activations of its microbatch "
            "(default: 0.5)");
  app.add_option("--gantt", options.gantt, "Draw the schedule to this SVG file");
  app.add_flag("--json", options.json, "Print one JSON object");
}

/// What CLI11 says of a mistake, on one line.
static std::string describe(const CLI::ParseError &error) {
  std::string line = error.what();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "; see --help";
}

/// Sets the number of layers where none was given.
static void setLayers(CommandLine &options) {
  int64_t group = options.schedule ? options.schedule->group : 1;
  int64_t layers = options.layers ? options.layers : 2 * group * options.stages;
  if (layers * options.microbatches > kMostOperations)
    throw UsageError(text("found ", layers, " layers and ", options.microbatches,
                          " microbatches, accepted are at most ", kMostOperations,
                          " of both multiplied; use fewer --microbatches"));
  options.layers = static_cast<int32_t>(layers);
}

std::optional<CommandLine> bppsa::schedule::parseCommandLine(int argc, char **argv) {
  CommandLine options;
  CLI::App app("Predicts how long a step of training takes under a schedule, and how much memory");
  app.set_version_flag("--version", "bppsa " BPPSA_VERSION);
  addOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    app.exit(request);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    throw UsageError(describe(error));
  }
  setLayers(options);
  return options;
}
