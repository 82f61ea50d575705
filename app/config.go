package app

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Config is everything that can be set. config.yaml shows each key with its unit and default.
// Tags: yaml is the key; restart marks what a running server does not take over; secret marks
// what is never logged or shown, all of it or ("password") the password in a URL.
type Config struct {
	HTTP     HTTPConfig     `yaml:"http"`
	Database DatabaseConfig `yaml:"database"`
	Queue    QueueConfig    `yaml:"queue"`
	Booking  BookingConfig  `yaml:"booking"`
	Email    EmailConfig    `yaml:"email"`
	SMS      SMSConfig      `yaml:"sms"`
	Topics   TopicsConfig   `yaml:"topics"`
	Auth     AuthConfig     `yaml:"auth"`
	Limits   RequestLimits  `yaml:"limits"`
	Audit    AuditConfig    `yaml:"audit"`

	Notifications NotificationsConfig `yaml:"notifications"`

	Log LogConfig `yaml:"log"`
}

// HTTPConfig is where the API and the page are served.
type HTTPConfig struct {
	Addr           string   `yaml:"addr" restart:"true"`
	BaseURL        string   `yaml:"base_url" restart:"true"`
	TrustedProxies []string `yaml:"trusted_proxies" restart:"true"`
	MetricsToken   string   `yaml:"metrics_token" restart:"true" secret:"true"`
}

// secure reports whether browsers come by HTTPS.
func (c HTTPConfig) secure() bool { return strings.HasPrefix(c.BaseURL, "https://") }

// DatabaseConfig names the database, which is the truth.
type DatabaseConfig struct {
	URL string `yaml:"url" restart:"true" secret:"password"`
}

// QueueConfig tunes the engine. Jobs holds what was set per strategy; a zero field there
// leaves the strategy its own default.
type QueueConfig struct {
	URL         string               `yaml:"url" restart:"true" secret:"password"`
	Prefix      string               `yaml:"prefix" restart:"true"`
	Shards      int                  `yaml:"shards" restart:"true"`
	LoadEvery   Schedule             `yaml:"load_every" restart:"true"`
	ReloadEvery Schedule             `yaml:"reload_every" restart:"true"`
	Horizon     time.Duration        `yaml:"horizon" restart:"true"`
	SafetyPoll  time.Duration        `yaml:"safety_poll" restart:"true"`
	Jobs        map[string]JobConfig `yaml:"jobs" restart:"true"`
}

// JobConfig tunes one strategy.
type JobConfig struct {
	Concurrency int           `yaml:"concurrency"`
	Batch       int           `yaml:"batch"`
	Lease       time.Duration `yaml:"lease"`
	MaxAttempts int           `yaml:"max_attempts"` // -1: no limit
	Rate        float64       `yaml:"rate"`         // executions per second and process; 0: no limit
}

// BookingConfig holds the installation's rules for meetings.
type BookingConfig struct {
	Timezone    string           `yaml:"timezone"`
	HoldPending bool             `yaml:"hold_pending"`
	Reminders   []ReminderConfig `yaml:"reminders"`
	Approval    ApprovalConfig   `yaml:"approval"`
	CheckIn     CheckInConfig    `yaml:"check_in"`
	WaitingList WaitingConfig    `yaml:"waiting_list"`
	Limits      LimitsConfig     `yaml:"limits"`
}

// ReminderConfig is one of the reminders of meetings that ask for none of their own.
type ReminderConfig struct {
	Before   string        `yaml:"before"`
	Offset   time.Duration `yaml:"offset"`
	Channels []string      `yaml:"channels"`
}

// ApprovalConfig says how long a request waits for a decision.
type ApprovalConfig struct {
	Timeout       time.Duration `yaml:"timeout"`
	OnTimeout     string        `yaml:"on_timeout"`
	RemindBefore  time.Duration `yaml:"remind_before"`
	EscalateAfter time.Duration `yaml:"escalate_after"` // 0: never
}

// CheckInConfig holds for rooms that do not say it themselves.
type CheckInConfig struct {
	Required bool          `yaml:"required"`
	Opens    time.Duration `yaml:"opens"`
	Grace    time.Duration `yaml:"grace"`
}

// WaitingConfig says how those who wait get what becomes free.
type WaitingConfig struct {
	Offer time.Duration `yaml:"offer"` // to accept it; 0: it is booked at once
}

// LimitsConfig bounds every booking.
type LimitsConfig struct {
	MaxDuration    time.Duration `yaml:"max_duration"`
	MaxAdvance     time.Duration `yaml:"max_advance"`
	MaxOccurrences int           `yaml:"max_occurrences"`
	MaxInvitations int           `yaml:"max_invitations"` // attendees times dates of one series
	MaxRoomDates   int           `yaml:"max_room_dates"`  // rooms times dates of one series
	MaxWaits       int           `yaml:"max_waits"`       // places of one person on the waiting list

	PersonAhead time.Duration `yaml:"person_ahead"` // room time of one person from now on; 0: no limit
	PersonRooms int           `yaml:"person_rooms"` // of one person at the same time; 0: no limit
}

// EmailConfig says how mail leaves.
type EmailConfig struct {
	Driver string     `yaml:"driver"`
	From   string     `yaml:"from"`
	Quota  int        `yaml:"quota"` // of one organizer in a day, to people without an account; 0: no limit
	SMTP   SMTPConfig `yaml:"smtp"`
}

// SMTPConfig is the mail server of the driver smtp.
type SMTPConfig struct {
	Host     string `yaml:"host"`
	Port     int    `yaml:"port"`
	Username string `yaml:"username"`
	Password string `yaml:"password" secret:"true"`
	TLS      string `yaml:"tls"`
}

// SMSConfig says how text messages leave.
type SMSConfig struct {
	Driver    string        `yaml:"driver"`
	Quota     int           `yaml:"quota"`     // of one organizer in a day, to people without an account; 0: no limit
	Countries []string      `yaml:"countries"` // prefixes of numbers; none: all but premium ones
	HTTP      SMSHTTPConfig `yaml:"http"`
}

// SMSHTTPConfig is the request to a gateway; URL, header values and body are templates.
type SMSHTTPConfig struct {
	URL     string            `yaml:"url" secret:"true"`
	Method  string            `yaml:"method"`
	Headers map[string]string `yaml:"headers" secret:"true"`
	Body    string            `yaml:"body" secret:"true"`
}

// TopicsConfig bounds what other systems may do with delay jobs.
type TopicsConfig struct {
	MaxPending    int      `yaml:"max_pending"` // 0: no limit
	MaxTopics     int      `yaml:"max_topics"`  // 0: no limit
	Rate          Rate     `yaml:"rate"`
	AllowNetworks []string `yaml:"allow_networks"`
}

// AuthConfig limits sign-in.
type AuthConfig struct {
	SessionTTL  time.Duration `yaml:"session_ttl"`
	LoginRate   Rate          `yaml:"login_rate"`
	TokenTTL    time.Duration `yaml:"token_ttl"`     // of API tokens whose maker names no end; 0: no end
	MaxTokenTTL time.Duration `yaml:"max_token_ttl"` // of API tokens; 0: no limit
}

// RequestLimits bound what one person, one token and, without sign-in, one address may ask for.
type RequestLimits struct {
	Rate          Rate `yaml:"rate"`
	AnonymousRate Rate `yaml:"anonymous_rate"`
	Concurrency   int  `yaml:"concurrency"`
	Heavy         int  `yaml:"heavy"`
	Streams       int  `yaml:"streams"`
	TotalStreams  int  `yaml:"total_streams"`
	MemoryMiB     int  `yaml:"memory_mib" restart:"true"` // 0: by the container
}

// AuditConfig says how long the history of the installation is kept; that of meetings stays with them.
type AuditConfig struct {
	Keep time.Duration `yaml:"keep"`
}

// NotificationsConfig says how long what was sent is remembered.
type NotificationsConfig struct {
	Keep time.Duration `yaml:"keep"`
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format" restart:"true"`
}

// DefaultConfig is what holds without a file.
func DefaultConfig() *Config {
	return &Config{
		HTTP:     HTTPConfig{Addr: ":8080", BaseURL: "http://localhost:8080", TrustedProxies: []string{}},
		Database: DatabaseConfig{URL: "sqlite:data/punctual.db"},
		Queue: QueueConfig{
			URL: "memory:", Prefix: "punctual",
			LoadEvery: Schedule{Every: 15 * time.Second}, ReloadEvery: Schedule{Every: time.Minute},
			Horizon: 2 * time.Minute, SafetyPoll: time.Second,
			Jobs: map[string]JobConfig{},
		},
		Booking: BookingConfig{
			Timezone: "UTC", HoldPending: true,
			Reminders: []ReminderConfig{
				{Before: "start", Offset: 15 * time.Minute, Channels: []string{"email"}},
				{Before: "end", Offset: 5 * time.Minute, Channels: []string{"email"}},
			},
			Approval: ApprovalConfig{Timeout: 24 * time.Hour, OnTimeout: "reject", RemindBefore: time.Hour},
			CheckIn:  CheckInConfig{Opens: 15 * time.Minute, Grace: 10 * time.Minute},
			Limits:   LimitsConfig{MaxDuration: 24 * time.Hour, MaxAdvance: 8760 * time.Hour, MaxOccurrences: 366, MaxInvitations: 20_000, MaxRoomDates: 4_000, MaxWaits: 20},
		},
		Email: EmailConfig{
			Driver: "outbox", From: "Punctual <rooms@example.org>", Quota: 2000,
			SMTP: SMTPConfig{Port: 587, TLS: "starttls"},
		},
		SMS: SMSConfig{Driver: "off", Quota: 100, Countries: []string{}, HTTP: SMSHTTPConfig{
			Method: "POST", Headers: map[string]string{},
			Body: `{"id":"{{.ID}}","to":"{{.To}}","text":{{json .Text}}}`,
		}},
		Topics: TopicsConfig{MaxPending: 1_000_000, MaxTopics: 1000, Rate: Rate{Count: 1000, Per: time.Second}, AllowNetworks: []string{}},
		Auth:   AuthConfig{SessionTTL: 12 * time.Hour, TokenTTL: 8760 * time.Hour, LoginRate: Rate{Count: 10, Per: time.Minute}},
		Limits: RequestLimits{
			Rate: Rate{Count: 1000, Per: time.Second}, AnonymousRate: Rate{Count: 200, Per: time.Second},
			Concurrency: 64, Heavy: 2, Streams: 10, TotalStreams: 5000,
		},
		Audit: AuditConfig{Keep: 3 * 8760 * time.Hour},

		Notifications: NotificationsConfig{Keep: 400 * 24 * time.Hour},

		Log: LogConfig{Level: "info", Format: "text"},
	}
}

// level of the log; the value has been validated.
func (c *Config) level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(c.Log.Level))
	return l
}

// A Schedule is a period or a robfig/cron spec.
type Schedule struct {
	Every time.Duration // zero: Spec counts
	Spec  string
}

func (s *Schedule) parse(text string) error {
	if d, err := parseDuration(text); err == nil {
		*s = Schedule{Every: d}
		return nil
	}
	if _, err := parseCron(text); err != nil {
		return fmt.Errorf("%q is neither a duration such as 15s nor a cron schedule: %w", text, err)
	}
	*s = Schedule{Spec: text}
	return nil
}

// Cron is the schedule as a robfig/cron spec.
func (s Schedule) Cron() string {
	if s.Every > 0 {
		return "@every " + s.Every.String()
	}
	return s.Spec
}

func (s Schedule) String() string {
	if s.Every > 0 {
		return shortDuration(s.Every)
	}
	return s.Spec
}

// A Rate is a count per second, minute or hour: 10/m.
type Rate struct {
	Count int
	Per   time.Duration
}

func (r *Rate) parse(text string) error {
	count, unit, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if !ok || err != nil || n < 1 || per == 0 {
		return fmt.Errorf("%q is not a rate; write a count from 1 and a unit, such as 10/m (s, m or h)", text)
	}
	*r = Rate{Count: n, Per: per}
	return nil
}

func (r Rate) String() string {
	return fmt.Sprintf("%d/%s", r.Count, map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[r.Per])
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || strings.Trim(text, "+-0123456789.") == "" {
		return 0, fmt.Errorf("%q is not a duration; write a number with a unit, such as 90s, 15m or 24h", text)
	}
	return d, nil
}

// shortDuration writes 15m instead of 15m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
