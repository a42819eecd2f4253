//===- CudaImages.cpp - Selection of a kernel image -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <cstring>

using namespace bppsa::runtime;
using namespace bppsa::runtime::cuda;

namespace {
struct Architecture {
  int major = 0, minor = 0;
  /// Uses features specific to this architecture.
  bool exact = false;
};
} // namespace

static bool isPtx(const bppsa_device_image &image) { return strcmp(image.arch, "ptx") == 0; }

static Architecture parse(const char *arch) {
  Architecture result;
  int number = 0;
  const char *at = arch + (strncmp(arch, "sm_", 3) == 0 ? 3 : 0);
  for (; *at >= '0' && *at <= '9'; ++at)
    number = number * 10 + (*at - '0');
  result.major = number / 10;
  result.minor = number % 10;
  result.exact = *at != '\0';
  return result;
}

static const bppsa_device_image *findCubin(const bppsa_device_image *images, int major, int minor) {
  const bppsa_device_image *best = nullptr;
  int bestMinor = -1;
  for (const bppsa_device_image *image = images; image->arch; ++image) {
    if (isPtx(*image))
      continue;
    Architecture arch = parse(image->arch);
    bool runs = arch.major == major && (arch.exact ? arch.minor == minor : arch.minor <= minor);
    // Architecture-specific code may use more features.
    int rank = 2 * arch.minor + arch.exact;
    if (runs && rank > bestMinor) {
      best = image;
      bestMinor = rank;
    }
  }
  return best;
}

static const bppsa_device_image *findPtx(const bppsa_device_image *images) {
  for (const bppsa_device_image *image = images; image->arch; ++image)
    if (isPtx(*image))
      return image;
  return nullptr;
}

static std::string firstLine(const char *log) {
  std::string line = log + strspn(log, " \n\r\t");
  line = line.substr(0, line.find_first_of("\n\r"));
  return line.empty() ? "" : ": " + line;
}

static std::string load(const Driver &driver, const bppsa_device_image &image, Module &module) {
  char log[4096] = "";
  int options[] = {kJitErrorLog, kJitErrorLogSize};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  Result result = driver.moduleLoadDataEx(&module, image.data, 2, options, values);
  log[sizeof log - 1] = '\0';
  return result == 0 ? "" : driver.describe(result) + firstLine(log);
}

Module cuda::loadImage(const Driver &driver, const bppsa_device_image *images, int major,
                       int minor) {
  Module module = nullptr;
  std::string problem;
  for (const bppsa_device_image *image : {findCubin(images, major, minor), findPtx(images)}) {
    if (!image)
      continue;
    problem = load(driver, *image, module);
    if (problem.empty())
      return module;
    problem = text("the ", image->arch, " code: ", problem);
  }
  std::vector<std::string> all;
  for (const bppsa_device_image *image = images; image->arch; ++image)
    all.emplace_back(image->arch);
  fail("the kernels of this program (", list(all), ") do not run on this GPU (sm_", major, minor,
       ")", problem.empty() ? "" : ": the driver refuses " + problem,
       "; compile with --gpu-arch=sm_", major, minor);
}
