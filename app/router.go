package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/app/config"
	"punctual/app/problem"
	"punctual/app/traces"
	meetinghttp "punctual/meeting/httpapi"
	"punctual/meeting/linkpages"
	"punctual/meeting/publicpages"
)

const apiBase = "/api/v1"

// Limits of one request. A handler's context ends while its response can still be written.
const (
	readTimeout    = 30 * time.Second
	handlerTimeout = 30 * time.Second
	writeTimeout   = 60 * time.Second
)

func init() {
	gin.SetMode(gin.ReleaseMode)
	huma.ValidateStrictCasing = true // "Title" is not "title"
}

func newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:        h,
		ReadTimeout:    readTimeout, // of the headers, too: browsers connect well before they ask
		WriteTimeout:   writeTimeout,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
}

// newEngine handles unknown routes and prepares every request: ID, log line, timeout, limits, and
// protection from other sites.
// tracer may be nil.
func newEngine(c config.HTTP, log *slog.Logger, m *metrics, tracer *traces.Tracer) (*gin.Engine, error) {
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.RemoteIPHeaders = []string{"X-Forwarded-For"} // a proxy that sets this one passes others on as they came
	if err := r.SetTrustedProxies(c.TrustedProxies); err != nil {
		return nil, fmt.Errorf("http.trusted_proxies: %w", err)
	}
	sameOrigin, err := crossOriginProtection(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("http.base_url: %w", err)
	}
	r.Use(assignRequestID)
	if tracer != nil {
		r.Use(tracer.Requests)
	}
	r.Use(accessLog(log), warnOfProxies(c.TrustedProxies, log), m.measure, recoverPanics(log), securityHeaders(c.BaseURL), compress, limitRequest, sameOrigin, refuseUnreadable)
	r.NoRoute(func(c *gin.Context) { // a page serves more than this
		problem.Write(c, problem.OfStatus(http.StatusNotFound, "There is nothing at this path.", nil))
	})
	r.NoMethod(func(c *gin.Context) {
		problem.Write(c, problem.OfStatus(http.StatusMethodNotAllowed, "The resource does not support this method.", nil))
	})
	return r, nil
}

// newRouter returns the handler of the process. A worker serves only probes and metrics.
func newRouter(a *Application) (http.Handler, error) {
	r, err := newEngine(a.config.HTTP, a.log, a.metrics, a.tracer)
	if err != nil {
		return nil, err
	}
	probes(r, a)
	if !a.role.serves() {
		return r, nil
	}
	index := page(r)
	pages := &linkpages.Pages{Service: a.meetings, Approval: a.approval, Waitlist: a.waitlist, Mails: mailConfirmations{a.mailroom.process.Service}, Subscriptions: subscriptions{a.preferences}, Links: a.links, Limiter: a.limiter, Inbox: index, Now: time.Now}
	pages.Register(r)
	(&publicpages.Pages{
		Service: a.public, Limiter: a.limits.refused, Places: a.limits.takePublic, FrameOrigins: func() []string { return a.latest.Load().Public.FrameOrigins }, Now: time.Now,
	}).Register(r)
	a.registerCalDAV(r)
	a.registerSCIM(r)
	a.registerProviders(r)
	a.registerSMSCallbacks(r)
	a.registerEmailCallbacks(r)
	api := newAPI(r, a.config.HTTP.Secure())
	a.register(api)
	a.idempotency.Recover(api.OpenAPI(), r, lostResponses)
	serveDescription(r, api)
	return answerHead(r), nil
}

// answerHead answers HEAD like GET; the server omits the body. Streams do not support HEAD.
func answerHead(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, apiBase)
		if r.Method == http.MethodHead && path != r.URL.Path && path != meetinghttp.EventsPath && path != meetinghttp.DoorEventsPath {
			get := *r
			get.Method = http.MethodGet
			r = &get
		}
		h.ServeHTTP(w, r)
	})
}

// serveDescription serves the description of the operations registered so far. It is written when
// first asked for, since that takes a third of the start, and compressed once, since it is large.
func serveDescription(r *gin.Engine, api huma.API) {
	const name = "openapi.json"
	files := sync.OnceValue(func() pageFiles {
		spec, err := description(api)
		if err != nil {
			panic(fmt.Errorf("describe the API: %w", err)) // the operations are a part of the program
		}
		return pageFiles{name: newPageFile("application/openapi+json", "no-cache", spec)}
	})
	r.GET("/"+name, func(c *gin.Context) { files().serve(c, name) })
}

// newAPI returns huma under apiBase. Its own pages are off, because they load files from a public
// server.
func newAPI(r *gin.Engine, secure bool) huma.API {
	cfg := huma.DefaultConfig("Punctual", version)
	cfg.Info.Description = "Book rooms, manage meetings, and schedule jobs. Errors are `application/problem+json` with a stable `code`. " +
		"Every POST accepts an `Idempotency-Key`: for 24 hours, the same key and body return the first response."
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.CreateHooks = nil // no $schema in bodies
	cfg.RejectUnknownQueryParameters = true
	cfg.Servers = []*huma.Server{{URL: apiBase}}
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "Token returned by POST /auth/login or POST /me/tokens"},
		"session": {Type: "apiKey", In: "cookie", Name: account.SessionCookie(secure), Description: "Session cookie of a browser"},
	}
	cfg.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	cfg.OnAddOperation = append(cfg.OnAddOperation, describeShared)
	return humagin.NewWithGroup(r, r.Group(apiBase), cfg)
}

// crossOriginProtection rejects requests that another site makes a browser send. Requests with a
// token need no check, because browsers never add one on their own.
func crossOriginProtection(baseURL string) (gin.HandlerFunc, error) {
	protection := http.NewCrossOriginProtection()
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, err
	}
	if err := protection.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, err
	}
	return func(c *gin.Context) {
		if c.GetHeader("Authorization") != "" || protection.Check(c.Request) == nil {
			return
		}
		p := problem.OfStatus(http.StatusForbidden, "The request comes from another site.", nil)
		problem.Write(c, p)
	}, nil
}
