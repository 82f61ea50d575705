package app

import (
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory sets the runtime's soft memory limit, so that the collector works harder before the
// system kills the process: mib, or else nine tenths of the container's limit. GOMEMLIMIT takes
// precedence.
func limitMemory(mib int, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := int64(mib) << 20
	if limit == 0 {
		limit = containerMemory("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes") / 10 * 9
	}
	if limit <= 0 {
		return
	}
	debug.SetMemoryLimit(limit)
	log.Info("memory limit set", "mib", limit>>20)
}

// containerMemory returns the limit in bytes of the first file that has one; 0: none.
func containerMemory(files ...string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && n < 1<<50 { // a huge limit means none
			return n
		}
	}
	return 0
}
