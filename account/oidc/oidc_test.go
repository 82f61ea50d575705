package oidc_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"punctual/account/oidc"
)

// An answer that belongs to no attempt of the browser is refused before the provider is asked.
func TestFinish_unknownAttempt(t *testing.T) {
	t.Parallel()
	p := oidc.New(oidc.Config{ID: "corp", Issuer: "http://127.0.0.1:9", ClientID: "x"})
	good := oidc.Attempt{Provider: "corp", State: "s", Nonce: "n", Verifier: "v"}
	for name, c := range map[string]struct {
		attempt oidc.Attempt
		answer  oidc.Answer
	}{
		"no attempt":          {oidc.Attempt{}, oidc.Answer{Code: "c"}},
		"no state":            {oidc.Attempt{Provider: "corp"}, oidc.Answer{Code: "c"}},
		"another state":       {good, oidc.Answer{State: "S", Code: "c"}},
		"of another provider": {oidc.Attempt{Provider: "other", State: "s"}, oidc.Answer{State: "s", Code: "c"}},
		"a fault of nothing":  {oidc.Attempt{}, oidc.Answer{Fault: "access_denied"}},
	} {
		if id, err := p.Finish(t.Context(), c.attempt, c.answer); !errors.Is(err, oidc.ErrUnknownAttempt) {
			t.Errorf("%s: %+v %v", name, id, err)
		}
	}
	if _, err := p.Finish(t.Context(), good, oidc.Answer{State: "s", Code: "c", Issuer: "https://example.com"}); err == nil || errors.Is(err, oidc.ErrUnknownAttempt) {
		t.Errorf("the answer of another issuer: %v", err)
	}
	if id, err := p.Finish(t.Context(), good, oidc.Answer{State: "s", Code: "c"}); err == nil || id.Subject != "" {
		t.Errorf("without a provider: %+v %v", id, err)
	}
}

// However many want to sign in with a provider that is broken, it is asked once at a time.
func TestBegin_brokenProvider(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "broken", http.StatusInternalServerError)
	}))
	defer s.Close()
	p := oidc.New(oidc.Config{ID: "corp", Issuer: s.URL, ClientID: "x"})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, _, err := p.Begin("/"); err == nil {
				t.Error("a sign-in began")
			}
		})
	}
	wg.Wait()
	if n := asked.Load(); n > 5 { // once every five seconds
		t.Errorf("50 people asked the provider %d times, want once", n)
	}
}
