//===- CommandLine.cpp - the flags of bppsa-schedule ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "DeviceLinks.h"
#include "bppsa/Runtime/Error.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

using namespace bppsa::schedule;
using bppsa::runtime::quote;
using bppsa::runtime::text;
using bppsa::runtime::UsageError;

/// Larger steps need gigabytes and minutes.
static constexpr int32_t kMaxDevices = 4096, kMaxMicrobatches = 65536, kMaxLayers = 1 << 20,
                         kMaxOperations = 1 << 20, kMaxOwners = 64;

template <typename Number> static std::optional<Number> parseNumber(const std::string &word) {
  Number value = {};
  const char *end = word.data() + word.size();
  auto [rest, error] = std::from_chars(word.data(), end, value);
  if (rest != end || error != std::errc())
    return std::nullopt;
  return value;
}

static CLI::Option *addCount(CLI::App &app, const char *flag, int32_t &value, int32_t most,
                             const char *help) {
  CLI::callback_t parse = [flag, &value, most](const CLI::results_t &words) {
    std::optional<int32_t> number = parseNumber<int32_t>(words.front());
    if (!number || *number < 1 || *number > most)
      throw UsageError(text(flag, ": found ", quote(words.front()),
                            ", expected a whole number from 1 to ", most));
    value = *number;
    return true;
  };
  return app.add_option(flag, parse, help)->type_name("N");
}

template <typename Value>
static void addNumber(CLI::App &app, const char *flag, Value &value, double least, double most,
                      const char *help) {
  CLI::callback_t parse = [flag, &value, least, most](const CLI::results_t &words) {
    std::optional<double> number = parseNumber<double>(words.front());
    // Also rejects NaN.
    if (!number || !(*number >= least && *number <= most))
      throw UsageError(text(flag, ": found ", quote(words.front()), ", expected a number from ",
                            least, " to ", most));
    value = *number;
    return true;
  };
  app.add_option(flag, parse, help)->type_name("X");
}

/// Numbers range from 0 to 1e12; `names` describes them in messages.
static std::vector<double> parseNumbers(const char *flag, const std::string &word, size_t count,
                                        const char *names) {
  std::vector<double> values;
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, ',');) {
    std::optional<double> value = parseNumber<double>(part);
    if (!value || !(*value >= 0 && *value <= 1e12))
      throw UsageError(text(flag, ": found ", quote(part), " in ", quote(word), ", accepted is ",
                            names, ", numbers from 0 to 1e12"));
    values.push_back(*value);
  }
  if (values.size() != count)
    throw UsageError(text(flag, ": found ", values.size(), " numbers in ", quote(word),
                          ", accepted is ", names));
  return values;
}

static std::vector<StageCost> parseTimes(const std::string &word) {
  std::vector<StageCost> times;
  double work = 0;
  std::istringstream groups(word);
  for (std::string group; std::getline(groups, group, ';');) {
    std::vector<double> values = parseNumbers("--times", group, 4, "F,B,W,COMM");
    work += values[0] + values[1] + values[2];
    times.push_back({values[0], values[1], values[2], values[3]});
  }
  if (times.empty())
    parseNumbers("--times", word, 4, "F,B,W,COMM");
  if (work == 0)
    throw UsageError("--times: a stage takes no time; one of F, B and W must be above 0");
  return times;
}

static void parseNetwork(const std::string &word, CommandLine &options) {
  std::vector<double> values = parseNumbers("--network", word, 2, "GBITS,MICROSECONDS");
  if (values[0] == 0)
    throw UsageError("--network: found 0 Gbit/s, expected a number above 0");
  options.bytesPerSecond = values[0] * 1e9 / 8;
  options.latency = values[1] * 1e-6;
}

static void parseExchange(const std::string &word, CommandLine &options) {
  static const std::pair<const char *, Exchange> names[] = {{"barrier", Exchange::Barrier},
                                                            {"allreduce", Exchange::AllReduce},
                                                            {"p3", Exchange::P3},
                                                            {"dear", Exchange::Dear}};
  for (auto [name, exchange] : names)
    if (word == name) {
      options.exchange = exchange;
      return;
    }
  const std::string prefix = "reverse-first:";
  std::string count = word.substr(0, prefix.size()) == prefix ? word.substr(prefix.size()) : "";
  options.reversed = parseNumber<int32_t>(count);
  if (count != "auto" && (!options.reversed || *options.reversed < 0))
    throw UsageError(text("--exchange: found ", quote(word),
                          ", expected barrier, allreduce, p3, dear, reverse-first:K and "
                          "reverse-first:auto"));
  options.exchange = Exchange::ReverseFirst;
}

static std::optional<ScheduleKind> parseSchedule(const std::string &word) {
  if (word == "auto")
    return std::nullopt;
  std::optional<ScheduleKind> kind = parseScheduleKind(word);
  if (!kind)
    throw UsageError(text("--pipeline-schedule: found ", quote(word), ", expected ",
                          listScheduleKinds(), " and auto"));
  return kind;
}

static void addCommon(CLI::App &app, CommandLine &options) {
  app.add_option_function<std::string>(
         "--pipeline-schedule",
         [&](const std::string &word) { options.schedule = parseSchedule(word); },
         listScheduleKinds() + " or auto (default), the one with the shortest step")
      ->type_name("NAME");
  addCount(app, "--microbatches", options.microbatches, kMaxMicrobatches,
           "Microbatches of a step (default with a model: 4 a rank)");
  app.add_flag("--forward-first", options.forwardFirst,
               "With ooo and modulo:G: a device runs its forward operations before the others");
  addNumber(
      app, "--memory-limit", options.memoryLimit, 1, 1e9,
      "Maximum number of activations on a device, in units of the activations of one microbatch");
  addNumber(app, "--deferred-memory", options.deferredMemory, 0, 1,
            "Fraction of its microbatch's activations that a deferred parameter gradient needs "
            "(default: 0.5)");
  app.add_option("--gantt", options.gantt, "Draw the schedule to this SVG file");
  app.add_flag("--json", options.json, "Print one JSON object");
}

static void addStages(CLI::App &app, CommandLine &options) {
  addCount(app, "--stages", options.devices, kMaxDevices,
           "Without a model: devices, each with one stage");
  addCount(app, "--layers", options.layers, kMaxLayers,
           "Without a model: layers that the stages have together, which ooo and modulo:G schedule "
           "one by one (default: 2 a stage, or 2 groups)");
  addCount(app, "--interlock", options.window, kMaxDevices,
           "Without a model: every stage is a module that learns from the loss of the module N - 1 "
           "further on, with one batch at a time");
  addNumber(app, "--head", options.head, 0, 1e12, "With --interlock: the time of a loss");
  app.add_option("--links", options.linksFile,
                 "Without a model: a JSON file with a list per device of the times to every "
                 "device, instead of COMM; devices are ordered to minimize hops")
      ->type_name("FILE");
  app.add_option("--device-order", "With --links: the order of the devices, as in 0,3,2,...")
      ->type_name("D,D,...");
}

static void addModel(CLI::App &app, CommandLine &options) {
  app.add_option("model", options.model, "An ONNX model")->type_name("MODEL.onnx");
  addCount(app, "--ranks", options.devices, kMaxDevices, "With a model: devices");
  addCount(app, "--batch", options.batch, kMaxMicrobatches,
           "With a model: samples of a microbatch, or of a rank with --exchange (default: 16)");
  addCount(app, "--seq-len", options.steps, kMaxLayers, "With a model: time steps (default: 1000)");
  app.add_option(
         "--bind", options.bindings,
         "NAME=VALUE, with a model: a symbolic dimension that is a number, or a graph input "
         "that is a constant")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--network", [&](const std::string &word) { parseNetwork(word, options); },
         "With a model: the speed of a link and the time of a message")
      ->type_name("GBITS,MICROSECONDS");
  addNumber(app, "--gflops", options.gflops, 1e-3, 1e9,
            "With --times=counts: GFLOP/s of a device (default: 100)");
  app.add_option_function<std::string>(
         "--exchange", [&](const std::string &word) { parseExchange(word, options); },
         "With a model: every rank has the whole model, and gradients are exchanged: barrier, "
         "allreduce, p3, dear, reverse-first:K or reverse-first:auto")
      ->type_name("NAME");
  app.add_flag(
      "--by-owners", options.byOwners,
      "With --exchange: as programs of --distributed=mpi do; parts of gradients have owners, "
      "which send the sums back");
  addNumber(
      app, "--message-share", options.messageShare, 0, 0.9,
      "With --by-owners: the share that messages take, while they are sent, of the core that a "
      "rank computes on (default: 0)");
  addCount(app, "--slice", options.slice, std::numeric_limits<int32_t>::max(),
           "With --exchange=p3, or dear --by-owners: elements of a slice (default: 50000)");
}

static std::string describe(const CLI::ParseError &error) {
  std::string line = error.what();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "; see --help";
}

static void checkExchange(bool hasSlice, const CommandLine &options) {
  if (options.byOwners && (!options.exchange || options.exchange == Exchange::ReverseFirst))
    throw UsageError("--by-owners needs --exchange=barrier, allreduce, p3 or dear");
  if (options.byOwners && options.devices > kMaxOwners)
    throw UsageError(text("--by-owners: found ", options.devices, " ranks, expected at most ",
                          kMaxOwners, "; remove it"));
  if (!options.byOwners && options.messageShare > 0)
    throw UsageError("--message-share needs --by-owners");
  if (!options.byOwners && options.exchange == Exchange::Barrier)
    throw UsageError("--exchange=barrier needs --by-owners");
  bool isSliced =
      options.exchange == Exchange::P3 || (options.byOwners && options.exchange == Exchange::Dear);
  if (hasSlice && !isSliced)
    throw UsageError("--slice needs --exchange=p3, or dear --by-owners");
}

static void checkFlags(const CLI::App &app, const CommandLine &options) {
  bool hasModel = !options.model.empty();
  auto isGiven = [&](const char *flag) { return app.get_option(flag)->count() > 0; };
  for (const char *flag :
       {"--stages", "--layers", "--interlock", "--head", "--links", "--device-order"})
    if (hasModel && isGiven(flag))
      throw UsageError(text(flag, " describes stages without a model; remove it or the model"));
  for (const char *flag : {"--ranks", "--batch", "--seq-len", "--bind", "--network", "--gflops",
                           "--exchange", "--by-owners", "--message-share", "--slice"})
    if (!hasModel && isGiven(flag))
      throw UsageError(text(flag, " needs a model: bppsa-schedule MODEL.onnx --ranks P ..."));
  std::vector<const char *> required = {"--stages", "--times"};
  if (hasModel)
    required = {"--ranks", "--network"};
  else if (!options.window)
    required.push_back("--microbatches");
  for (const char *flag : required)
    if (!isGiven(flag))
      throw UsageError(text(flag, " is required; see --help"));
  const char *other = options.exchange ? "--exchange" : options.window ? "--interlock" : nullptr;
  for (const char *flag : {"--pipeline-schedule", "--microbatches", "--memory-limit",
                           "--forward-first", "--deferred-memory", "--layers", "--links"})
    if (other && isGiven(flag))
      throw UsageError(
          text(other, " and ", flag, " exclude each other: only one of them is a pipeline"));
  if (options.window && isGiven("--gantt"))
    throw UsageError("--interlock and --gantt exclude each other");
  if (options.window > options.devices)
    throw UsageError(text("--interlock: found ", options.window, ", expected a number from 1 to ",
                          options.devices, ", the number of --stages"));
  if (isGiven("--device-order") && !isGiven("--links"))
    throw UsageError("--device-order needs --links");
  if (isGiven("--head") && !options.window)
    throw UsageError("--head needs --interlock");
  checkExchange(isGiven("--slice"), options);
}

void bppsa::schedule::checkSize(int64_t layers, int64_t microbatches) {
  if (layers * microbatches > kMaxOperations)
    throw UsageError(text("found ", layers, " layers and ", microbatches,
                          " microbatches, expected at most ", kMaxOperations,
                          " of both multiplied; use fewer --microbatches"));
}

static void setDefaults(CommandLine &options) {
  if (!options.model.empty()) {
    options.microbatches = options.microbatches ? options.microbatches : 4 * options.devices;
    return;
  }
  int64_t group = options.schedule ? options.schedule->group : 1, given = options.times.size();
  int64_t usual = given > 1 ? given : 2 * group * options.devices;
  int64_t layers = options.layers ? options.layers : usual;
  if (given > 1 && (options.window || given != layers))
    throw UsageError(text("--times: found the times of ", given, " layers, expected the layers of ",
                          options.window
                              ? "one module"
                              : text("one stage, or of ", layers, " layers, with ; between them")));
  checkSize(layers, options.microbatches);
  options.layers = static_cast<int32_t>(layers);
}

std::optional<CommandLine> bppsa::schedule::parseCommandLine(int argc, char **argv) {
  CommandLine options;
  std::string times;
  CLI::App app("Predicts how long a step of training takes under a schedule, and how much memory");
  app.set_version_flag("--version", "bppsa " BPPSA_VERSION);
  addCommon(app, options);
  addStages(app, options);
  addModel(app, options);
  app.add_option(
      "--times", times,
      "Without a model F,B,W,COMM: the times of a stage for one microbatch forward, backward and "
      "for parameter gradients, and of a transfer between devices, in any one unit; with ; between "
      "layers. With a model: counts (default), or a JSON file of measured times");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    app.exit(request);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    throw UsageError(describe(error));
  }
  checkFlags(app, options);
  if (CLI::Option *order = app.get_option("--device-order"); order->count() > 0)
    options.deviceOrder = parseDeviceOrder(order->as<std::string>(), options.devices);
  if (options.model.empty())
    options.times = parseTimes(times);
  else if (!times.empty() && times != "counts")
    options.timesFile = times;
  if (app.get_option("--gflops")->count() > 0 && !options.timesFile.empty())
    throw UsageError("--gflops and measured --times exclude each other");
  setDefaults(options);
  return options;
}
