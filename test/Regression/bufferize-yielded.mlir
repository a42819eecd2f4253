// RUN: bppsa-opt %s --bppsa-bufferize | FileCheck %s

// A buffer yielded by a branch used to be freed in that branch, before the yield. It is freed after
// its use, and only if that branch was taken, because the other branch yields an argument.
// CHECK-LABEL: func.func @branches(
// CHECK-SAME:      %[[C:[^ ]*]]: i1
// CHECK:         %[[R:.*]] = scf.if %[[C]]
// CHECK:           memref.alloc
// CHECK-NOT:       memref.dealloc
// CHECK:         memref.copy %[[R]]
// CHECK:         %[[BASE:.*]], %{{.*}}, %{{.*}}, %{{.*}} = memref.extract_strided_metadata %[[R]]
// CHECK:         scf.if %[[C]] {
// CHECK-NEXT:      memref.dealloc %[[BASE]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return
#id = affine_map<(i) -> (i)>
func.func @branches(%c: i1, %x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = scf.if %c -> tensor<?xf32> {
    %e = tensor.empty(%n) : tensor<?xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %1 = arith.addf %a, %a : f32
      linalg.yield %1 : f32
    } -> tensor<?xf32>
    scf.yield %0 : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
