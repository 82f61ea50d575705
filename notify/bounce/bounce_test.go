package bounce

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples are events of providers, abridged, with what they mean.
var samples = []struct {
	provider, body string
	want           []Event
}{
	{"plain", `{"address":"ada@example.org","type":"bounce","reason":"no such\nmailbox"}`, []Event{{Address: "ada@example.org", Reason: "no such mailbox"}}},
	{"plain", `[{"address":"ada@example.org","type":"Complaint"},{"address":"bob@example.org","type":"opened"},{"address":"Bob <bob@example.org>","type":"bounce","message_id":"<1@x>"}]`,
		[]Event{{Address: "ada@example.org", Reason: "the recipient reported a mail as spam"}, {Address: "bob@example.org", Reason: "reported by plain", MessageID: "<1@x>"}}},
	{"plain", `{"address":"nobody","type":"bounce"}`, nil},
	{"ses", `{"Type":"Notification","Message":"{\"notificationType\":\"Bounce\",\"bounce\":{\"bounceType\":\"Permanent\",\"bouncedRecipients\":[{\"emailAddress\":\"ada@example.org\",\"status\":\"5.1.1\",\"diagnosticCode\":\"smtp; 550 5.1.1 user unknown\"},{\"emailAddress\":\"bob@example.org\"}]},\"mail\":{\"commonHeaders\":{\"messageId\":\"<1@x>\"}}}"}`,
		[]Event{{Address: "ada@example.org", Reason: "5.1.1 smtp; 550 5.1.1 user unknown", MessageID: "<1@x>"}, {Address: "bob@example.org", Reason: "reported by ses", MessageID: "<1@x>"}}},
	{"ses", `{"eventType":"Complaint","complaint":{"complainedRecipients":[{"emailAddress":"ada@example.org"}]}}`, []Event{{Address: "ada@example.org", Reason: "the recipient reported a mail as spam"}}},
	{"ses", `{"eventType":"Complaint","complaint":{"complaintFeedbackType":"not-spam","complainedRecipients":[{"emailAddress":"ada@example.org"}]}}`, nil},
	{"ses", `{"notificationType":"Bounce","bounce":{"bounceType":"Transient","bouncedRecipients":[{"emailAddress":"ada@example.org"}]}}`, nil},
	{"ses", `{"Type":"Notification","Message":"Successfully validated SNS topic for Amazon SES event publishing."}`, nil},
	{"sendgrid", `[{"email":"ada@example.org","event":"bounce","type":"bounce","status":"5.1.1","reason":"550 user unknown","smtp-id":"<1@x>"},
		{"email":"bob@example.org","event":"bounce","type":"blocked","reason":"spam"},{"email":"eve@example.org","event":"spamreport"},{"email":"eve@example.org","event":"delivered"}]`,
		[]Event{{Address: "ada@example.org", Reason: "5.1.1 550 user unknown", MessageID: "<1@x>"}, {Address: "eve@example.org", Reason: "the recipient reported a mail as spam"}}},
	{"mailgun", `{"signature":{},"event-data":{"event":"failed","severity":"permanent","reason":"bounce","recipient":"ada@example.org","delivery-status":{"code":550,"message":"No such mailbox","description":""}}}`,
		[]Event{{Address: "ada@example.org", Reason: "550 No such mailbox"}}},
	{"mailgun", `{"event-data":{"event":"failed","severity":"temporary","reason":"bounce","recipient":"ada@example.org"}}`, nil},
	{"mailgun", `{"event-data":{"event":"failed","severity":"permanent","reason":"espblock","recipient":"ada@example.org"}}`, nil},
	{"postmark", `{"RecordType":"Bounce","Type":"HardBounce","Email":"ada@example.org","Description":"The server was unable to deliver your message","Details":"smtp;550 5.1.1"}`,
		[]Event{{Address: "ada@example.org", Reason: "The server was unable to deliver your message smtp;550 5.1.1"}}},
	{"postmark", `{"RecordType":"Bounce","Type":"SoftBounce","Email":"ada@example.org"}`, nil},
	{"postmark", `{"RecordType":"SpamComplaint","Email":"ada@example.org"}`, []Event{{Address: "ada@example.org", Reason: "the recipient reported a mail as spam"}}},
}

// Only hard bounces and complaints of each provider count.
func TestRead(t *testing.T) {
	for _, s := range samples {
		got, confirm, err := Read(s.provider, []byte(s.body))
		if diff := cmp.Diff(s.want, got); err != nil || confirm != "" || diff != "" {
			t.Errorf("%s %s: %q, %v (-want +got):\n%s", s.provider, s.body, confirm, err, diff)
		}
	}
	const url = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=1"
	for body, want := range map[string]string{
		`{"Type":"SubscriptionConfirmation","Message":"You have chosen to subscribe","SubscribeURL":"` + url + `"}`: url,
		`{"Type":"SubscriptionConfirmation","SubscribeURL":"https://sns.cn-north-1.amazonaws.com.cn/?Action=1"}`:    "https://sns.cn-north-1.amazonaws.com.cn/?Action=1",
		`{"Type":"UnsubscribeConfirmation","SubscribeURL":"` + url + `"}`:                                           "",
		`{"Type":"SubscriptionConfirmation","SubscribeURL":"https://sns.amazonaws.com.example.org/"}`:               "",
		`{"Type":"SubscriptionConfirmation","SubscribeURL":"https://sns.x.amazonaws.com@example.org/"}`:             "",
		`{"Type":"SubscriptionConfirmation","SubscribeURL":"http://sns.eu-west-1.amazonaws.com/"}`:                  "",
	} {
		if got, confirm, err := Read("ses", []byte(body)); len(got) > 0 || confirm != want || err != nil {
			t.Errorf("%s: %v, %q, %v", body, got, confirm, err)
		}
	}
	for _, body := range []string{"", "{", "{} {}", "address=ada@example.org"} {
		if _, _, err := Read("plain", []byte(body)); err == nil {
			t.Errorf("%q is read", body)
		}
	}
}

// No body makes the reader fail other than with an error, and what it reads is one line each.
func FuzzRead(f *testing.F) {
	for _, s := range samples {
		f.Add(s.provider, []byte(s.body))
	}
	f.Fuzz(func(t *testing.T, provider string, body []byte) {
		events, _, _ := Read(provider, body)
		for _, e := range events {
			if e.Address == "" || e.Reason == "" || strings.ContainsAny(e.Reason+e.MessageID, "\r\n") {
				t.Errorf("%+v", e)
			}
		}
	})
}
