package linkpages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/signing"
)

type patient struct{}

func (patient) Allow(context.Context, string) (bool, time.Duration) { return true, 0 }
func (patient) Forgive(context.Context, string)                     {}

// A code that was photographed at the door is of no use later, whatever is asked of it.
func TestArrivalPage_oldCode(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	links := NewLinks("https://rooms.example.org/", signing.NewRing(signing.NewKey(1)))
	page := &Pages{Links: links, Limiter: patient{}, Now: func() time.Time { return now }}
	router := gin.New()
	page.Register(router)
	_, token, _ := strings.Cut(links.ArrivalURL(Arrival{RoomID: 3, Until: now.Add(-time.Second)}), "?token=")
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/check-in?token="+token, nil),
		httptest.NewRequest(http.MethodPost, "/check-in", strings.NewReader("token="+token)),
	} {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		if w.Code != http.StatusGone || !strings.Contains(w.Body.String(), "Code expired") || strings.Contains(w.Body.String(), "<form") {
			t.Errorf("%s: %d %s", r.Method, w.Code, w.Body)
		}
	}
}

// Wrong tokens are slowed down, by network; our own never are.
func TestLinkPages_wrongTokens(t *testing.T) {
	t.Parallel()
	links := NewLinks("https://rooms.example.org/", signing.NewRing(signing.NewKey(1)))
	page := &Pages{Links: links, Limiter: account.NewMemoryLimiter(account.Rate{Count: 2, Per: time.Hour}), Now: time.Now}
	router := gin.New()
	page.Register(router)
	_, ours, _ := strings.Cut(links.ArrivalURL(Arrival{RoomID: 3, Until: time.Now().Add(-time.Hour)}), "?token=")
	for i, tt := range []struct {
		token string
		want  int
	}{{"x", 404}, {"y", 404}, {"z", 429}, {ours, 410}, {ours, 410}, {ours, 410}, {"z", 429}} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/check-in?token="+tt.token, nil))
		if w.Code != tt.want {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, tt.want)
		}
	}
}
