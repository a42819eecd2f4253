// RUN: bppsa-opt %s --bppsa-evaluate-plan="length=72 batch=2 algorithms=linear,chunked:8 workers=1,8 output=%t.json" --remarks-filter=evaluate 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: bppsa-opt %s --bppsa-evaluate-plan="length=72" -o /dev/null --remarks-filter=evaluate 2>&1 >/dev/null | FileCheck %s --check-prefix=DEFAULT

// The link of a tanh RNN: 3 elementwise operations and a product. One elementwise operation and its
// operands compute the emitted value.

// JSON: "name": "rnn#0",
// JSON-NEXT: "links": 72,
// JSON-NEXT: "batch": 2,
// JSON-NEXT: "injected": false,
// JSON-NEXT: "initial": false,
// JSON-NEXT: "region": {
// JSON-NEXT: "state_flops": 44,
// JSON-NEXT: "emit_flops": 12,
// JSON-NEXT: "full_flops": 44,
// JSON-NEXT: "saved_bytes": 16,
// JSON-NEXT: "capture_bytes": 64,
// JSON-NEXT: "emitted_bytes": 16
// JSON-NEXT: },
// JSON-NEXT: "step": {
// JSON-NEXT: "operation": "bppsa.chain",
// JSON-NEXT: "name": "bppsa.chain",
// JSON-NEXT: "states": [
// JSON-NEXT: [
// JSON-NEXT: 4
// JSON: "saved": [
// JSON: "injected": [],
// JSON-NEXT: "captures": [
// JSON-NEXT: [
// JSON-NEXT: 4,
// JSON-NEXT: 4
// JSON: "emitted": [
// JSON: "operations": [
// JSON-NEXT: {
// JSON-NEXT: "operation": "arith.mulf",
// JSON-NEXT: "count": 2
// JSON: "operation": "bppsa.matvec",
// JSON-NEXT: "count": 1
// JSON: "structures": [
// JSON: "structure": "dense",
// JSON: "repeat": 72
// JSON: "fastest": [
// JSON: "workers": 1,
// JSON-NEXT: "plan": "linear"

// 71 links are applied, and the last one only emits: 2 (71 * 44 + 12).
// JSON: "plan": "linear",
// JSON-NEXT: "depth": 71,
// JSON-NEXT: "steps": 72,
// JSON-NEXT: "compose": 0,
// JSON-NEXT: "apply": 71,
// JSON-NEXT: "copy": 1,
// JSON-NEXT: "flops": 6272,
// JSON-NEXT: "critical_path_flops": 3136,
// JSON: "workers": 8,
// JSON-NEXT: "flops": 3136

// Seven aggregates of 8 steps and 4 columns, 7 carries, 8 + 8 * 7 applied steps, and 8 steps that
// only emit: 2 (7 * 8 * 4 * 44 + 7 * 2 * 16 + 64 * 44 + 8 * 12).
// JSON: "plan": "chunked:8",
// JSON: "compose": 49,
// JSON-NEXT: "apply": 71,
// JSON: "flops": 25984,
// JSON: "sweep": "up",
// JSON: "sweep": "middle",
// JSON: "repeat": 7,
// JSON: "sweep": "down",
// JSON: "sweep": "emit",

// The module is unchanged.
// CHECK: [Analysis] EvaluatePlan | Category:evaluate | Function=rnn
// CHECK-SAME: linear on 72 links: depth 71, 0 compose, 71 apply, 6272 flops, 3136 on the critical path
// CHECK: chunked:8 on 72 links: depth 22, 49 compose, 71 apply, 25984 flops
// CHECK: func.func @rnn
// CHECK: bppsa.chain

// DEFAULT: linear on 72 links
// DEFAULT: blelloch on 72 links
// DEFAULT: hybrid:2 on 72 links
// DEFAULT: chunked:32 on 72 links
func.func @rnn(%w: tensor<4x4xf32>, %h: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  %0, %d = bppsa.chain saved(%h : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %one = arith.constant dense<1.0> : vector<4xf32>
    %1 = arith.mulf %ht, %ht : vector<4xf32>
    %2 = arith.subf %one, %1 : vector<4xf32>
    %3 = arith.mulf %2, %gt : vector<4xf32>
    %4 = bppsa.matvec transposed %wc, %3 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %4, %3 : vector<4xf32>, vector<4xf32>
  }
  return %d : tensor<?x?x4xf32>
}

// A scan is evaluated for its own plan.
// DEFAULT-NOT: linear on 8 links
// DEFAULT: hybrid:1 on 8 links
func.func @scan(%a: tensor<8x2x4xf32>, %g: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = bppsa.chain plan <hybrid, 1> saved(%a : tensor<8x2x4xf32>) seeds(%g : tensor<2x4xf32>)
      -> (tensor<2x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// An explicit list of links: 2 samples of a shared dense matrix, and a diagonal and a dense matrix
// per sample.
// JSON: "name": "layers#0",
// JSON-NEXT: "links": 3,
// JSON-NEXT: "batch": 2,
// JSON: "structure": "shared-dense",
// JSON: "structure": "diagonal",
// JSON: "structure": "dense",
// 2 (2 * 4 * 3 + 4 + 2 * 5 * 4) FLOPs, and links of 4 (12 + 2 * 4 + 2 * 20) bytes.
// JSON: "plan": "linear",
// JSON: "flops": 136,
// JSON: "link_bytes": 240,
func.func @layers(%a: !jacobian.matrix<4x3xf32, dense>,
                  %b: !jacobian.matrix<4x4xf32, diagonal, batch = 2>,
                  %c: !jacobian.matrix<5x4xf32, dense, batch = 2>,
                  %g: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x5xf32>) {
  %0 = jacobian.apply %a, %g : !jacobian.matrix<4x3xf32, dense>, tensor<2x3xf32> -> tensor<2x4xf32>
  %1 = jacobian.apply %b, %0 : !jacobian.matrix<4x4xf32, diagonal, batch = 2>, tensor<2x4xf32> -> tensor<2x4xf32>
  %2 = jacobian.apply %c, %1 : !jacobian.matrix<5x4xf32, dense, batch = 2>, tensor<2x4xf32> -> tensor<2x5xf32>
  return %0, %2 : tensor<2x4xf32>, tensor<2x5xf32>
}
