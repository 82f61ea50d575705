package database

import (
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"punctual/tests/testenv"
)

// Connections to Postgres notice a server that vanished.
func TestOpen_noticesAVanishedServer(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), testenv.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(driver any) error {
		tcp := driver.(*stdlib.Conn).Conn().PgConn().Conn().(*net.TCPConn)
		raw, err := tcp.SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) {
			for what, want := range map[int]int{tcpUserTimeout: int(vanished.Milliseconds()), syscall.TCP_KEEPIDLE: int(vanished.Seconds()) / 3, syscall.TCP_KEEPCNT: 2} {
				if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, what); err != nil || got != want {
					t.Errorf("socket option %d is %d, %v; want %d", what, got, err, want)
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
