//go:build !linux

package database

import (
	"syscall"
	"time"
)

// giveUpAfter does nothing: the system decides.
func giveUpAfter(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
