//===- Schedule.cpp - Learning-rate schedules -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Schedule.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace bppsa::runtime;

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

[[noreturn]] static void refuse(const std::string &found) {
  fail("--lr-schedule: found ", quote(found),
       ", expected constant, step:N:GAMMA, cosine[:MIN] or plateau[:FACTOR[:N]], with or without "
       "warmup:N, before it");
}

static double parseNumber(const std::string &text, const std::string &whole, double least) {
  char *end = nullptr;
  double value = strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value) || value < least)
    refuse(whole);
  return value;
}

static int64_t parseCount(const std::string &text, const std::string &whole) {
  double value = parseNumber(text, whole, 1);
  if (value != std::floor(value) || value > 1e15)
    refuse(whole);
  return static_cast<int64_t>(value);
}

Schedule::Schedule(const std::string &description) {
  bool decided = false;
  std::vector<std::string> parts = split(description, ',');
  if (parts.empty())
    refuse(description);
  for (const std::string &part : parts) {
    std::vector<std::string> words = split(part, ':');
    if (words.empty() || decided)
      refuse(description);
    if (words[0] == "warmup" && words.size() == 2 && warmup == 0) {
      warmup = parseCount(words[1], description);
      continue;
    }
    decided = true;
    if (words[0] == "constant" && words.size() == 1)
      continue;
    if (words[0] == "step" && words.size() == 3) {
      kind = Kind::Step;
      every = parseCount(words[1], description);
      gamma = parseNumber(words[2], description, 0);
    } else if (words[0] == "cosine" && words.size() <= 2) {
      kind = Kind::Cosine;
      minimum = words.size() == 2 ? parseNumber(words[1], description, 0) : 0;
    } else if (words[0] == "plateau" && words.size() <= 3) {
      kind = Kind::Plateau;
      gamma = words.size() > 1 ? parseNumber(words[1], description, 0) : 0.1;
      every = words.size() > 2 ? parseCount(words[2], description) : 10;
      if (gamma <= 0 || gamma >= 1)
        refuse(description);
    } else {
      refuse(description);
    }
  }
}

double Schedule::plateauScale(const std::vector<double> &losses) const {
  double scale = 1, best = std::numeric_limits<double>::infinity();
  int64_t others = 0;
  for (size_t i = 0; kind == Kind::Plateau && i < losses.size(); ++i) {
    // PyTorch's default threshold.
    bool isBetter = losses[i] < best * (1 - 1e-4) || std::isinf(best);
    best = isBetter ? losses[i] : best;
    others = isBetter ? 0 : others + 1;
    if (others > every) {
      scale *= gamma;
      others = 0;
    }
  }
  return scale;
}

double Schedule::rate(double base, int64_t step, int64_t perEpoch, int64_t total) const {
  double rate = base;
  if (kind == Kind::Step)
    rate = base * std::pow(gamma, static_cast<double>(step / perEpoch / every));
  if (kind == Kind::Cosine) {
    double done = total > 1 ? static_cast<double>(std::min(step, total - 1)) / (total - 1) : 0;
    rate = minimum + (base - minimum) * 0.5 * (1 + std::cos(M_PI * done));
  }
  if (step < warmup)
    rate *= static_cast<double>(step + 1) / warmup;
  return rate;
}
