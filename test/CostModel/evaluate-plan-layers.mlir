// RUN: bppsa-opt %s --bppsa-evaluate-plan="algorithms=linear,hybrid:1 batch=3 output=%t.json" -o /dev/null
// RUN: FileCheck %s < %t.json
// RUN: FileCheck %s --check-prefix=UNKNOWN < %t.json
// RUN: bppsa-translate --evaluation-to-html %t.json -o %t.html
// RUN: %if node && python %{ %python %bppsa_src/test/pages.py %t.html | FileCheck %s --check-prefix=PAGE %}
// RUN: FileCheck %s --check-prefix=DIAGONAL < %t.json
// RUN: FileCheck %s --check-prefix=POOL < %t.json
// RUN: bppsa-opt %s --bppsa-evaluate-plan="algorithms=linear" -o /dev/null --remarks-filter=evaluate 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A layer, a skip connection from its result, two layers, and the sum with the skip connection. The
// only chain of two operations is the two layers in between.

// REMARK: Function=layers
// REMARK-SAME: linear on 2 links
// REMARK-NOT: Function=layers

// CHECK: "name": "layers#0",
// CHECK-NEXT: "links": 2,
// CHECK-NEXT: "batch": 3,
// CHECK: "begins": "several operations use the result of linalg.generic",
// CHECK-NEXT: "ends": "linalg.generic joins 2 values",
// CHECK-NEXT: "layers": [
// CHECK-NEXT: {
// CHECK-NEXT: "operation": "linalg.generic",
// CHECK-NEXT: "name": "/1/Gemm",
// CHECK-NEXT: "operand": [
// CHECK-NEXT: 6
// CHECK-NEXT: ],
// CHECK-NEXT: "result": [
// CHECK-NEXT: 6
// CHECK-NEXT: ],
// CHECK-NEXT: "structure": "shared-dense",
// CHECK-NEXT: "rows": 6,
// CHECK-NEXT: "cols": 6,
// CHECK-NEXT: "nonzeros": 36,
// CHECK-NEXT: "shared": true,
// CHECK-NEXT: "link": 2
// CHECK: "operation": "linalg.generic",
// CHECK-NEXT: "name": "a & <b>",
// CHECK: "structure": "diagonal",
// CHECK: "shared": false,
// CHECK-NEXT: "link": 1
// CHECK: "structures": [
// CHECK: "structure": "diagonal",
// CHECK-NEXT: "rows": 6,
// CHECK: "structure": "shared-dense",
// CHECK: "plan": "linear",
// The last link that cotangents pass is not applied: 3 * 6.
// CHECK: "flops": 18,

// Chains of time loops come first in the file.
// PAGE: <h2>layers#0</h2>
// PAGE: <div class="layers">
// PAGE-NEXT: <span class="box cut">several operations use the result of linalg.generic</span>
// PAGE-NEXT: <path class="line dashed"{{.*}}<a class="box layer s-dense" href="#chain-[[N:[0-9]+]]-link-2"{{.*}}<b>/1/Gemm</b><span>linalg.generic</span><span>6 → 6</span>
// PAGE-NEXT: <path class="line"{{.*}}<a class="box layer s-diagonal" href="#chain-[[N]]-link-1"{{.*}}<b>a &amp; &lt;b&gt;</b>
// PAGE-NEXT: <path class="line dashed"{{.*}}<span class="box cut">linalg.generic joins 2 values</span>
// PAGE-NEXT: </div>
// PAGE: <figure id="chain-[[N]]-link-1">
// PAGE-NEXT: <figure id="chain-[[N]]-link-2">

#id = affine_map<(d0, d1) -> (d0, d1)>
#par = ["parallel", "parallel"]
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#par3 = ["parallel", "parallel", "parallel"]
!dense = !jacobian.matrix<6x6xf32, dense>
!slope = !jacobian.matrix<6x6xf32, diagonal, batch = ?>
!same = !jacobian.matrix<6x6xf32, identity>
!chosen = !jacobian.matrix<6x6xf32, csr(#jacobian.pattern<6x6, [[0, 1]], [0, 0, 0, 0, 0, 0]>), batch = ?>
func.func @layers(%x: tensor<?x6xf32>, %out: tensor<?x6xf32>) -> tensor<?x6xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = #par} ins(%x : tensor<?x6xf32>)
      outs(%out : tensor<?x6xf32>) attrs = {jacobian.operands = #jacobian.operands<!dense, none>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x6xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = #par} ins(%0 : tensor<?x6xf32>)
      outs(%out : tensor<?x6xf32>) attrs = {jacobian.operands = #jacobian.operands<!dense, none>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x6xf32> loc("/1/Gemm")
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = #par} ins(%1 : tensor<?x6xf32>)
      outs(%out : tensor<?x6xf32>) attrs = {jacobian.operands = #jacobian.operands<!slope, none>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x6xf32> loc(fused["a & <b>", "b"])
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = #par}
      ins(%2, %0 : tensor<?x6xf32>, tensor<?x6xf32>) outs(%out : tensor<?x6xf32>)
      attrs = {jacobian.operands = #jacobian.operands<!same, !same, none>} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %4 = arith.addf %a, %b : f32
    linalg.yield %4 : f32
  } -> tensor<?x6xf32>
  return %3 : tensor<?x6xf32>
}

// A chain of diagonals works on vectors: two products of 4 elements per map.
// DIAGONAL: "name": "diagonal#0",
// DIAGONAL: "plan": "hybrid:1",
// DIAGONAL: "sweep": "linearize",
// DIAGONAL: "count": 7,
// DIAGONAL-NEXT: "flops": 84
// DIAGONAL: "first": "diagonal",
// DIAGONAL-NEXT: "second": "diagonal",
// DIAGONAL-NEXT: "result": "diagonal",
func.func @diagonal(%a: tensor<8x3x4xf32>, %g: tensor<3x4xf32>) -> tensor<8x3x4xf32> {
  %0, %e = bppsa.chain saved(%a : tensor<8x3x4xf32>) seeds(%g : tensor<3x4xf32>)
      -> (tensor<3x4xf32>) emitted(tensor<8x3x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }
  return %e : tensor<8x3x4xf32>
}

// The body of a pool reads its operand.
// POOL: "name": "pool#0",
// POOL-NEXT: "links": 2,
// POOL: "begins": "graph input",
// POOL-NEXT: "ends": "graph output",
// POOL-NEXT: "layers": [
// A layer without a name in its location is named after its operation.
// POOL: "name": "linalg.generic",
// POOL: "structure": "diagonal",
// POOL: "structure": "csr",
func.func @pool(%x: tensor<?x6xf32>, %out: tensor<?x6xf32>) -> tensor<?x6xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = #par} ins(%x : tensor<?x6xf32>)
      outs(%out : tensor<?x6xf32>) attrs = {jacobian.operands = #jacobian.operands<!slope, none>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x6xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = #par} outs(%out : tensor<?x6xf32>)
      attrs = {jacobian.operands = #jacobian.operands<none, !chosen>} {
  ^bb0(%a: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %2 = tensor.extract %0[%i, %j] : tensor<?x6xf32>
    linalg.yield %2 : f32
  } -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// Operations before and after the chain have no known Jacobian. Samples are the second dimension.
// UNKNOWN: "name": "unknown#0",
// UNKNOWN: "begins": "no jacobian of linalg.generic is known",
// UNKNOWN-NEXT: "ends": "no jacobian of math.sin is known",
// UNKNOWN: "operand": [
// UNKNOWN-NEXT: 2,
// UNKNOWN-NEXT: 3
// UNKNOWN-NEXT: ],
func.func @unknown(%x: tensor<2x?x3xf32>, %out: tensor<2x?x3xf32>) -> tensor<2x?x3xf32> {
  %0 = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = #par3} ins(%x : tensor<2x?x3xf32>)
      outs(%out : tensor<2x?x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x?x3xf32>
  %1 = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = #par3} ins(%0 : tensor<2x?x3xf32>)
      outs(%out : tensor<2x?x3xf32>) attrs = {jacobian.operands = #jacobian.operands<!slope, none>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x?x3xf32>
  %2 = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = #par3} ins(%1 : tensor<2x?x3xf32>)
      outs(%out : tensor<2x?x3xf32>) attrs = {jacobian.operands = #jacobian.operands<!slope, none>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<2x?x3xf32>
  %3 = math.sin %2 : tensor<2x?x3xf32>
  return %3 : tensor<2x?x3xf32>
}
