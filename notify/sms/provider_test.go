package sms

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"punctual/notify"
)

// provider answers every request with a status and a body, and keeps the last request.
type provider struct {
	*httptest.Server
	status int
	body   string
	retry  string // Retry-After
	got    *http.Request
	form   url.Values
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{status: 200}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.got, p.form = r, r.Form
		if p.retry != "" {
			w.Header().Set("Retry-After", p.retry)
		}
		w.WriteHeader(p.status)
		io.WriteString(w, p.body)
	}))
	t.Cleanup(p.Close)
	return p
}

func class(err error) string {
	switch {
	case err == nil:
		return "ok"
	case notify.IsPermanent(err):
		return "permanent"
	case notify.IsUnavailable(err):
		return "unavailable"
	case refused(err):
		return "refused"
	}
	return "temporary"
}

func TestTwilio(t *testing.T) {
	p := newProvider(t)
	c := Twilio{AccountSID: "AC1", AuthToken: "secret", From: "+15005550006", BaseURL: p.URL, Callback: "https://rooms.example.org/callbacks/sms/twilio"}
	s, err := NewTwilio(c, renderer(t))
	if err != nil {
		t.Fatal(err)
	}
	p.status, p.body = 201, `{"sid":"SM1","status":"queued"}`
	again := reminder(42)
	again.Version = 2
	if err := s.Send(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	user, password, _ := p.got.BasicAuth()
	if p.got.Method != "POST" || p.got.URL.Path != "/2010-04-01/Accounts/AC1/Messages.json" || user != "AC1" || password != "secret" {
		t.Errorf("%s %s by %s:%s", p.got.Method, p.got.URL, user, password)
	}
	if f := p.form; f.Get("To") != "+493012345" || f.Get("From") != "+15005550006" || !strings.HasPrefix(f.Get("Body"), "【会议提醒】") ||
		f.Get("StatusCallback") != "https://rooms.example.org/callbacks/sms/twilio?id=42-2" {
		t.Errorf("form: %v", f)
	}
	c.From, c.Service, c.Callback = "", "MG1", ""
	if s, err = NewTwilio(c, renderer(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), reminder(1)); err != nil || p.form.Get("MessagingServiceSid") != "MG1" || p.form.Has("From") || p.form.Has("StatusCallback") {
		t.Errorf("%v, form: %v", err, p.form)
	}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{400, `{"code":21211,"message":"invalid To"}`, "permanent"},
		{400, `{"code":21610,"message":"unsubscribed"}`, "permanent"},
		{403, `{"code":21408,"message":"region"}`, "permanent"},
		{400, `{"code":21606,"message":"From"}`, "unavailable"},
		{401, `{"code":20003,"message":"Authenticate"}`, "unavailable"},
		{429, `{"code":20429,"message":"Too Many Requests"}`, "refused"},
		{400, `{"code":21611,"message":"queue full"}`, "refused"},
		{429, ``, "refused"},
		{500, `<html>`, "refused"},
		{503, `{"code":20503,"message":"down"}`, "refused"},
		{400, `{"code":21617,"message":"too long"}`, "permanent"},
	} {
		p.status, p.body = c.status, c.body
		if err := s.Send(t.Context(), reminder(1)); class(err) != c.want {
			t.Errorf("%d %s: %s (%v), want %s", c.status, c.body, class(err), err, c.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the token is in %v", err)
		}
	}
}

// The example of https://www.alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature.
func TestAliyunSignature(t *testing.T) {
	at := time.Date(2023, 10, 26, 10, 22, 32, 0, time.UTC)
	a := &aliyun{
		Aliyun: Aliyun{KeyID: "YourAccessKeyId", KeySecret: "YourAccessKeySecret", Endpoint: "https://ecs.cn-shanghai.aliyuncs.com"},
		host:   "ecs.cn-shanghai.aliyuncs.com", now: func() time.Time { return at }, nonce: func() string { return "3156853299f313e23d1673dc12e1703d" },
	}
	req, err := a.request(t.Context(), "RunInstances", "2014-05-26", url.Values{
		"RegionId": {"cn-shanghai"}, "ImageId": {"win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version," +
		"Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"
	if got := req.Header.Get("Authorization"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func aliyunSettings(p *provider) Aliyun {
	return Aliyun{
		KeyID: "id", KeySecret: "secret", SignName: "会议室", Templates: map[string]string{"reminder": "SMS_1"},
		Params: `{"title":{{json .Title}},"where":{{json .Where}},"start":{{json .Start}}}`, Endpoint: p.URL,
	}
}

func TestAliyun(t *testing.T) {
	p := newProvider(t)
	s, err := NewAliyun(aliyunSettings(p), renderer(t))
	if err != nil {
		t.Fatal(err)
	}
	p.body = `{"Code":"OK","BizId":"9^0"}`
	n := reminder(42)
	n.To.Address = "+86 138 0013 8000"
	if err := s.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if p.got.Header.Get("X-Acs-Action") != "SendSms" || p.got.Header.Get("X-Acs-Version") != "2017-05-25" || strings.Contains(p.got.URL.RawQuery, "+") {
		t.Errorf("%s with %v", p.got.URL, p.got.Header)
	}
	want := map[string]string{"PhoneNumbers": "13800138000", "SignName": "会议室", "TemplateCode": "SMS_1", "OutId": "42"}
	for k, v := range want {
		if p.form.Get(k) != v {
			t.Errorf("%s: %q, want %q", k, p.form.Get(k), v)
		}
	}
	if got := p.form.Get("TemplateParam"); !strings.HasPrefix(got, `{"title":"Say \"hi\" to \\ Zoë","where":"Turing","start":"`) {
		t.Errorf("parameters: %s", got)
	}
	if err := s.Send(t.Context(), reminder(1)); err != nil || p.form.Get("PhoneNumbers") != "493012345" {
		t.Errorf("%v, to %s", err, p.form.Get("PhoneNumbers"))
	}
	for body, want := range map[string]string{
		`{"Code":"isv.MOBILE_NUMBER_ILLEGAL"}`:   "permanent",
		`{"Code":"isv.BUSINESS_LIMIT_CONTROL"}`:  "refused",
		`{"Code":"Throttling.User"}`:             "refused",
		`{"Code":"isp.SYSTEM_ERROR"}`:            "refused",
		`{"Code":"isv.AMOUNT_NOT_ENOUGH"}`:       "unavailable",
		`{"Code":"SignatureDoesNotMatch"}`:       "unavailable",
		`{"Code":"isv.SMS_TEMPLATE_ILLEGAL"}`:    "unavailable",
		`not JSON`:                               "temporary",
		`{"Code":"OK","Message":"OK","BizId":1}`: "ok",
	} {
		p.body = body
		if err := s.Send(t.Context(), reminder(1)); class(err) != want {
			t.Errorf("%s: %s (%v), want %s", body, class(err), err, want)
		}
	}
	other := reminder(1)
	other.Kind = notify.TestMail
	b := &budget{left: 2}
	if err := s.Within(b).Send(t.Context(), other); err == nil || !strings.Contains(err.Error(), "no template for test_mail") || b.left != 2 {
		t.Errorf("without a template: %v, %d segments are left", err, b.left)
	}
}

func TestSettingsOfProviders(t *testing.T) {
	p := newProvider(t)
	field := func(err error) string {
		e, _ := errors.AsType[*FieldError](err)
		if e == nil {
			return ""
		}
		return e.Field
	}
	for want, change := range map[string]func(*Aliyun){
		"access_key_id": func(c *Aliyun) { c.KeyID = "" }, "access_key_secret": func(c *Aliyun) { c.KeySecret = "" }, "sign_name": func(c *Aliyun) { c.SignName = "" },
		"templates": func(c *Aliyun) { c.Templates = nil }, "endpoint": func(c *Aliyun) { c.Endpoint = "aliyun" }, "params": func(c *Aliyun) { c.Params = `{"title":"{{.Title}}"}` },
	} {
		c := aliyunSettings(p)
		change(&c)
		if _, err := NewAliyun(c, nil); field(err) != want {
			t.Errorf("%v names %q, want %q", err, field(err), want)
		}
	}
	for want, c := range map[string]Twilio{
		"account_sid": {AuthToken: "x", From: "+1"}, "auth_token": {AccountSID: "x", From: "+1"}, "from": {AccountSID: "x", AuthToken: "x", From: "+1", Service: "MG1"},
		"base_url": {AccountSID: "x", AuthToken: "x", From: "+1", BaseURL: "twilio"},
	} {
		if _, err := NewTwilio(c, nil); field(err) != want {
			t.Errorf("%v names %q, want %q", err, field(err), want)
		}
	}
}

type budget struct{ left int }

var errSpent = notify.Off("spent")

func (b *budget) Reserve(_ context.Context, n int) (func(context.Context), error) {
	if n > b.left {
		return nil, errSpent
	}
	b.left -= n
	return func(context.Context) { b.left += n }, nil
}

// Segments count unless the provider refused the message; what exceeds the budget is not sent.
func TestBudget(t *testing.T) {
	p := newProvider(t)
	b := &budget{left: 2}
	s := newHTTP(t, Gateway{URL: p.URL, Body: body}).Within(b)
	for status, left := range map[int]int{400: 2, 401: 2, 429: 2, 500: 2, 503: 2} {
		p.status = status
		if err := s.Send(t.Context(), reminder(1)); err == nil || b.left != left {
			t.Errorf("after %d %d segments are left, want %d", status, b.left, left)
		}
	}
	for _, status := range []int{504, 200} { // the first one may have been sent
		p.status = status
		_ = s.Send(t.Context(), reminder(1))
	}
	p.got = nil
	if err := s.Send(t.Context(), reminder(1)); !errors.Is(err, errSpent) || b.left != 0 || p.got != nil {
		t.Errorf("%v, %d left", err, b.left)
	}
}

func TestTwilioReceipts(t *testing.T) {
	// The example of https://www.twilio.com/docs/usage/security.
	form := url.Values{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"}, "From": {"+14158675309"}, "To": {"+18005551212"}}
	const address, signature = "https://mycompany.com/myapp.php?foo=1&bar=2", "RSOYDt4T1cUTdK1PDd93/VVr8B8="
	if rs, err := TwilioReceipts("12345", address, form, signature, time.Now()); err != nil || len(rs) != 0 {
		t.Errorf("%v, %v", rs, err)
	}
	now := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	const called = "https://rooms.example.org/callbacks/sms/twilio?id=42-3"
	for name, c := range map[string]struct {
		form url.Values
		want notify.Receipt
	}{
		"delivered":   {url.Values{"MessageStatus": {"delivered"}}, notify.Receipt{ID: 42, Version: 3, Reception: notify.Delivered, At: now}},
		"undelivered": {url.Values{"MessageStatus": {"undelivered"}, "ErrorCode": {"30003"}}, notify.Receipt{ID: 42, Version: 3, Reception: notify.Undelivered, At: now, Reason: "twilio: undelivered, code 30003"}},
		"queued":      {url.Values{"MessageStatus": {"queued"}}, notify.Receipt{}},
	} {
		sign := twilioSignature("secret", called, c.form)
		rs, err := TwilioReceipts("secret", called, c.form, base64Of(sign), now)
		if err != nil || len(rs) > 1 || len(rs) == 0 && c.want.ID != 0 || len(rs) == 1 && rs[0] != c.want {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
		changed := maps.Clone(c.form)
		changed.Set("MessageStatus", "read")
		for _, err := range []error{
			second(TwilioReceipts("secret", called, changed, base64Of(sign), now)),
			second(TwilioReceipts("secret", called+"1", c.form, base64Of(sign), now)),
			second(TwilioReceipts("other", called, c.form, base64Of(sign), now)),
			second(TwilioReceipts("secret", called, c.form, "", now)),
			second(TwilioReceipts("", called, c.form, base64Of(twilioSignature("", called, c.form)), now)),
		} {
			if !errors.Is(err, ErrSignature) {
				t.Errorf("%s: %v, want ErrSignature", name, err)
			}
		}
	}
}

func TestAliyunReceipts(t *testing.T) {
	now := time.Now()
	body := []byte(`[{"phone_number":"13800138000","success":true,"err_code":"DELIVERED","out_id":"42"},
		{"success":false,"err_code":"MK:0001","err_msg":"empty number","out_id":"43-2"},{"success":true,"out_id":"of somebody else"}]`)
	rs, err := AliyunReceipts("secret", "secret", body, now)
	if err != nil || len(rs) != 2 || rs[0] != (notify.Receipt{ID: 42, Version: 1, Reception: notify.Delivered, At: now}) ||
		rs[1] != (notify.Receipt{ID: 43, Version: 2, Reception: notify.Undelivered, At: now, Reason: "aliyun: MK:0001 empty number"}) {
		t.Errorf("%+v, %v", rs, err)
	}
	for _, shown := range []string{"", "Secret", "secret2"} {
		if _, err := AliyunReceipts("secret", shown, body, now); !errors.Is(err, ErrSignature) {
			t.Errorf("%q: %v", shown, err)
		}
	}
	if _, err := AliyunReceipts("", "", body, now); !errors.Is(err, ErrSignature) {
		t.Errorf("without a secret: %v", err)
	}
	if _, err := AliyunReceipts("secret", "secret", []byte("{"), now); err == nil || errors.Is(err, ErrSignature) {
		t.Errorf("malformed: %v", err)
	}
}

func TestGatewayReceipts(t *testing.T) {
	now := time.Now()
	// printf '{"id":"42","status":"delivered"}' | openssl dgst -sha256 -hmac shh
	const one, signed = `{"id":"42","status":"delivered"}`, "sha256=b3ecfcd8c844d164043d7021f190583360d4d4e0f1606ab0dd47a380fc4515d1"
	rs, err := GatewayReceipts("shh", signed, []byte(one), now)
	if err != nil || len(rs) != 1 || rs[0] != (notify.Receipt{ID: 42, Version: 1, Reception: notify.Delivered, At: now}) {
		t.Errorf("%+v, %v", rs, err)
	}
	for _, err := range []error{
		second(GatewayReceipts("other", signed, []byte(one), now)),
		second(GatewayReceipts("shh", signed, []byte(one+" "), now)),
		second(GatewayReceipts("shh", strings.TrimPrefix(signed, "sha256="), []byte(one), now)),
		second(GatewayReceipts("", signed, []byte(one), now)),
	} {
		if !errors.Is(err, ErrSignature) {
			t.Errorf("%v, want ErrSignature", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
