package app

import (
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/klauspost/compress/gzip"

	"punctual/meeting/caldav"
)

// minZip is the smallest size worth compressing: less fits into one packet anyway.
const minZip = 1400

// zippers are reused: one holds some hundred kilobytes. At level 6 this library compresses JSON
// 2.8 times faster than compress/gzip, into 7 % more bytes.
var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, 6) // fails only at an unknown level
	return w
}}

// compress is our own, because gin-contrib/gzip has no minimum and keeps strong tags, and gzhttp
// wraps the whole handler, so that a panic in the middle of a response could not become a 500.
//
// It compresses long text for clients that accept gzip. It sends other content unchanged:
// compressed content, short responses and endless streams. For a response written in one piece, its
// length decides. Other responses are compressed once they exceed minZip.
func compress(c *gin.Context) {
	// Calendar programs compare strong ETags.
	dav := c.Request.Method == http.MethodGet && strings.HasPrefix(c.Request.URL.Path, caldav.Root)
	if c.Request.Method == http.MethodHead || dav || !takesGzip(c.GetHeader("Accept-Encoding")) {
		c.Next()
		return
	}
	w := &zipWriter{ResponseWriter: c.Writer}
	c.Writer = w
	done := false
	defer func() {
		c.Writer = w.ResponseWriter
		w.close(done)
	}()
	c.Next()
	done = true
}

func takesGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if coding == "gzip" {
			return weight == "" || strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != ""
		}
	}
	return false
}

// zipWriter buffers the beginning of a response until it is clear whether it is compressed.
type zipWriter struct {
	gin.ResponseWriter
	held    []byte
	decided bool
	zipper  *gzip.Writer // nil: not compressed
}

func (w *zipWriter) Write(b []byte) (int, error) {
	if !w.decided {
		if !w.zippable() || w.ResponseWriter.Written() {
			_ = w.decide(false)
		} else if len(w.held)+len(b) < minZip {
			w.held = append(w.held, b...)
			return len(b), nil
		} else if err := w.decide(true); err != nil {
			return 0, err
		}
	}
	if w.zipper != nil {
		return w.zipper.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

func (w *zipWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

func (w *zipWriter) Flush() {
	if !w.decided {
		_ = w.decide(false)
	}
	if w.zipper != nil {
		_ = w.zipper.Flush()
	}
	w.ResponseWriter.Flush()
}

// Written also counts buffered output, because the handler has written it.
func (w *zipWriter) Written() bool { return len(w.held) > 0 || w.ResponseWriter.Written() }

func (w *zipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *zipWriter) zippable() bool {
	h := w.Header()
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	text := strings.HasPrefix(kind, "text/") && kind != "text/event-stream" ||
		kind == "application/json" || strings.HasSuffix(kind, "+json")
	return text && h.Get("Content-Encoding") == "" && h.Get("Content-Range") == ""
}

// decide sends the buffer, compressed or not. A strong tag would promise the same bytes to clients
// without gzip, so it becomes a weak one.
func (w *zipWriter) decide(zip bool) error {
	w.decided = true
	h := w.Header()
	if w.zippable() {
		h.Add("Vary", "Accept-Encoding")
	}
	held := w.held
	w.held = nil
	if zip {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
			h.Set("ETag", "W/"+tag)
		}
		w.zipper = zippers.Get().(*gzip.Writer)
		w.zipper.Reset(w.ResponseWriter)
		_, err := w.zipper.Write(held)
		return err
	}
	if len(held) == 0 {
		return nil
	}
	_, err := w.ResponseWriter.Write(held)
	return err
}

// close sends the rest. After a panic there is no rest: close drops the buffered part, so that an
// error can be sent instead.
func (w *zipWriter) close(done bool) {
	if done && !w.decided && len(w.held) > 0 {
		_ = w.decide(false) // a disconnected client misses nothing
	}
	if w.zipper != nil {
		_ = w.zipper.Close()
		w.zipper.Reset(nil)
		zippers.Put(w.zipper)
		w.zipper = nil
	}
}
