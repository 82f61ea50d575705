package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"punctual/notify"
	"punctual/notify/sms"
)

// SMS says how text messages are sent.
type SMS struct {
	Driver        string     `yaml:"driver"`
	Quota         int        `yaml:"quota"`          // of one organizer in a day, to people without an account; 0: no limit
	DailySegments int        `yaml:"daily_segments"` // of all messages; 0: no limit
	Countries     []string   `yaml:"countries"`      // prefixes of numbers; none: all but premium ones
	HTTP          SMSGateway `yaml:"http"`
	Twilio        Twilio     `yaml:"twilio"`
	Aliyun        Aliyun     `yaml:"aliyun"`
}

// SMSGateway is the HTTP request of the driver http. URL, header values and body are templates.
type SMSGateway struct {
	URL           string            `yaml:"url" secret:"true"`
	Method        string            `yaml:"method"`
	Headers       map[string]string `yaml:"headers" secret:"true"`
	Body          string            `yaml:"body" secret:"true"`
	ReceiptSecret string            `yaml:"receipt_secret" secret:"true"` // "": no receipts
}

// Twilio is the account of the driver twilio.
type Twilio struct {
	AccountSID          string `yaml:"account_sid"`
	AuthToken           string `yaml:"auth_token" secret:"true"`
	From                string `yaml:"from"`
	MessagingServiceSID string `yaml:"messaging_service_sid"`
	BaseURL             string `yaml:"base_url"` // "": https://api.twilio.com
}

// Aliyun is the account of the driver aliyun.
type Aliyun struct {
	AccessKeyID     string            `yaml:"access_key_id"`
	AccessKeySecret string            `yaml:"access_key_secret" secret:"true"`
	SignName        string            `yaml:"sign_name"`
	Templates       map[string]string `yaml:"templates"` // by kind of notification, and default
	Params          string            `yaml:"params"`
	Endpoint        string            `yaml:"endpoint"`                     // "": https://dysmsapi.aliyuncs.com
	ReceiptSecret   string            `yaml:"receipt_secret" secret:"true"` // "": no receipts
}

func defaultSMS() SMS {
	return SMS{
		Driver: "off", Quota: 100, DailySegments: 1000, Countries: []string{},
		HTTP: SMSGateway{
			Method: "POST", Headers: map[string]string{},
			Body: `{"id":"{{.ID}}","to":"{{.To}}","text":{{json .Text}}}`,
		},
		Aliyun: Aliyun{
			Templates: map[string]string{},
			Params:    `{"title":{{json .Title}},"where":{{json .Where}},"start":{{json .Start}}}`,
		},
	}
}

// SMSCallbacks is the path below which providers report about text messages.
const SMSCallbacks = "/callbacks/sms/"

// Gateway converts the settings of the driver http.
func (c SMS) Gateway() sms.Gateway {
	return sms.Gateway{URL: c.HTTP.URL, Method: c.HTTP.Method, Headers: c.HTTP.Headers, Body: c.HTTP.Body}
}

// TwilioAccount converts the settings of the driver twilio. Twilio reports to an address below baseURL, if
// that is https.
func (c SMS) TwilioAccount(baseURL string) sms.Twilio {
	t := sms.Twilio{
		AccountSID: c.Twilio.AccountSID, AuthToken: c.Twilio.AuthToken, From: c.Twilio.From,
		Service: c.Twilio.MessagingServiceSID, BaseURL: c.Twilio.BaseURL,
	}
	if strings.HasPrefix(baseURL, "https://") {
		t.Callback = strings.TrimRight(baseURL, "/") + SMSCallbacks + "twilio"
	}
	return t
}

// AliyunAccount converts the settings of the driver aliyun.
func (c SMS) AliyunAccount() sms.Aliyun {
	return sms.Aliyun{
		KeyID: c.Aliyun.AccessKeyID, KeySecret: c.Aliyun.AccessKeySecret, SignName: c.Aliyun.SignName,
		Templates: c.Aliyun.Templates, Params: c.Aliyun.Params, Endpoint: c.Aliyun.Endpoint,
	}
}

var prefix = regexp.MustCompile(`^\+[1-9][0-9]{0,9}$`)

// minReceiptSecret is the least length of a secret that protects receipts.
const minReceiptSecret = 16

func (c *SMS) validate(r *rules) {
	r.oneOf("sms.driver", c.Driver, "http", "twilio", "aliyun", "outbox", "off")
	r.check(c.Quota >= 0, "sms.quota", "is %d; it must be at least 1, or 0 for no limit", c.Quota)
	r.check(c.DailySegments >= 0, "sms.daily_segments", "is %d; it must be at least 1, or 0 for no limit", c.DailySegments)
	for i, p := range c.Countries {
		r.check(prefix.MatchString(p), fmt.Sprintf("sms.countries[%d]", i), "is %q; it must be the beginning of telephone numbers, such as +49", p)
	}
	if c.Driver == "http" || c.HTTP.URL != "" {
		u, err := url.Parse(c.HTTP.URL)
		r.check(err == nil && isHTTP(u), "sms.http.url", "must be the http or https address of the gateway")
	}
	r.oneOf("sms.http.method", c.HTTP.Method, http.MethodPost, http.MethodPut, http.MethodGet, http.MethodPatch)
	secret := func(path, s string) {
		r.check(s == "" || len(s) >= minReceiptSecret, path, "must have at least %d characters, or be empty for no receipts", minReceiptSecret)
	}
	secret("sms.http.receipt_secret", c.HTTP.ReceiptSecret)
	secret("sms.aliyun.receipt_secret", c.Aliyun.ReceiptSecret)
	r.check(url.PathEscape(c.Aliyun.ReceiptSecret) == c.Aliyun.ReceiptSecret, "sms.aliyun.receipt_secret", "must consist of letters, digits, - and _, because it is part of an address")
	trial := c.Gateway()
	trial.URL = cmp.Or(trial.URL, "http://localhost/") // settings that are prepared but switched off must be valid too
	_, err := sms.NewHTTP(trial, nil)
	r.sms("sms.http", err)
	if c.Driver == "twilio" {
		_, err := sms.NewTwilio(c.TwilioAccount(""), nil)
		r.sms("sms.twilio", err)
	}
	if c.Driver == "aliyun" {
		_, err := sms.NewAliyun(c.AliyunAccount(), nil)
		r.sms("sms.aliyun", err)
	}
	kinds := []string{"default"}
	for _, k := range notify.Choosable() {
		if k != notify.OwnMeeting {
			kinds = append(kinds, string(k))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(c.Aliyun.Templates)) {
		r.check(slices.Contains(kinds, k), "sms.aliyun.templates."+k, "is neither default nor a kind of notification%s", Suggest(k, kinds))
	}
}

// sms reports why a provider cannot work, at the setting that is at fault.
func (r *rules) sms(path string, err error) {
	if e, ok := errors.AsType[*sms.FieldError](err); ok {
		path += "." + e.Field
	}
	r.check(err == nil, path, "cannot work: %v", err)
}
