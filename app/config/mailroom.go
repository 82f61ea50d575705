package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/mailroom"
	"punctual/meeting/mailroom/lmtp"
	"punctual/meeting/scheduling"
)

// Mailroom configures how rooms receive mail.
type Mailroom struct {
	Domain        string         `yaml:"domain" restart:"true"` // empty: off
	Listen        string         `yaml:"listen" restart:"true"` // empty: only IMAP
	AllowNetworks []string       `yaml:"allow_networks" restart:"true"`
	IMAP          IMAP           `yaml:"imap" restart:"true"`
	Trust         MailTrust      `yaml:"trust"`
	Limits        MailroomLimits `yaml:"limits"`
	Senders       MailSenders    `yaml:"senders"`
	Conflicts     MailConflicts  `yaml:"conflicts"`
	BeyondWindow  string         `yaml:"beyond_window"`
	Title         string         `yaml:"title"`
	Suggest       string         `yaml:"suggest"`
	Keep          time.Duration  `yaml:"keep"`
}

// MailSenders says what happens to invitations of organizers who are no users.
type MailSenders struct {
	Domains []string `yaml:"domains"`
	Unknown string   `yaml:"unknown"`
}

// MailConflicts limits how much of a series may be taken.
type MailConflicts struct {
	Percent int `yaml:"percent"`
	Count   int `yaml:"count"`
}

// Scheduling completes the settings of package scheduling.
func (c Mailroom) Scheduling(s scheduling.Settings) scheduling.Settings {
	s.Percent, s.Count = c.Conflicts.Percent, c.Conflicts.Count
	s.BeyondWindow, s.Title = scheduling.BeyondWindow(c.BeyondWindow), scheduling.TitlePolicy(c.Title)
	s.Counter = c.Suggest == "counter"
	s.Guests = c.Senders.Unknown == "guest"
	for _, domain := range c.Senders.Domains {
		s.Domains = append(s.Domains, strings.ToLower(domain))
	}
	return s
}

// IMAP is the mailbox that is read.
type IMAP struct {
	Host     string        `yaml:"host"` // empty: none
	Port     int           `yaml:"port"`
	Username string        `yaml:"username"`
	Password string        `yaml:"password" secret:"true"`
	TLS      string        `yaml:"tls"`
	Mailbox  string        `yaml:"mailbox"`
	Done     string        `yaml:"done"`
	Poll     time.Duration `yaml:"poll"`
}

// MailTrust says which senders are believed.
type MailTrust struct {
	Mode            string   `yaml:"mode"`
	AuthservIDs     []string `yaml:"authserv_ids"`
	Unauthenticated string   `yaml:"unauthenticated"`
}

// MailroomLimits bound what is read of a mail.
type MailroomLimits struct {
	Size      Size `yaml:"size" restart:"true"`
	Depth     int  `yaml:"depth"`
	Parts     int  `yaml:"parts"`
	Events    int  `yaml:"events"`
	PerSender Rate `yaml:"per_sender"`
}

// On reports whether rooms receive mail.
func (c Mailroom) On() bool { return c.Domain != "" }

// Settings converts c to the settings of package mailroom.
func (c Mailroom) Settings() mailroom.Settings {
	return mailroom.Settings{
		Domain: strings.ToLower(c.Domain),
		Trust:  mailroom.Trust{Network: c.Trust.Mode == "network", Servers: c.Trust.AuthservIDs, Refuse: c.Trust.Unauthenticated == "refuse", Confirm: c.Trust.Unauthenticated == "confirm"},
		Limits: mailroom.Limits{Size: int64(c.Limits.Size), Depth: c.Limits.Depth, Parts: c.Limits.Parts, Events: c.Limits.Events},
	}
}

// Networks returns the networks that may deliver mail. c must be valid.
func (c Mailroom) Networks() []netip.Prefix { return networks(c.AllowNetworks) }

func defaultMailroom() Mailroom {
	return Mailroom{
		Listen: "lmtp:127.0.0.1:2424", AllowNetworks: []string{"127.0.0.0/8"},
		IMAP:    IMAP{Port: 993, TLS: "tls", Mailbox: "INBOX", Done: "Done", Poll: time.Minute},
		Trust:   MailTrust{Mode: "results", AuthservIDs: []string{}, Unauthenticated: "quarantine"},
		Limits:  MailroomLimits{Size: 1 << 20, Depth: 20, Parts: 100, Events: 400, PerSender: Rate{Count: 60, Per: time.Hour}},
		Senders: MailSenders{Domains: []string{}, Unknown: "decline"}, BeyondWindow: "extend", Title: "keep", Suggest: "text",
		Keep: 720 * time.Hour,
	}
}

var domainName = regexp.MustCompile(`^(?i)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

func (c *Mailroom) validate(r *rules) {
	r.check(c.Domain == "" || len(c.Domain) <= 253 && domainName.MatchString(c.Domain), "mailroom.domain", "must be the domain of the rooms' addresses, such as rooms.example.org, not %q", c.Domain)
	if c.Listen != "" {
		_, err := lmtp.ParseAddress(c.Listen)
		r.check(err == nil, "mailroom.listen", "is %q; it %v", c.Listen, err)
	}
	r.check(!c.On() || c.Listen != "" || c.IMAP.Host != "", "mailroom.listen", "is empty, and so is mailroom.imap.host: mail could not arrive")
	for i, n := range c.AllowNetworks {
		r.network(fmt.Sprintf("mailroom.allow_networks[%d]", i), n)
	}
	c.IMAP.validate(r)
	r.oneOf("mailroom.trust.mode", c.Trust.Mode, "results", "network")
	r.oneOf("mailroom.trust.unauthenticated", c.Trust.Unauthenticated, "quarantine", "confirm", "refuse")
	r.check(!c.On() || c.Trust.Mode != "results" || len(c.Trust.AuthservIDs) > 0, "mailroom.trust.authserv_ids",
		"is empty, so no sender could be trusted: name your mail server as it does in Authentication-Results, or set mailroom.trust.mode to network")
	for i, id := range c.Trust.AuthservIDs {
		r.check(strings.TrimSpace(id) != "", fmt.Sprintf("mailroom.trust.authserv_ids[%d]", i), "must not be empty")
	}
	between := func(path string, n, least, most int) {
		r.check(n >= least && n <= most, path, "is %d; it must be from %d to %d", n, least, most)
	}
	r.check(c.Limits.Size >= 16<<10 && c.Limits.Size <= 32<<20, "mailroom.limits.size", "is %s; it must be from 16KiB to 32MiB", c.Limits.Size)
	between("mailroom.limits.depth", c.Limits.Depth, 2, 100)
	between("mailroom.limits.parts", c.Limits.Parts, 2, 1000)
	between("mailroom.limits.events", c.Limits.Events, 1, 10_000)
	r.oneOf("mailroom.senders.unknown", c.Senders.Unknown, "decline", "guest")
	r.check(c.Senders.Unknown != "guest" || len(c.Senders.Domains) > 0, "mailroom.senders.domains", "is empty, so nobody could become a guest: name the domains of your people")
	for i, domain := range c.Senders.Domains {
		r.check(domainName.MatchString(domain), fmt.Sprintf("mailroom.senders.domains[%d]", i), "must be a domain such as example.org, not %q", domain)
	}
	between("mailroom.conflicts.percent", c.Conflicts.Percent, 0, 100)
	between("mailroom.conflicts.count", c.Conflicts.Count, 0, 10_000)
	r.oneOf("mailroom.beyond_window", c.BeyondWindow, "decline", "trim", "extend")
	r.oneOf("mailroom.title", c.Title, "keep", "organizer", "hide")
	r.oneOf("mailroom.suggest", c.Suggest, "text", "counter")
	r.within("mailroom.keep", c.Keep, day, 50*year)
}

func (c *IMAP) validate(r *rules) {
	r.check(!strings.ContainsAny(c.Host, ":/ "), "mailroom.imap.host", "is %q; it must be a name or an address alone, the port has a key of its own", c.Host)
	r.check(c.Port >= 1 && c.Port <= 65535, "mailroom.imap.port", "is %d; it must be from 1 to 65535", c.Port)
	r.oneOf("mailroom.imap.tls", c.TLS, "tls", "starttls", "none")
	r.check(c.Host == "" || c.Username != "", "mailroom.imap.username", "is empty, but mailroom.imap.host is set")
	r.check(c.Mailbox != "", "mailroom.imap.mailbox", "must not be empty")
	r.check(c.Done != "" && c.Done != c.Mailbox, "mailroom.imap.done", "must be another folder than mailroom.imap.mailbox")
	r.within("mailroom.imap.poll", c.Poll, 5*time.Second, time.Hour)
}

// A Size is a number of bytes, written as 512KiB or 1MiB.
type Size int64

func (s *Size) parse(text string) error {
	for unit, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		number, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.ParseInt(number, 10, 32); ok && err == nil && n > 0 {
			*s = Size(n * bytes)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size; write a number and a unit, such as 512KiB or 1MiB", text)
}

func (s Size) String() string {
	if s%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", int64(s>>20))
	}
	return fmt.Sprintf("%dKiB", int64(s>>10))
}
