//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	wanted, nth = parse(os.Getenv("FAILPOINT"))
	times       atomic.Int64
)

func parse(s string) (place string, nth int64) {
	place, count, ok := strings.Cut(s, ":")
	if !ok {
		return place, 1
	}
	nth, err := strconv.ParseInt(count, 10, 64)
	if err != nil || nth < 1 {
		panic(fmt.Sprintf("FAILPOINT=%s: must be place or place:n, n from 1", s))
	}
	return place, nth
}

// Reach kills the process, or stops it, if this is the chosen place.
func Reach(place, about string) {
	if wanted == "" || place != wanted && place+"/"+about != wanted || times.Add(1) != nth {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint %s reached\n", wanted)
	if os.Getenv("FAILPOINT_FREEZES") != "" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
