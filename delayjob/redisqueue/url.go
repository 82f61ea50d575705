package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open connects to the servers of a URL, see [Dial], and returns a queue on them. Its Close closes
// the connections.
func Open(ctx context.Context, url string, opts ...Option) (*Queue, error) {
	client, err := Dial(url)
	if err != nil {
		return nil, err
	}
	q, err := New(ctx, client, opts...)
	if err != nil {
		client.Close()
		return nil, err
	}
	q.owned = client
	return q, nil
}

// Dial returns a client with settings for a queue: it does not repeat commands, notices dead
// servers soon, and obeys context deadlines. It does not connect yet. URLs are
//
//	redis://user:password@host:port/db                 one server; rediss: with TLS
//	redis+cluster://user:password@h1:p,h2:p            a cluster, from any of its nodes; rediss+cluster
//	redis+sentinel://user:password@h1:p,h2:p/NAME/db   the master called NAME in Sentinel; rediss+sentinel
//
// with the query parameters of [redis.ParseURL], [redis.ParseClusterURL] and
// [redis.ParseFailoverURL], for example pool_size=20 or read_timeout=2s.
func Dial(url string) (redis.UniversalClient, error) {
	u, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	switch u.kind {
	case "":
		o, err := redis.ParseURL(u.plain(""))
		if err != nil {
			return nil, u.hide(err)
		}
		u.limit(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.MaintNotificationsConfig = noNotifications()
		return redis.NewClient(o), nil
	case "cluster":
		o, err := redis.ParseClusterURL(u.plain(""))
		if err != nil {
			return nil, u.hide(err)
		}
		u.limit(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		// A dead master cannot redirect, so its successor is found by polling. The default is a
		// minute.
		o.ClusterStateReloadInterval = time.Second
		o.MaintNotificationsConfig = noNotifications()
		return redis.NewClusterClient(o), nil
	default:
		name, db, _ := strings.Cut(u.path, "/")
		if name == "" {
			return nil, u.hide(errors.New("the path must name the master: redis+sentinel://host:port/NAME"))
		}
		u.query.Set("master_name", name)
		o, err := redis.ParseFailoverURL(u.plain(db))
		if err != nil {
			return nil, u.hide(err)
		}
		u.limit(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		return redis.NewFailoverClient(o), nil
	}
}

// limit sets the timeouts that the URL leaves open, so that a silent server does not block callers
// for long. Its slowest reply takes about ten milliseconds.
func (u *serverURL) limit(dial, read, write *time.Duration) {
	for _, l := range []struct {
		name    string
		timeout *time.Duration
		d       time.Duration
	}{{"dial_timeout", dial, time.Second}, {"read_timeout", read, 2 * time.Second}, {"write_timeout", write, 2 * time.Second}} {
		if !u.query.Has(l.name) {
			*l.timeout = l.d
		}
	}
}

// noNotifications disables maintenance notifications, which only hosted Redis sends.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// A serverURL is a parsed URL. net/url does not support several hosts.
type serverURL struct {
	tls        bool
	kind       string // "", cluster or sentinel
	user, path string
	hosts      []string
	query      url.Values
}

func parseURL(s string) (*serverURL, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	base, kind, _ := strings.Cut(scheme, "+")
	u := &serverURL{tls: base == "rediss", kind: kind}
	if !ok || base != "redis" && base != "rediss" || kind != "" && kind != "cluster" && kind != "sentinel" {
		return nil, u.hide(errors.New("the URL must begin with redis://, rediss://, redis+cluster:// or redis+sentinel://"))
	}
	rest, query, _ := strings.Cut(rest, "?")
	var err error
	if u.query, err = url.ParseQuery(query); err != nil {
		return nil, u.hide(err)
	}
	authority, path, _ := strings.Cut(rest, "/")
	u.path = path
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		u.user, authority = authority[:at+1], authority[at+1:]
	}
	u.hosts = strings.Split(authority, ",")
	if kind == "" && len(u.hosts) > 1 {
		return nil, u.hide(errors.New("several hosts need redis+cluster:// or redis+sentinel://"))
	}
	if kind != "" && u.hosts[0] == "" {
		return nil, u.hide(errors.New("the URL must contain a host"))
	}
	return u, nil
}

// plain returns the URL for go-redis, with all hosts but the first as parameters.
func (u *serverURL) plain(path string) string {
	scheme := "redis"
	if u.tls {
		scheme = "rediss"
	}
	if u.kind == "" {
		path = u.path
	}
	query := url.Values{}
	for k, v := range u.query {
		query[k] = v
	}
	for _, h := range u.hosts[1:] {
		query.Add("addr", h)
	}
	s := scheme + "://" + u.user + u.hosts[0]
	if path != "" {
		s += "/" + path
	}
	if len(query) > 0 {
		s += "?" + query.Encode()
	}
	return s
}

func (u *serverURL) hide(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("redisqueue: connect to Redis: %w", err)
}
