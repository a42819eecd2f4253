//===- CalibrationFit.cpp - fit GPU constants to measurements -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// If the bottleneck of each phase is known, times are linear in the constants. The fit alternates
// between bottlenecks and linear least squares, from several guesses.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/CalibrationFit.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace bppsa::cost;

static constexpr size_t kNumConstants = 2 * kNumWorks + 3;
using Vector = std::array<double, kNumConstants>;
using Matrix = std::array<Vector, kNumConstants>;

/// Regularisation towards the start values, for constants that the measurements do not determine.
static constexpr double kHold = 1e-5;

static Vector toVector(const DeviceConstants &constants) {
  Vector vector = {constants.launch};
  for (size_t work = 0; work < kNumWorks; ++work) {
    vector[1 + work] = constants.cycle[work];
    vector[1 + kNumWorks + work] = constants.issue[work];
  }
  vector[kNumConstants - 2] = constants.rest;
  vector[kNumConstants - 1] = constants.restPerPosition;
  return vector;
}

static DeviceConstants withVector(DeviceConstants constants, const Vector &vector) {
  constants.launch = vector[0];
  for (size_t work = 0; work < kNumWorks; ++work) {
    constants.cycle[work] = vector[1 + work];
    constants.issue[work] = vector[1 + kNumWorks + work];
  }
  constants.rest = vector[kNumConstants - 2];
  constants.restPerPosition = vector[kNumConstants - 1];
  return constants;
}

static Vector solve(Matrix matrix, Vector right, const std::array<bool, kNumConstants> &free) {
  std::vector<size_t> rows;
  for (size_t i = 0; i < kNumConstants; ++i)
    if (free[i])
      rows.push_back(i);
  // The matrix is symmetric and positive definite, so no pivoting is needed.
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = i + 1; j < rows.size(); ++j) {
      double factor = matrix[rows[j]][rows[i]] / matrix[rows[i]][rows[i]];
      for (size_t k = i; k < rows.size(); ++k)
        matrix[rows[j]][rows[k]] -= factor * matrix[rows[i]][rows[k]];
      right[rows[j]] -= factor * right[rows[i]];
    }
  Vector solution = {};
  for (size_t i = rows.size(); i-- > 0;) {
    double value = right[rows[i]];
    for (size_t k = i + 1; k < rows.size(); ++k)
      value -= matrix[rows[i]][rows[k]] * solution[rows[k]];
    solution[rows[i]] = value / matrix[rows[i]][rows[i]];
  }
  return solution;
}

/// Moves x towards `target` until the first free constant reaches 0.
static void moveTowards(const Vector &target, Vector &x, std::array<bool, kNumConstants> &free) {
  double share = 1;
  size_t first = kNumConstants;
  for (size_t i = 0; i < kNumConstants; ++i)
    if (free[i] && target[i] <= 0 && x[i] / (x[i] - target[i]) <= share) {
      share = x[i] / (x[i] - target[i]);
      first = i;
    }
  for (size_t i = 0; i < kNumConstants; ++i)
    x[i] += share * (target[i] - x[i]);
  if (first < kNumConstants) {
    x[first] = 0;
    free[first] = false;
  }
}

/// Returns the x >= 0 that minimises x'Mx - 2b'x (Lawson and Hanson).
static Vector solveNonnegative(const Matrix &matrix, const Vector &right) {
  Vector x = {};
  std::array<bool, kNumConstants> free = {};
  for (size_t round = 0; round < 10 * kNumConstants; ++round) {
    size_t next = kNumConstants;
    double steepest = 1e-13;
    for (size_t i = 0; i < kNumConstants; ++i) {
      double slope = right[i];
      for (size_t j = 0; j < kNumConstants; ++j)
        slope -= matrix[i][j] * x[j];
      if (!free[i] && slope > steepest) {
        steepest = slope;
        next = i;
      }
    }
    if (next == kNumConstants)
      break;
    free[next] = true;
    x[next] = std::numeric_limits<double>::min();
    for (bool isInside = false; !isInside;) {
      std::array<bool, kNumConstants> before = free;
      moveTowards(solve(matrix, right, free), x, free);
      isInside = free == before;
    }
  }
  return x;
}

namespace {
class Fit {
public:
  Fit(const std::vector<ChainCost> &chains, const std::vector<Measurement> &measurements,
      const DeviceConstants &start);

  DeviceConstants improve(DeviceConstants guess) const;
  double getError(const DeviceConstants &constants) const;

private:
  std::pair<Vector, double> getRow(const Measurement &measurement,
                                   const DeviceConstants &constants) const;

  const std::vector<ChainCost> &chains;
  const std::vector<Measurement> &measurements;
  Vector scale, held;
};
} // namespace

Fit::Fit(const std::vector<ChainCost> &chains, const std::vector<Measurement> &measurements,
         const DeviceConstants &start)
    : chains(chains), measurements(measurements), scale(toVector(start)) {
  for (size_t i = 0; i < kNumConstants; ++i) {
    held[i] = scale[i] > 0;
    if (scale[i] <= 0)
      scale[i] = 1;
  }
}

std::pair<Vector, double> Fit::getRow(const Measurement &measurement,
                                      const DeviceConstants &constants) const {
  Vector row = {};
  double other = 0;
  for (const ChainCost &chain : chains)
    for (const Phase &phase :
         getPhases(chain, measurement.plan, measurement.steps, measurement.samples)) {
      const StepCost &step = chain.of(phase.work);
      auto work = static_cast<size_t>(phase.work);
      std::array<double, 3> units = getUnits(phase, step, constants.multiprocessors);
      Bound bound;
      predictPhase(phase, step, constants, &bound);
      row[0] += phase.launches;
      if (bound == Bound::Latency)
        row[1 + work] += units[0] * 1e-3;
      else if (bound == Bound::Issue)
        row[1 + kNumWorks + work] += units[1] * 1e-3;
      else
        other += units[2] / constants.bandwidth;
    }
  row[kNumConstants - 2] = 1;
  row[kNumConstants - 1] =
      1e-3 * static_cast<double>(measurement.steps) * static_cast<double>(measurement.samples);
  for (size_t i = 0; i < kNumConstants; ++i)
    row[i] *= scale[i];
  return {row, other};
}

DeviceConstants Fit::improve(DeviceConstants guess) const {
  DeviceConstants best = guess;
  double least = getError(guess);
  for (int round = 0; round < 30; ++round) {
    Matrix matrix = {};
    Vector right = {};
    for (size_t i = 0; i < kNumConstants; ++i) {
      matrix[i][i] = kHold * kHold;
      right[i] = kHold * kHold * held[i];
    }
    for (const Measurement &measurement : measurements) {
      auto [row, other] = getRow(measurement, guess);
      double weight = 1 / measurement.microseconds;
      for (size_t i = 0; i < kNumConstants; ++i) {
        right[i] += weight * row[i] * (1 - weight * other);
        for (size_t j = 0; j < kNumConstants; ++j)
          matrix[i][j] += weight * row[i] * weight * row[j];
      }
    }
    Vector found = solveNonnegative(matrix, right);
    for (size_t i = 0; i < kNumConstants; ++i)
      found[i] *= scale[i];
    guess = withVector(guess, found);
    double error = getError(guess);
    if (error < least)
      best = guess;
    if (error >= least)
      break;
    least = error;
  }
  return best;
}

double Fit::getError(const DeviceConstants &constants) const {
  double sum = 0;
  for (const Measurement &measurement : measurements) {
    double time =
        predict(chains, measurement.plan, measurement.steps, measurement.samples, constants);
    double error = time / measurement.microseconds - 1;
    sum += error * error;
  }
  return sum;
}

DeviceConstants bppsa::cost::fitConstants(const std::vector<ChainCost> &chains,
                                          const std::vector<Measurement> &measurements,
                                          const DeviceConstants &start) {
  Fit fit(chains, measurements, start);
  DeviceConstants best = start;
  double least = std::numeric_limits<double>::infinity();
  for (double cycles : {0.25, 1.0, 4.0})
    for (double issues : {0.125, 1.0, 8.0}) {
      DeviceConstants guess = start;
      for (size_t work = 0; work < kNumWorks; ++work) {
        guess.cycle[work] *= cycles;
        guess.issue[work] *= issues;
      }
      DeviceConstants found = fit.improve(guess);
      if (double error = fit.getError(found); error < least) {
        least = error;
        best = found;
      }
    }
  return best;
}
