//===- Metrics.cpp - Training metrics as JSON lines -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Metrics.h"
#include "bppsa/Runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace bppsa::runtime;
using nlohmann::json;
using nlohmann::ordered_json;

ordered_json bppsa::runtime::toJson(const EpochRecord &record) {
  auto optional = [](const std::optional<double> &value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
  };
  ordered_json object = {{"epoch", record.epoch},
                         {"loss", record.loss},
                         {"val_loss", optional(record.valLoss)},
                         {"val_accuracy", optional(record.valAccuracy)},
                         {"seconds", record.seconds},
                         {"load_seconds", record.loadSeconds},
                         {"lr", record.rate},
                         {"variant", record.variant}};
  // This is a list, so that checkpoints preserve the order.
  for (const LossRecord &loss : record.losses)
    object["losses"].push_back({{"loss_on", loss.output},
                                {"loss", optional(loss.loss)},
                                {"val_loss", optional(loss.valLoss)},
                                {"val_accuracy", optional(loss.valAccuracy)}});
  return object;
}

EpochRecord bppsa::runtime::recordOf(const json &object) {
  auto optionalOf = [](const json &object, const char *key) -> std::optional<double> {
    const json &value = object.at(key);
    return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
  };
  EpochRecord record;
  record.epoch = object.at("epoch").get<int64_t>();
  record.loss = object.at("loss").get<double>();
  record.valLoss = optionalOf(object, "val_loss");
  record.valAccuracy = optionalOf(object, "val_accuracy");
  record.seconds = object.at("seconds").get<double>();
  record.loadSeconds = object.at("load_seconds").get<double>();
  record.rate = object.at("lr").get<double>();
  record.variant = object.at("variant").get<std::string>();
  if (auto losses = object.find("losses"); losses != object.end())
    for (const json &loss : *losses)
      record.losses.push_back({loss.at("loss_on").get<std::string>(), optionalOf(loss, "loss"),
                               optionalOf(loss, "val_loss"), optionalOf(loss, "val_accuracy")});
  return record;
}

MetricsLog::MetricsLog(const std::string &path) : path(path) {
  if (path.empty())
    return;
  struct stat info;
  bool exists = stat(path.c_str(), &info) == 0;
  if (!exists)
    requireWritable(path, "--log");
  else if (S_ISDIR(info.st_mode) || access(path.c_str(), W_OK) != 0)
    fail("--log: ", quote(path), ": cannot be written (",
         strerror(S_ISDIR(info.st_mode) ? EISDIR : errno), ")");
}

MetricsLog::~MetricsLog() {
  if (descriptor >= 0)
    close(descriptor);
}

static bool writeWhole(int descriptor, const std::string &lines) {
  for (size_t done = 0; done < lines.size();) {
    ssize_t size = write(descriptor, lines.data() + done, lines.size() - done);
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0) {
      int error = errno;
      // Pipes and devices cannot be truncated.
      if (off_t end = lseek(descriptor, -static_cast<off_t>(done), SEEK_CUR); end >= 0)
        static_cast<void>(ftruncate(descriptor, end));
      errno = error;
      return false;
    }
    done += size;
  }
  return true;
}

void MetricsLog::add(const std::vector<EpochRecord> &history) {
  if (path.empty())
    return;
  if (descriptor < 0)
    descriptor = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  std::string lines;
  for (size_t i = written; i < history.size(); ++i)
    lines += toJson(history[i]).dump() + "\n";
  if (descriptor < 0 || !writeWhole(descriptor, lines))
    fail("--log: ", quote(path), ": writing failed (", strerror(errno), ")");
  written = history.size();
}
