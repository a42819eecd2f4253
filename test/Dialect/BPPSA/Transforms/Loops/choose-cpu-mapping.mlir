// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping=lanes=8 | FileCheck %s --check-prefix=EIGHT
// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --remarks-filter=mapping 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch | FileCheck %s --check-prefix=PACKED

// CHECK-LABEL: @samples(
// CHECK: bppsa.step_sum {{.*}}bppsa.mapping = #bppsa.cpu_mapping<samples, width = 16>
// EIGHT-LABEL: @samples(
// EIGHT: bppsa.step_sum {{.*}}bppsa.mapping = #bppsa.cpu_mapping<samples, width = 8>
// PACKED-LABEL: @samples(
// PACKED: bppsa.step_sum lanes 16
// PACKED-NOT: bppsa.mapping
// REMARK-DAG: Function=samples {{.*}}"step_sum: lanes hold samples, 16 of a vector; as in all functions"
func.func @samples(%x: tensor<5x6x3xf32>) -> tensor<3xf32> {
  %0 = bppsa.step_sum %x : tensor<5x6x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @units(
// CHECK: bppsa.step_sum {{.*}}bppsa.mapping = #bppsa.cpu_mapping<units>
// EIGHT-LABEL: @units(
// EIGHT: bppsa.step_sum {{.*}}bppsa.mapping = #bppsa.cpu_mapping<units>
// REMARK-DAG: Function=units {{.*}}"step_sum: lanes hold units, 1 of a vector; the function asks for them"
func.func @units(%x: tensor<5x6x3xf32>) -> tensor<3xf32> attributes {bppsa.lanes = 1 : i64} {
  %0 = bppsa.step_sum %x : tensor<5x6x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Existing mappings are kept for each operation.
// CHECK-LABEL: @by_hand(
// CHECK: bppsa.step_sum {{.*}}bppsa.mapping = #bppsa.cpu_mapping<units>
// CHECK: bppsa.step_sum {{.*}}bppsa.mapping = #bppsa.cpu_mapping<samples, width = 16>
// PACKED-LABEL: @by_hand(
// PACKED: bppsa.step_sum lanes 1 %
// PACKED: bppsa.step_sum lanes 16 %
func.func @by_hand(%x: tensor<5x6x3xf32>, %y: tensor<5x6x4xf32>) -> (tensor<3xf32>, tensor<4xf32>) {
  %0 = bppsa.step_sum %x {bppsa.mapping = #bppsa.cpu_mapping<units>} : tensor<5x6x3xf32> -> tensor<3xf32>
  %1 = bppsa.step_sum %y : tensor<5x6x4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<3xf32>, tensor<4xf32>
}

// REMARK-DAG: Function=chunks {{.*}}"chain: lanes hold chunks, 16 of a vector; the function leaves lanes to them"
// CHECK-LABEL: @chunks(
// CHECK: bppsa.chain {{.*}}bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>
// PACKED-LABEL: @chunks(
// PACKED: bppsa.chain plan <chunked, 8> lanes 1 {{.*}}bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>
func.func @chunks(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {bppsa.lanes = 1 : i64} {
  %0 = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
