package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/app/database"
	"punctual/app/problem"
	"punctual/meeting"
	"punctual/meeting/caldav"
	"punctual/notify"
	"punctual/notify/render"
)

// registerCalDAV adds the calendars for calendar programs. Without caldav.enabled there is nothing.
func (a *Application) registerCalDAV(r *gin.Engine) {
	server := &caldav.Server{
		Store: a.meetingStore, Meetings: a.meetings, Series: a.series, Calendars: davCalendars{a.senders.render}, Busy: a.meetingStore.BusyUsers, Suggest: a.finding.Suggestions,
		Settings: func() caldav.Settings {
			c := a.latest.Load().CalDAV
			return caldav.Settings{
				Schedule: c.Schedule, Past: c.Past, Domain: a.senders.render.UIDDomain(), Mailroom: a.config.Mailroom.Domain, TooMany: a.schedulingSettings().TooMany,
			}
		},
		LookUp: func(ctx context.Context, by meeting.Actor) (bool, time.Duration) {
			return a.lookups.Allow(ctx, strconv.FormatInt(by.ID, 10))
		},
		Now: time.Now, Log: a.log,
	}
	serve := func(c *gin.Context) {
		if !a.latest.Load().CalDAV.Enabled {
			problem.Write(c, problem.OfStatus(http.StatusNotFound, "There is nothing at this path.", nil))
			return
		}
		p := a.appPassword(c)
		if p == nil {
			return
		}
		ctx := account.WithPrincipal(c.Request.Context(), p)
		by := meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: meeting.Role(p.Role), Groups: &p.Groups}
		refuse := func(p *problem.Problem) { problem.Write(c, p) }
		a.limits.ofToken(c.Request.WithContext(ctx), p, caldav.IsHeavy(c.Request), refuse, func(r *http.Request) { server.Serve(c.Writer, r, by) })
	}
	discover := func(c *gin.Context) {
		if !a.latest.Load().CalDAV.Enabled {
			problem.Write(c, problem.OfStatus(http.StatusNotFound, "There is nothing at this path.", nil))
			return
		}
		c.Header("Cache-Control", "no-cache") // it can be turned off
		c.Redirect(http.StatusMovedPermanently, caldav.Root)
	}
	for _, method := range caldav.Methods {
		r.Handle(method, strings.TrimSuffix(caldav.Root, "/"), serve)
		r.Handle(method, caldav.Root+"*path", serve)
		r.Handle(method, "/.well-known/caldav", discover)
	}
	r.Handle("PROPFIND", "/", serve) // of programs that do not know the well-known address
}

// appPassword returns the user of a request, or answers it and returns nil.
func (a *Application) appPassword(c *gin.Context) *account.Principal {
	email, password, ok := c.Request.BasicAuth()
	if !ok {
		if a.limits.admit(c, account.Networks(c.ClientIP())) {
			refuseDAV(c)
		}
		return nil
	}
	secret := sha256.Sum256([]byte(email + "\x00" + password))
	known, network := a.limits.known.has(secret), account.Networks(c.ClientIP())[0]
	if !known {
		if ok, after := a.limits.refused.Allow(c.Request.Context(), network); !ok {
			problem.Write(c, tooMany("Too many refused requests from this address", after))
			return nil
		}
	}
	p, err := a.accounts.AppPassword(c.Request.Context(), email, password, c.ClientIP())
	if err == nil {
		err = account.Authorize(p, "caldav")
	}
	switch limited, is := errors.AsType[*account.RateLimitError](err); {
	case err == nil:
		if !known {
			a.limits.refused.Forgive(c.Request.Context(), network)
			a.limits.known.add(secret)
		}
		return p
	case is:
		problem.Write(c, tooMany("Too many failed sign-ins", limited.RetryAfter))
	case errors.Is(err, account.ErrUnauthorized), errors.Is(err, account.ErrForbidden):
		a.limits.known.remove(secret)
		refuseDAV(c)
	default:
		problem.Write(c, problem.Of(err))
	}
	return nil
}

func refuseDAV(c *gin.Context) {
	c.Header("WWW-Authenticate", `Basic realm="Punctual", charset="UTF-8"`)
	c.String(http.StatusUnauthorized, "Sign in with your email address and an app password.\n")
}

// ofToken runs a request within the limits of its token and of its user, or refuses it. A heavy one also
// takes one of the places for those.
func (l *limits) ofToken(r *http.Request, p *account.Principal, heavy bool, refuse func(*problem.Problem), next func(*http.Request)) {
	ctx, bounds := r.Context(), l.config.Load()
	token, person := "token "+strconv.FormatInt(p.TokenID, 10), "person "+strconv.FormatInt(p.UserID, 10)
	allowed, after := l.tokens.Allow(ctx, token)
	if allowed {
		allowed, after = l.people.Allow(ctx, person)
	}
	if !allowed {
		refuse(tooMany("Too many requests", after))
		return
	}
	type limit struct {
		at   *requestPlaces
		key  string
		most int
	}
	limits := []limit{{&l.running, person, 2 * bounds.Concurrency}}
	if heavy {
		limits = []limit{{&l.heavy, person, bounds.Heavy}, {&l.heavy, "", heavyPlaces}}
		r = r.WithContext(database.ForHeavy(ctx))
	}
	for _, limit := range limits {
		leave, ok := limit.at.take(ctx, limit.key, limit.most, placeWait)
		if !ok {
			refuse(tooMany("Too many requests at the same time", time.Second))
			return
		}
		defer leave()
	}
	next(r)
}

// davCalendars renders the objects of calendars.
type davCalendars struct{ render *render.Renderer }

var _ caldav.Calendars = davCalendars{}

// UID implements [caldav.Calendars].
func (d davCalendars) UID(meetingID, seriesID int64) string { return d.render.UID(meetingID, seriesID) }

// Render implements [caldav.Calendars].
func (d davCalendars) Render(e caldav.Entry, address func(int64) string) []byte {
	return d.render.Object(calendarObject(e, address))
}

// calendarObject is an entry with its rooms as attendees, if they have an address.
func calendarObject(e caldav.Entry, address func(int64) string) render.Object {
	o := render.Object{UID: e.UID}
	add := func(m *meeting.Meeting, recurrenceID time.Time) {
		ev := calendarEvents([]*meeting.Meeting{m})[0]
		ev.Private, ev.RecurrenceID, ev.Sequence = m.Visibility == meeting.Private, recurrenceID, max(ev.Sequence, e.Sequence)
		if e.Zone != "" {
			ev.Timezone = e.Zone
		}
		for _, p := range m.Attendees {
			ev.Attendees = append(ev.Attendees, notify.Contact{Name: p.Name, Email: p.Email, Response: p.Response})
		}
		response := "accepted"
		if ev.Tentative {
			response = "tentative"
		}
		for i, id := range m.RoomIDs {
			ev.Places = append(ev.Places, render.Place{Name: m.RoomNames[i], Email: address(id), Response: response})
		}
		o.Events = append(o.Events, ev)
	}
	if e.Series != nil {
		add(e.Series.Master, time.Time{})
		o.Series = &e.Series.Facts
		for _, date := range e.Series.Dates {
			add(date.Meeting, date.OriginalStart)
		}
	}
	for _, m := range e.Single {
		recurrenceID := time.Time{}
		if e.Dates {
			recurrenceID = m.Slot.Start
			if !m.OriginalStart.IsZero() {
				recurrenceID = m.OriginalStart
			}
		}
		add(m, recurrenceID)
	}
	return o
}
