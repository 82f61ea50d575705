// Package oidc signs people in with the accounts of their company: as a client of OpenID Connect
// providers such as Entra ID, Google, Keycloak, Okta or Authentik. It uses the authorization code
// flow with PKCE (RFC 7636), and ends sessions when a provider asks for it (OpenID Connect
// Back-Channel Logout 1.0).
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"punctual/account"
)

// Config of a [Provider].
type Config struct {
	ID           string // in its paths, such as corp
	Name         string // on the button, such as Example Corp
	Issuer       string // URL, exactly as the provider names itself
	ClientID     string
	ClientSecret string // "" for a public client
	RedirectURL  string // of [Provider.Finish], as registered with the provider
	Scopes       []string

	// Domains of addresses whose owners become users when they first sign in. nil: nobody does.
	Domains []string
	// TrustEmail takes addresses for verified even if the provider does not say so. Entra ID never does.
	TrustEmail bool
	// GroupsClaim names the claim with the groups of a person, and Roles the groups that a role is for.
	// Without Roles, the provider does not decide roles.
	GroupsClaim string
	Roles       account.GroupRoles
}

// Provider is one identity provider. It is first contacted when somebody signs in, so that one that
// is down stops nobody else. Safe for concurrent use.
type Provider struct {
	Config
	client *http.Client

	mu    sync.Mutex
	found *oidc.Provider // nil until it has been reached
	err   error          // of the last try to reach it
	again time.Time      // when the next try may begin
}

const (
	timeout = 10 * time.Second // of each request to a provider
	pause   = 5 * time.Second  // after a try to reach a provider; until then everybody gets its error
)

// New returns a provider without contacting it.
func New(c Config) *Provider {
	return &Provider{Config: c, client: &http.Client{Timeout: timeout}}
}

// Attempt is a sign-in that has begun. The browser keeps it until the provider sends the person back.
type Attempt struct {
	Provider string `json:"p"` // ID
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	Return   string `json:"r"` // path to show afterwards
}

// Errors of [Provider.Finish].
var (
	// ErrUnknownAttempt means that the browser did not begin this sign-in, or too long ago.
	ErrUnknownAttempt = errors.New("the sign-in did not begin in this browser, or too long ago")
	// ErrDenied means that the person or the provider declined.
	ErrDenied = errors.New("the provider denied the sign-in")
)

// discover returns the provider's endpoints and keys. Callers wait for one try together.
func (p *Provider) discover() (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil || time.Now().Before(p.again) {
		return p.found, p.err
	}
	// Keys are fetched later with the same context, so it must outlive the request.
	found, err := oidc.NewProvider(oidc.ClientContext(context.Background(), p.client), p.Issuer)
	if err != nil {
		p.err, p.again = fmt.Errorf("reach the provider %s: %w", p.ID, err), time.Now().Add(pause)
		return nil, p.err
	}
	p.found, p.err = found, nil
	return found, nil
}

// Check reports whether the provider can be reached and is the configured issuer.
func (p *Provider) Check() error {
	_, err := p.discover()
	return err
}

func (p *Provider) oauth(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.RedirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}
}

// Begin returns the address at the provider where a person signs in, and the attempt to finish.
func (p *Provider) Begin(returnTo string) (address string, a Attempt, err error) {
	found, err := p.discover()
	if err != nil {
		return "", Attempt{}, err
	}
	a = Attempt{Provider: p.ID, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: returnTo}
	return p.oauth(found).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// Answer is what a provider sends back with the browser.
type Answer struct{ State, Code, Issuer, Fault string }

// Finish checks the answer to an attempt and returns who the person is.
func (p *Provider) Finish(ctx context.Context, a Attempt, answer Answer) (account.Identity, error) {
	switch {
	case a.Provider != p.ID || a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(answer.State)) != 1:
		return account.Identity{}, ErrUnknownAttempt
	case answer.Issuer != "" && answer.Issuer != p.Issuer: // RFC 9207
		return account.Identity{}, fmt.Errorf("the answer is from the issuer %q, not %q", answer.Issuer, p.Issuer)
	case answer.Fault != "":
		return account.Identity{}, fmt.Errorf("%w: %s", ErrDenied, answer.Fault)
	}
	found, err := p.discover()
	if err != nil {
		return account.Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(found).Exchange(ctx, answer.Code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return account.Identity{}, fmt.Errorf("exchange the code: %w", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return account.Identity{}, errors.New("the provider sent no ID token")
	}
	id, err := p.verifier(found).Verify(ctx, raw)
	if err != nil {
		return account.Identity{}, fmt.Errorf("check the ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return account.Identity{}, errors.New("check the ID token: it has another nonce")
	}
	var c claims
	if err := id.Claims(&c.known); err != nil {
		return account.Identity{}, fmt.Errorf("read the ID token: %w", err)
	}
	if err := id.Claims(&c.all); err != nil {
		return account.Identity{}, fmt.Errorf("read the ID token: %w", err)
	}
	c.session, _ = c.all["sid"].(string)
	if found.UserInfoEndpoint() != "" && (c.known.Email == "" || p.GroupsClaim != "" && c.all[p.GroupsClaim] == nil) {
		if err := c.complete(ctx, found, token, id.Subject); err != nil {
			return account.Identity{}, err
		}
	}
	return p.identity(id, &c), nil
}

func (p *Provider) verifier(found *oidc.Provider) *oidc.IDTokenVerifier {
	return found.Verifier(&oidc.Config{ClientID: p.ClientID})
}

// claims of a person: those that OpenID Connect Core 1.0, section 5.1 names, and all by name.
type claims struct {
	known struct {
		Email         string `json:"email"`
		EmailVerified flag   `json:"email_verified"`
		Name          string `json:"name"`
		Locale        string `json:"locale"`
		Zone          string `json:"zoneinfo"`
	}
	all     map[string]any
	session string // sid of the ID token
}

// complete asks the provider for claims that are not in the ID token. Those of the token win.
func (c *claims) complete(ctx context.Context, found *oidc.Provider, token *oauth2.Token, subject string) error {
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("ask for more about the person: %w", err)
	}
	if info.Subject != subject { // OpenID Connect Core 1.0, section 5.3.2
		return errors.New("ask for more about the person: the provider spoke of somebody else")
	}
	if c.known.Email == "" {
		if err := info.Claims(&c.known); err != nil {
			return fmt.Errorf("read more about the person: %w", err)
		}
	}
	var more map[string]any
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("read more about the person: %w", err)
	}
	for name, v := range more {
		if c.all[name] == nil {
			c.all[name] = v
		}
	}
	return nil
}

// flag is a boolean, which some providers write as a text.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	*f = flag(strings.Trim(string(b), `"`) == "true")
	return nil
}

func (p *Provider) identity(id *oidc.IDToken, c *claims) account.Identity {
	_, domain, _ := strings.Cut(strings.ToLower(c.known.Email), "@")
	groups, said := p.groups(c.all)
	in := func(wanted string) bool { return slices.Contains(groups, wanted) }
	who := account.Identity{
		Issuer: p.Issuer, Subject: id.Subject, Session: c.session,
		Email: c.known.Email, EmailVerified: bool(c.known.EmailVerified) || p.TrustEmail,
		Name: c.known.Name, Locale: c.known.Locale, Timezone: c.known.Zone,
		Join: slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, domain) }),
	}
	if !said { // role and groups stay as they are
		return who
	}
	if len(p.Roles) > 0 {
		who.Role = p.Roles.Highest(in)
	}
	who.Source, who.InGroup = SourceOf(p.ID), in
	return who
}

// SourceOf returns the source of the groups of a provider, see [account.Group].
func SourceOf(id string) string { return "oidc:" + id }

// groups returns the groups of a person. said is false if the provider left them out because there are
// too many for a token (Entra ID's overage claims).
func (p *Provider) groups(claims map[string]any) (names []string, said bool) {
	switch groups := claims[p.GroupsClaim].(type) {
	case string:
		names = []string{groups}
	case []any:
		for _, g := range groups {
			if name, ok := g.(string); ok {
				names = append(names, name)
			}
		}
	case nil:
		elsewhere, _ := claims["_claim_names"].(map[string]any)
		return nil, elsewhere[p.GroupsClaim] == nil && !isTrue(claims["hasgroups"])
	}
	return names, true
}

// isTrue reports whether a claim is true, which some providers write as a text.
func isTrue(claim any) bool { return claim == true || claim == "true" }

// SignedOut checks a logout token and returns what it says. The caller must check when it was issued, and that it
// was not used before.
func (p *Provider) SignedOut(ctx context.Context, logoutToken string) (account.Logout, error) {
	found, err := p.discover()
	if err != nil {
		return account.Logout{}, err
	}
	t, err := p.verifier(found).VerifyLogout(oidc.ClientContext(ctx, p.client), logoutToken)
	if err != nil {
		return account.Logout{}, fmt.Errorf("check the logout token: %w", err)
	}
	return account.Logout{Issuer: p.Issuer, ID: t.TokenID, Subject: t.Subject, Session: t.SessionID, Issued: t.IssuedAt}, nil
}
