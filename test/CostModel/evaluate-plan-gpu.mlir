// RUN: bppsa-opt %s --bppsa-evaluate-plan="gpu length=1000 batch=1 algorithms=linear,chunked:8 output=%t.json" -o /dev/null
// RUN: FileCheck %s < %t.json
// RUN: bppsa-translate --evaluation-to-html %t.json -o %t.html
// RUN: %if node && python %{ %python %bppsa_src/test/pages.py %t.html | FileCheck %s --check-prefix=PAGE %}
// RUN: echo '{"format": 1, "chains": [{"name": "a", "links": 1, "batch": 1, "structures": [], "fastest": [], "gpu": {"constants": "c", "length": 1, "batch": 1, "plans": [], "lengths": [1], "batches": [1], "ratios": [[]], "crossovers": []}, "plans": []}]}' > %t.bad
// RUN: not bppsa-translate --evaluation-to-html %t.bad 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: expected a row for each batch and a column for each length at evaluation.chains[0].gpu.ratios

// The link of a tanh RNN with 4 units. A block reads and writes 3 vectors: 10 + 3 * 8 instructions,
// plus 3 for elementwise operations and 4 * 1.25 for the product. The critical path has 3
// operations, the product, and two exchanges of vectors: 3 * 4 + 60 + 4 + 8 + 60 cycles, plus one
// per instruction.
// CHECK: "gpu": {
// CHECK-NEXT: "constants": "H200 (data sheet and estimates, not measured)",
// CHECK-NEXT: "steps": {
// CHECK-NEXT: "walk": {
// CHECK-NEXT: "cycles": 186,
// CHECK-NEXT: "instructions": 42,
// CHECK-NEXT: "warps": 1,
// CHECK-NEXT: "resident": 32,
// CHECK-NEXT: "columns": 1
// A thread runs 4 rows: 30 + 5 + 1 instructions, 16 and 3 * 4, plus a warp barrier.
// CHECK: "column": {
// CHECK-NEXT: "cycles": 109,
// CHECK-NEXT: "instructions": 64,
// CHECK-NEXT: "warps": 1,
// CHECK-NEXT: "resident": 28,
// CHECK-NEXT: "columns": 32
// CHECK: "carry": {
// CHECK-NEXT: "cycles": 90,
// CHECK-NEXT: "instructions": 54,
// CHECK: "product": {
// CHECK-NEXT: "cycles": 688,
// CHECK-NEXT: "instructions": 84,
// CHECK: "length": 1000,
// CHECK-NEXT: "batch": 1,
// One launch and 1000 steps at 1.98 GHz.
// CHECK: "plan": "sequential",
// CHECK-NEXT: "us": 95.4{{[0-9]*}}
// sqrt(1000 * 90 / (109 + 186)) = 17 steps per chunk: (17 * 109 + 58 * 90 + 17 * 186) * 0.505 ns
// plus three launches.
// CHECK: "plan": "chunked",
// CHECK-NEXT: "us": 9.66{{[0-9]*}}
// CHECK: "plan": "chunked:8",
// (8 * 109 + 124 * 90 + 8 * 186) * 0.505 ns plus three launches.
// CHECK-NEXT: "us": 11.32{{[0-9]*}}
// CHECK: "lengths": [
// CHECK: "ratios": [
// CHECK: "crossovers": [
// CHECK-NEXT: {
// CHECK-NEXT: "batch": 1,
// CHECK-NEXT: "length": {{[1-9][0-9]+$}}

// With 32 rows, a block runs column tiles of 32 columns with 2 warps: 40 + 2 instructions, 2 * 2
// and 16 for elementwise operations, 16 for the operand of the product, and 4 * 4 tiles with 8 + 4
// + 3 * 4 each, plus 60 cycles each for the product and the end.
// CHECK: "name": "column_tiles#0",
// CHECK: "column": {
// CHECK-NEXT: "cycles": 582,
// CHECK-NEXT: "instructions": 462,
// CHECK-NEXT: "warps": 2,
// CHECK-NEXT: "resident": 10,
// CHECK-NEXT: "columns": 32

// PAGE: <h3>On a GPU: predicted, not measured</h3>
// PAGE: H200 (data sheet and estimates, not measured)
// PAGE: <th>sequential</th><th>chunked</th><th>chunked:8</th>
// PAGE: <th>predicted us</th><td>95.4</td><td class="best">9.67</td><td>11.3</td>
// PAGE: <svg class="crossover"
// PAGE: chunked is faster from T =
func.func @rnn(%saved : tensor<?x?x4xf32>, %seed : tensor<?x4xf32>, %weight : tensor<4x4xf32>)
    -> tensor<?x?x4xf32> {
  %cotangents, %emitted = bppsa.chain saved(%saved : tensor<?x?x4xf32>) seeds(%seed : tensor<?x4xf32>)
      captures(%weight : tensor<4x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%h : vector<4xf32>, %g : vector<4xf32>, %w : vector<4x4xf32>):
    %one = arith.constant dense<1.0> : vector<4xf32>
    %square = arith.mulf %h, %h : vector<4xf32>
    %slope = arith.subf %one, %square : vector<4xf32>
    %delta = arith.mulf %g, %slope : vector<4xf32>
    %next = bppsa.matvec transposed %w, %delta : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %next, %delta : vector<4xf32>, vector<4xf32>
  }
  return %emitted : tensor<?x?x4xf32>
}

func.func @column_tiles(%saved : tensor<?x?x32xf32>, %seed : tensor<?x32xf32>, %weight : tensor<32x32xf32>)
    -> tensor<?x?x32xf32> {
  %cotangents, %emitted = bppsa.chain saved(%saved : tensor<?x?x32xf32>) seeds(%seed : tensor<?x32xf32>)
      captures(%weight : tensor<32x32xf32>)
      -> (tensor<?x32xf32>) emitted(tensor<?x?x32xf32>) {
  ^bb0(%h : vector<32xf32>, %g : vector<32xf32>, %w : vector<32x32xf32>):
    %one = arith.constant dense<1.0> : vector<32xf32>
    %square = arith.mulf %h, %h : vector<32xf32>
    %slope = arith.subf %one, %square : vector<32xf32>
    %delta = arith.mulf %g, %slope : vector<32xf32>
    %next = bppsa.matvec transposed %w, %delta : vector<32x32xf32>, vector<32xf32> -> vector<32xf32>
    bppsa.yield %next, %delta : vector<32xf32>, vector<32xf32>
  }
  return %emitted : tensor<?x?x32xf32>
}
