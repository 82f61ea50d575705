package database

import (
	"net"
	"time"
)

// A server that vanished (its machine is down, or a firewall dropped the connection) does not
// answer at all. Unconfirmed data is given up after vanished. An idle connection is probed, and
// closed after about as long.
const vanished = 15 * time.Second

// dialer connects to Postgres. pgx's own would notice a vanished server after minutes.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanished / 3, Interval: vanished / 3, Count: 2},
		Control:         giveUpAfter(vanished),
	}
}
