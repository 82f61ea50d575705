// Package config reads and validates config.yaml and the PUNCTUAL_ variables that override it.
//
// [Load] returns a valid [Config] or every fault with its line. [Reloader] watches the file while the
// server runs. [Settings] and [Diff] describe a Config to people, with secrets masked. To add a
// setting: a field with its tags and its default in config.go, a rule in validate.go, and a line in
// config.yaml and docs/admin.md.
package config

import (
	"log/slog"
	"strings"
	"time"
)

// Config holds all settings. config.yaml shows each key with its unit and default.
// The tag yaml is the key. The tag restart marks settings that a running server does not take over.
// The tag secret marks values that are never logged or shown: "true" hides the whole value,
// "password" the password in a URL.
type Config struct {
	HTTP     HTTP          `yaml:"http"`
	Database Database      `yaml:"database"`
	Queue    Queue         `yaml:"queue"`
	Booking  Booking       `yaml:"booking"`
	Email    Email         `yaml:"email"`
	SMS      SMS           `yaml:"sms"`
	Chat     Chat          `yaml:"chat"`
	Mailroom Mailroom      `yaml:"mailroom"`
	Topics   Topics        `yaml:"topics"`
	Calendar Calendar      `yaml:"calendar"`
	CalDAV   CalDAV        `yaml:"caldav"`
	Public   Public        `yaml:"public"`
	Auth     Auth          `yaml:"auth"`
	Limits   RequestLimits `yaml:"limits"`
	Audit    Audit         `yaml:"audit"`

	Notifications Notifications `yaml:"notifications"`
	Webhooks      Keep          `yaml:"webhooks"`
	Meetings      Keep          `yaml:"meetings"`

	Log    Log    `yaml:"log"`
	Traces Traces `yaml:"traces"`
}

// HTTP configures where the API and the page are served.
type HTTP struct {
	Addr           string   `yaml:"addr" restart:"true"`
	BaseURL        string   `yaml:"base_url" restart:"true"`
	TrustedProxies []string `yaml:"trusted_proxies" restart:"true"`
	MetricsToken   string   `yaml:"metrics_token" restart:"true" secret:"true"`
	PprofAddr      string   `yaml:"pprof_addr" restart:"true"` // on this machine only; empty: off
	TLS            TLS      `yaml:"tls" restart:"true"`
}

// TLS says with which certificate this process answers HTTPS itself: that of two files, whose content may
// change while the server runs, or one by ACME. The zero value means plain HTTP.
type TLS struct {
	CertFile     string `yaml:"cert_file" restart:"true"` // PEM, the server's certificate first
	KeyFile      string `yaml:"key_file" restart:"true"`  // PEM
	ACME         ACME   `yaml:"acme"`
	RedirectAddr string `yaml:"redirect_addr" restart:"true"`
}

// ACME says from whom certificates are obtained (RFC 8555).
type ACME struct {
	Domains   []string `yaml:"domains" restart:"true"` // empty: off
	Email     string   `yaml:"email" restart:"true"`
	Directory string   `yaml:"directory" restart:"true"` // URL
	CAFile    string   `yaml:"ca_file" restart:"true"`   // PEM, of the directory's server; empty: those of the system
}

// Enabled reports whether the process answers HTTPS.
func (t TLS) Enabled() bool { return t.CertFile != "" || t.KeyFile != "" || len(t.ACME.Domains) > 0 }

// Secure reports whether browsers use HTTPS.
func (c HTTP) Secure() bool { return strings.HasPrefix(c.BaseURL, "https://") }

// Local reports whether only programs on this machine can connect.
func (c HTTP) Local() bool { return isLocal(c.Addr) }

// Database names the database.
type Database struct {
	URL    string `yaml:"url" restart:"true" secret:"password"`
	Pooler string `yaml:"pooler" restart:"true"` // auto, none or transaction
}

// Queue tunes the delay engine. Jobs overrides the options of single jobs by name; a zero field
// keeps the default of the job.
type Queue struct {
	URL         string         `yaml:"url" restart:"true" secret:"password"`
	Prefix      string         `yaml:"prefix" restart:"true"`
	Shards      int            `yaml:"shards" restart:"true"`
	LoadEvery   Schedule       `yaml:"load_every" restart:"true"`
	ReloadEvery Schedule       `yaml:"reload_every" restart:"true"`
	Horizon     time.Duration  `yaml:"horizon" restart:"true"`
	SafetyPoll  time.Duration  `yaml:"safety_poll" restart:"true"`
	Jobs        map[string]Job `yaml:"jobs" restart:"true"`
}

// Job tunes one delay job.
type Job struct {
	Concurrency int           `yaml:"concurrency"`
	Batch       int           `yaml:"batch"`
	Lease       time.Duration `yaml:"lease"`
	MaxAttempts int           `yaml:"max_attempts"` // -1: no limit
	Rate        float64       `yaml:"rate"`         // executions per second and process; 0: no limit
}

// Booking holds the installation's rules for meetings.
type Booking struct {
	Timezone    string        `yaml:"timezone"`
	Undo        time.Duration `yaml:"undo"` // for which a change can be undone, and its notifications wait; 0: not at all
	HoldPending bool          `yaml:"hold_pending"`
	Reminders   []Reminder    `yaml:"reminders"`
	Approval    Approval      `yaml:"approval"`
	CheckIn     CheckIn       `yaml:"check_in"`
	WaitingList WaitingList   `yaml:"waiting_list"`
	Limits      BookingLimits `yaml:"limits"`
}

// Reminder is a default reminder, for meetings without reminders of their own.
type Reminder struct {
	Before   string        `yaml:"before"`
	Offset   time.Duration `yaml:"offset"`
	Channels []string      `yaml:"channels"`
}

// Approval says how long a request waits for a decision.
type Approval struct {
	Timeout       time.Duration `yaml:"timeout"`
	OnTimeout     string        `yaml:"on_timeout"`
	RemindBefore  time.Duration `yaml:"remind_before"`
	EscalateAfter time.Duration `yaml:"escalate_after"` // 0: never
}

// CheckIn is the default check-in of rooms without their own.
type CheckIn struct {
	Required bool          `yaml:"required"`
	Opens    time.Duration `yaml:"opens"`
	Grace    time.Duration `yaml:"grace"`
}

// WaitingList says how a free slot is offered to the waiting list, and how long its places are kept.
type WaitingList struct {
	Offer time.Duration `yaml:"offer"` // to accept it; 0: it is booked at once
	Keep  time.Duration `yaml:"keep"`  // of places that have ended
}

// BookingLimits bound every booking.
type BookingLimits struct {
	MaxDuration    time.Duration `yaml:"max_duration"`
	MaxAdvance     time.Duration `yaml:"max_advance"`
	LastChange     time.Duration `yaml:"last_change"` // before the start, for moving and canceling by members; 0: no limit
	MaxOccurrences int           `yaml:"max_occurrences"`
	MaxInvitations int           `yaml:"max_invitations"` // attendees times dates of one series
	MaxRoomDates   int           `yaml:"max_room_dates"`  // rooms times dates of one series
	MaxWaits       int           `yaml:"max_waits"`       // places of one person on the waiting list

	PersonAhead time.Duration `yaml:"person_ahead"` // room time of one person from now on; 0: no limit
	PersonRooms int           `yaml:"person_rooms"` // of one person at the same time; 0: no limit
}

// Email says how mail is sent.
type Email struct {
	Driver string `yaml:"driver"`
	From   string `yaml:"from"`
	Quota  int    `yaml:"quota"` // of one organizer in a day, to people without an account; 0: no limit
	SMTP   SMTP   `yaml:"smtp"`
	Events Events `yaml:"events"`
}

// Events say how the provider of the mail server reports bounces and complaints.
type Events struct {
	Provider string `yaml:"provider"`             // "": it does not
	Secret   string `yaml:"secret" secret:"true"` // in the address that the provider calls
}

// EmailCallbacks is the path below which the mail provider reports, followed by the secret.
const EmailCallbacks = "/callbacks/email/"

// SMTP is the mail server that the driver smtp uses.
type SMTP struct {
	Host     string `yaml:"host"`
	Port     int    `yaml:"port"`
	Username string `yaml:"username"`
	Password string `yaml:"password" secret:"true"`
	TLS      string `yaml:"tls"`
}

// Chat says whether users, and the channels of rooms and sites, can be notified by chat services.
type Chat struct {
	Enabled bool `yaml:"enabled"`
}

// Topics limits the delay jobs of other systems.
type Topics struct {
	MaxPending    int      `yaml:"max_pending"` // 0: no limit
	MaxTopics     int      `yaml:"max_topics"`  // 0: no limit
	Rate          Rate     `yaml:"rate"`
	AllowNetworks []string `yaml:"allow_networks"`
}

// Calendar configures the invitations that punctual sends.
type Calendar struct {
	Organizer string `yaml:"organizer"` // meeting or person
}

// CalDAV lets calendar programs read and change meetings.
type CalDAV struct {
	Enabled  bool          `yaml:"enabled"`
	Schedule bool          `yaml:"schedule"` // programs leave the invitations of rooms to the server
	Past     time.Duration `yaml:"past"`     // how far back calendars reach
}

// Public is the calendar that everybody can read without signing in.
type Public struct {
	Enabled      bool     `yaml:"enabled"`
	FrameOrigins []string `yaml:"frame_origins"` // of pages that may show it in a frame; none: no page
}

// Auth says how people sign in.
type Auth struct {
	OIDC         map[string]OIDC `yaml:"oidc" restart:"true"` // by ID
	LDAP         map[string]LDAP `yaml:"ldap" restart:"true"` // by ID
	SessionTTL   time.Duration   `yaml:"session_ttl"`
	SecondFactor string          `yaml:"second_factor"`
	Passkeys     Passkeys        `yaml:"passkeys" restart:"true"`
	SCIM         SCIM            `yaml:"scim"`
	LoginRate    Rate            `yaml:"login_rate"`
	TokenTTL     time.Duration   `yaml:"token_ttl"`     // of API tokens created without an end; 0: no end
	MaxTokenTTL  time.Duration   `yaml:"max_token_ttl"` // of API tokens; 0: no limit
}

// RequestLimits limits the requests of one user, of one token and, without sign-in, of one address.
type RequestLimits struct {
	Rate          Rate `yaml:"rate"`
	AnonymousRate Rate `yaml:"anonymous_rate"`
	Concurrency   int  `yaml:"concurrency"`
	Heavy         int  `yaml:"heavy"`
	Streams       int  `yaml:"streams"`
	TotalStreams  int  `yaml:"total_streams"`
	MemoryMiB     int  `yaml:"memory_mib" restart:"true"` // 0: by the container
}

// Notifications say which notifications people may choose, and how long they are kept once they are over.
type Notifications struct {
	Keep        time.Duration       `yaml:"keep"`
	BouncesKeep time.Duration       `yaml:"bounces_keep"` // how long nothing is sent to an address that bounced
	Channels    []string            `yaml:"channels"`     // that people may choose
	Required    []string            `yaml:"required"`     // kinds that nobody can switch off
	Defaults    map[string][]string `yaml:"defaults"`     // channels by kind, for people who did not choose
	Templates   string              `yaml:"templates"`    // folder; empty: mails as built in
}

// Keep says how long something is kept once it is over.
type Keep struct {
	Keep time.Duration `yaml:"keep"`
}

// Audit says how long the audit log is kept, and where else it goes.
type Audit struct {
	Keep   time.Duration `yaml:"keep"`
	Syslog Syslog        `yaml:"syslog"`
}

// Traces names the collector of OpenTelemetry traces.
type Traces struct {
	URL     string            `yaml:"url" restart:"true" secret:"password"` // of OTLP over HTTP; empty: none are recorded
	Headers map[string]string `yaml:"headers" restart:"true" secret:"true"`
	Sample  float64           `yaml:"sample" restart:"true"` // part of the traces that is recorded
}

// Syslog names a syslog server.
type Syslog struct {
	URL    string `yaml:"url" restart:"true"` // empty: none
	CAFile string `yaml:"ca_file" restart:"true"`
}

// Log says what is logged, and how.
type Log struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format" restart:"true"`
}

// Default returns the settings that apply without a file.
func Default() *Config {
	return &Config{
		HTTP: HTTP{
			Addr: ":8080", BaseURL: "http://localhost:8080", TrustedProxies: []string{},
			TLS: TLS{ACME: ACME{Domains: []string{}, Directory: "https://acme-v02.api.letsencrypt.org/directory"}},
		},
		Database: Database{URL: "sqlite:data/punctual.db", Pooler: "auto"},
		Queue: Queue{
			URL: "memory:", Prefix: "punctual",
			LoadEvery: Schedule{Every: 15 * time.Second}, ReloadEvery: Schedule{Every: time.Minute},
			Horizon: 2 * time.Minute, SafetyPoll: time.Second,
			Jobs: map[string]Job{},
		},
		Booking: Booking{
			Timezone: "UTC", Undo: 10 * time.Second, HoldPending: true,
			Reminders: []Reminder{
				{Before: "start", Offset: 15 * time.Minute, Channels: []string{"email"}},
				{Before: "end", Offset: 5 * time.Minute, Channels: []string{"email"}},
			},
			Approval:    Approval{Timeout: 24 * time.Hour, OnTimeout: "reject", RemindBefore: time.Hour},
			CheckIn:     CheckIn{Opens: 15 * time.Minute, Grace: 10 * time.Minute},
			WaitingList: WaitingList{Keep: 90 * 24 * time.Hour},
			Limits:      BookingLimits{MaxDuration: 24 * time.Hour, MaxAdvance: 8760 * time.Hour, MaxOccurrences: 366, MaxInvitations: 20_000, MaxRoomDates: 4_000, MaxWaits: 20},
		},
		Email: Email{
			Driver: "outbox", From: "Punctual <rooms@example.org>", Quota: 2000,
			SMTP: SMTP{Port: 587, TLS: "starttls"},
		},
		SMS:      defaultSMS(),
		Chat:     Chat{Enabled: true},
		Mailroom: defaultMailroom(),
		Topics:   Topics{MaxPending: 1_000_000, MaxTopics: 1000, Rate: Rate{Count: 1000, Per: time.Second}, AllowNetworks: []string{}},
		Calendar: Calendar{Organizer: "meeting"},
		CalDAV:   CalDAV{Schedule: true, Past: 2160 * time.Hour},
		Public:   Public{FrameOrigins: []string{}},
		Auth:     Auth{OIDC: map[string]OIDC{}, LDAP: map[string]LDAP{}, SecondFactor: "optional", Passkeys: Passkeys{Enabled: true}, SCIM: SCIM{Meetings: "keep"}, SessionTTL: 12 * time.Hour, TokenTTL: 8760 * time.Hour, LoginRate: Rate{Count: 10, Per: time.Minute}},
		Limits: RequestLimits{
			Rate: Rate{Count: 1000, Per: time.Second}, AnonymousRate: Rate{Count: 200, Per: time.Second},
			Concurrency: 64, Heavy: 2, Streams: 10, TotalStreams: 5000,
		},
		Audit: Audit{Keep: 3 * 8760 * time.Hour},

		Notifications: Notifications{
			Keep: 400 * 24 * time.Hour, BouncesKeep: 180 * 24 * time.Hour, Channels: []string{"email", "sms", "chat"}, Required: []string{"approval_request", "escalation"}, Defaults: map[string][]string{},
		},
		Webhooks: Keep{30 * 24 * time.Hour},
		Meetings: Keep{3 * 8760 * time.Hour},

		Log:    Log{Level: "info", Format: "text"},
		Traces: Traces{Headers: map[string]string{}, Sample: 1},
	}
}

// Level returns the log level. c must be valid.
func (c *Config) Level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(c.Log.Level))
	return l
}
