package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	h := profiles("127.0.0.1:6060")
	for host, want := range map[string]int{"127.0.0.1:6060": 200, "localhost:6060": 200, "rebound.example.org:6060": 421} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/debug/pprof/goroutine?debug=1", nil)
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", host, w.Code, want)
		}
	}
	_, s := startApplication(t, nil)
	if a := send(t, s, "GET", "/debug/pprof/goroutine?debug=1", ""); strings.Contains(string(a.body), "goroutine profile") {
		t.Error("the public port serves profiles")
	}
}
