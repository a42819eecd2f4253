//===- Progress.cpp - Progress display of the command train ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Progress.h"
#include "Interrupt.h"
#include "bppsa/Runtime/Call.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace bppsa::runtime;

Progress::Progress(int64_t epochs, int64_t batchesPerEpoch, bool quiet)
    : epochs(epochs), batchesPerEpoch(batchesPerEpoch), terminal(isatty(STDOUT_FILENO)),
      quiet(quiet), start(now()), lastShown(start), epochStart(start) {}

Progress::~Progress() { clearBar(); }

std::string Progress::duration(double seconds) {
  auto whole = static_cast<long long>(std::min(std::max(std::ceil(seconds), 0.0), 1e9));
  char buffer[64];
  if (whole >= 3600)
    snprintf(buffer, sizeof buffer, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
             whole % 60);
  else
    snprintf(buffer, sizeof buffer, "%lld:%02lld", whole / 60, whole % 60);
  return buffer;
}

std::string Progress::bar(double share, int width) {
  int filled = static_cast<int>(std::min(std::max(share, 0.0), 1.0) * width);
  std::string text(filled, '=');
  if (filled < width)
    text += '>' + std::string(width - filled - 1, ' ');
  return "[" + text + "]";
}

static int terminalWidth() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// "5321 samples/s"
static std::string throughput(int64_t samples, double seconds) {
  char buffer[64];
  double rate = static_cast<double>(samples) / std::max(seconds, 1e-9);
  snprintf(buffer, sizeof buffer, "%.*f samples/s", rate < 10 ? 2 : 0, rate);
  return buffer;
}

/// "  lr 0.001"
static std::string rateText(double rate) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "  lr %.3g", rate);
  return buffer;
}

/// "  loss 0.1234  5321 samples/s  ETA 0:12  lr 0.001  sequential"
std::string Progress::status(const TrainState &state, double loss) const {
  double elapsed = std::max(now() - start, 1e-9);
  int64_t left = (epochs - state.epoch) * batchesPerEpoch - state.batch;
  char buffer[128];
  snprintf(buffer, sizeof buffer, "  loss %#.5g  ", loss);
  return buffer + throughput(samplesDone, elapsed) + "  ETA " +
         duration(elapsed / std::max<int64_t>(batchesDone, 1) * left) + rateText(rate) + "  " +
         variant;
}

void Progress::show(const std::string &text) {
  if (quiet || (fputs(text.c_str(), stdout) != EOF && fflush(stdout) == 0))
    return;
  int error = errno;
  quiet = true;
  barShown = false;
  warn(std::string("warning: stdout: writing failed (") + strerror(error) +
       "); training goes on without showing progress");
}

void Progress::clearBar() {
  if (barShown)
    show("\r\x1b[K");
  barShown = false;
}

void Progress::batchDone(const TrainState &state, double loss, int64_t samples) {
  samplesDone += samples;
  epochSamples += samples;
  ++batchesDone;
  double time = now();
  if (quiet || time - lastShown < (terminal ? 0.1 : 10))
    return;
  lastShown = time;
  double share = static_cast<double>(state.batch) / batchesPerEpoch;
  std::string head = "epoch " + std::to_string(state.epoch + 1) + "/" + std::to_string(epochs);
  std::string tail = status(state, loss);
  char percent[16];
  snprintf(percent, sizeof percent, " %3d%%", static_cast<int>(share * 100));
  if (!terminal) {
    show(head + percent + tail + "\n");
  } else {
    int columns = terminalWidth() - static_cast<int>(head.size() + tail.size()) - 9;
    std::string line = head + (columns >= 4 ? " " + bar(share, std::min(columns, 40)) : "");
    line = (line + percent + tail).substr(0, terminalWidth() - 1);
    barShown = true;
    show("\r" + line + "\x1b[K");
  }
}

/// " (a 0.1234, b 0.2345)" for several losses, otherwise empty.
static std::string eachLoss(const EpochRecord &record, const char *format,
                            std::optional<double> LossRecord::*number) {
  std::string numbers;
  for (const LossRecord &loss : record.losses) {
    if (!(loss.*number))
      continue;
    char buffer[64];
    snprintf(buffer, sizeof buffer, format, *(loss.*number));
    numbers += (numbers.empty() ? " (" : ", ") + loss.output + " " + buffer;
  }
  return numbers.empty() ? "" : numbers + ")";
}

/// "epoch 3/10  loss 0.1234  val_loss 0.2345  val_accuracy 0.9000  lr 0.001"
static std::string summary(const EpochRecord &record, int64_t epochs) {
  char buffer[160];
  snprintf(buffer, sizeof buffer, "epoch %lld/%lld  loss %#.5g",
           static_cast<long long>(record.epoch), static_cast<long long>(epochs), record.loss);
  std::string line = buffer + eachLoss(record, "%#.5g", &LossRecord::loss);
  auto add = [&](const char *format, const std::optional<double> &value) {
    if (!value)
      return;
    snprintf(buffer, sizeof buffer, format, *value);
    line += buffer;
  };
  add("  val_loss %#.5g", record.valLoss);
  line += eachLoss(record, "%#.5g", &LossRecord::valLoss);
  add("  val_accuracy %.4f", record.valAccuracy);
  if (!record.valAccuracy)
    if (std::string each = eachLoss(record, "%.4f", &LossRecord::valAccuracy); !each.empty())
      line += "  val_accuracy" + each;
  return line + rateText(record.rate);
}

bool Progress::isInterrupted() { return notedInterrupt() != 0; }

bool Progress::epochDone(const EpochRecord &record) {
  double time = now();
  if (!quiet) {
    char seconds[32];
    snprintf(seconds, sizeof seconds, "  %.2f s  ", record.seconds);
    clearBar();
    show(summary(record, epochs) + "  " + throughput(epochSamples, time - epochStart) + seconds +
         variant + "\n");
  }
  epochSamples = 0;
  epochStart = lastShown = time;
  return false;
}

void Progress::note(const std::string &line) {
  if (quiet)
    return;
  clearBar();
  show(line + "\n");
}

void Progress::warn(const std::string &line) {
  clearBar();
  fprintf(stderr, "%s\n", line.c_str());
}
