// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch --bppsa-infer-structure=loops-only --bppsa-expand-scan --canonicalize --cse | FileCheck %s

// 100 steps are 12 chunks of 8 in lanes and one last chunk of 4, which is the first in time.
// CHECK-LABEL: func.func @chunks(
// CHECK:         %[[A:.*]] = bppsa.pack_lanes 1, %{{.*}} : tensor<100x1x4xf32> -> tensor<1x100x4x1xf32>
// CHECK:         %[[PART:.*]] = tensor.extract_slice %[[A]][0, 4, 0, 0] [1, 96, 4, 1]
// CHECK:         %[[ROWS:.*]] = bppsa.pack_chunks 16, %[[PART]] steps %{{.*}} : tensor<1x96x4x1xf32> -> tensor<1x8x4x16xf32>
// CHECK:         %[[MADE:.*]] = bppsa.transition lanes 16 states [4] saved(%[[ROWS]] : tensor<1x8x4x16xf32>)
// CHECK:         bppsa.unpack_chunks 16, %{{.*}} : tensor<1x1x16x16xf32> into tensor<1x12x16x1xf32>
// CHECK:         scf.for
// CHECK:           bppsa.apply_transition lanes 1
// CHECK:         bppsa.chain lanes 16 saved(%[[ROWS]] : tensor<1x8x4x16xf32>)
// CHECK:         bppsa.unpack_chunks 16, %{{.*}} : tensor<1x8x4x16xf32> into tensor<1x96x4x1xf32>
// CHECK:         %[[LAST:.*]] = tensor.extract_slice %[[A]][0, 0, 0, 0] [1, 4, 4, 1]
// CHECK:         bppsa.chain lanes 1 saved(%[[LAST]] : tensor<1x4x4x1xf32>)
func.func @chunks(%a: tensor<100x1x4xf32>, %g: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> (tensor<1x4xf32>, tensor<100x1x4xf32>) {
  %0:2 = bppsa.chain plan <chunked, 8> saved(%a : tensor<100x1x4xf32>) seeds(%g : tensor<1x4xf32>)
      captures(%w : tensor<4x4xf32>) attributes {bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>}
      -> (tensor<1x4xf32>) emitted(tensor<100x1x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %2, %1 : vector<4xf32>, vector<4xf32>
  }
  return %0#0, %0#1 : tensor<1x4xf32>, tensor<100x1x4xf32>
}
