package app

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/config"
	"punctual/notify"
)

// recordText records a text message to somebody without an account.
func recordText(t *testing.T, a *Application, key string) notify.Notification {
	t.Helper()
	start := time.Now().Add(time.Hour)
	ns := []notify.Notification{{
		DedupeKey: key, Kind: notify.Reminder, Channel: notify.SMS, To: notify.Recipient{Name: "Guest", Address: "+4930123456"},
		Facts: notify.Facts{Title: "Review", Start: start, End: start.Add(time.Hour), Before: "start", Offset: 900, Rooms: []string{"Turing"}},
		Due:   time.Now().Add(-time.Minute), State: notify.Pending, Version: 1,
	}}
	if err := a.db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return a.ledger.Insert(tx, ns) }); err != nil {
		t.Fatal(err)
	}
	ns[0].Version = 1
	return ns[0]
}

// execute runs the message of a notification once and returns its new state.
func execute(t *testing.T, a *Application, n notify.Notification) notify.Notification {
	t.Helper()
	for _, j := range a.jobs {
		if m := n.Message(); j.Name() == m.Job {
			if err := j.Execute(t.Context(), m); err != nil {
				t.Logf("%s %s: %v", m.Job, m.Key, err)
			}
		}
	}
	n, err := a.notifications.Get(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func post(t *testing.T, address, body string, header map[string]string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// A text message goes out by Twilio, whose report arrives at the address that the message named. Beyond the
// segments of the day, messages are skipped and admins get one mail.
func TestTextMessages_reportsAndLimit(t *testing.T) {
	var form url.Values
	twilio := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		form = r.PostForm
		w.WriteHeader(http.StatusCreated)
	}))
	defer twilio.Close()
	const base = "https://rooms.example.org"
	a, s := startApplication(t, func(c *config.Config) {
		c.HTTP.BaseURL, c.SMS.Driver, c.SMS.DailySegments = base, "twilio", 1
		c.Booking.Timezone = fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) // where it is noon, so that the day does not end meanwhile
		c.SMS.Twilio = config.Twilio{AccountSID: "AC1", AuthToken: "token", From: "+15005550006", BaseURL: twilio.URL}
	})
	signIn(t, a, s)
	n := execute(t, a, recordText(t, a, "first"))
	id := strconv.FormatInt(n.ID, 10)
	if n.State != notify.Sent || form.Get("StatusCallback") != base+config.SMSCallbacks+"twilio?id="+id {
		t.Fatalf("%s (%s), form %v", n.State, n.LastError, form)
	}
	path := config.SMSCallbacks + "twilio?id=" + id
	report := url.Values{"MessageStatus": {"delivered"}}
	mac := hmac.New(sha1.New, []byte("token"))
	io.WriteString(mac, base+path+"MessageStatusdelivered")
	signed := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": base64.StdEncoding.EncodeToString(mac.Sum(nil))}
	if status, answer := post(t, s.URL+path+"0", report.Encode(), signed); status != http.StatusForbidden {
		t.Errorf("a report with another signature: %d %s", status, answer)
	}
	for range 2 {
		if status, answer := post(t, s.URL+path, report.Encode(), signed); status != http.StatusNoContent {
			t.Errorf("a report: %d %s", status, answer)
		}
	}
	if n, _ = a.notifications.Get(t.Context(), n.ID); n.Reception != notify.Delivered {
		t.Errorf("the message is %q", n.Reception)
	}
	if status, _ := post(t, s.URL+config.SMSCallbacks+"http", `[]`, nil); status != http.StatusNotFound {
		t.Errorf("a report of another driver: %d", status)
	}
	form = nil
	for _, key := range []string{"second", "third"} {
		if n := execute(t, a, recordText(t, a, key)); n.State != notify.Skipped || !strings.Contains(n.LastError, "sms.daily_segments (1)") || form != nil {
			t.Errorf("beyond the limit: %s (%s)", n.State, n.LastError)
		}
	}
	mails, err := a.notifications.List(t.Context(), notify.Filter{Kind: notify.SMSLimit})
	if err != nil || len(mails.Items) != 1 || mails.Items[0].To.Address != "root@example.org" {
		t.Fatalf("%+v, %v", mails.Items, err)
	}
	if n := execute(t, a, mails.Items[0]); n.State != notify.Sent {
		t.Errorf("the mail is %s: %s", n.State, n.LastError)
	}
}

func TestTextMessages_receiptsOfGateways(t *testing.T) {
	const secret = "0123456789abcdef"
	a, s := startApplication(t, func(c *config.Config) {
		c.SMS.Driver, c.SMS.HTTP.URL, c.SMS.HTTP.ReceiptSecret = "http", "https://sms.example.org", secret
	})
	received := func(want notify.Reception, n notify.Notification) {
		t.Helper()
		if n, err := a.notifications.Get(t.Context(), n.ID); err != nil || n.Reception != want {
			t.Errorf("%q, %v, want %q", n.Reception, err, want)
		}
	}
	n := recordText(t, a, "a")
	body := `{"id":"` + strconv.FormatInt(n.ID, 10) + `","status":"undelivered","error":"switched off"}`
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, body)
	signed := map[string]string{"X-Punctual-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil))}
	if status, answer := post(t, s.URL+config.SMSCallbacks+"http", body+" ", signed); status != http.StatusForbidden {
		t.Errorf("with another signature: %d %s", status, answer)
	}
	received(notify.Unreported, n)
	if status, answer := post(t, s.URL+config.SMSCallbacks+"http", body, signed); status != http.StatusNoContent {
		t.Errorf("%d %s", status, answer)
	}
	received(notify.Undelivered, n)

	c := *a.latest.Load()
	c.SMS.Driver = "aliyun"
	c.SMS.Aliyun = config.Aliyun{AccessKeyID: "id", AccessKeySecret: "x", SignName: "x", Templates: map[string]string{"default": "SMS_1"}, Params: "{}", ReceiptSecret: secret}
	if err := a.apply(t.Context(), a.latest.Load(), &c); err != nil {
		t.Fatal(err)
	}
	body = `[{"success":true,"out_id":"` + strconv.FormatInt(n.ID, 10) + `"},{"success":true,"out_id":"999999"}]`
	if status, answer := post(t, s.URL+config.SMSCallbacks+"aliyun/fedcba9876543210", body, nil); status != http.StatusForbidden {
		t.Errorf("with another secret: %d %s", status, answer)
	}
	if status, answer := post(t, s.URL+config.SMSCallbacks+"aliyun/"+secret, "{", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("malformed: %d %s", status, answer)
	}
	received(notify.Undelivered, n)
	if status, answer := post(t, s.URL+config.SMSCallbacks+"aliyun/"+secret, body, nil); status != http.StatusOK || answer != `{"code":0,"msg":"OK"}` {
		t.Errorf("%d %s", status, answer)
	}
	received(notify.Delivered, n)
}

// The log does not contain the secret that an address has, whether there is a route or not.
func TestLoggedPath(t *testing.T) {
	for path, want := range map[string]string{
		config.SMSCallbacks + "aliyun/fedcba9876543210":   config.SMSCallbacks + "aliyun/...",
		config.SMSCallbacks + "aliyun/fedcba9876543210/x": config.SMSCallbacks + "aliyun/...",
		config.SMSCallbacks + "twilio":                    config.SMSCallbacks + "twilio",
		config.EmailCallbacks + "0123456789abcdef":        config.EmailCallbacks + "...",
		"/api/v1/meetings/1":                              "/api/v1/meetings/1",
	} {
		if got := loggedPath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
