//===- RankOptions.cpp - The command line of several ranks --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RankOptions.h"
#include "../OptionNumbers.h"

using namespace bppsa::runtime;

void bppsa::runtime::addPipelineOptions(CLI::App &command, Options &options) {
  using Kind = PipelineOptions::Kind;
  static const std::map<std::string, Kind> kinds = {{"gpipe", Kind::GPipe},
                                                    {"1f1b", Kind::OneForwardOneBackward},
                                                    {"zb-h1", Kind::ZeroBubbleH1},
                                                    {"zb-h2", Kind::ZeroBubbleH2}};
  command
      .add_option_function<std::string>(
          "--pipeline-schedule",
          [&options](const std::string &word) { options.pipeline.kind = kinds.at(word); },
          "The order in which a stage computes microbatches: gpipe (all forward, then all "
          "backward), 1f1b (backward as soon as it can, the default), zb-h1 or zb-h2 (the same, "
          "and "
          "gradients of parameters where it would wait); the bits are the same")
      ->check(CLI::IsMember({"gpipe", "1f1b", "zb-h1", "zb-h2"}));
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
          "the most urgent first), dear (slices, all sums before any goes back) or barrier (whole "
          "parameters, after the step); the bits are the same")
      ->check(CLI::IsMember({"barrier", "allreduce", "p3", "dear"}));
  addNumber(command, "--slice", options.exchange.slice, counts,
            "Elements of a slice of p3 and dear (default: 50000)");
  command
      .add_option_function<std::string>(
          "--throttle",
          [&options](const std::string &word) { options.throttle = Throttle::parse(word); },
          "GBIT/S,SECONDS: every rank sends as over a network of that rate and latency")
      ->type_name("RATE");
  command.add_flag(
      "--shard-time", options.shardTime,
      "In programs of streams that were compiled with --shard-time: each rank computes "
      "a share of the steps of every sequence, in place of a share of the samples");
  command.add_option("--trace", options.trace,
                     "Write when each rank computed, sent and waited to this file, in the Chrome "
                     "trace format");
}
