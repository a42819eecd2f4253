// RUN: bppsa-opt --bppsa-signal-gradients %s | FileCheck %s


func.func private @read(memref<8xf32>)
func.func private @use(memref<8xf32>, memref<8xf32>)
func.func private @window(memref<?xf32, strided<[1], offset: ?>>)

// A parameter is awaited before its first read, and its gradient is signaled as final while the
// other layer is still running.
// CHECK-LABEL: func.func @step
//  CHECK-SAME: (%[[A:.*]]: memref<8xf32> {{.*}}, %[[B:.*]]: memref<8xf32> {{.*}}, %[[FROZEN:.*]]: memref<8xf32> {{.*}}, %[[X:.*]]: memref<8xf32>, %[[DA:.*]]: memref<8xf32> {{.*}}, %[[DB:.*]]: memref<8xf32> {{.*}})
//  CHECK-NEXT:   call @read(%[[FROZEN]])
//  CHECK-NEXT:   dist.await_parameter %[[A]] : memref<8xf32>
//  CHECK-NEXT:   call @use(%[[A]], %[[X]])
//  CHECK-NEXT:   dist.await_parameter %[[B]] : memref<8xf32>
//  CHECK-NEXT:   call @use(%[[B]], %[[X]])
//  CHECK-NEXT:   call @use(%[[X]], %[[DB]])
//  CHECK-NEXT:   call @use(%[[B]], %[[X]])
//  CHECK-NEXT:   memref.copy %[[X]], %[[DB]]
//  CHECK-NEXT:   dist.signal_gradient %[[DB]] : memref<8xf32>
//  CHECK-NEXT:   call @use(%[[X]], %[[DA]])
//  CHECK-NEXT:   dist.signal_gradient %[[DA]] : memref<8xf32>
//  CHECK-NEXT:   return
func.func @step(%a: memref<8xf32> {bppsa.parameter = "a"}, %b: memref<8xf32> {bppsa.parameter = "b"},
                %frozen: memref<8xf32> {bppsa.parameter = "f"}, %x: memref<8xf32>,
                %da: memref<8xf32> {bppsa.gradient = "a"},
                %db: memref<8xf32> {bppsa.gradient = "b"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "step">} {
  call @read(%frozen) : (memref<8xf32>) -> ()
  call @use(%a, %x) : (memref<8xf32>, memref<8xf32>) -> ()
  call @use(%b, %x) : (memref<8xf32>, memref<8xf32>) -> ()
  call @use(%x, %db) : (memref<8xf32>, memref<8xf32>) -> ()
  call @use(%b, %x) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.copy %x, %db : memref<8xf32> to memref<8xf32>
  call @use(%x, %da) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

// Functions that are not listed are unchanged.
// CHECK-LABEL: func.func @eval
//   CHECK-NOT:   {{^ *}}bppsa.
//       CHECK:   return
func.func @eval(%a: memref<8xf32> {bppsa.parameter = "a"},
                %da: memref<8xf32> {bppsa.gradient = "a"}) {
  call @use(%a, %da) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

// Reading a size is not a use; views of views are.
// CHECK-LABEL: func.func @views
//  CHECK-SAME: (%[[A:.*]]: memref<?xf32> {{.*}}, %[[DA:.*]]: memref<?xf32> {{.*}})
//       CHECK:   memref.dim %[[A]]
//       CHECK:   memref.subview
//       CHECK:   dist.await_parameter %[[A]]
//  CHECK-NEXT:   call @window
//       CHECK:   call @window
//  CHECK-NEXT:   dist.signal_gradient %[[DA]]
func.func @views(%a: memref<?xf32> {bppsa.parameter = "a"},
                 %da: memref<?xf32> {bppsa.gradient = "a"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "views">} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %va = memref.subview %a[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  %wa = memref.cast %va : memref<?xf32, strided<[1], offset: 1>> to memref<?xf32, strided<[1], offset: ?>>
  %va2 = memref.subview %da[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  %wda = memref.cast %va2 : memref<?xf32, strided<[1], offset: 1>> to memref<?xf32, strided<[1], offset: ?>>
  call @window(%wa) : (memref<?xf32, strided<[1], offset: ?>>) -> ()
  call @window(%wda) : (memref<?xf32, strided<[1], offset: ?>>) -> ()
  return
}

// Aliases through an operation that is not a view (arith.select) cannot be traced, so the whole
// function may use the array.
// CHECK-LABEL: func.func @unknown
//  CHECK-SAME: (%[[A:.*]]: memref<8xf32> {{.*}}, %[[X:.*]]: memref<8xf32>, %[[C:.*]]: i1, %[[DA:.*]]: memref<8xf32> {{.*}})
//  CHECK-NEXT:   dist.await_parameter %[[A]]
//  CHECK-NEXT:   call @read(%[[X]])
//       CHECK:   arith.select
//       CHECK:   call @read(%[[X]])
//  CHECK-NEXT:   dist.signal_gradient %[[DA]]
func.func @unknown(%a: memref<8xf32> {bppsa.parameter = "a"}, %x: memref<8xf32>, %c: i1,
                   %da: memref<8xf32> {bppsa.gradient = "a"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "unknown">} {
  call @read(%x) : (memref<8xf32>) -> ()
  %s = arith.select %c, %x, %da : memref<8xf32>
  call @use(%a, %s) : (memref<8xf32>, memref<8xf32>) -> ()
  call @read(%x) : (memref<8xf32>) -> ()
  return
}

// A gradient is written after its parameter is awaited, even if nothing reads the parameter.
// CHECK-LABEL: func.func @unused
//  CHECK-SAME: (%[[A:.*]]: memref<8xf32> {{.*}}, %[[B:.*]]: memref<8xf32> {{.*}}, %[[X:.*]]: memref<8xf32>, %[[DA:.*]]: memref<8xf32> {{.*}}, %[[DB:.*]]: memref<8xf32> {{.*}})
//  CHECK-NEXT:   dist.await_parameter %[[B]]
//  CHECK-NEXT:   call @read(%[[X]])
//  CHECK-NEXT:   dist.await_parameter %[[A]]
//  CHECK-NEXT:   call @read(%[[DA]])
//  CHECK-NEXT:   dist.signal_gradient %[[DA]]
//  CHECK-NEXT:   dist.signal_gradient %[[DB]]
//  CHECK-NEXT:   return
func.func @unused(%a: memref<8xf32> {bppsa.parameter = "a"}, %b: memref<8xf32> {bppsa.parameter = "b"},
                  %x: memref<8xf32>, %da: memref<8xf32> {bppsa.gradient = "a"},
                  %db: memref<8xf32> {bppsa.gradient = "b"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "unused">} {
  call @read(%x) : (memref<8xf32>) -> ()
  call @read(%da) : (memref<8xf32>) -> ()
  return
}

// A use inside a region counts as a use by the enclosing operation in the block of the function.
// CHECK-LABEL: func.func @nested
//  CHECK-SAME: (%[[A:.*]]: memref<8xf32> {{.*}}, %[[C:.*]]: i1, %[[DA:.*]]: memref<8xf32> {{.*}})
//  CHECK-NEXT:   dist.await_parameter %[[A]]
//  CHECK-NEXT:   scf.if %[[C]]
//       CHECK:   }
//  CHECK-NEXT:   dist.signal_gradient %[[DA]]
//  CHECK-NEXT:   return
func.func @nested(%a: memref<8xf32> {bppsa.parameter = "a"}, %c: i1,
                  %da: memref<8xf32> {bppsa.gradient = "a"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "nested">} {
  scf.if %c {
    func.call @use(%a, %da) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  return
}
