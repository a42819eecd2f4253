//===- Calibration.cpp - Calibration of the GPU cost model ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Variants/Calibration.h"
#include "Commands.h"
#include "Variants/Stopwatch.h"
#include "bppsa/CostModel/Machines/CalibrationFit.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/AtomicFile.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <zlib.h>

using namespace bppsa::runtime;
namespace cost = bppsa::cost;
using nlohmann::json;
using nlohmann::ordered_json;

static constexpr int64_t kLongestSequence = 16384, kLargestBatch = 256, kMaxPositions = 1 << 20;
/// Passes longer than this, in microseconds, are not measured.
static constexpr double kLongestPass = 2e5;

static std::string programNumber(const Program &program) {
  uLong number = crc32_z(0, reinterpret_cast<const Bytef *>(program.description.data()),
                         static_cast<z_size_t>(program.description.size()));
  char digits[16];
  snprintf(digits, sizeof digits, "%08lx", number);
  return digits;
}

static ordered_json describeConstants(const cost::DeviceConstants &constants) {
  ordered_json object = {{"multiprocessors", constants.multiprocessors},
                         {"bytes_per_us", constants.bandwidth},
                         {"launch_us", constants.launch},
                         {"rest_us", constants.rest},
                         {"rest_ns_per_position", constants.restPerPosition}};
  for (size_t work = 0; work < cost::kNumWorks; ++work)
    object[cost::workNames[work]] = {{"cycle_ns", constants.cycle[work]},
                                     {"issue_ns", constants.issue[work]}};
  return object;
}

static double readNumber(const json &object, const char *key, bool isDivisor = false) {
  double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value < 0 || (isDivisor && value == 0))
    fail(quote(key), " is ", value, ", which no GPU takes");
  return value;
}

static cost::DeviceConstants parseConstants(const json &object) {
  cost::DeviceConstants constants;
  constants.multiprocessors = readNumber(object, "multiprocessors", /*isDivisor=*/true);
  constants.bandwidth = readNumber(object, "bytes_per_us", /*isDivisor=*/true);
  constants.launch = readNumber(object, "launch_us");
  constants.rest = readNumber(object, "rest_us");
  constants.restPerPosition = readNumber(object, "rest_ns_per_position");
  for (size_t work = 0; work < cost::kNumWorks; ++work) {
    const json &step = object.at(cost::workNames[work]);
    constants.cycle[work] = readNumber(step, "cycle_ns");
    constants.issue[work] = readNumber(step, "issue_ns");
  }
  return constants;
}

static std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    fail("--calibration: ", quote(path), " cannot be read (", strerror(errno), ")");
  return content;
}

/// Returns an empty string if `program` can be calibrated.
static std::string reasonAgainst(const Program &program) {
  if (!isDeviceProgram())
    return "this program runs on the CPU, for which --backward=auto measures the variants itself";
  if (isEmulatedProgram())
    return "this program is emulated, and its times say nothing of a GPU; compile it without "
           "--emulate";
  if (program.model.deviceChains.empty())
    return "this program has no chain over time, whose plans it could choose from";
  return "";
}

cost::DeviceConstants bppsa::runtime::readCalibration(const std::string &path,
                                                      const Program &program) {
  if (std::string reason = reasonAgainst(program); !reason.empty())
    fail("--calibration: ", reason);
  std::string content = readText(path), found, device;
  cost::DeviceConstants constants;
  try {
    json object = json::parse(content);
    if (object.at("format").get<int>() != 1)
      fail("format ", object.at("format").dump(), " is not known");
    found = object.at("program").get<std::string>();
    device = object.at("device").get<std::string>();
    constants = parseConstants(object.at("constants"));
  } catch (const std::exception &error) {
    fail("--calibration: ", quote(path), " is not a calibration: ", error.what(),
         "; `bench --calibrate --calibration FILE` writes one");
  }
  if (found != programNumber(program))
    fail("--calibration: ", quote(path),
         " was measured with another program; run `bench --calibrate` of this one");
  if (std::string here = programDevice()->description(); device != here)
    fail("--calibration: ", quote(path), " was measured on ", quote(device), ", here is ",
         quote(here), "; run `bench --calibrate` here");
  constants.name = "measured on " + device;
  return constants;
}

namespace {
struct Point {
  const VariantInfo *variant;
  cost::Measurement measured;
};
} // namespace

/// Returns `least` times powers of four, and `most`.
static std::vector<int64_t> growingSizes(int64_t least, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = least; size < most; size *= 4)
    sizes.push_back(size);
  sizes.push_back(most);
  return sizes;
}

static std::vector<int64_t> sizesOf(const Model &model, std::optional<int64_t> ArrayInfo::*axis,
                                    int64_t least, int64_t most) {
  if (std::optional<int64_t> fixed = model.fixedSize(axis))
    return {*fixed};
  return growingSizes(least, most);
}

static std::vector<Point> measureBatch(Session &session, int64_t steps, int64_t samples,
                                       int64_t repeat) {
  const Model &model = session.program.model;
  Dataset data = Dataset::synthetic(model, samples, steps, {});
  Batch batch = data.whole();
  std::vector<Point> points;
  for (const VariantInfo &variant : model.variants) {
    cost::Plan plan = planOf(variant);
    if (cost::predict(model.deviceChains, plan, steps, samples, cost::shippedH200()) > kLongestPass)
      continue;
    Call step = session.prepare("step." + variant.name, &batch);
    double time = timeSteps(session, step, repeat).backward;
    // Skip measurements below the clock resolution.
    if (time > 0)
      points.push_back({&variant, {plan, steps, samples, time}});
  }
  return points;
}

static std::vector<Point> measureGrid(const Program &program, const Options &options) {
  const Model &model = program.model;
  Session session(program, true);
  std::optional<size_t> symbol = timeSymbol(model);
  std::vector<Point> points;
  for (int64_t steps :
       sizesOf(model, &ArrayInfo::timeAxis, 16, options.seqLen.value_or(kLongestSequence)))
    for (int64_t samples :
         sizesOf(model, &ArrayInfo::batchAxis, 1, options.batch.value_or(kLargestBatch))) {
      Symbols symbols(model.symbols.size());
      if (samples * steps > kMaxPositions ||
          (symbol && !isLongEnough(model, symbols, *symbol, steps)))
        continue;
      std::vector<Point> measured = measureBatch(session, steps, samples, options.repeat);
      points.insert(points.end(), measured.begin(), measured.end());
    }
  return points;
}

/// Returns the worst ratio of the measured times of the predicted and the best variant. Points must
/// be grouped by size.
static double worstChoice(const std::vector<Point> &points, const std::vector<double> &predicted) {
  double worst = 1;
  for (size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const cost::Measurement &first = points[begin].measured;
    size_t chosen = begin, best = begin;
    for (end = begin; end < points.size() && points[end].measured.steps == first.steps &&
                      points[end].measured.samples == first.samples;
         ++end) {
      if (predicted[end] < predicted[chosen])
        chosen = end;
      if (points[end].measured.microseconds < points[best].measured.microseconds)
        best = end;
    }
    worst =
        std::max(worst, points[chosen].measured.microseconds / points[best].measured.microseconds);
  }
  return worst;
}

static ordered_json describeCalibration(const Program &program, const std::vector<Point> &points,
                                        const cost::DeviceConstants &constants) {
  const Model &model = program.model;
  ordered_json rows = ordered_json::array();
  std::vector<double> predicted;
  double worst = 1;
  for (const auto &[variant, measured] : points) {
    double time = cost::predict(model.deviceChains, measured.plan, measured.steps, measured.samples,
                                constants);
    predicted.push_back(time);
    double ratio = time / measured.microseconds;
    worst = std::max({worst, ratio, 1 / ratio});
    rows.push_back({{"seq_len", measured.steps},
                    {"batch", measured.samples},
                    {"variant", variant->name},
                    {"measured_us", measured.microseconds},
                    {"predicted_us", time}});
  }
  return {{"format", 1},
          {"program", programNumber(program)},
          {"device", programDevice()->description()},
          {"constants", describeConstants(constants)},
          {"worst_prediction", worst},
          {"worst_choice", worstChoice(points, predicted)},
          {"points", std::move(rows)}};
}

void bppsa::runtime::calibrateCommand(const Program &program, const Options &options) {
  const Model &model = program.model;
  if (std::string reason = reasonAgainst(program); !reason.empty())
    fail("bench --calibrate: ", reason);
  if (model.variants.size() < 2)
    fail("bench --calibrate: this program holds one variant; compile it with --backward=auto");
  const std::string &path = options.variant.calibration;
  if (!path.empty())
    requireWritable(path, "--calibration");

  std::vector<Point> points = measureGrid(program, options);
  std::vector<cost::Measurement> measurements;
  for (const Point &point : points)
    measurements.push_back(point.measured);
  if (measurements.empty())
    fail("bench --calibrate: no size could be measured; a larger --seq-len gives more");
  cost::DeviceConstants start = cost::shippedH200();
  start.multiprocessors = static_cast<double>(programDevice()->multiprocessors());
  cost::DeviceConstants constants = cost::fitConstants(model.deviceChains, measurements, start);

  std::string text = describeCalibration(program, points, constants).dump();
  if (!path.empty()) {
    AtomicFile file(path);
    file.write((text + "\n").data(), text.size() + 1);
    file.commit();
  }
  printLine(text);
}
