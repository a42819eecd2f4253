// RUN: bppsa-opt %s --bppsa-verify-streams --split-input-file --verify-diagnostics

func.func private @use(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @ordered(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  call @use(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.record_event 0
  bgpu.select_stream 1
  bgpu.wait_event 0
  call @use(%a, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.record_event 1
  bgpu.select_stream 0
  // Both calls only read %a.
  call @use(%a, %z) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.wait_event 1
  memref.dealloc %a : memref<8xf32>
  return
}

// -----

// A read after a write.
func.func private @use(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @too_early(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  bgpu.record_event 0
  // expected-note @below {{of this operation}}
  call @use(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.select_stream 1
  bgpu.wait_event 0
  // expected-error @below {{uses memory on stream 1 without waiting for stream 0; wait for an event that is recorded after its use}}
  call @use(%y, %z) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.select_stream 0
  return
}

// -----

// A write after a read.
func.func private @use(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @overwritten(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  bgpu.select_stream 1
  // expected-note @below {{of this operation}}
  call @use(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.select_stream 0
  // expected-error @below {{uses memory on stream 0 without waiting for stream 1}}
  call @use(%z, %x) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

// An array is freed too early.
func.func private @use(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @freed(%x: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  bgpu.record_event 0
  bgpu.select_stream 1
  bgpu.wait_event 0
  // expected-note @below {{of this operation}}
  call @use(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.record_event 1
  bgpu.select_stream 0
  // expected-error @below {{uses memory on stream 0 without waiting for stream 1}}
  memref.dealloc %a : memref<8xf32>
  bgpu.wait_event 1
  return
}

// -----

// A call to an external function may access any array.
func.func private @use(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @any(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  bgpu.select_stream 1
  // expected-note @below {{of this operation}}
  call @use(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.select_stream 0
  %either = arith.select %c, %x, %y : memref<8xf32>
  // expected-error @below {{uses memory on stream 0 without waiting for stream 1}}
  call @use(%either, %either) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

func.func @unknown_event() {
  bgpu.select_stream 0
  // expected-error @below {{waits for event 3, which is not recorded before; insert a 'bgpu.record_event' before it}}
  bgpu.wait_event 3
  bgpu.record_event 3
  return
}

// -----

func.func @wrong_end() {
  bgpu.select_stream 1
  // expected-error @below {{ends a function on stream 1; select stream 0 before it}}
  return
}

// -----

func.func private @use(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @not_joined(%x: memref<8xf32>, %y: memref<8xf32>) {
  bgpu.select_stream 1
  bgpu.record_event 0
  call @use(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  bgpu.select_stream 0
  bgpu.wait_event 0
  // expected-error @below {{ends a function before stream 0 has waited for stream 1; wait for an event that is recorded after its last launch}}
  return
}

// -----

func.func @third() {
  // expected-error @below {{attribute 'stream' failed to satisfy constraint}}
  bgpu.select_stream 2
  return
}

// -----

func.func @nested(%c: i1) {
  scf.if %c {
    // expected-error @below {{expects parent op 'func.func'}}
    bgpu.wait_event 0
  }
  return
}
