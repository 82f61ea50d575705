package database

import (
	"errors"
	"syscall"
	"time"
)

const tcpUserTimeout = 0x12 // TCP_USER_TIMEOUT of linux/tcp.h; package syscall lacks it

// giveUpAfter makes the system close a connection whose peer has not confirmed data for this time.
func giveUpAfter(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		var set error
		err := c.Control(func(fd uintptr) {
			set = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
		})
		return errors.Join(err, set)
	}
}
