package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ErrRefused says that an address is one that must not be posted to.
var ErrRefused = errors.New("is not a public address")

// reserved are the networks that are not the public Internet, those of IANA's registries of
// special-purpose addresses. What embeds an IPv4 address is judged by that; see refused.
var reserved = networks(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's metadata; those of others are link-local, shared (100.64/10) or unique-local
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	translated    = netip.MustParsePrefix("64:ff9b::/96") // NAT64
)

func networks(all ...string) []netip.Prefix {
	ps := make([]netip.Prefix, len(all))
	for i, s := range all {
		ps[i] = netip.MustParsePrefix(s)
	}
	return ps
}

// refused reports whether posts to a are forbidden, unless one of allowed contains it.
func refused(a netip.Addr, allowed []netip.Prefix) bool {
	if !a.IsValid() {
		return true
	}
	a = a.WithZone("").Unmap()
	within := func(ps []netip.Prefix) bool {
		return slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	if within(allowed) {
		return false
	}
	if a.Is4() {
		return within(reserved)
	}
	b := a.As16()
	switch {
	case translated.Contains(a):
		return refused(netip.AddrFrom4([4]byte(b[12:16])), nil)
	case sixToFour.Contains(a):
		return refused(netip.AddrFrom4([4]byte(b[2:6])), nil)
	}
	return !globalUnicast.Contains(a) || within(reserved)
}

const lookUp = 5 * time.Second

// CheckURL returns an error if posts to a URL are not possible. The error is for the user who sets
// the URL. Every address of its host must be allowed. The host's addresses may change later, so
// each post checks the address that it connects to.
func (s *Sender) CheckURL(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return errors.New("must be an http or https URL")
	case u.User != nil:
		return errors.New("must not hold a user or a password")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return errors.New("must not hold a fragment")
	case len(raw) > 2000:
		return errors.New("must be at most 2,000 bytes")
	}
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(addrs) == 0 {
		return fmt.Errorf("names a host that is not found: %s", u.Hostname())
	}
	for _, a := range addrs {
		if refused(a, *s.allowed.Load()) {
			return fmt.Errorf("leads to %s, which %w", a.Unmap(), ErrRefused)
		}
	}
	return nil
}

// dial connects to addresses that are allowed; control sees them after the name was resolved.
func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, ControlContext: s.control}
	return d.DialContext(ctx, network, address)
}
