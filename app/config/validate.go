package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/app/syslog"
	"punctual/delayjob/redisqueue"
	"punctual/delayjob/topics"
	"punctual/notify"
	"punctual/notify/bounce"
)

// JobNames are the delay jobs, which can be tuned under queue.jobs.
var JobNames = []string{"meeting.start", "meeting.end", "meeting.remind", "meeting.no_show", "approval.expire", "approval.remind", "approval.escalate", "waitlist.look", "waitlist.expire", "itip.process", "itip.answer", "series.extend", "notify.email", "notify.sms", "notify.chat", "notify.digest", "webhook.deliver", "user.leave", "user.erase", "audit.forward"}

// IsJob reports whether this version handles the messages of a job.
func IsJob(job string) bool {
	return slices.Contains(JobNames, job) || strings.HasPrefix(job, topics.JobName(""))
}

type brokenRule struct{ path, message string }

type rules []brokenRule

func (r *rules) check(ok bool, path, format string, args ...any) {
	if !ok {
		*r = append(*r, brokenRule{path, maskUserInfo(fmt.Sprintf(format, args...))})
	}
}

func (r *rules) oneOf(path, value string, known ...string) {
	r.check(slices.Contains(known, value), path, "is %q; it must be %s", value, strings.Join(known, ", "))
}

func (r *rules) within(path string, d, least, most time.Duration) {
	r.check(d >= least && d <= most, path, "is %s; it must be from %s to %s", fault.FormatDuration(d), fault.FormatDuration(least), fault.FormatDuration(most))
}

func (r *rules) network(path, value string) {
	_, err := ParseNetwork(value)
	r.check(err == nil, path, "is %q; it must be an address or a network such as 10.0.0.0/8", value)
}

const (
	day  = 24 * time.Hour
	year = 366 * day
)

func (c *Config) validate() []brokenRule {
	var r rules
	c.HTTP.validate(&r)
	c.Database.validate(&r)
	c.Queue.validate(&r)
	c.Booking.validate(&r)
	c.Email.validate(&r)
	c.SMS.validate(&r)
	c.Mailroom.validate(&r)
	c.Topics.validate(&r)
	c.Limits.validate(&r)
	for id, p := range c.Auth.OIDC {
		p.validate(id, &r)
	}
	for id, d := range c.Auth.LDAP {
		_, twice := c.Auth.OIDC[id]
		r.check(!twice, "auth.ldap."+id, "has the key of a provider of auth.oidc; choose another")
		d.validate(id, &r)
	}
	c.Auth.SCIM.validate(&r)
	c.Auth.Passkeys.validate(c.HTTP.BaseURL, &r)
	r.oneOf("auth.second_factor", c.Auth.SecondFactor, "optional", "required", "off")
	r.within("auth.session_ttl", c.Auth.SessionTTL, time.Minute, year)
	for key, ttl := range map[string]time.Duration{"auth.token_ttl": c.Auth.TokenTTL, "auth.max_token_ttl": c.Auth.MaxTokenTTL} {
		r.check(ttl == 0 || ttl >= time.Minute, key, "must be at least 1m, or 0s for no limit, not %s", fault.FormatDuration(ttl))
	}
	r.oneOf("calendar.organizer", c.Calendar.Organizer, "meeting", "person")
	for i, origin := range c.Public.FrameOrigins {
		u, err := url.Parse(origin)
		r.check(err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && origin == u.Scheme+"://"+u.Host && !strings.ContainsAny(u.Host, " ;,'*"),
			fmt.Sprintf("public.frame_origins[%d]", i), "must be an origin such as https://intranet.example.org, not %q", origin)
	}
	r.within("caldav.past", c.CalDAV.Past, day, 10*year)
	r.within("audit.keep", c.Audit.Keep, 31*day, 50*year)
	if to := c.Traces.URL; to != "" {
		u, err := url.Parse(to)
		r.check(err == nil && isHTTP(u), "traces.url", "must be an address such as http://127.0.0.1:4318/v1/traces")
	}
	r.check(c.Traces.Sample >= 0 && c.Traces.Sample <= 1, "traces.sample", "is %v; it must be from 0 to 1", c.Traces.Sample)
	if to := c.Audit.Syslog; to.URL != "" {
		_, err := syslog.Parse(to.URL, to.CAFile)
		r.check(err == nil, "audit.syslog.url", "is %q; it %v", to.URL, err)
	}
	c.Notifications.validate(&r)
	r.within("webhooks.keep", c.Webhooks.Keep, day, 50*year)
	r.within("meetings.keep", c.Meetings.Keep, 31*day, 50*year)
	r.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	r.oneOf("log.format", c.Log.Format, "text", "json")
	return r
}

func (c *HTTP) validate(r *rules) {
	_, port, err := net.SplitHostPort(c.Addr)
	r.check(err == nil && isPort(port, 0), "http.addr", "is %q; it must be host:port or :port", c.Addr)
	r.check(c.PprofAddr == "" || isLocal(c.PprofAddr), "http.pprof_addr", "is %q; it must be an address of this machine such as 127.0.0.1:6060, because profiles show what the program does", c.PprofAddr)
	u, err := url.Parse(c.BaseURL)
	r.check(err == nil && isHTTP(u) && u.RawQuery == "" && u.Fragment == "" && u.User == nil && strings.Trim(u.Path, "/") == "", "http.base_url",
		"is %q; it must be the address people use, without a path, such as https://rooms.example.org", c.BaseURL)
	for i, p := range c.TrustedProxies {
		r.network(fmt.Sprintf("http.trusted_proxies[%d]", i), p)
	}
	c.TLS.validate(r, c.BaseURL)
}

func (t *TLS) validate(r *rules, baseURL string) {
	const path = "http.tls"
	if t.RedirectAddr != "" {
		_, port, err := net.SplitHostPort(t.RedirectAddr)
		r.check(err == nil && isPort(port, 0), path+".redirect_addr", "is %q; it must be host:port or :port", t.RedirectAddr)
		r.check(t.Enabled(), path+".redirect_addr", "is set without a certificate: set cert_file and key_file, or acme.domains")
	}
	switch {
	case !t.Enabled():
		return
	case len(t.ACME.Domains) > 0:
		t.ACME.validate(r, baseURL)
		r.check(t.CertFile == "" && t.KeyFile == "", path+".acme.domains", "are set beside cert_file and key_file; choose one")
		return
	case t.KeyFile == "":
		r.check(false, path+".key_file", "must name the key of cert_file")
		return
	case t.CertFile == "":
		r.check(false, path+".cert_file", "must name the certificate of key_file")
		return
	}
	_, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	r.check(err == nil, path+".cert_file", "and key_file cannot be used: %v", err)
	r.check(strings.HasPrefix(baseURL, "https://"), "http.base_url", "is %q; with http.tls.cert_file it must begin with https://", baseURL)
}

func (c *ACME) validate(r *rules, baseURL string) {
	const path = "http.tls.acme"
	for i, d := range c.Domains {
		at := fmt.Sprintf("%s.domains[%d]", path, i)
		r.check(strings.Contains(d, ".") && !strings.ContainsAny(d, "*:/ ") && d == strings.ToLower(d) && net.ParseIP(d) == nil, at,
			"is %q; it must be a name in lower case, such as rooms.example.org", d)
	}
	u, err := url.Parse(baseURL)
	r.check(err == nil && u.Scheme == "https" && slices.Contains(c.Domains, u.Hostname()), "http.base_url",
		"is %q; it must be https:// and one of http.tls.acme.domains", baseURL)
	u, err = url.Parse(c.Directory)
	r.check(err == nil && u.Scheme == "https" && u.Host != "", path+".directory", "is %q; it must be an https URL", c.Directory)
	if c.CAFile != "" {
		_, err := os.Stat(c.CAFile)
		r.check(err == nil, path+".ca_file", "cannot be read: %v", err)
	}
}

func (c *Database) validate(r *rules) {
	r.oneOf("database.pooler", c.Pooler, "auto", "none", "transaction")
	const path = "database.url"
	if file, ok := strings.CutPrefix(c.URL, "sqlite:"); ok {
		r.check(file != "", path, "names no file: write sqlite:data/punctual.db")
		return
	}
	u, err := url.Parse(c.URL)
	r.check(err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql"), path, "must be sqlite:FILE or postgres://user:password@host/database")
}

var queuePrefix = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

func (c *Queue) validate(r *rules) {
	err := checkQueueURL(c.URL)
	r.check(err == nil, "queue.url", "cannot be used: %v", err)
	r.check(queuePrefix.MatchString(c.Prefix), "queue.prefix", "is %q; it must be 1 to 64 letters, digits or . _ : -", c.Prefix)
	r.check(c.Shards >= 0 && c.Shards <= 64 && c.Shards&(c.Shards-1) == 0, "queue.shards", "is %d; it must be 1, 2, 4, 8, 16, 32 or 64, or 0 for the default", c.Shards)
	r.check(c.Shards <= 1 || c.URL != "memory:", "queue.shards", "is %d, but the queue in memory (queue.url) has no parts", c.Shards)
	r.within("queue.safety_poll", c.SafetyPoll, 100*time.Millisecond, time.Minute)
	r.within("queue.horizon", c.Horizon, 2*time.Second, day)
	load, reload := c.LoadEvery.Longest(), c.ReloadEvery.Longest()
	r.check(load >= time.Second, "queue.load_every", "is %s; the least is 1s", c.LoadEvery)
	r.check(reload >= time.Second, "queue.reload_every", "is %s; the least is 1s", c.ReloadEvery)
	r.check(c.Horizon >= 2*load, "queue.horizon", "is %s, less than twice queue.load_every (up to %s between passes): what falls due in between would be late",
		fault.FormatDuration(c.Horizon), fault.FormatDuration(load))
	r.check(reload >= load, "queue.reload_every", "is shorter than queue.load_every")
	for _, job := range slices.Sorted(maps.Keys(c.Jobs)) {
		c.Jobs[job].validate(r, job)
	}
}

func (c Job) validate(r *rules, job string) {
	path := "queue.jobs." + job
	if !slices.Contains(JobNames, job) {
		r.check(false, path, "is not a job type%s", Suggest(job, JobNames))
		return
	}
	r.check(c.Concurrency >= 0 && c.Concurrency <= 1000, path+".concurrency", "is %d; it must be from 1 to 1000, or 0 for the default", c.Concurrency)
	r.check(c.Batch >= 0 && c.Batch <= 10_000, path+".batch", "is %d; it must be from 1 to 10000, or 0 for the default", c.Batch)
	r.check(c.MaxAttempts >= -1, path+".max_attempts", "is %d; it must be at least 1, -1 for no limit or 0 for the default", c.MaxAttempts)
	r.check(c.Rate >= 0, path+".rate", "is negative; 0 means no limit")
	if c.Lease != 0 {
		r.within(path+".lease", c.Lease, time.Second, time.Hour)
	}
}

func (c *Booking) validate(r *rules) {
	_, err := fault.Zone(c.Timezone)
	r.check(err == nil, "booking.timezone", "is %q; it must be an IANA time zone such as Europe/Berlin", c.Timezone)
	r.within("booking.undo", c.Undo, 0, 5*time.Minute)
	c.validateReminders(r)
	r.within("booking.approval.timeout", c.Approval.Timeout, time.Minute, year)
	r.oneOf("booking.approval.on_timeout", c.Approval.OnTimeout, "reject", "approve")
	r.within("booking.approval.remind_before", c.Approval.RemindBefore, 0, year)
	r.check(c.Approval.RemindBefore < c.Approval.Timeout, "booking.approval.remind_before", "is not before the time-out: it must be less than booking.approval.timeout")
	r.within("booking.approval.escalate_after", c.Approval.EscalateAfter, 0, year)
	r.check(c.Approval.EscalateAfter < c.Approval.Timeout, "booking.approval.escalate_after", "is not before the time-out: it must be less than booking.approval.timeout, or 0 for never")
	r.within("booking.waiting_list.offer", c.WaitingList.Offer, 0, year)
	r.within("booking.waiting_list.keep", c.WaitingList.Keep, day, 50*year)
	r.within("booking.limits.max_duration", c.Limits.MaxDuration, time.Minute, year)
	r.within("booking.limits.max_advance", c.Limits.MaxAdvance, time.Hour, 10*year)
	r.within("booking.limits.last_change", c.Limits.LastChange, 0, year)
	r.check(c.Limits.MaxOccurrences >= 1 && c.Limits.MaxOccurrences <= 10_000, "booking.limits.max_occurrences", "is %d; it must be from 1 to 10000", c.Limits.MaxOccurrences)
	r.check(c.Limits.MaxInvitations >= 1 && c.Limits.MaxInvitations <= 1_000_000, "booking.limits.max_invitations", "must be from 1 to 1000000, not %d", c.Limits.MaxInvitations)
	r.check(c.Limits.MaxRoomDates >= 1 && c.Limits.MaxRoomDates <= 1_000_000, "booking.limits.max_room_dates", "must be from 1 to 1000000, not %d", c.Limits.MaxRoomDates)
	r.check(c.Limits.PersonAhead >= 0, "booking.limits.person_ahead", "must be 0s or longer, not %s", fault.FormatDuration(c.Limits.PersonAhead))
	r.check(c.Limits.PersonRooms >= 0, "booking.limits.person_rooms", "must be 0 or more, not %d", c.Limits.PersonRooms)
	r.check(c.Limits.MaxWaits >= 1 && c.Limits.MaxWaits <= 10_000, "booking.limits.max_waits", "is %d; it must be from 1 to 10000", c.Limits.MaxWaits)
	r.within("booking.check_in.opens", c.CheckIn.Opens, 0, day)
	r.within("booking.check_in.grace", c.CheckIn.Grace, time.Second, day)
	r.check(c.CheckIn.Grace <= c.Limits.MaxDuration, "booking.check_in.grace", "is longer than any meeting may last (booking.limits.max_duration)")
}

func (c *Booking) validateReminders(r *rules) {
	r.check(len(c.Reminders) <= 20, "booking.reminders", "holds %d; the most is 20", len(c.Reminders))
	for i, m := range c.Reminders {
		path := fmt.Sprintf("booking.reminders[%d]", i)
		r.oneOf(path+".before", m.Before, "start", "end")
		r.within(path+".offset", m.Offset, 0, year)
		r.check(m.Offset%time.Second == 0, path+".offset", "must be whole seconds")
		r.check(len(m.Channels) > 0, path+".channels", "names none; it must be email, sms or both")
		for k, ch := range m.Channels {
			r.oneOf(fmt.Sprintf("%s.channels[%d]", path, k), ch, "email", "sms")
			r.check(!slices.Contains(m.Channels[:k], ch), fmt.Sprintf("%s.channels[%d]", path, k), "names %s twice", ch)
		}
		same := func(o Reminder) bool { return o.Before == m.Before && o.Offset == m.Offset }
		r.check(!slices.ContainsFunc(c.Reminders[:i], same), path, "is there twice: one reminder of each before and offset; list its channels together")
	}
}

func (c *Email) validate(r *rules) {
	r.oneOf("email.driver", c.Driver, "smtp", "outbox", "off")
	_, err := mail.ParseAddress(c.From)
	r.check(err == nil, "email.from", `is %q; it must be an address such as Punctual <rooms@example.org>`, c.From)
	r.check(c.Driver != "smtp" || c.SMTP.Host != "", "email.smtp.host", "is empty, but email.driver is smtp")
	r.check(!strings.ContainsAny(c.SMTP.Host, ":/ "), "email.smtp.host", "is %q; it must be a name or an address alone, the port has a key of its own", c.SMTP.Host)
	r.check(c.SMTP.Port >= 1 && c.SMTP.Port <= 65535, "email.smtp.port", "is %d; it must be from 1 to 65535", c.SMTP.Port)
	r.check(c.Quota >= 0, "email.quota", "is %d; it must be at least 1, or 0 for no limit", c.Quota)
	r.oneOf("email.smtp.tls", c.SMTP.TLS, "starttls", "tls", "none")
	if c.Events.Provider != "" || c.Events.Secret != "" {
		r.oneOf("email.events.provider", c.Events.Provider, bounce.Providers()...)
		r.check(len(c.Events.Secret) >= minReceiptSecret && url.PathEscape(c.Events.Secret) == c.Events.Secret, "email.events.secret",
			"must have at least %d letters, digits, - and _, because it is part of an address", minReceiptSecret)
	}
	r.check(c.SMTP.Password == "" || c.SMTP.Username != "", "email.smtp.username", "is empty, but a password is set")
}

func (c *Notifications) validate(r *rules) {
	const path = "notifications"
	r.within(path+".keep", c.Keep, 31*day, 50*year)
	r.within(path+".bounces_keep", c.BouncesKeep, day, 50*year)
	kinds := make([]string, 0, len(notify.Choosable()))
	for _, k := range notify.Choosable() {
		kinds = append(kinds, string(k))
	}
	channels := func(at string, cs []string) {
		for i, ch := range cs {
			r.oneOf(fmt.Sprintf("%s[%d]", at, i), ch, "email", "sms", "chat")
			r.check(!slices.Contains(cs[:i], ch), fmt.Sprintf("%s[%d]", at, i), "names %s twice", ch)
		}
	}
	channels(path+".channels", c.Channels)
	r.check(slices.Contains(c.Channels, "email"), path+".channels", "must contain email")
	for i, k := range c.Required {
		r.oneOf(fmt.Sprintf("%s.required[%d]", path, i), k, kinds...)
	}
	for _, k := range slices.Sorted(maps.Keys(c.Defaults)) {
		at := path + ".defaults." + k
		r.check(slices.Contains(kinds, k), at, "is not a kind of notification that people can choose%s", Suggest(k, kinds))
		channels(at, c.Defaults[k])
		r.check(len(c.Defaults[k]) > 0 || !slices.Contains(c.Required, k), at, "is empty, but notifications.required names %s", k)
	}
}

func (c *Topics) validate(r *rules) {
	r.check(c.MaxPending >= 0, "topics.max_pending", "is %d; it must be at least 1, or 0 for no limit", c.MaxPending)
	r.check(c.MaxTopics >= 0, "topics.max_topics", "is %d; it must be at least 1, or 0 for no limit", c.MaxTopics)
	for i, n := range c.AllowNetworks {
		r.network(fmt.Sprintf("topics.allow_networks[%d]", i), n)
	}
}

func (c *RequestLimits) validate(r *rules) {
	between := func(path string, n, least, most int) {
		r.check(n >= least && n <= most, path, "is %d; it must be from %d to %d", n, least, most)
	}
	between("limits.concurrency", c.Concurrency, 1, 10_000)
	between("limits.heavy", c.Heavy, 1, 1000)
	between("limits.streams", c.Streams, 1, 10_000)
	between("limits.total_streams", c.TotalStreams, 1, 1_000_000)
	r.check(c.MemoryMiB == 0 || c.MemoryMiB >= 64, "limits.memory_mib", "is %d; it must be at least 64, or 0 for the container's", c.MemoryMiB)
}

// ParseNetwork parses a network, or an address as a network of its own.
func ParseNetwork(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.WithZone("").Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

func isHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

func isPort(s string, least int) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= least && n <= 65535
}

// checkQueueURL checks the URL as at the start, without connecting.
func checkQueueURL(s string) error {
	if s == "memory:" {
		return nil
	}
	if !strings.HasPrefix(s, "redis") {
		return errors.New("it must be memory: or begin with redis://, rediss://, redis+sentinel:// or redis+cluster://")
	}
	client, err := redisqueue.Dial(s)
	if err != nil {
		return err
	}
	return client.Close()
}

// isLocal reports whether addr is host:port and only programs on this machine can connect to it.
func isLocal(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	return err == nil && isPort(port, 0) && isLoopback(host)
}
