//===- PanelFunctions.cpp - functions shared by packed products -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "PanelFunctions.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "bppsa/Support/SharedCode.h"
#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace bppsa;

namespace {
struct Code {
  OpBuilder &b;
  Location loc;

  Value index(int64_t value) { return getIndex(b, loc, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, int64_t y) { return b.createOrFold<arith::MulIOp>(loc, x, index(y)); }

  void loop(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, loc, begin, end, index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  Value offset(Value table, Value i) { return memref::LoadOp::create(b, loc, table, i); }
  /// LLVM generates better code for scalars than for vectors of one element.
  Value load(Value memory, Value offset, int64_t chunk) {
    if (chunk == 1)
      return memref::LoadOp::create(b, loc, memory, offset);
    auto type = VectorType::get(chunk, b.getF32Type());
    return vector::LoadOp::create(b, loc, type, memory, offset);
  }
  void store(Value value, Value memory, Value offset) {
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(b, loc, value, memory, offset);
    else
      memref::StoreOp::create(b, loc, value, memory, offset);
  }
  Value zero(int64_t chunk) const {
    Type type = b.getF32Type();
    if (chunk != 1)
      type = VectorType::get(chunk, type);
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  }
};
} // namespace

namespace {
struct PackCode : Code {
  Value source, stepOffsets, firstStep, termOffsets, panel, begin;
  int64_t width;

  PackCode(OpBuilder &b, Location loc, ValueRange args, int64_t width)
      : Code{b, loc}, source(args[0]), stepOffsets(args[1]), firstStep(args[2]),
        termOffsets(args[4]), panel(args[6]), begin(args[7]), width(width) {}

  Value getStepOffset(Value step) { return offset(stepOffsets, add(firstStep, step)); }
  Value read(Value stepOffset, Value term, int64_t chunk) {
    return load(source, add(stepOffset, offset(termOffsets, term)), chunk);
  }
  void write(Value value, Value step, Value term) {
    store(value, panel, add(add(begin, step), mul(term, width)));
  }

  /// Copies all terms of a step before the next step, so that adjacent terms are read in order.
  void copy(Value firstStep, Value endStep, Value firstTerm, Value endTerm, int64_t chunk) {
    loop(firstStep, endStep, chunk, [&](Value step) {
      Value stepOffset = getStepOffset(step);
      loop(firstTerm, endTerm, 1,
           [&](Value term) { write(read(stepOffset, term, chunk), step, term); });
    });
  }
  void clear(Value firstStep, Value endTerm, int64_t chunk) {
    loop(firstStep, index(width), chunk, [&](Value step) {
      loop(index(0), endTerm, 1, [&](Value term) { write(zero(chunk), step, term); });
    });
  }
  void copyTiles(Value endStep, int64_t tileSteps, Value endTerm, int64_t tileTerms) {
    loop(index(0), endStep, tileSteps, [&](Value step) {
      SmallVector<Value> stepOffsets;
      for (int64_t i = 0; i < tileSteps; ++i)
        stepOffsets.push_back(getStepOffset(add(step, index(i))));
      loop(index(0), endTerm, tileTerms, [&](Value term) {
        SmallVector<Value> rows;
        for (Value stepOffset : stepOffsets)
          rows.push_back(read(stepOffset, term, tileTerms));
        for (auto [i, column] : llvm::enumerate(transposeRowsOfFour(b, loc, rows)))
          write(column, step, add(term, index(i)));
      });
    });
  }
};
} // namespace

void PanelFunctions::pack(OpBuilder &builder, Value source, Steps steps, Steps terms, Value panel,
                          Value begin, int64_t width, CopyChunk chunk) const {
  std::string name = llvm::formatv("pack_{0}_by_{1}_of_{2}", chunk.steps, chunk.terms, width).str();
  emitSharedCall(
      builder, module, loc, name,
      {source, steps.offsets, steps.first, steps.size, terms.offsets, terms.size, panel, begin},
      [&](OpBuilder &b, ValueRange args) {
        PackCode code(b, loc, args, width);
        Value zero = code.index(0), numSteps = args[3], numTerms = args[5];
        if (chunk.terms == 1) {
          code.copy(zero, numSteps, zero, numTerms, chunk.steps);
        } else {
          auto floor = [&](Value size, int64_t multiple) {
            Value rest = b.createOrFold<arith::RemUIOp>(loc, size, code.index(multiple));
            return b.createOrFold<arith::SubIOp>(loc, size, rest);
          };
          int64_t tileSteps = width % 8 == 0 ? 8 : 4;
          Value stepsOfTiles = floor(numSteps, tileSteps);
          Value termsOfTiles = floor(numTerms, chunk.terms);
          code.copyTiles(stepsOfTiles, tileSteps, termsOfTiles, chunk.terms);
          code.copy(zero, stepsOfTiles, termsOfTiles, numTerms, 1);
          code.copy(stepsOfTiles, numSteps, zero, numTerms, 1);
        }
        code.clear(numSteps, numTerms, chunk.steps);
      });
}

namespace {
struct MultiplyCode : Code {
  static constexpr int64_t width = TileShape::vectorLanes;
  TileShape tile;
  Value lanePanel;

  int64_t getVectors() const { return tile.lanes / width; }
  SmallVector<Value> getZeros() const {
    return SmallVector<Value>(tile.rows * getVectors(), zero(width));
  }

  SmallVector<Value> addTerm(Value term, ValueRange sums,
                             function_ref<Value(int64_t)> loadElement) {
    Value firstLane = mul(term, tile.lanes);
    SmallVector<Value> lanes, next(sums);
    for (int64_t v = 0; v < getVectors(); ++v)
      lanes.push_back(load(lanePanel, add(firstLane, index(v * width)), width));
    for (int64_t row = 0; row < tile.rows; ++row) {
      Value all = vector::BroadcastOp::create(b, loc, lanes.front().getType(), loadElement(row));
      for (auto [v, lane] : llvm::enumerate(lanes)) {
        Value &sum = next[row * getVectors() + v];
        sum = vector::FMAOp::create(b, loc, all, lane, sum);
      }
    }
    return next;
  }

  SmallVector<Value> accumulate(Value end, int64_t step, ValueRange sums,
                                function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(b, loc, index(0), end, index(step), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  }

  void storeSums(ValueRange values, Value memory) {
    for (auto [i, sum] : llvm::enumerate(values))
      store(sum, memory, index(i * width));
  }
};
} // namespace

static std::string getTileName(StringRef name, TileShape tile) {
  return llvm::formatv("{0}_{1}_by_{2}", name, tile.rows, tile.lanes).str();
}

void PanelFunctions::multiply(OpBuilder &builder, Value rowPanels, Value begin, Value lanePanel,
                              Value numTerms, Value sums) const {
  emitSharedCall(builder, module, loc, getTileName("multiply", tile),
                 {rowPanels, begin, lanePanel, numTerms, sums}, [&](OpBuilder &b, ValueRange args) {
                   MultiplyCode code{{b, loc}, tile, args[2]};
                   SmallVector<Value> products = code.accumulate(
                       args[3], 1, code.getZeros(), [&](Value term, ValueRange before) {
                         Value firstRow = code.add(args[1], code.mul(term, tile.rows));
                         return code.addTerm(term, before, [&](int64_t row) {
                           return code.load(args[0], code.add(firstRow, code.index(row)), 1);
                         });
                       });
                   code.storeSums(products, args[4]);
                 });
}

void PanelFunctions::multiplyInPlace(OpBuilder &builder, Value source, Steps rows, Steps terms,
                                     Value lanePanel, Value sums) const {
  emitSharedCall(
      builder, module, loc, getTileName("multiply_in_place", tile),
      {source, rows.offsets, rows.first, rows.size, terms.offsets, terms.size, lanePanel, sums},
      [&](OpBuilder &b, ValueRange args) {
        MultiplyCode code{{b, loc}, tile, args[6]};
        SmallVector<Value> rowOffsets;
        Value last = code.add(args[3], code.index(-1));
        for (int64_t row = 0; row < tile.rows; ++row) {
          Value present = arith::MinSIOp::create(b, loc, code.index(row), last);
          rowOffsets.push_back(code.offset(args[1], code.add(args[2], present)));
        }
        auto addRun = [&](Value run, ValueRange before) {
          Value termOffset = code.offset(args[4], run);
          return code.accumulate(
              code.index(TileShape::termRun), 1, before, [&](Value inRun, ValueRange sumsBefore) {
                Value offset = code.add(termOffset, inRun);
                return code.addTerm(code.add(run, inRun), sumsBefore, [&](int64_t row) {
                  return code.load(args[0], code.add(rowOffsets[row], offset), 1);
                });
              });
        };
        code.storeSums(code.accumulate(args[5], TileShape::termRun, code.getZeros(), addRun),
                       args[7]);
      });
}

void PanelFunctions::add(OpBuilder &builder, Value sums, Value result, Steps rows, Steps lanes,
                         int64_t chunk) const {
  std::string name = "add_tile_by_" + std::to_string(chunk);
  emitSharedCall(
      builder, module, loc, name,
      {sums, result, rows.offsets, rows.first, rows.size, lanes.offsets, lanes.first, lanes.size},
      [&](OpBuilder &b, ValueRange args) {
        Code code{b, loc};
        code.loop(code.index(0), args[4], 1, [&](Value row) {
          Value rowOffset = code.offset(args[2], code.add(args[3], row));
          Value rowSums = code.mul(row, tile.lanes);
          code.loop(code.index(0), args[7], chunk, [&](Value lane) {
            Value offset = code.add(rowOffset, code.offset(args[5], code.add(args[6], lane)));
            Value sum = code.load(args[0], code.add(rowSums, lane), chunk);
            Value old = code.load(args[1], offset, chunk);
            code.store(arith::AddFOp::create(b, loc, old, sum), args[1], offset);
          });
        });
      });
}
