// Package bench holds the benchmarks that need the whole product or several of its parts:
// `make bench` runs them and prints each figure beside a floor measured in the same run.
package bench

import "runtime"

// heap is the live memory of this process.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
