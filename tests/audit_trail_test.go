package tests

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// deed is an entry of GET /audit.
type deed struct {
	ID     string
	At     time.Time
	Action string
	Actor  struct {
		Kind, Name string
		ID         *int64
	}
	Address *string
	Subject struct{ Kind, ID, Name string }
	Changes map[string]struct{ From, To any }
	Reason  *string
}

// TestAudit: whatever is done to an installation is told with who did it, what changed and from
// where, to admins alone, and never with a secret.
func TestAudit(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		mail.OnRcpt(func(string) testenv.Answer { return testenv.Answer{Code: 451} })
		on.Mail, on.Jobs = mail, "{ notify.email: { max_attempts: 1 } }"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		secrets := []string{"Tr0ub4dor and more", "a signing secret of mine", "not my password at all", "typed in the wrong field"}
		const ok, made, gone = http.StatusOK, http.StatusCreated, http.StatusNoContent

		alice := admin.NewUser(t, "Alice", "member")
		admin.Want(t, ok, "PATCH", at("/users/%d", alice.User.ID), with{"role": "manager", "password": secrets[0]}, nil)
		alice = server.Login(t, alice.User.Email, secrets[0])
		var token struct {
			ID    int64
			Token string
		}
		admin.Want(t, made, "POST", "/me/tokens", with{"name": "backup", "scopes": []string{"audit:read"}}, &token)
		secrets = append(secrets, token.Token, admin.Token, alice.Token)
		admin.Want(t, gone, "DELETE", at("/me/tokens/%d", token.ID), nil, nil)
		server.Anonymous().WantProblem(t, http.StatusUnauthorized, "unauthorized", "POST", "/auth/login", with{"email": alice.User.Email, "password": secrets[2]})
		server.Anonymous().WantProblem(t, http.StatusUnauthorized, "unauthorized", "POST", "/auth/login", with{"email": secrets[3], "password": secrets[2]})

		var site, blackout struct{ ID int64 }
		admin.Want(t, made, "POST", "/sites", with{"name": "North", "timezone": "Europe/Berlin"}, &site)
		admin.Want(t, ok, "PATCH", at("/sites/%d", site.ID), with{"name": "South"}, nil)
		room := admin.NewRoom(t, "Turing", with{"site_id": site.ID})
		admin.Want(t, ok, "PATCH", at("/rooms/%d", room.ID), with{"capacity": 12, "policy": with{"min_duration": "30m"}, "approval": with{"required": false, "approver_ids": []int64{alice.User.ID}}}, nil)
		start := inSeconds(2 * 86400).Truncate(time.Hour)
		admin.Want(t, made, "POST", "/blackouts", with{"room_id": room.ID, "start": start, "end": start.Add(time.Hour), "reason": "painting"}, &blackout)
		admin.Want(t, gone, "DELETE", at("/blackouts/%d", blackout.ID), nil, nil)

		m := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
			"visibility": "private", "title": "Takeover", "attendees": []any{with{"email": "gone@example.org"}, with{"email": "away@example.org"}},
		}))
		admin.Want(t, ok, "POST", "/jobs/meeting.start/pause", nil, nil)
		admin.Want(t, ok, "POST", "/jobs/meeting.start/resume", nil, nil)
		admin.Want(t, ok, "PUT", "/topics/orders/webhook", with{"url": "https://1.1.1.1/in", "secret": secrets[1]}, nil)
		admin.Want(t, ok, "POST", "/topics/orders/pause", nil, nil)
		var letters []struct{ ID string }
		eventually(t, time.Now().Add(3*slack), "two mails died", func() bool {
			letters = testenv.All[struct{ ID string }](t, admin, "/jobs/dead")
			return len(letters) == 2
		})
		mail.OnRcpt(nil)
		admin.Want(t, gone, "POST", "/jobs/dead/"+letters[0].ID+"/requeue", nil, nil)
		admin.Want(t, gone, "DELETE", "/jobs/dead/"+letters[1].ID, nil, nil)
		var sent testenv.Notification
		eventually(t, time.Now().Add(2*slack), "the other was sent", func() bool {
			all := admin.Notifications(t, m.ID)
			i := slices.IndexFunc(all, func(n testenv.Notification) bool { return n.State == "sent" })
			if i >= 0 {
				sent = all[i]
			}
			return i >= 0
		})
		admin.Want(t, ok, "POST", at("/notifications/%d/resend", sent.ID), nil, nil)
		alice.Want(t, ok, "POST", at("/meetings/%d/cancel", m.ID), with{"reason": "over"}, nil)
		admin.Want(t, gone, "DELETE", at("/rooms/%d", room.ID), nil, nil)
		alice.Want(t, gone, "POST", "/auth/logout", nil, nil)

		server.Configure(t, server.Config(t)+"auth: { session_ttl: 3h }\nsms: { http: { url: \"https://gateway.example.org/?key="+secrets[1][:8]+"\" } }\n")
		eventually(t, time.Now().Add(slack), "the configuration is read again", func() bool {
			return len(testenv.All[deed](t, admin, "/audit?action=config.changed")) > 0
		})

		raw := admin.Want(t, ok, "GET", "/audit?limit=500", nil, nil)
		for _, s := range append(secrets, "argon2id", testenv.AdminPassword) {
			if strings.Contains(string(raw.Body), s) {
				t.Errorf("it tells %q", s)
			}
		}
		find := func(query string) []deed {
			t.Helper()
			return testenv.All[deed](t, admin, "/audit?"+query)
		}
		one := func(action string) deed {
			t.Helper()
			ds := find(url.Values{"action": {action}}.Encode())
			if len(ds) == 0 {
				t.Fatalf("no %s in %s", action, raw.Body)
			}
			return ds[0]
		}
		for action, who := range map[string]string{
			"user.created": admin.User.Name, "user.changed": admin.User.Name, "token.created": admin.User.Name, "token.deleted": admin.User.Name,
			"session.begun": "Alice", "session.ended": "Alice", "session.refused": "", "site.created": admin.User.Name, "site.changed": admin.User.Name,
			"room.created": admin.User.Name, "room.changed": admin.User.Name, "room.deleted": admin.User.Name,
			"blackout.created": admin.User.Name, "blackout.deleted": admin.User.Name, "meeting.created": "Alice", "meeting.cancelled": "Alice",
			"job.paused": admin.User.Name, "job.resumed": admin.User.Name, "topic.paused": admin.User.Name, "topic_webhook.set": admin.User.Name,
			"notification.resent": admin.User.Name, "dead_letter.requeued": admin.User.Name, "dead_letter.discarded": admin.User.Name,
		} {
			d := one(action)
			if who != "" && (d.Actor.Kind != "user" || d.Actor.Name != who || d.Actor.ID == nil) || d.Address == nil || *d.Address != "127.0.0.1" || time.Since(d.At) > time.Hour {
				t.Errorf("%s: %+v", action, d)
			}
		}
		change := func(d deed, field string, from, to any) {
			t.Helper()
			if c, ok := d.Changes[field]; !ok || c.From != from || c.To != to {
				t.Errorf("%s of %s: %+v", field, d.Action, d.Changes)
			}
		}
		const mask = "***"
		change(one("user.changed"), "role", "member", "manager")
		change(one("user.changed"), "password", mask, mask)
		change(one("site.changed"), "name", "North", "South")
		change(one("room.changed"), "capacity", 0.0, 12.0)
		change(one("room.changed"), "policy.min_duration", "0s", "30m0s")
		change(one("topic_webhook.set"), "secret", nil, mask)
		change(one("topic_webhook.set"), "url", nil, "https://1.1.1.1/in")
		change(one("meeting.cancelled"), "status", "confirmed", "cancelled")
		change(one("config.changed"), "auth.session_ttl", "12h", "3h")
		change(one("config.changed"), "sms.http.url", "", mask)
		if d := one("meeting.cancelled"); d.Reason == nil || *d.Reason != "over" || d.Subject.Name != "Takeover" {
			t.Errorf("the cancellation: %+v", d)
		}
		if d := one("config.changed"); d.Actor.Kind != "system" || d.Actor.Name != "configuration" || d.Address != nil {
			t.Errorf("the configuration: %+v", d)
		}
		refused := find("action=session.refused")
		if len(refused) != 2 || refused[0].Subject.Name != "" || refused[0].Actor.ID != nil || refused[1].Subject.Name != alice.User.Email || *refused[1].Actor.ID != alice.User.ID {
			t.Errorf("who could not sign in: %+v", refused)
		}
		if ds := find(url.Values{"subject": {"room:" + at("%d", room.ID)}}.Encode()); len(ds) != 3 || ds[0].Action != "room.deleted" || ds[2].Action != "room.created" {
			t.Errorf("of the room: %+v", ds)
		}
		if ds := find("actor=" + at("%d", alice.User.ID) + "&action=meeting.*"); len(ds) != 2 {
			t.Errorf("of Alice: %+v", ds)
		}
		if ds := find("q=PAINT"); len(ds) != 2 {
			t.Errorf("of the blackout: %+v", ds)
		}

		reader := &testenv.Client{Base: server.URL}
		admin.Want(t, made, "POST", "/me/tokens", with{"name": "archive", "scopes": []string{"audit:read"}}, &token)
		reader.Token = token.Token
		reader.Want(t, ok, "GET", "/audit?limit=1", nil, nil)
		reader.WantProblem(t, http.StatusForbidden, "forbidden", "GET", "/jobs", nil)
		alice = server.Login(t, alice.User.Email, secrets[0])
		alice.WantProblem(t, http.StatusForbidden, "forbidden", "GET", "/audit", nil)
		for query, place := range map[string]string{
			"from=soon": "query.from", "actor=nobody": "query.actor", "action=rooms": "query.action", "cursor=x": "query.cursor",
			"from=2027-02-10T00:00:00Z&to=2027-02-09T00:00:00Z": "query.to", "limit=0": "query.limit",
		} {
			p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", "GET", "/audit?"+query, nil)
			if len(p.Errors) != 1 || p.Errors[0].Location != place {
				t.Errorf("%s: %+v", query, p.Errors)
			}
		}
	})
}
