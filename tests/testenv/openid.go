package testenv

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// OpenIDProvider is an OpenID Connect provider at which one person is signed in already: it sends
// browsers straight back. It insists on PKCE, on its client and on the redirect URI. Safe for
// concurrent use.
type OpenIDProvider struct {
	URL      string // the issuer
	Redirect string // the only redirect URI; set it before use

	*httptest.Server
	key *rsa.PrivateKey

	mu     sync.Mutex
	person map[string]any // claims
	change func(claims map[string]any)
	denies bool
	codes  map[string]url.Values // of the requests they were given for; each is good for once
}

// Client of every [OpenIDProvider].
const (
	OpenIDClient = "punctual"
	OpenIDSecret = "the client's secret: with % and +"
)

// OpenID starts a provider. It is gone when the test ends.
func OpenID(t testing.TB) *OpenIDProvider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &OpenIDProvider{key: key, codes: map[string]url.Values{}}
	documents := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "key", Algorithm: oidc.RS256}}}
	mux := http.NewServeMux()
	mux.Handle("/", documents)
	mux.HandleFunc("GET /auth", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	p.URL = p.Server.URL
	documents.SetIssuer(p.URL)
	t.Cleanup(p.Close)
	return p
}

// Is makes the claims those of the person who signs in from now on.
func (p *OpenIDProvider) Is(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.person, p.denies, p.change = claims, false, nil
}

// Denies makes the provider refuse from now on.
func (p *OpenIDProvider) Denies() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denies = true
}

// Forges changes the claims of ID tokens before they are signed, from now on.
func (p *OpenIDProvider) Forges(change func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

// Sign signs claims with a key, nil: the provider's.
func (p *OpenIDProvider) Sign(key crypto.PrivateKey, claims map[string]any) string {
	if key == nil {
		key = p.key
	}
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return oidctest.SignIDToken(key, "key", oidc.RS256, string(text))
}

// LogoutToken says that a person signed out.
func (p *OpenIDProvider) LogoutToken(subject string) map[string]any {
	return map[string]any{
		"iss": p.URL, "aud": OpenIDClient, "sub": subject, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "jti": rand.Text(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
}

func (p *OpenIDProvider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != OpenIDClient || q.Get("redirect_uri") != p.Redirect || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, fmt.Sprintf("a request that this provider refuses: %v", q), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := url.Values{"state": q["state"], "iss": {p.URL}}
	if p.denies {
		answer.Set("error", "access_denied")
	} else {
		code := rand.Text()
		p.codes[code] = q
		answer.Set("code", code)
	}
	http.Redirect(w, r, p.Redirect+"?"+answer.Encode(), http.StatusFound)
}

func (p *OpenIDProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, ok := r.BasicAuth() // both are form-encoded in it, see RFC 6749, section 2.3.1
	if id, err := url.QueryUnescape(id); !ok || err != nil || id != OpenIDClient {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	if secret, err := url.QueryUnescape(secret); err != nil || secret != OpenIDSecret {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	asked, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || r.PostFormValue("redirect_uri") != p.Redirect {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	claims := maps.Clone(p.person)
	maps.Copy(claims, map[string]any{
		"iss": p.URL, "aud": OpenIDClient, "nonce": asked.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	if p.change != nil {
		p.change(claims)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60, "id_token": p.Sign(nil, claims)})
}
