package app

import (
	"context"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/app/problem"
)

// probes serve health checks. /healthz reports that the process answers. /readyz reports that it
// can work: the database answers and, if a loader runs, a full load has completed, into Redis or
// the in-memory fallback.
func probes(r *gin.Engine, a *Application) {
	asked := []string{http.MethodGet, http.MethodHead} // some load balancers send HEAD
	r.Match(asked, "/healthz", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ok"}) })
	r.Match(asked, "/readyz", func(c *gin.Context) {
		if err := a.ready(c.Request.Context()); err != nil {
			p := problem.New(http.StatusServiceUnavailable, "unavailable", "Not ready")
			p.Detail = err.Error()
			problem.Write(c, p)
			return
		}
		c.JSON(http.StatusOK, gin.H{"status": "ready"})
	})
	metrics := gin.WrapH(a.metrics.handler())
	r.GET("/metrics", func(c *gin.Context) {
		want := a.config.HTTP.MetricsToken
		if want != "" && subtle.ConstantTimeCompare([]byte(c.GetHeader("Authorization")), []byte("Bearer "+want)) != 1 {
			problem.Write(c, problem.New(http.StatusUnauthorized, "unauthorized", "Metrics require the token http.metrics_token"))
			return
		}
		if want != "" || a.limits.admitScrape(c, account.Networks(c.ClientIP())) {
			metrics(c)
		}
	})
}

type notReady string

func (e notReady) Error() string { return string(e) }

// ready returns what is missing, without internal details.
func (a *Application) ready(ctx context.Context) error {
	if a.loader != nil {
		select {
		case <-a.loader.Ready():
		case <-a.fallback.Ready():
		default:
			return notReady("The first full load is not complete.")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := a.db.Ping(ctx); err != nil {
		a.log.WarnContext(ctx, "not ready: the database does not answer", "error", err)
		return notReady("The database does not answer.")
	}
	return nil
}
