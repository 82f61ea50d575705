package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2/humatest"
	"gorm.io/gorm"

	"punctual/delayjob"
	"punctual/migrations"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/notify/httpapi"
	"punctual/tests/testenv/testdb"
)

type scheduler []delayjob.Message

func (s *scheduler) Schedule(_ context.Context, ms ...delayjob.Message) { *s = append(*s, ms...) }

type list struct {
	Items      []httpapi.Notification `json:"items"`
	NextCursor *string                `json:"next_cursor"`
}

func decode[T any](t *testing.T, body []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func newAPI(t *testing.T, rows int) (humatest.TestAPI, *gormstore.Ledger, *scheduler) {
	t.Helper()
	db := testdb.Open(t, migrations.SQLite)
	ledger := gormstore.New(db.Gorm)
	ns := make([]notify.Notification, rows)
	for i := range ns {
		ns[i] = notify.Notification{
			DedupeKey: fmt.Sprint("k", 100+i), Kind: notify.Invitation, Channel: notify.Email, MeetingID: int64(1 + i%2),
			To: notify.Recipient{Name: "Ada", Address: "ada@example.org"}, Due: time.Now(), Facts: notify.Facts{Title: "Review"},
		}
	}
	if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return ledger.Insert(tx, ns) }); err != nil {
		t.Fatal(err)
	}
	_, api := humatest.New(t)
	s := &scheduler{}
	httpapi.Register(api, notify.NewService(ledger, s, nil), nil)
	return api, ledger, s
}

func TestList(t *testing.T) {
	api, ledger, _ := newAPI(t, 5)
	var ids []int64
	url := "/notifications?limit=2"
	for pages := 1; ; pages++ {
		resp := api.Get(url)
		if resp.Code != http.StatusOK {
			t.Fatalf("%d: %s", resp.Code, resp.Body)
		}
		page := decode[list](t, resp.Body.Bytes())
		for _, n := range page.Items {
			ids = append(ids, n.ID)
		}
		if page.NextCursor == nil {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		url = "/notifications?limit=2&cursor=" + *page.NextCursor
	}
	if fmt.Sprint(ids) != "[5 4 3 2 1]" {
		t.Errorf("listed %v", ids)
	}

	if _, err := ledger.Begin(t.Context(), []notify.BeginRequest{{ID: 5, Version: 1}}, time.Now(), time.Second, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Record(t.Context(), []notify.Outcome{{ID: 5, Version: 1, State: notify.Failed, At: time.Now(), Error: "no such mailbox"}}); err != nil {
		t.Fatal(err)
	}
	got := decode[list](t, api.Get("/notifications?state=failed&meeting_id=1").Body.Bytes())
	if len(got.Items) != 1 || got.Items[0].ID != 5 || *got.Items[0].LastError != "no such mailbox" || got.Items[0].SentAt != nil || got.Items[0].Title != "Review" {
		t.Errorf("failed ones: %+v", got)
	}
	if body := api.Get("/notifications?meeting_id=99").Body.String(); decode[map[string]any](t, []byte(body))["items"] == nil {
		t.Errorf("an empty list is %s", body)
	}
	for _, query := range []string{"state=lost", "limit=0", "limit=501", "cursor=x", "cursor=bjA", "meeting_id=0", "meeting_id=x", "from=soon", "from=2027-02-11T00:00:00Z&to=2027-02-10T00:00:00Z"} {
		if resp := api.Get("/notifications?" + query); resp.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", query, resp.Code)
		}
	}
}

func TestResend(t *testing.T) {
	api, ledger, scheduled := newAPI(t, 1)
	if _, err := ledger.Begin(t.Context(), []notify.BeginRequest{{ID: 1, Version: 1}}, time.Now(), time.Second, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Record(t.Context(), []notify.Outcome{{ID: 1, Version: 1, State: notify.Sent, At: time.Now(), MessageID: "<m>"}}); err != nil {
		t.Fatal(err)
	}
	resp := api.Post("/notifications/1/resend")
	if resp.Code != http.StatusOK {
		t.Fatalf("%d: %s", resp.Code, resp.Body)
	}
	if n := decode[httpapi.Notification](t, resp.Body.Bytes()); n.State != "pending" || *n.MessageID != "<m>" || n.SentAt == nil {
		t.Errorf("answer %+v", n)
	}
	if len(*scheduled) != 1 || (*scheduled)[0].ID() != "notify.email:1" || (*scheduled)[0].Version != 2 {
		t.Errorf("scheduled %+v", *scheduled)
	}
}
