package httpapi_test

import (
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2/humatest"

	"punctual/migrations"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/notify/httpapi"
	"punctual/tests/testenv/testdb"
)

func TestBounces(t *testing.T) {
	db := testdb.Open(t, migrations.SQLite)
	svc := notify.NewBounces(gormstore.NewBounces(db.Gorm, nil), gormstore.New(db.Gorm), nil, time.Now, slog.New(slog.DiscardHandler))
	_, api := humatest.New(t)
	httpapi.RegisterBounces(api, svc)
	for _, address := range []string{"ada@example.org", "Bob@example.org", "eve@example.net"} {
		svc.Refused(t.Context(), address, "550 5.1.1 no such mailbox", "<m>")
	}
	type list struct {
		Items      []httpapi.Bounce `json:"items"`
		NextCursor *string          `json:"next_cursor"`
	}
	first := decode[list](t, api.Get("/notifications/bounces?q=EXAMPLE.org&limit=1").Body.Bytes())
	if len(first.Items) != 1 || first.NextCursor == nil || first.Items[0].Address != "bob@example.org" || first.Items[0].Source != "smtp" || *first.Items[0].MessageID != "<m>" {
		t.Fatalf("first page %+v", first)
	}
	second := decode[list](t, api.Get("/notifications/bounces?q=EXAMPLE.org&limit=1&cursor="+*first.NextCursor).Body.Bytes())
	if len(second.Items) != 1 || second.NextCursor != nil || second.Items[0].Address != "ada@example.org" {
		t.Errorf("second page %+v", second)
	}
	for _, query := range []string{"limit=0", "cursor=x"} {
		if resp := api.Get("/notifications/bounces?" + query); resp.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", query, resp.Code)
		}
	}
	bob := "/notifications/bounces/" + strconv.FormatInt(first.Items[0].ID, 10)
	if resp := api.Delete(bob); resp.Code != http.StatusNoContent {
		t.Errorf("%d: %s", resp.Code, resp.Body)
	}
	if left, err := svc.Marked(t.Context(), []string{"bob@example.org", "ada@example.org"}); len(left) != 1 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}
