package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/danielgtaylor/huma/v2/humatest"

	"punctual/notify/httpapi"
	"punctual/notify/outbox"
)

func TestOutbox(t *testing.T) {
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		err := box.Put(fmt.Sprintf("<%d@example.org>", i), ".eml", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "To: a@example.org\r\nSubject: =?UTF-8?q?=C3=9Cbersicht_%d?=\r\nX-Punctual-Kind: change\r\n\r\nhello", i)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, api := humatest.New(t)
	httpapi.RegisterOutbox(api, box)

	type page struct {
		Items      []httpapi.OutboxItem `json:"items"`
		NextCursor *string              `json:"next_cursor"`
	}
	seen := map[string]bool{}
	for url := "/outbox?limit=2"; ; {
		p := decode[page](t, api.Get(url).Body.Bytes())
		for _, it := range p.Items {
			seen[it.Subject] = true
		}
		if p.NextCursor == nil {
			break
		}
		url = "/outbox?limit=2&cursor=" + *p.NextCursor
	}
	if len(seen) != 3 || !seen["Übersicht 2"] {
		t.Errorf("listed %v", seen)
	}
	m := decode[httpapi.OutboxMessage](t, api.Get("/outbox/1@example.org.eml").Body.Bytes())
	if m.Subject != "Übersicht 1" || m.Kind != "change" || m.To != "a@example.org" || m.Text != "hello" || m.Raw == "" {
		t.Errorf("read %+v", m)
	}
	for _, name := range []string{"none.eml", "..%2Fsecret.eml"} {
		if resp := api.Get("/outbox/" + name); resp.Code == http.StatusOK {
			t.Errorf("%s: %d", name, resp.Code)
		}
	}
}
