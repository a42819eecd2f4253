// RUN: bppsa-opt %s --bppsa-infer-structure --bppsa-evaluate-plan="algorithms=linear,blelloch,chunked:4 output=%t.json" --remarks-filter=evaluate -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// The map of a diagonal link is one column of 4 elements, the map of a dense link 4 columns. With
// dense links, a tree does 8 times the work of the linear scan. With diagonal links it does less
// than 3 times the work: once to form the maps, once to multiply them and once to apply them. A
// chunked scan does less than 2 times the work.

// JSON: "name": "diagonal#0",
// JSON: "structure": "diagonal",
// JSON-NEXT: "rows": 4,
// JSON-NEXT: "cols": 4,
// JSON-NEXT: "nonzeros": 4,

// 64 links are applied to a column of ones, and there are 57 + 64 products: 64 * 4 + 121 * 4.
// CHECK: Function=diagonal | Remark="linear on 64 links: depth 64, 0 compose, 64 apply, 256 flops
// CHECK-SAME: 16 bytes of memory
// CHECK: Function=diagonal | Remark="blelloch on 64 links: depth 10, 57 compose, 64 apply, 740 flops, 52 on the critical path
// CHECK-SAME: 1040 bytes of memory
// CHECK: Function=diagonal | Remark="chunked:4 on 64 links: depth 22, 42 compose, 64 apply, 480 flops
// CHECK-SAME: 240 bytes of memory
func.func @diagonal(%a: tensor<64x1x4xf32>, %g: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = bppsa.chain saved(%a : tensor<64x1x4xf32>) seeds(%g : tensor<1x4xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<1x4xf32>
}

// Injected cotangents add one column.

// CHECK: Function=injected | Remark="blelloch on 64 links: {{.*}}, 2064 bytes of memory
func.func @injected(%a: tensor<64x1x4xf32>, %s: tensor<64x1x4xf32>, %g: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = bppsa.chain saved(%a : tensor<64x1x4xf32>) seeds(%g : tensor<1x4xf32>)
      injected(%s : tensor<64x1x4xf32>) inject_into [0] -> (tensor<1x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<1x4xf32>
}

// CHECK: Function=dense | Remark="linear on 64 links: depth 64, 0 compose, 64 apply, 2304 flops
// CHECK: Function=dense | Remark="blelloch on 64 links: depth 10, 57 compose, 64 apply, 10368 flops
// CHECK-SAME: 4112 bytes of memory
func.func @dense(%a: tensor<64x1x4xf32>, %g: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x4xf32> {
  %0 = bppsa.chain saved(%a : tensor<64x1x4xf32>) seeds(%g : tensor<1x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return %0 : tensor<1x4xf32>
}
