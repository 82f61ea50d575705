package mailroom

import (
	"fmt"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/authres"
	"golang.org/x/net/publicsuffix"

	"punctual/meeting/itip"
)

// Trust says how senders are authenticated.
type Trust struct {
	// Network: whoever delivers from an allowed network has authenticated the sender. Otherwise the
	// topmost Authentication-Results must say so, and be from one of the Servers.
	Network bool
	Servers []string // authserv-ids
	Refuse  bool     // mails that are not trusted are refused instead of quarantined
	Confirm bool     // senders who are not authenticated are asked whether an invitation is theirs
}

// failedDMARC means that the mail is forged, rather than that its sender is unproven.
const failedDMARC = "failed DMARC"

// authenticated returns why the address in From is not proven, or "".
func (t Trust) authenticated(l *Letter) string {
	if l.From == "" {
		return "must have one From address"
	}
	if t.Network {
		return ""
	}
	if len(l.Results) == 0 {
		return "has no Authentication-Results"
	}
	server, results, err := authres.Parse(l.Results[0]) // those below may be forged
	if err != nil {
		return fmt.Sprintf("its topmost Authentication-Results cannot be read: %v", err)
	}
	if !slices.ContainsFunc(t.Servers, func(id string) bool { return strings.EqualFold(id, server) }) {
		return fmt.Sprintf("its topmost Authentication-Results is from %q, which is not in mailroom.trust.authserv_ids", shown(server))
	}
	domain := domainOf(l.From)
	aligned := false
	for _, r := range results {
		switch r := r.(type) {
		case *authres.DMARCResult:
			if r.Value == authres.ResultPass && (r.From == "" || strings.EqualFold(domainOf(r.From), domain)) {
				return ""
			}
			if r.Value == authres.ResultFail {
				return failedDMARC
			}
		case *authres.DKIMResult:
			signer := r.Domain
			if signer == "" {
				signer = domainOf(r.Identifier)
			}
			aligned = aligned || r.Value == authres.ResultPass && sameOrganization(signer, domain)
		case *authres.SPFResult:
			aligned = aligned || r.Value == authres.ResultPass && sameOrganization(domainOf(r.From), domain)
		}
	}
	if !aligned {
		return fmt.Sprintf("neither DMARC, DKIM nor SPF passed for %s", domain)
	}
	return ""
}

// domainOf returns the domain of an address, or the text itself if it has no @.
func domainOf(address string) string {
	return strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
}

// sameOrganization is the relaxed alignment of DMARC: both belong to the same registered domain.
func sameOrganization(a, b string) bool {
	a, b = strings.TrimSuffix(strings.ToLower(a), "."), strings.TrimSuffix(strings.ToLower(b), ".")
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	orgA, errA := publicsuffix.EffectiveTLDPlusOne(a)
	orgB, errB := publicsuffix.EffectiveTLDPlusOne(b)
	return errA == nil && errB == nil && orgA == orgB
}

// organizes reports whether the sender of a calendar message organizes each of its events, or acts for
// the organizer.
func organizes(from string, c *itip.Calendar) bool {
	for _, o := range c.Objects {
		for _, e := range o.Events() {
			if !isOrActsFor(from, e.Organizer) {
				return false
			}
		}
	}
	return from != ""
}

// attends reports whether the sender of a response is an attendee of each of its events, or acts for one.
func attends(from string, c *itip.Calendar) bool {
	for _, o := range c.Objects {
		for _, e := range o.Events() {
			if !slices.ContainsFunc(e.Attendees, func(a itip.Attendee) bool {
				return isOrActsFor(from, a.Person)
			}) {
				return false
			}
		}
	}
	return from != ""
}

// actsFor returns the addresses of those for whom the sender of a calendar message claims to act.
func actsFor(from string, c *itip.Calendar) (all []string) {
	for _, o := range c.Objects {
		for _, e := range o.Events() {
			people := []itip.Person{e.Organizer}
			if responds(c.Method) {
				people = nil
				for _, a := range e.Attendees {
					people = append(people, a.Person)
				}
			}
			for _, p := range people {
				if strings.EqualFold(p.SentBy, from) && !strings.EqualFold(p.Email, from) && !slices.Contains(all, p.Email) {
					all = append(all, p.Email)
				}
			}
		}
	}
	return all
}

// isOrActsFor reports whether a sender is the person, or acts for them. Anyone can claim to act for someone
// (SENT-BY), so the claim counts only within the same organization. [Delegates] decides too.
func isOrActsFor(from string, who itip.Person) bool {
	return strings.EqualFold(who.Email, from) ||
		strings.EqualFold(who.SentBy, from) && sameOrganization(domainOf(from), domainOf(who.Email))
}
