package app

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

func TestCompress(t *testing.T) {
	long := `{"items":["` + strings.Repeat("a meeting ", 1000) + `"]}`
	server, _ := testServer(t, func(_ huma.API, r *gin.Engine) {
		answer := func(kind, body string, headers ...string) gin.HandlerFunc {
			return func(c *gin.Context) {
				for i := 0; i < len(headers); i += 2 {
					c.Header(headers[i], headers[i+1])
				}
				c.Data(http.StatusOK, kind, []byte(body))
			}
		}
		r.GET("/api/v1/long", answer("application/json", long, "ETag", `"7"`))
		r.HEAD("/api/v1/long", answer("application/json", long))
		r.GET("/api/v1/short", answer("application/json; charset=utf-8", `{"items":[]}`, "ETag", `"7"`))
		r.GET("/api/v1/picture", answer("image/png", long))
		r.GET("/api/v1/zipped", answer("text/plain", long, "Content-Encoding", "gzip"))
		r.GET("/api/v1/stream", func(c *gin.Context) {
			c.Header("Content-Type", "text/event-stream; charset=utf-8")
			c.Writer.WriteString("data: 1\n\n")
			c.Writer.Flush()
			c.Writer.WriteString("data: " + long + "\n\n")
		})
		r.GET("/api/v1/parts", func(c *gin.Context) {
			c.Header("Content-Type", "text/csv")
			for range 100 {
				c.Writer.WriteString("a line of some length\n")
			}
		})
		r.GET("/api/v1/nothing", func(c *gin.Context) { c.Status(http.StatusNotModified) })
		r.GET("/api/v1/panics", func(c *gin.Context) {
			c.Header("Content-Type", "application/json")
			c.Writer.WriteString(`{"half":`)
			panic("in the middle")
		})
	})
	for _, row := range []struct {
		method, path, accept, coding, tag, vary string
		status                                  int
		body                                    string
	}{
		{"GET", "long", "gzip", "gzip", `W/"7"`, "Accept-Encoding", 200, long},
		{"GET", "long", "br, gzip;q=0.5", "gzip", `W/"7"`, "Accept-Encoding", 200, long},
		{"GET", "long", "gzip;q=0, br", "", `"7"`, "", 200, long},
		{"GET", "long", "identity", "", `"7"`, "", 200, long},
		{"HEAD", "long", "gzip", "", "", "", 200, ""},
		{"GET", "short", "gzip", "", `"7"`, "Accept-Encoding", 200, `{"items":[]}`},
		{"GET", "picture", "gzip", "", "", "", 200, long},
		{"GET", "stream", "gzip", "", "", "", 200, "data: 1\n\ndata: " + long + "\n\n"},
		{"GET", "parts", "gzip", "gzip", "", "Accept-Encoding", 200, strings.Repeat("a line of some length\n", 100)},
		{"GET", "nothing", "gzip", "", "", "", 304, ""},
	} {
		t.Run(row.method+" "+row.path+" "+row.accept, func(t *testing.T) {
			res := fetch(t, server, row.method, row.path, row.accept)
			defer res.Body.Close()
			var body io.Reader = res.Body
			if res.Header.Get("Content-Encoding") == "gzip" {
				if res.ContentLength > int64(len(row.body))/2 {
					t.Errorf("%d bytes are sent of %d", res.ContentLength, len(row.body))
				}
				z, err := gzip.NewReader(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				body = z
			}
			got, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			h := res.Header
			if res.StatusCode != row.status || string(got) != row.body || h.Get("Content-Encoding") != row.coding || h.Get("ETag") != row.tag || h.Get("Vary") != row.vary {
				t.Errorf("%d, %d bytes, coding %q, tag %q, vary %q; want %d, %d bytes, %q, %q, %q", res.StatusCode, len(got),
					h.Get("Content-Encoding"), h.Get("ETag"), h.Get("Vary"), row.status, len(row.body), row.coding, row.tag, row.vary)
			}
		})
	}
	if res := fetch(t, server, "GET", "zipped", "gzip"); res.Header.Get("Content-Encoding") != "gzip" || res.ContentLength != int64(len(long)) {
		t.Errorf("what is compressed was compressed again: %d bytes", res.ContentLength)
	}
	if a := send(t, server, "GET", "/api/v1/panics", "", "Accept-Encoding", "gzip"); a.status != 500 || !strings.Contains(a.body, `"internal"`) || strings.Contains(a.body, "half") {
		t.Errorf("after a panic: %d %s", a.status, a.body)
	}
}

// fetch asks without undoing the compression.
func fetch(t *testing.T, s *httptest.Server, method, path, accept string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v1/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", accept)
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// The description of the API is large. It is a file that is compressed once, and not by the middleware
// for each request.
func TestCompress_descriptionOnce(t *testing.T) {
	r := gin.New() // without the middleware
	api := newAPI(r, false)
	huma.Register(api, huma.Operation{OperationID: "list-rooms", Method: http.MethodGet, Path: "/rooms"},
		func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	serveDescription(r, api)
	req := httptest.NewRequest(http.MethodGet, "/openapi.json", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
	f := newPageFile("application/json", "no-cache", make([]byte, 4096))
	if first, second := f.zipped(), f.zipped(); &first[0] != &second[0] {
		t.Error("a file is compressed each time")
	}
}
