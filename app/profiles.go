package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// serveProfiles answers requests for the profiles of net/http/pprof until ctx ends.
func serveProfiles(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: profiles(l.Addr().String()), ReadHeaderTimeout: readTimeout, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http.pprof_addr: %w", err)
	}
	return nil
}

// profiles serves the profiles to clients that use the address itself, so that no web page can read them
// under a name of its own that resolves to this machine.
func profiles(addr string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	_, port, _ := net.SplitHostPort(addr)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != addr && r.Host != "localhost:"+port {
			http.Error(w, "use http://"+addr, http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
