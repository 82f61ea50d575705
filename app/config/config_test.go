package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parse(file string, src []byte, environ []string) (*Config, []string, error) {
	l, err := Parse(file, src, environ)
	return l.Config, l.Warnings, err
}

func TestConfig_faultsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"unknown key", "http:\n  adr: \":80\"\n", "c.yaml:2:3: unknown key http.adr; did you mean addr?"},
		{"unknown section", "htttp: {}\n", "c.yaml:1:1: unknown key htttp; did you mean http?"},
		{"nothing near", "x: 1\n", "c.yaml:1:1: unknown key x; use one of audit, auth, booking, caldav, calendar, chat, database, email, http, limits, log, mailroom, meetings, notifications, public, queue, sms, topics, traces, webhooks"},
		{"public profiles", "http: { pprof_addr: \":6060\" }\n", `c.yaml:1:21: http.pprof_addr is ":6060"; it must be an address of this machine such as 127.0.0.1:6060, because profiles show what the program does`},
		{"traces of too many", "traces: { sample: 2 }\n", "c.yaml:1:19: traces.sample is 2; it must be from 0 to 1"},
		{"traces to nowhere", "traces: { url: collector }\n", "c.yaml:1:16: traces.url must be an address such as http://127.0.0.1:4318/v1/traces"},
		{"mail events of nobody", "email: {events: {provider: hotmail, secret: 0123456789abcdef}}\n", `c.yaml:1:28: email.events.provider is "hotmail"; it must be plain, ses, sendgrid, mailgun, postmark`},
		{"mail events without a secret", "email: {events: {provider: ses, secret: short}}\n", "c.yaml:1:41: email.events.secret must have at least 16 letters, digits, - and _, because it is part of an address"},
		{"limit of nothing", "limits: { heavy: 0 }\n", "c.yaml:1:18: limits.heavy is 0; it must be from 1 to 1000"},
		{"unit missing", "queue:\n  horizon: 120\n", `c.yaml:2:12: queue.horizon: "120" is not a duration; write a number with a unit, such as 90s, 15m or 24h`},
		{"unknown unit", "queue: {horizon: 2d}\n", `c.yaml:1:18: queue.horizon: "2d" is not a duration; write a number with a unit, such as 90s, 15m or 24h`},
		{"set twice", "log:\n  level: info\n  level: warn\n", "c.yaml:3:3: log.level is set twice; first in line 2"},
		{"section twice", "log: {}\nlog: {}\n", "c.yaml:2:1: log is set twice; first in line 1"},
		{"octal", "email: {smtp: {port: 0587}}\n", `c.yaml:1:22: email.smtp.port: "0587" is not a whole number in plain decimals`},
		{"hex", "email: {smtp: {port: 0x50}}\n", `c.yaml:1:22: email.smtp.port: "0x50" is not a whole number in plain decimals`},
		{"underscore", "email: {smtp: {port: 5_87}}\n", `c.yaml:1:22: email.smtp.port: "5_87" is not a whole number in plain decimals`},
		{"yes", "booking: {hold_pending: yes}\n", `c.yaml:1:25: booking.hold_pending: "yes" is neither true nor false`},
		{"number for text", "queue:\n  prefix: 12\n", "c.yaml:2:11: queue.prefix wants text: put it in quotes"},
		{"text for section", "http: here\n", "c.yaml:1:7: http wants keys and values"},
		{"text for list", "http:\n  trusted_proxies: 10.0.0.1\n", "c.yaml:2:20: http.trusted_proxies wants a list"},
		{"section for text", "log:\n  level:\n    deep: 1\n", "c.yaml:3:5: log.level wants a single value"},
		{"second document", "log: {}\n---\nhttp: {}\n", "c.yaml:3:1: a second document; the file holds one, without ---"},
		{"tag", "log: {level: !!str info}\n", "c.yaml:1:14: tags such as !!str are not understood here"},
		{"unknown alias", "log: {level: *x}\n", "c.yaml:1:14: unknown alias"},
		{"brackets", "booking: " + strings.Repeat("[", 200_000) + "\n", "c.yaml:1:1: more than 100 brackets stand in each other"},
		{"no yaml", "http:\n  addr: \":80\n", "c.yaml:2:9: could not find end character of double-quoted text"},
		{"horizon", "queue:\n  load_every: 2m\n  reload_every: 5m\n", "c.yaml:1:1: queue.horizon is 2m, less than twice queue.load_every (up to 2m between passes): what falls due in between would be late"},
		{"horizon and cron", "queue:\n  load_every: \"*/5 * * * *\"\n  reload_every: 10m\n  horizon: 6m\n", "c.yaml:4:12: queue.horizon is 6m, less than twice queue.load_every (up to 5m between passes): what falls due in between would be late"},
		{"cron that panics", "queue: {load_every: \"TZ=\"}\n", `c.yaml:1:21: queue.load_every: "TZ=" is neither a duration such as 15s nor a cron schedule: malformed schedule: runtime error: slice bounds out of range [:-1]`},
		{"shards", "queue:\n  url: redis://localhost\n  shards: 6\n", "c.yaml:3:11: queue.shards is 6; it must be 1, 2, 4, 8, 16, 32 or 64, or 0 for the default"},
		{"shards in memory", "queue: {shards: 4}\n", "c.yaml:1:17: queue.shards is 4, but the queue in memory (queue.url) has no parts"},
		{"reload before load", "queue:\n  reload_every: 5s\n", "c.yaml:2:17: queue.reload_every is shorter than queue.load_every"},
		{"unknown job type", "queue:\n  jobs:\n    meeting.strat: {batch: 5}\n", "c.yaml:3:5: queue.jobs.meeting.strat is not a job type; did you mean meeting.start?"},
		{"unknown key of a job type", "queue: {jobs: {meeting.start: {retries: 5}}}\n", "c.yaml:1:32: unknown key queue.jobs.meeting.start.retries; use one of batch, concurrency, lease, max_attempts, rate"},
		{"attempts", "queue: {jobs: {meeting.start: {max_attempts: -2}}}\n", "c.yaml:1:46: queue.jobs.meeting.start.max_attempts is -2; it must be at least 1, -1 for no limit or 0 for the default"},
		{"smtp without host", "email:\n  driver: smtp\n", "c.yaml:1:1: email.smtp.host is empty, but email.driver is smtp"},
		{"from", "email: {from: nobody}\n", `c.yaml:1:15: email.from is "nobody"; it must be an address such as Punctual <rooms@example.org>`},
		{"tls", "email: {smtp: {tls: ssl}}\n", `c.yaml:1:21: email.smtp.tls is "ssl"; it must be starttls, tls, none`},
		{"port", "email: {smtp: {port: 99999}}\n", "c.yaml:1:22: email.smtp.port is 99999; it must be from 1 to 65535"},
		{"quota", "email: {quota: -1}\n", "c.yaml:1:16: email.quota is -1; it must be at least 1, or 0 for no limit"},
		{"country", "sms: {countries: [\"+49\", DE]}\n", `c.yaml:1:26: sms.countries[1] is "DE"; it must be the beginning of telephone numbers, such as +49`},
		{"sms without gateway", "sms: {driver: http}\n", "c.yaml:1:1: sms.http.url must be the http or https address of the gateway"},
		{"no account", "sms: {driver: twilio, twilio: {account_sid: AC1}}\n", "c.yaml:1:23: sms.twilio.auth_token cannot work: twilio: no auth_token"},
		{"kind of a template", "sms: {aliyun: {templates: {reminders: SMS_1}}}\n", `c.yaml:1:39: sms.aliyun.templates.reminders is neither default nor a kind of notification; did you mean reminder?`},
		{"short secret", "sms: {http: {receipt_secret: short}}\n", "c.yaml:1:30: sms.http.receipt_secret must have at least 16 characters, or be empty for no receipts"},
		{"secret of an address", "sms: {aliyun: {receipt_secret: 0123456789/abcdef}}\n", "c.yaml:1:32: sms.aliyun.receipt_secret must consist of letters, digits, - and _, because it is part of an address"},
		{"segments", "sms: {daily_segments: -1}\n", "c.yaml:1:23: sms.daily_segments is -1; it must be at least 1, or 0 for no limit"},
		{"template", "sms: {http: {body: '{{.Text'}}\n", "c.yaml:1:20: sms.http.body cannot work: sms gateway: template: body:1: unclosed action"},
		{"the template of a body that speaks of a url", "sms: {http: {body: '{{url .Text}}'}}\n", `c.yaml:1:20: sms.http.body cannot work: sms gateway: template: body:1: function "url" not defined`},
		{"the template of a header", "sms:\n  http:\n    headers:\n      X-A: ok\n      X-B: '{{.body'\n", "c.yaml:5:12: sms.http.headers.X-B cannot work: sms gateway: template: headers.X-B:1: unclosed action"},
		{"quoted text", "sms: {http: {body: '{\"x\":\"{{.Text}}\"}'}}\n", "c.yaml:1:20: sms.http.body cannot work: sms gateway: body: a text with quotes makes {\"x\":\"\"Zoë's\" \\ review 开始\"}, which is not JSON; write {{json .Text}} without quotes around it"},
		{"zone", "booking: {timezone: Mars/Base}\n", `c.yaml:1:21: booking.timezone is "Mars/Base"; it must be an IANA time zone such as Europe/Berlin`},
		{"reminder twice", "booking:\n  reminders:\n    - {before: end, offset: 5m, channels: [email]}\n    - {before: end, offset: 5m, channels: [sms]}\n", "c.yaml:4:7: booking.reminders[1] is there twice: one reminder of each before and offset; list its channels together"},
		{"channel", "booking: {reminders: [{before: end, offset: 5m, channels: [pigeon]}]}\n", `c.yaml:1:60: booking.reminders[0].channels[0] is "pigeon"; it must be email, sms`},
		{"required kind", "notifications: {required: [approval_request, gossip]}\n", `c.yaml:1:46: notifications.required[1] is "gossip"; it must be invitation, change, cancellation, own_meeting, reminder, declined, released, decision, approval_request, approval_reminder, escalation, waitlist_offer, waitlist_booked, waitlist_expired`},
		{"default kind", "notifications:\n  defaults:\n    remindr: [email]\n", `c.yaml:3:14: notifications.defaults.remindr is not a kind of notification that people can choose; did you mean reminder?`},
		{"default channel", "notifications:\n  defaults:\n    reminder: [email, pigeon]\n", `c.yaml:3:23: notifications.defaults.reminder[1] is "pigeon"; it must be email, sms, chat`},
		{"default of a required kind", "notifications:\n  required: [released]\n  defaults: { released: [] }\n", `c.yaml:3:25: notifications.defaults.released is empty, but notifications.required names released`},
		{"channels without email", "notifications: {channels: [sms]}\n", `c.yaml:1:27: notifications.channels must contain email`},
		{"grace", "booking:\n  limits: {max_duration: 10m}\n  check_in: {grace: 20m}\n", "c.yaml:3:21: booking.check_in.grace is longer than any meeting may last (booking.limits.max_duration)"},
		{"remind_before", "booking: {approval: {timeout: 30m}}\n", "c.yaml:1:11: booking.approval.remind_before is not before the time-out: it must be less than booking.approval.timeout"},
		{"remind_before at the request", "booking: {approval: {timeout: 2h, remind_before: 2h}}\n", "c.yaml:1:50: booking.approval.remind_before is not before the time-out: it must be less than booking.approval.timeout"},
		{"escalate_after at the deadline", "booking: {approval: {timeout: 2h, escalate_after: 2h}}\n", "c.yaml:1:51: booking.approval.escalate_after is not before the time-out: it must be less than booking.approval.timeout, or 0 for never"},
		{"base URL", "http: {base_url: \"https://rooms.example.org/punctual\"}\n", `c.yaml:1:18: http.base_url is "https://rooms.example.org/punctual"; it must be the address people use, without a path, such as https://rooms.example.org`},
		{"ACME for another name", "http: {base_url: \"https://rooms.example.org\", tls: {acme: {domains: [www.example.org]}}}\n", `c.yaml:1:18: http.base_url is "https://rooms.example.org"; it must be https:// and one of http.tls.acme.domains`},
		{"ACME for any name", "http: {base_url: \"https://example.org\", tls: {acme: {domains: [example.org, \"*.example.org\"]}}}\n", `c.yaml:1:77: http.tls.acme.domains[1] is "*.example.org"; it must be a name in lower case, such as rooms.example.org`},
		{"ACME beside files", "http: {base_url: \"https://example.org\", tls: {cert_file: a.pem, key_file: b.pem, acme: {domains: [example.org]}}}\n", "c.yaml:1:98: http.tls.acme.domains are set beside cert_file and key_file; choose one"},
		{"syslog", "audit: {syslog: {url: \"host:514\"}}\n", `c.yaml:1:23: audit.syslog.url is "host:514"; it must begin with udp://, tcp://, tls:// or unix:///`},
		{"address", "http: {addr: 8080}\n", "c.yaml:1:14: http.addr wants text: put it in quotes"},
		{"port of nothing", "http: {addr: \":http\"}\n", `c.yaml:1:14: http.addr is ":http"; it must be host:port or :port`},
		{"database", "database: {url: mysql://x}\n", "c.yaml:1:17: database.url must be sqlite:FILE or postgres://user:password@host/database"},
		{"queue", "queue: {url: kafka://x}\n", "c.yaml:1:14: queue.url cannot be used: it must be memory: or begin with redis://, rediss://, redis+sentinel:// or redis+cluster://"},
		{"proxy", "http: {trusted_proxies: [10.0.0.0/8, proxy]}\n", `c.yaml:1:38: http.trusted_proxies[1] is "proxy"; it must be an address or a network such as 10.0.0.0/8`},
		{"rate", "auth: {login_rate: 10}\n", `c.yaml:1:20: auth.login_rate: "10" is not a rate; write a count from 1 and a unit, such as 10/m (s, m or h)`},
		{"provider's issuer", "auth: {oidc: {corp: {name: Corp, issuer: \"http://login.example.org\", client_id: p}}}\n", `c.yaml:1:42: auth.oidc.corp.issuer is "http://login.example.org"; it must be the https address of the issuer, such as https://login.example.org/realms/main`},
		{"provider's roles", "auth: {oidc: {corp: {name: Corp, issuer: \"http://localhost:1\", client_id: p, roles: {boss: [IT]}}}}\n", "c.yaml:1:92: auth.oidc.corp.roles.boss is no role; roles are member, manager and admin"},
		{"provider's key", "auth: {oidc: {Corp!: {name: Corp, issuer: \"https://x.example\", client_id: p}}}\n", `c.yaml:1:15: auth.oidc.Corp! is a provider with the key "Corp!"; a key has 1 to 32 letters a-z, digits or -`},
		{"directory without TLS", "auth: {ldap: {corp: {url: \"ldap://ldap.example.org\", domains: [example.org], base: \"dc=example,dc=org\"}}}\n", "c.yaml:1:27: auth.ldap.corp.url sends passwords unencrypted; write ldaps:// or set auth.ldap.corp.start_tls"},
		{"directory's filter", "auth: {ldap: {corp: {url: \"ldaps://ldap.example.org\", domains: [example.org], base: \"dc=example,dc=org\", filter: (mail=x)}}}\n", "c.yaml:1:114: auth.ldap.corp.filter cannot work: it must contain {email} or {user}"},
		{"directory's certificates", "auth: {ldap: {corp: {url: \"ldaps://ldap.example.org\", domains: [example.org], base: \"dc=example,dc=org\", ca_file: /dev/null}}}\n", "c.yaml:1:115: auth.ldap.corp.ca_file cannot be used: it holds no certificate in PEM"},
		{"directory's reader", "auth: {ldap: {corp: {url: \"ldaps://ldap.example.org\", domains: [example.org], base: \"dc=example,dc=org\", bind_dn: \"cn=x\"}}}\n", "c.yaml:1:15: auth.ldap.corp.bind_password and auth.ldap.corp.bind_dn must both be set, or none for anonymous searches"},
		{"one key for two", "auth: {oidc: {corp: {name: Corp, issuer: \"https://x.example\", client_id: p}}, ldap: {corp: {url: \"ldaps://x.example\", domains: [example.org], base: \"dc=example\"}}}\n", "c.yaml:1:86: auth.ldap.corp has the key of a provider of auth.oidc; choose another"},
		{"passkeys of another domain", "http: {base_url: \"https://rooms.example.org\"}\nauth: {passkeys: {domain: example.com}}\n", `c.yaml:2:27: auth.passkeys.domain is "example.com"; it must be the host of http.base_url, rooms.example.org, or a domain above it`},
		{"passkeys of everybody", "http: {base_url: \"https://rooms.example.co.uk\"}\nauth: {passkeys: {domain: co.uk}}\n", `c.yaml:2:27: auth.passkeys.domain is "co.uk", which belongs to the public; it must be a domain of yours`},
		{"passkeys without TLS", "http: {base_url: \"http://rooms.example.org\"}\nauth: {passkeys: {domain: example.org}}\n", `c.yaml:2:27: auth.passkeys.domain cannot be used with http.base_url "http://rooms.example.org": browsers allow passkeys for names only, with https`},
		{"level", "log: {level: loud}\n", `c.yaml:1:14: log.level is "loud"; it must be debug, info, warn, error`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := parse("c.yaml", []byte(c.file), nil)
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestConfig_tellsAllFaultsAtOnceWithTheirLines(t *testing.T) {
	const file = `http:
  adr: ":80"
email:
  smtp:
    password: "hunter2"
    port: x
log: { level: info, colour: true }
`
	_, _, err := parse("c.yaml", []byte(file), []string{"PUNCTUAL_QUEUE_HORIZON=soon"})
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := `PUNCTUAL_QUEUE_HORIZON: "soon" is not a duration; write a number with a unit, such as 90s, 15m or 24h
c.yaml:2:3: unknown key http.adr; did you mean addr?
     1 | http:
>    2 |   adr: ***
       |   ^
     3 | email:
     4 |   smtp:
c.yaml:6:11: email.smtp.port: "x" is not a whole number in plain decimals
     4 |   smtp:
     5 |     password: ***
>    6 |     port: x
       |           ^
     7 | log: { level: info, colour: *** }
     8 | 
c.yaml:7:21: unknown key log.colour; use one of format, level
     5 |     password: ***
     6 |     port: x
>    7 | log: { level: info, colour: *** }
       |                     ^
     8 | 
`
	if d := cmp.Diff(want, e.Report()); d != "" {
		t.Error(d)
	}
	if !strings.HasSuffix(err.Error(), "(and 3 more: run punctual config check c.yaml)") {
		t.Errorf("got %s", err)
	}
}

func TestConfig_faultsOfFormDoNotHideOthers(t *testing.T) {
	const file = `queue: { horizon: 20sec, load_every: 90s }
email: { driver: pigeon }
auth: { login_rate: 10/day }
booking: { timezone: Mars/Base }
`
	_, _, err := parse("c.yaml", []byte(file), []string{"PUNCTUAL_HTTP_TRUSTED_PROXIES=10.0.0.0/8", "PUNCTUAL_HTTP_ADDR=nowhere", "PUNCTUAL_LOG_LEVEL=loud"})
	faults, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, f := range faults.Faults {
		got = append(got, f.Source+" "+strings.Join(strings.Fields(f.Message)[:2], " "))
	}
	slices.Sort(got)
	want := []string{ // nothing of the horizon, nor of the address: what was not read is not judged
		"PUNCTUAL_HTTP_TRUSTED_PROXIES http.trusted_proxies wants",
		"PUNCTUAL_LOG_LEVEL log.level is",
		"c.yaml auth.login_rate: \"10/day\"",
		"c.yaml booking.timezone is",
		"c.yaml email.driver is",
		"c.yaml queue.horizon: \"20sec\"",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestConfig_fileWithByteOrderMark(t *testing.T) {
	c, _, err := parse("c.yaml", []byte("\ufeffhttp: {addr: \":9\"}\r\nlog: {level: warn}\r\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Addr != ":9" || c.Log.Level != "warn" {
		t.Errorf("read %+v", c)
	}
}

func TestConfig_neverShowsSecrets(t *testing.T) {
	for _, file := range []string{
		"database: { url: \"postgres://u:hunter2@h/d\", x: 1 }\n",
		"email: { smtp: { password: hunter2, x: 1 } }\n",
		"email:\n  smtp:\n    password: 'hunter2\n", // no YAML
		"queue: {\n  url: redis://:hunter2@h,\n  x: 1}\n",
		"sms: { http: { headers: { Authorization: \"Bearer hunter2\" }, x: 1 } }\n",
		"sms: { http: { headers: { X-Whatever: \"hunter2\" }, x: 1 } }\n",
		"sms: { http: { url: \"https://g.example/?k=hunter2\", x: 1 } }\n",
		"database: { url: \"mysql://u:hunter2@h/d\" }\n",
	} {
		_, _, err := parse("c.yaml", []byte(file), nil)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("%s: got %v", file, err)
		}
		if strings.Contains(e.Report(), "hunter2") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("told the secret:\n%s", e.Report())
		}
	}
}

func TestConfig_environmentOverridesTheFile(t *testing.T) {
	c, warnings, err := parse("c.yaml", []byte("http: {addr: \":1\"}\nqueue: {jobs: {meeting.start: {batch: 7}}}\n"), []string{
		"PUNCTUAL_HTTP_ADDR=:2",
		"PUNCTUAL_HTTP_TRUSTED_PROXIES=[\"10.0.0.0/8\"]",
		"PUNCTUAL_QUEUE_JOBS_MEETING_START_LEASE=20s",
		"PUNCTUAL_QUEUE_JOBS_NOTIFY_EMAIL_RATE=2.5",
		"PUNCTUAL_BOOKING_REMINDERS=[{before: end, offset: 1m, channels: [sms]}]",
		"PUNCTUAL_BOOKING_HOLD_PENDING=false",
		"PUNCTUAL_EMAIL_SMTP_PASSWORD=0123",
		"PUNCTUAL_AUTH_LOGIN_RATE=5/h",
		"PUNCTUAL_LOG_LEVEL=", // not set
		"PUNCTUAL_EMAIL_SMTP_USERNAME=u",
		"PUNCTUAL_HTPP_ADDR=:3",
		"PUNCTUAL_ADMIN_EMAIL=a@example.org",
		"PUNCTUAL_SERVICE_HOST=10.0.0.1",
		"OTHER=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.HTTP.Addr, want.HTTP.BaseURL = ":2", "http://localhost:2" // left out: follows the address
	want.HTTP.TrustedProxies = []string{"10.0.0.0/8"}
	want.Queue.Jobs = map[string]Job{"meeting.start": {Batch: 7, Lease: 20 * time.Second}, "notify.email": {Rate: 2.5}}
	want.Booking.Reminders = []Reminder{{Before: "end", Offset: time.Minute, Channels: []string{"sms"}}}
	want.Booking.HoldPending = false
	want.Email.SMTP.Username, want.Email.SMTP.Password = "u", "0123"
	want.Auth.LoginRate = Rate{5, time.Hour}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"PUNCTUAL_HTPP_ADDR is set, but there is no such setting"}, warnings); d != "" {
		t.Error(d)
	}
}

func TestConfig_environmentFaultsNameTheVariable(t *testing.T) {
	for env, want := range map[string]string{
		"PUNCTUAL_HTTP_TRUSTED_PROXIES=[x]":       `PUNCTUAL_HTTP_TRUSTED_PROXIES:1:2: http.trusted_proxies[0] is "x"; it must be an address or a network such as 10.0.0.0/8`,
		"PUNCTUAL_LOG_LEVEL=loud":                 `PUNCTUAL_LOG_LEVEL: log.level is "loud"; it must be debug, info, warn, error`,
		"PUNCTUAL_QUEUE_JOBS={nothing.known: {}}": "PUNCTUAL_QUEUE_JOBS:1:2: queue.jobs.nothing.known is not a job type; use one of " + strings.Join(JobNames, ", "),
	} {
		_, _, err := parse("c.yaml", nil, []string{env})
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", env, err, want)
		}
	}
}

// The file in the tree shows every key with its default.
func TestConfig_shippedFileIsTheDefaults(t *testing.T) {
	src, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := parse("config.yaml", src, nil)
	if err != nil {
		t.Fatal(err)
	}
	got.Queue.Jobs = map[string]Job{} // there they are the defaults of each job type
	if d := cmp.Diff(Default(), got); d != "" {
		t.Error(d)
	}
}

func TestConfig_nothingMeansDefaults(t *testing.T) {
	for _, file := range []string{"", "# only a comment\n", "---\n", "http:\n  # addr: x\n", "http: {addr: }\n"} {
		got, _, err := parse("c.yaml", []byte(file), nil)
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		if d := cmp.Diff(Default(), got); d != "" {
			t.Errorf("%q: %s", file, d)
		}
	}
}

func TestConfig_anchors(t *testing.T) {
	got, _, err := parse("c.yaml", []byte("queue: {load_every: &x 20s, reload_every: *x}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Queue.ReloadEvery.Every != 20*time.Second {
		t.Errorf("got %v", got.Queue.ReloadEvery)
	}
	if _, _, err := parse("c.yaml", []byte("http: &x {trusted_proxies: [*x]}\n"), nil); err == nil {
		t.Error("an alias within itself was accepted")
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("queue: {load_every: \"TZ=\"}")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, file string) {
		_, _, err := parse("c.yaml", []byte(file), nil)
		if e, ok := errors.AsType[*Error](err); ok {
			_ = e.Report()
		}
	})
}

// A file with very many faults costs little, and reports the first of them.
func TestConfig_reportsTheFirstOfManyFaults(t *testing.T) {
	for _, c := range []struct{ keys, faults int }{{99, 99}, {4000, 100}, {60_000, 1}} {
		var file strings.Builder
		for i := range c.keys {
			fmt.Fprintf(&file, "key%d: 1\n", i)
		}
		_, _, err := parse("c.yaml", []byte(file.String()), nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Faults) != c.faults {
			t.Errorf("%d unknown keys: %d faults, want %d", c.keys, len(e.Faults), c.faults)
		}
	}
}

// TestConfig_valuesInFiles: NAME_FILE names a file with the value of NAME, for settings and for the
// first admin.
func TestConfig_valuesInFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, content := range map[string]string{
		"url": "postgres://u:hunter2@h/d\n", "proxies": "[\"10.0.0.0/8\"]\r\n", "port": "x\n", "empty": "\n",
		"oidc": "corp: {issuer: https://id.example.org, client_id: p, client_secret: hunter2, colour: red}\n", "huge": strings.Repeat("x", maxFile+1),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, warnings, err := parse("c.yaml", nil, []string{"PUNCTUAL_DATABASE_URL_FILE=url", "PUNCTUAL_HTTP_TRUSTED_PROXIES_FILE=proxies", "PUNCTUAL_QUEUE_SIZE_FILE=url", "PUNCTUAL_ADMIN_PASSWORD_FILE=url"})
	if err != nil || c.Database.URL != "postgres://u:hunter2@h/d" || len(c.HTTP.TrustedProxies) != 1 {
		t.Errorf("read %+v, %v", c, err)
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "PUNCTUAL_QUEUE_SIZE_FILE is set") {
		t.Errorf("warnings %q", warnings)
	}
	for environ, want := range map[string]string{
		"PUNCTUAL_DATABASE_URL_FILE=nowhere":                       "PUNCTUAL_DATABASE_URL_FILE: open nowhere: no such file",
		"PUNCTUAL_DATABASE_URL_FILE=empty":                         "PUNCTUAL_DATABASE_URL_FILE: empty is empty",
		"PUNCTUAL_DATABASE_URL_FILE=huge":                          "PUNCTUAL_DATABASE_URL_FILE: huge has more than",
		"PUNCTUAL_DATABASE_URL_FILE=url PUNCTUAL_DATABASE_URL=x:y": "PUNCTUAL_DATABASE_URL_FILE: PUNCTUAL_DATABASE_URL is set as well",
		"PUNCTUAL_EMAIL_SMTP_PORT_FILE=port":                       `PUNCTUAL_EMAIL_SMTP_PORT_FILE: "x" is not a whole number`,
		"PUNCTUAL_AUTH_OIDC_FILE=oidc":                             "PUNCTUAL_AUTH_OIDC_FILE:1:",
	} {
		_, _, err := parse("c.yaml", nil, strings.Fields(environ))
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Faults) != 1 || !strings.Contains(e.Report(), want) || strings.Contains(e.Report(), "hunter2") {
			t.Errorf("%s: %v", environ, err)
		}
	}
	if email, password, err := FirstAdmin([]string{"PUNCTUAL_ADMIN_EMAIL=a@example.org", "PUNCTUAL_ADMIN_PASSWORD_FILE=url"}); email != "a@example.org" || password != "postgres://u:hunter2@h/d" || err != nil {
		t.Errorf("%s %s %v", email, password, err)
	}
	if _, _, err := FirstAdmin([]string{"PUNCTUAL_ADMIN_PASSWORD_FILE=nowhere"}); err == nil || !strings.HasPrefix(err.Error(), "PUNCTUAL_ADMIN_PASSWORD_FILE: ") {
		t.Errorf("%v", err)
	}
}
