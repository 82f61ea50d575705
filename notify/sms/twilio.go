package sms

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"punctual/notify"
	"punctual/notify/render"
)

// Twilio describes an account of Twilio, or of a provider with the same REST API.
type Twilio struct {
	AccountSID string
	AuthToken  string
	From       string // number, short code or name of the sender; or MessagingService
	Service    string // SID of a Messaging Service, which chooses the sender
	BaseURL    string // https://api.twilio.com
	Callback   string // address for receipts, to which the ID of the message is added; "": no receipts
	Timeout    time.Duration
}

const twilioURL = "https://api.twilio.com"

// NewTwilio returns a Sender. It returns a [*FieldError] if a setting is missing or invalid. The API has no
// protection from duplicates: a message that is sent again after a crash may arrive twice.
func NewTwilio(c Twilio, r *render.Renderer) (*Sender, error) {
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, twilioURL), "/")
	switch u, err := url.Parse(c.BaseURL); {
	case c.AccountSID == "":
		return nil, fieldError("account_sid", "twilio: no account_sid")
	case c.AuthToken == "":
		return nil, fieldError("auth_token", "twilio: no auth_token")
	case (c.From == "") == (c.Service == ""):
		return nil, fieldError("from", "twilio: exactly one of from and messaging_service_sid must be set")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fieldError("base_url", "twilio: %q is not an http or https address", c.BaseURL)
	}
	client := newClient(c.Timeout)
	return newSender(r, func(ctx context.Context, m Message) error { return c.send(ctx, client, m) }), nil
}

func (c *Twilio) send(ctx context.Context, client *http.Client, m Message) error {
	form := url.Values{"To": {m.To}, "Body": {m.Text}}
	if c.Service != "" {
		form.Set("MessagingServiceSid", c.Service)
	} else {
		form.Set("From", c.From)
	}
	if c.Callback != "" {
		form.Set("StatusCallback", c.Callback+"?id="+url.QueryEscape(m.ID))
	}
	target := c.BaseURL + "/2010-04-01/Accounts/" + url.PathEscape(c.AccountSID) + "/Messages.json"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		return notify.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(c.AccountSID, c.AuthToken)
	resp, err := client.Do(req)
	if err != nil {
		return requestError(ctx, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return twilioError(resp, body)
}

// Codes of Twilio whose class does not follow from the HTTP status.
var (
	// twilioSetup are mistakes in the settings or the state of the account: the message is not at fault.
	twilioSetup = map[int]bool{
		20003: true, 20005: true, 20006: true, 20404: true, 21212: true, 21603: true, 21606: true, 21609: true,
		21659: true, 21660: true, 21661: true, 21701: true, 21703: true, 21704: true, 30002: true,
	}
	// twilioLater are limits that pass: too many requests, and a full queue.
	twilioLater = map[int]bool{20429: true, 14107: true, 21611: true, 63038: true, 30001: true}
	// twilioRecipient are rejections of the recipient that come with any status: unsubscribed, or in a
	// country that the account does not allow.
	twilioRecipient = map[int]bool{21610: true, 21211: true, 21408: true, 21612: true, 21614: true}
)

func twilioError(resp *http.Response, body []byte) error {
	var problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.Code == 0 {
		return statusError(resp, fmt.Errorf("twilio returned %s: %s", resp.Status, excerpt(body)))
	}
	err := fmt.Errorf("twilio returned %s, code %d: %s", resp.Status, problem.Code, excerpt([]byte(problem.Message)))
	switch {
	case twilioRecipient[problem.Code]:
		return notify.Permanent(err)
	case twilioSetup[problem.Code]:
		return notify.Unavailable(err)
	case twilioLater[problem.Code]:
		err = &refusal{err}
		return notify.After(cmp.Or(retryAfter(resp.Header.Get("Retry-After"), time.Now()), 30*time.Second), err)
	}
	return statusError(resp, err)
}

// excerpt returns the beginning of a response, because it is stored in the ledger.
func excerpt(body []byte) string { return strings.TrimSpace(string(body[:min(len(body), 500)])) }
