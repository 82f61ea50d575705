package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"punctual/account/scim"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/app/problem"
	"punctual/meeting"
	"punctual/meeting/caldav"
	meetinghttp "punctual/meeting/httpapi"
)

const requestIDHeader = "X-Request-ID"

var requestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// assignRequestID uses the request ID from a proxy or creates one, and records the client's
// address.
func assignRequestID(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if !requestID.MatchString(id) {
		id = rand.Text()
	}
	c.Header(requestIDHeader, id)
	c.Request = c.Request.WithContext(meeting.WithClient(withRequestID(c.Request.Context(), id), c.ClientIP()))
}

// accessLog writes one line for each request, without its query, because that may hold names and
// tokens. Internal errors are logged only here.
func accessLog(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		begin := time.Now()
		c.Next()
		level, status := slog.LevelInfo, c.Writer.Status()
		switch {
		case !strings.HasPrefix(c.Request.URL.Path, apiBase) && len(c.Errors) == 0:
			level = slog.LevelDebug // probes (failed ones included), scrapes and the files of the page
		case status >= http.StatusInternalServerError:
			level = slog.LevelError
		}
		if !log.Enabled(c.Request.Context(), level) {
			return
		}
		attrs := []slog.Attr{
			slog.String("method", c.Request.Method), slog.String("path", loggedPath(c.Request.URL.Path)), slog.Int("status", status),
			slog.Duration("took", time.Since(begin).Round(time.Microsecond)), slog.Int("bytes", max(0, c.Writer.Size())),
			slog.String("client", c.ClientIP()),
		}
		if len(c.Errors) > 0 {
			attrs = append(attrs, slog.String("error", c.Errors[0].Error()))
		}
		log.LogAttrs(c.Request.Context(), level, "request", attrs...)
	}
}

// loggedPath returns a path without the secret of an address for receipts or mail events.
func loggedPath(path string) string {
	if strings.HasPrefix(path, config.EmailCallbacks) {
		return config.EmailCallbacks + "..."
	}
	rest, isCallback := strings.CutPrefix(path, config.SMSCallbacks)
	if driver, _, more := strings.Cut(rest, "/"); isCallback && more {
		return config.SMSCallbacks + driver + "/..."
	}
	return path
}

// warnOfProxies logs once that X-Forwarded-For came from a peer that is not trusted: behind a proxy
// that is not in http.trusted_proxies all clients share one address, and its limits.
func warnOfProxies(trusted []string, log *slog.Logger) gin.HandlerFunc {
	var networks []netip.Prefix
	for _, s := range trusted {
		if p, err := config.ParseNetwork(s); err == nil {
			networks = append(networks, p)
		}
	}
	var once sync.Once
	return func(c *gin.Context) {
		if c.GetHeader("X-Forwarded-For") == "" {
			return
		}
		peer, err := netip.ParseAddr(c.RemoteIP())
		if err != nil || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(peer.Unmap()) }) {
			return
		}
		once.Do(func() {
			log.Warn("X-Forwarded-For from an untrusted peer ignored, set http.trusted_proxies if it is your proxy", "peer", peer.String())
		})
	}
}

// recoverPanics turns a panic into an internal error that shows the client no details.
func recoverPanics(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			log.ErrorContext(c.Request.Context(), "request panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if !c.Writer.Written() {
				problem.Write(c, problem.Internal())
			}
			c.Abort()
		}()
		c.Next()
	}
}

// limitRequest limits what a request may send, how long it may take, and which database connections
// it may hold.
func limitRequest(c *gin.Context) {
	if c.Request.Body != nil && c.Request.Body != http.NoBody {
		limit := int64(maxBody)
		switch {
		case strings.HasPrefix(c.Request.URL.Path, caldav.Root):
			limit = caldav.MaxBody
		case strings.HasPrefix(c.Request.URL.Path, scim.Root):
			limit = scim.MaxBody
		case strings.HasPrefix(c.Request.URL.Path, config.SMSCallbacks):
			limit = maxReceipts
		case strings.HasPrefix(c.Request.URL.Path, config.EmailCallbacks):
			limit = maxEvents
		case !strings.HasPrefix(c.Request.URL.Path, apiBase): // forms of mail links
			limit = maxAnonymousBody
		}
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	}
	ctx := database.ForRequest(c.Request.Context())
	switch c.FullPath() {
	case apiBase + meetinghttp.EventsPath, apiBase + meetinghttp.DoorEventsPath: // endless streams
		c.Request = c.Request.WithContext(ctx)
		c.Next()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, handlerTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// refuseUnreadable rejects a query with invalid text: bytes that are not UTF-8, or NUL, which
// Postgres does not store. So handlers never get such a query.
func refuseUnreadable(c *gin.Context) {
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	var faults []problem.ProblemFault
	if err != nil {
		faults = append(faults, problem.ProblemFault{Location: "query", Message: "must be a valid query string", Code: "malformed"})
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !isText(key) {
			faults = append(faults, problem.ProblemFault{Location: "query", Message: "must have names that are valid UTF-8", Code: "malformed"})
		} else if slices.ContainsFunc(values[key], func(v string) bool { return !isText(v) }) {
			faults = append(faults, problem.ProblemFault{Location: "query." + key, Message: "must be valid UTF-8", Code: "malformed"})
		}
	}
	if !isText(c.Request.URL.Path) {
		faults = append(faults, problem.ProblemFault{Location: "path", Message: "must be valid UTF-8", Code: "malformed"})
	}
	if strings.Contains(c.GetHeader("If-Match"), ",") { // a change is based on one version
		faults = append(faults, problem.ProblemFault{Location: "header.If-Match", Message: "must be one ETag", Code: "malformed"})
	}
	if len(faults) > 0 {
		p := problem.New(http.StatusUnprocessableEntity, "invalid", "Invalid request")
		p.Errors = faults
		problem.Write(c, p)
		return
	}
	if text := values.Get("q"); text != strings.TrimSpace(text) { // of every search
		values.Set("q", strings.TrimSpace(text))
		c.Request.URL.RawQuery = values.Encode()
	}
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// contentSecurityPolicy allows the page to load resources from this origin only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// docsSecurityPolicy also allows the images embedded in the styles of Swagger UI.
var docsSecurityPolicy = strings.Replace(contentSecurityPolicy, "img-src 'self'", "img-src 'self' data:", 1)

func securityHeaders(baseURL string) gin.HandlerFunc {
	secure := strings.HasPrefix(baseURL, "https://")
	return func(c *gin.Context) {
		c.Header("X-Content-Type-Options", "nosniff")
		c.Header("Referrer-Policy", "same-origin")
		c.Header("Content-Security-Policy", contentSecurityPolicy)
		c.Header("Cross-Origin-Opener-Policy", "same-origin")
		c.Header("Cross-Origin-Resource-Policy", "same-origin")
		c.Header("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if secure {
			c.Header("Strict-Transport-Security", "max-age=31536000")
		}
		if strings.HasPrefix(c.Request.URL.Path, apiBase) {
			c.Header("Cache-Control", "no-store") // unless the operation says otherwise
		}
	}
}
