package database

import (
	"net"
	"time"
)

// A server that vanished (its machine is gone, or a firewall forgot the connection) says nothing
// more, not even that it is not there. What was sent to it is given up after vanished; a
// connection on which nothing is under way is probed, and closed after about as long.
const vanished = 15 * time.Second

// dialer connects to Postgres. pgx' own would notice after minutes.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanished / 3, Interval: vanished / 3, Count: 2},
		Control:         giveUpAfter(vanished),
	}
}
