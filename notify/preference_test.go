package notify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2027, 2, 10, 12, 0, 0, 0, time.UTC)

func far(kind Kind, channel Channel) Notification {
	return Notification{
		Kind: kind, Channel: channel, State: Pending, Version: 1, DedupeKey: string(kind) + ":42:1:" + string(channel) + ":ada@example.org",
		To:    Recipient{UserID: 7, Address: "ada@example.org"},
		Facts: Facts{Start: noon.AddDate(0, 0, 9), End: noon.AddDate(0, 0, 9).Add(time.Hour), Organizer: Contact{Email: "grace@example.org"}},
	}
}

func TestDecide(t *testing.T) {
	reachable := Wishes{Email: "ada@example.org", Phone: "+4930123"}
	chose := func(k Kind, cs ...Channel) Wishes {
		w := reachable
		w.Choices = Choices{k: append([]Channel{}, cs...)}
		return w
	}
	mute := chose(Reminder)
	mute.Phone = ""
	noPhone := chose(Change, SMS)
	noPhone.Phone = ""
	own := far(Change, Email)
	own.To.Address = "Grace@example.org"
	invites := far(Change, Email)
	invites.Uninvited = true
	ownBySMS := own.On(SMS, "+4930123")
	graces := chose(OwnMeeting, SMS)
	graces.Email, graces.Choices[Change] = "grace@example.org", []Channel{Email}
	resent := far(Change, Email)
	resent.Version = 2
	for name, c := range map[string]struct {
		n      Notification
		w      Wishes
		p      Policy
		skip   string
		others []Channel
	}{
		"nobody chose":                      {n: far(Change, Email), w: reachable},
		"none":                              {n: far(Change, Email), w: chose(Change), skip: "recipient"},
		"none for another kind":             {n: far(Change, Email), w: chose(Reminder)},
		"another channel":                   {n: far(Change, Email), w: chose(Change, SMS), skip: "sms", others: []Channel{SMS}},
		"both":                              {n: far(Change, Email), w: chose(Change, Email, SMS), others: []Channel{SMS}},
		"another channel without address":   {n: far(Change, Email), w: noPhone},
		"another channel that is off":       {n: far(Change, Email), w: chose(Change, SMS), p: Policy{Off: []Channel{SMS}}},
		"SMS, which may not be chosen now":  {n: far(Change, Email), w: chose(Change, SMS), p: Policy{Choices: []Channel{Email}}},
		"both, SMS may not be chosen now":   {n: far(Change, Email), w: chose(Change, Email, SMS), p: Policy{Choices: []Channel{Email}}},
		"SMS by default, not by choice":     {n: far(Change, Email), w: reachable, p: Policy{Choices: []Channel{Email}, Defaults: Choices{Change: {SMS}}}, skip: "sms", others: []Channel{SMS}},
		"a reminder by SMS, none":           {n: far(Reminder, SMS), w: mute, skip: "recipient"},
		"a reminder that must be sent":      {n: far(Reminder, SMS), w: mute, p: Policy{Required: []Kind{Reminder}}},
		"default none":                      {n: far(Released, Email), w: reachable, p: Policy{Defaults: Choices{Released: {}}}, skip: "defaults"},
		"default none, but required":        {n: far(Released, Email), w: reachable, p: Policy{Defaults: Choices{Released: {}}, Required: []Kind{Released}}},
		"default none, but chosen":          {n: far(Released, Email), w: chose(Released, Email), p: Policy{Defaults: Choices{Released: {}}}},
		"default SMS":                       {n: far(Released, Email), w: reachable, p: Policy{Defaults: Choices{Released: {SMS}}}, skip: "sms", others: []Channel{SMS}},
		"of one's own meeting":              {n: own, w: chose(Change)},
		"of one's own meeting, none":        {n: own, w: chose(OwnMeeting), skip: "own_meeting"},
		"a change that invites":             {n: invites, w: chose(Change)},
		"a change that invites, by SMS":     {n: invites, w: Wishes{Email: "ada@example.org", Phone: "+4930123", Choices: Choices{Change: {}, Invitation: {SMS}}}, skip: "sms", others: []Channel{SMS}},
		"a change that invites, no changes": {n: invites, w: Wishes{Email: "ada@example.org", Choices: Choices{Change: {}, Invitation: {}}}, skip: "recipient"},
		"a change that invites, no invites": {n: invites, w: chose(Invitation)},
		"of one's own meeting, by SMS":      {n: ownBySMS, w: graces},
		"resent, another channel":           {n: resent, w: chose(Change, SMS), skip: "sms"},
		"resent, both":                      {n: resent, w: chose(Change, Email, SMS)},
		"a password link, whatever is said": {n: far(PasswordReset, Email), w: chose(PasswordReset)},
	} {
		if c.p.Choices == nil {
			c.p.Choices = Channels()
		}
		v := c.p.Decide(c.n, c.w, noon)
		if (v.Skip == "") != (c.skip == "") || !strings.Contains(v.Skip, c.skip) || !slices.Equal(v.Also, c.others) || !v.Until.IsZero() {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestDecide_quietHours(t *testing.T) {
	night := Wishes{Quiet: QuietHours{From: 22 * 60, Until: 7 * 60}, Timezone: "Europe/Berlin"}
	berlin := zoneOf(night.Timezone)
	at := time.Date(2027, 2, 10, 23, 30, 0, 0, berlin)
	end := time.Date(2027, 2, 11, 7, 0, 0, 0, berlin)
	change := func(edit func(n *Notification)) Notification {
		n := far(Change, Email)
		edit(&n)
		return n
	}
	starts := func(in time.Time) func(n *Notification) {
		return func(n *Notification) { n.Facts.Start, n.Facts.End = in, in.Add(time.Hour) }
	}
	for name, c := range map[string]struct {
		n    Notification
		at   time.Time
		wait bool
	}{
		"not urgent":            {change(func(*Notification) {}), at, true},
		"after midnight":        {change(func(*Notification) {}), at.Add(3 * time.Hour), true},
		"at the end":            {change(func(*Notification) {}), end, false},
		"before they begin":     {change(func(*Notification) {}), at.Add(-2 * time.Hour), false},
		"starts at night":       {change(starts(at.Add(time.Hour))), at, false},
		"starts soon after":     {change(starts(end.Add(2*time.Hour - time.Minute))), at, false},
		"starts later that day": {change(starts(end.Add(2 * time.Hour))), at, true},
		"is over":               {change(starts(at.Add(-2 * time.Hour))), at, true},
		"would have started":    {change(func(n *Notification) { n.Facts.Was = &Placement{Start: end, End: end.Add(time.Hour)} }), at, false},
		"a date of the series":  {change(func(n *Notification) { n.Facts.Series = &Series{Dates: []time.Time{end}} }), at, false},
		"a canceled date": {change(func(n *Notification) {
			n.Facts.Series = &Series{Cancelled: []Occurrence{{Start: end, End: end.Add(time.Hour)}}}
		}), at, false},
		"expires at night":       {change(func(n *Notification) { n.Expires = end }), at, false},
		"a deadline soon after":  {change(func(n *Notification) { n.Facts.Deadline = new(end.Add(time.Hour)) }), at, false},
		"a reminder":             {far(Reminder, Email), at, false},
		"an offer":               {far(WaitlistOffer, Email), at, false},
		"resent":                 {change(func(n *Notification) { n.Version = 2 }), at, false},
		"an attempt that failed": {change(func(n *Notification) { n.Attempts = 1 }), at, false},
	} {
		v := Policy{}.Decide(c.n, night, c.at)
		if want := (map[bool]time.Time{true: end.UTC()})[c.wait]; !v.Until.Equal(want) || v.Skip != "" {
			t.Errorf("%s: until %v, want %v", name, v.Until, want)
		}
	}
}

// Quiet hours and digests follow the clock, also where clocks change: New York skips 02:00 to 03:00 on
// March 14 and shows 01:00 to 02:00 twice on November 7, 2027.
func TestClockChanges(t *testing.T) {
	newYork := zoneOf("America/New_York")
	utc := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2027, month, day, hour, minute, 0, 0, time.UTC)
	}
	for name, c := range map[string]struct {
		quiet     QuietHours
		now, ends time.Time
	}{
		"spring":                {QuietHours{22 * 60, 7 * 60}, utc(3, 14, 4, 0), utc(3, 14, 11, 0)},
		"autumn":                {QuietHours{22 * 60, 7 * 60}, utc(11, 7, 4, 0), utc(11, 7, 12, 0)},
		"the end is skipped":    {QuietHours{22 * 60, 150}, utc(3, 14, 6, 59), utc(3, 14, 7, 0)},
		"the end comes twice":   {QuietHours{22 * 60, 90}, utc(11, 7, 5, 0), utc(11, 7, 5, 30)},
		"after its first pass":  {QuietHours{22 * 60, 90}, utc(11, 7, 6, 15), time.Time{}},
		"within one day":        {QuietHours{12 * 60, 13 * 60}, utc(7, 1, 16, 30), utc(7, 1, 17, 0)},
		"outside":               {QuietHours{12 * 60, 13 * 60}, utc(7, 1, 17, 0), time.Time{}},
		"no quiet hours at all": {QuietHours{}, utc(7, 1, 4, 0), time.Time{}},
	} {
		if got := c.quiet.Ends(c.now, newYork); !got.Equal(c.ends) {
			t.Errorf("%s: ends at %v, want %v", name, got, c.ends)
		}
	}
	for name, c := range map[string]struct {
		digest   Digest
		after    time.Time
		due      time.Time
		from, to time.Time
	}{
		"before the change in spring": {Digest{Period: DigestOfNext, At: 17 * 60}, utc(3, 13, 12, 0), utc(3, 13, 22, 0), utc(3, 14, 5, 0), utc(3, 15, 4, 0)},
		"after it":                    {Digest{Period: DigestOfNext, At: 17 * 60}, utc(3, 13, 22, 0), utc(3, 14, 21, 0), utc(3, 15, 4, 0), utc(3, 16, 4, 0)},
		"at a skipped time":           {Digest{Period: DigestToday, At: 150}, utc(3, 14, 5, 0), utc(3, 14, 7, 0), utc(3, 14, 7, 0), utc(3, 15, 4, 0)},
		"at a time that comes twice":  {Digest{Period: DigestToday, At: 90}, utc(11, 7, 5, 0), utc(11, 7, 5, 30), utc(11, 7, 5, 30), utc(11, 8, 5, 0)},
		"after its first pass":        {Digest{Period: DigestToday, At: 90}, utc(11, 7, 5, 30), utc(11, 8, 6, 30), utc(11, 8, 6, 30), utc(11, 9, 5, 0)},
		"weekly over the change":      {Digest{Period: DigestOfWeek, At: 18 * 60, Weekday: time.Sunday}, utc(11, 1, 12, 0), utc(11, 7, 23, 0), utc(11, 7, 23, 0), utc(11, 14, 5, 0)},
	} {
		due := c.digest.Next(c.after, newYork)
		if from, to := c.digest.Span(due, newYork); !due.Equal(c.due) || !from.Equal(c.from) || !to.Equal(c.to) {
			t.Errorf("%s: due %v, %v to %v; want %v, %v to %v", name, due, from, to, c.due, c.from, c.to)
		}
	}
	if due := (Digest{}).Next(noon, newYork); !due.IsZero() {
		t.Errorf("without a digest one is due at %v", due)
	}
}

// Whatever people and admins choose: somebody who wants a notification gets it on at least one channel at
// which they can be reached, somebody who does not want it gets none, and nobody misses a required one.
func TestDecide_everyoneIsNotifiedAsChosen(t *testing.T) {
	channels := rapid.SliceOfNDistinct(rapid.SampledFrom(Channels()), 0, 2, rapid.ID[Channel])
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(Choosable()).Draw(t, "kind")
		named := rapid.SliceOfNDistinct(rapid.SampledFrom(Channels()), 1, 2, rapid.ID[Channel]).Draw(t, "named")
		w := Wishes{Email: "ada@example.org", Phone: rapid.SampledFrom([]string{"", "+4930123"}).Draw(t, "phone"), Choices: Choices{}, Timezone: "Asia/Shanghai"}
		w.Quiet = QuietHours{rapid.IntRange(0, 1439).Draw(t, "from"), rapid.IntRange(0, 1439).Draw(t, "until")}
		p := Policy{Defaults: Choices{}, Choices: Channels()}
		chosen, decided := []Channel(nil), false
		if rapid.Bool().Draw(t, "default") {
			p.Defaults[kind] = channels.Draw(t, "defaults")
			chosen, decided = p.Defaults[kind], true
		}
		if rapid.Bool().Draw(t, "chose") {
			w.Choices[kind] = channels.Draw(t, "chosen")
		}
		if rapid.Bool().Draw(t, "required") {
			p.Required = []Kind{kind}
			if len(chosen) == 0 {
				chosen, decided = nil, false
			}
		}
		if c, ok := w.Choices[kind]; ok && (len(c) > 0 || !p.Requires(kind)) {
			chosen, decided = c, true
		}
		// Deliver what was recorded, and the copies, each key once.
		var queue []Notification
		keys := map[string]bool{}
		add := func(n Notification) {
			if !keys[n.DedupeKey] {
				keys[n.DedupeKey] = true
				queue = append(queue, n)
			}
		}
		original := far(kind, Email)
		if kind == OwnMeeting {
			original = far(Change, Email)
			original.Facts.Organizer.Email = "Ada@example.org"
			w.Choices[Change] = channels.Draw(t, "chosen for other meetings")
		}
		for _, c := range named {
			if w.Address(c) == "" {
				continue // no such notification is recorded
			}
			add(original.On(c, w.Address(c)))
		}
		sent := map[Channel]int{}
		recorded := len(queue)
		for i := 0; i < len(queue); i++ {
			n := queue[i]
			v := p.Decide(n, w, noon)
			if !v.Until.IsZero() {
				if wait := v.Until.Sub(noon); wait <= 0 || wait > 25*time.Hour {
					t.Fatalf("%+v waits %v", n, wait)
				}
			}
			if v.Skip == "" {
				sent[n.Channel]++
			}
			for _, c := range v.Also {
				add(n.On(c, w.Address(c)))
			}
		}
		total := 0
		for c, times := range sent {
			if total += times; times > 1 {
				t.Fatalf("notified %d times by %s", times, c)
			}
		}
		switch reachable := slices.ContainsFunc(chosen, func(c Channel) bool { return w.Address(c) != "" }); {
		case recorded == 0:
		case decided && len(chosen) == 0 && total > 0:
			t.Fatalf("notified although switched off: %v", sent)
		case !(decided && len(chosen) == 0) && total == 0:
			t.Fatal("nobody was notified")
		case decided && reachable:
			for _, c := range Channels() {
				if want := slices.Contains(chosen, c) && w.Address(c) != ""; want != (sent[c] == 1) {
					t.Fatalf("chose %v, notified by %v", chosen, sent)
				}
			}
		}
	})
}

// A copy has the key of a notification that was recorded for its channel.
func TestOn_keys(t *testing.T) {
	n := far(Reminder, Email)
	sms := n.On(SMS, "+4930123")
	if sms.DedupeKey != "reminder:42:1:sms:+4930123" || sms.Channel != SMS || sms.To.Address != "+4930123" || sms.To.UserID != 7 {
		t.Errorf("%+v", sms)
	}
	if back := sms.On(Email, n.To.Address); back.DedupeKey != n.DedupeKey {
		t.Errorf("back: %s, want %s", back.DedupeKey, n.DedupeKey)
	}
}

func TestChoosable_areKinds(t *testing.T) {
	for _, k := range GuestChoosable() {
		if !slices.Contains(Choosable(), k) {
			t.Errorf("guests choose %s, users do not", k)
		}
	}
}
