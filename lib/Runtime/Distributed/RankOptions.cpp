//===- RankOptions.cpp - Command-line options for several ranks -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RankOptions.h"
#include "../OptionNumbers.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Simulator/PipelineSchedules.h"

using namespace bppsa;
using namespace bppsa::runtime;

void bppsa::runtime::addPipelineOptions(CLI::App &command, Options &options) {
  command
      .add_option_function<std::string>(
          "--pipeline-schedule",
          [&options](const std::string &word) {
            if (word != "auto" && !schedule::parseScheduleKind(word))
              throw UsageError(text("--pipeline-schedule: found ", quote(word), ", expected ",
                                    schedule::listScheduleKinds(), " and auto"));
            options.pipeline.schedule = word;
          },
          "The order in which ranks compute microbatches: " + schedule::listScheduleKinds() +
              ", or auto, the one with the shortest predicted step; the bits are the same")
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--pipeline-times",
          [&options](const std::string &word) {
            options.pipeline.areTimesMeasured = word == "measured";
          },
          "Operation times for predictions: measured in the first updates (measured, the default), "
          "or proportional to floating-point operations (counts)")
      ->check(CLI::IsMember({"measured", "counts"}));
  command
      .add_option_function<double>(
          "--memory-limit",
          [&options](const double &limit) { options.pipeline.memoryLimit = limit; },
          "Maximum number of microbatches that a rank of a pipeline holds at once, each weighted "
          "by the fraction of the rank's stages that hold it")
      ->check(CLI::Range(1.0, 1e9));
}

void bppsa::runtime::addTraceOption(CLI::App &command, Options &options, const char *help) {
  command.add_option("--trace", options.trace, help);
}

void bppsa::runtime::addRankOptions(CLI::App &command, Options &options) {
  using Kind = ExchangeOptions::Kind;
  static const std::map<std::string, Kind> kinds = {{"barrier", Kind::Barrier},
                                                    {"allreduce", Kind::AllReduce},
                                                    {"p3", Kind::P3},
                                                    {"dear", Kind::DeAR}};
  command
      .add_option_function<std::string>(
          "--exchange",
          [&options](const std::string &word) { options.exchange.kind = kinds.at(word); },
          "How ranks exchange gradients: allreduce (whole parameters, the default), p3 (slices, "
          "most urgent first), dear (slices, all reductions before any broadcast) or barrier "
          "(whole parameters, after the step); all give the same bits")
      ->check(CLI::IsMember({"barrier", "allreduce", "p3", "dear"}));
  addNumber(command, "--slice", options.exchange.slice, kCounts,
            "Elements of a slice of p3 and dear (default: 50000)");
  command
      .add_option_function<std::string>(
          "--throttle",
          [&options](const std::string &word) { options.throttle = Throttle::parse(word); },
          "GBIT/S,SECONDS: every rank sends as over a network of that rate and latency")
      ->type_name("RATE");
  command
      .add_option("--stall-timeout", options.stallTimeout,
                  "Seconds without a message from another rank after which a rank that waits ends "
                  "the run; 0: never (default: 600)")
      ->check(CLI::Range(0.0, 1e9));
  CLI::Option *shares = command.add_flag("--shard-time", options.shardTime,
                                         "In programs that were compiled with --shard-time: each "
                                         "rank computes a share of the steps of "
                                         "every sequence, in place of a share of the samples");
  static const std::map<std::string, ShardBackward> ways = {{"auto", ShardBackward::Auto},
                                                            {"carry", ShardBackward::Carry},
                                                            {"exscan", ShardBackward::Exscan}};
  command
      .add_option_function<std::string>(
          "--shard-backward",
          [&options](const std::string &word) { options.shardBackward = ways.at(word); },
          "How cotangents pass between time shards: carry (from rank to rank), exscan (by "
          "MPI_Exscan of affine maps, in programs compiled with --scan-shards), or auto (the "
          "default: the method with fewer sequential steps)")
      ->check(CLI::IsMember({"auto", "carry", "exscan"}))
      ->needs(shares);
  addTraceOption(command, options,
                 "Write when each rank computed, sent and waited to this file, in the Chrome trace "
                 "format");
}
