package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"punctual/account"
	accounthttp "punctual/account/httpapi"
	"punctual/account/ldap"
	"punctual/account/oidc"
	"punctual/account/webauthn"
	"punctual/app/config"
)

// providersOf returns the identity providers of auth.oidc, in the order of their names.
func providersOf(c *config.Config) []*oidc.Provider {
	var list []*oidc.Provider
	for id, p := range c.Auth.OIDC {
		scopes := p.Scopes
		if len(scopes) == 0 {
			scopes = []string{"profile", "email"}
		}
		list = append(list, oidc.New(oidc.Config{
			ID: id, Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: p.ClientSecret, Scopes: scopes,
			RedirectURL: strings.TrimSuffix(c.HTTP.BaseURL, "/") + accounthttp.CallbackPath(id),
			Domains:     p.Domains, TrustEmail: p.TrustEmail, GroupsClaim: cmp.Or(p.Groups, "groups"), Roles: p.GroupRoles(),
		}))
	}
	slices.SortFunc(list, func(a, b *oidc.Provider) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list
}

// passkeysOf returns the ceremonies for passkeys, or nil if there are no passkeys here.
func passkeysOf(c *config.Config) (*webauthn.Ceremonies, error) {
	domain := c.PasskeyDomain()
	if domain == "" {
		return nil, nil
	}
	origin, err := url.Parse(c.HTTP.BaseURL)
	if err != nil {
		return nil, err
	}
	return webauthn.New(origin, domain)
}

// directoriesOf returns the directories of auth.ldap, in the order of their keys.
func directoriesOf(c *config.Config, log *slog.Logger) []*ldap.Directory {
	var list []*ldap.Directory
	for _, id := range slices.Sorted(maps.Keys(c.Auth.LDAP)) {
		settings := c.Auth.LDAP[id]
		d := settings.Directory(id)
		d.Log = log
		list = append(list, ldap.New(d))
	}
	return list
}

func (a *Application) registerProviders(r *gin.Engine) {
	ps := &accounthttp.Providers{
		Accounts: a.accounts, List: a.providers, Log: a.log,
		Admit: func(c *gin.Context) bool { return a.limits.admit(c, account.Networks(c.ClientIP())) },
	}
	ps.Register(r)
}

// CheckedProvider is the result of trying one identity provider.
type CheckedProvider struct {
	ID, Name, Issuer       string
	RedirectURL, LogoutURL string // to register with the provider
	Err                    error  // nil: it can be reached and is the configured issuer
}

// CheckProviders contacts the identity providers of c with these IDs, or all of them. An ID that is
// not configured is left out.
func CheckProviders(c *config.Config, ids ...string) []CheckedProvider {
	var checked []CheckedProvider
	for _, p := range providersOf(c) {
		if len(ids) == 0 || slices.Contains(ids, p.ID) {
			logout := strings.TrimSuffix(p.RedirectURL, accounthttp.CallbackPath(p.ID)) + accounthttp.LogoutPath(p.ID)
			checked = append(checked, CheckedProvider{p.ID, p.Name, p.Issuer, p.RedirectURL, logout, p.Check()})
		}
	}
	return checked
}

// CheckedDirectory is the result of trying one directory.
type CheckedDirectory struct {
	ID, URL string
	Err     error        // nil: it can be reached and searched
	Person  *ldap.Person // with the address; nil: nobody, or not asked for
}

// CheckDirectories contacts the directories of c with these IDs, or all of them, and looks for the
// person with an address, unless that is empty.
func CheckDirectories(ctx context.Context, c *config.Config, email string, ids ...string) []CheckedDirectory {
	var checked []CheckedDirectory
	for _, d := range directoriesOf(c, slog.New(slog.DiscardHandler)) {
		if len(ids) > 0 && !slices.Contains(ids, d.ID) {
			continue
		}
		result := CheckedDirectory{ID: d.ID, URL: d.URL, Err: d.Check(ctx)}
		if result.Err == nil && email != "" {
			switch person, err := d.Person(ctx, email); {
			case err == nil:
				result.Person = &person
			case !errors.Is(err, account.ErrNotFound):
				result.Err = err
			}
		}
		checked = append(checked, result)
	}
	return checked
}

// sourcesOf returns the providers and directories whose groups can be groups here.
func sourcesOf(c *config.Config) (sources []account.Source) {
	for _, p := range providersOf(c) {
		sources = append(sources, account.Source{Key: oidc.SourceOf(p.ID), Name: p.Name})
	}
	for _, id := range slices.Sorted(maps.Keys(c.Auth.LDAP)) {
		sources = append(sources, account.Source{Key: ldap.SourceOf(id), Name: id})
	}
	return sources
}

// ProviderIDs returns the configured identity providers and directories.
func ProviderIDs(c *config.Config) []string {
	ids := slices.AppendSeq(slices.Collect(maps.Keys(c.Auth.OIDC)), maps.Keys(c.Auth.LDAP))
	slices.Sort(ids)
	return ids
}
