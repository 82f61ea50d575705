package cli

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestCommands_health: the state of the server that listens where the file says, even if the file has
// become faulty since the server read it.
func TestCommands_health(t *testing.T) {
	t.Chdir(t.TempDir())
	status := http.StatusOK
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	write := func(s *httptest.Server, more string) {
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		if err := os.WriteFile("config.yaml", []byte("http:\n  addr: \"127.0.0.1:"+port+"\"\n"+more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, more := range map[string]string{"plain": "", "faulty": "quue: {}\nlog: {level: loud}\n"} {
		write(plain, more)
		if _, err := runCommand(t, "", "health"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(secure, "  tls: {cert_file: gone.pem, key_file: gone.pem}\n")
	if _, err := runCommand(t, "", "health"); err != nil {
		t.Errorf("HTTPS: %v", err)
	}
	status = http.StatusServiceUnavailable
	if _, err := runCommand(t, "", "health"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("503: %v", err)
	}
	secure.Close()
	if _, err := runCommand(t, "", "health"); err == nil {
		t.Error("nobody listens, and all is well")
	}
}
