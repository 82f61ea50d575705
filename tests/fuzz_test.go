package tests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestFuzz calls every operation of /openapi.json with random requests, valid and invalid, as people of every
// role: no answer is a 5xx or differs from the description, and nothing panics. It runs for FUZZ (a duration,
// 15s by default, with the same requests each time) on each set-up; FUZZ_SEED repeats the requests of an earlier run.
func TestFuzz(t *testing.T) {
	span, err := time.ParseDuration(cmp.Or(os.Getenv("FUZZ"), "15s"))
	if err != nil {
		t.Fatalf("FUZZ: %v", err)
	}
	seeds := "1" // what is tested with a commit does not depend on chance
	if os.Getenv("FUZZ") != "" {
		seeds = strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("FUZZ_SEED"), seeds), 10, 64)
	if err != nil {
		t.Fatalf("FUZZ_SEED: %v", err)
	}
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = "topics: { allow_networks: [127.0.0.0/8] }\n" + mailroomYAML
		a := newAffair(t, on)
		d := describe(t, a.server)
		a.furnish(t)
		callers := []*testenv.Client{a.admin, a.admin, a.vera, a.alice, a.door, a.server.Anonymous()}
		reserved := map[int64]bool{a.admin.User.ID: true, a.vera.User.ID: true, a.alice.User.ID: true}
		tally := &fuzzTally{succeeded: map[string]int{}, sent: map[string]int{}, failed: map[string]bool{}}
		deadline := time.Now().Add(span)
		var all sync.WaitGroup
		for worker := range 2 {
			all.Go(func() {
				f := &fuzzer{Rand: rand.New(rand.NewPCG(seed, uint64(worker))), d: d, start: a.start, reserved: reserved}
				operations := d.operations()
				order := f.Perm(len(operations)) // in turn, so that a slow machine tries each as often
				for n := 0; time.Now().Before(deadline) || n < 1500; n++ {
					f.ask(t, callers[f.IntN(len(callers))], operations[order[n%len(order)]], tally)
				}
			})
		}
		all.Wait()
		if log := a.server.Log(); strings.Contains(log, "panic") {
			t.Errorf("the log reports a panic:\n%s", log)
		}
		total := 0
		for _, n := range tally.sent {
			total += n
		}
		t.Logf("FUZZ_SEED=%d: %d requests, %d of %d operations succeeded at least once", seed, total, len(tally.succeeded), len(tally.sent))
		if 5*len(tally.succeeded) < 2*len(tally.sent) { // a slow machine tries each a dozen times, and then half of them succeed
			t.Errorf("only %d of %d operations ever succeeded: the requests are not valid often enough", len(tally.succeeded), len(tally.sent))
		}
	})
}

type fuzzTally struct {
	sync.Mutex
	succeeded, sent map[string]int
	failed          map[string]bool // of each operation the first 5xx is reported
}

// A fuzzer makes requests from what the description says of them.
type fuzzer struct {
	*rand.Rand
	d        *description
	start    time.Time
	reserved map[int64]bool // users whose accounts must stay as they are
}

// harmful operations end the session that the fuzzer asks with, or do not end by themselves.
var harmful = []string{"logout", "login", "setup", "delete-my-session", "delete-my-token"}

func (f *fuzzer) ask(t *testing.T, by *testenv.Client, op *operation, tally *fuzzTally) {
	if op.streams() || slices.Contains(harmful, op.ID) {
		return
	}
	path := f.path(op)
	query := url.Values{}
	for _, p := range op.Parameters {
		if p.In == "query" && (p.Required || f.Float64() < 0.3) || p.In == "query" && slices.Contains([]string{"from", "to", "start", "end", "duration"}, p.Name) && f.Float64() < 0.9 {
			v := f.value(p.Schema, p.Name, 2)
			if op.path == "/occupancy" && (p.Name == "from" || p.Name == "to") {
				v = f.start.AddDate(0, 0, f.IntN(40)).Format(time.DateOnly)
			}
			if f.Float64() < 0.08 {
				v = f.junk()
			}
			query.Set(p.Name, strings.Trim(text(v), `[]"`))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var body any
	if op.RequestBody != nil {
		content := op.RequestBody.Content["application/json"]
		body = f.value(content.Schema, "", 5)
		switch {
		case op.ID == "update-me":
			if fields, ok := body.(map[string]any); ok {
				delete(fields, "password")
			}
		case f.Float64() < 0.25:
			body = f.spoil(body)
		}
		if f.Float64() < 0.02 {
			body = []string{"", "{", "null", "[]", `"x"`, "{} {}", "\x00", strings.Repeat("[", 2000)}[f.IntN(8)]
		}
	}
	var opts []testenv.Option
	if f.Float64() < 0.1 {
		opts = append(opts, testenv.Header("If-Match", []string{`"1"`, `"1", "2"`, "*", "x", `W/"3"`}[f.IntN(5)]))
	}
	if f.Float64() < 0.1 {
		opts = append(opts, testenv.Header("Idempotency-Key", []string{"a", "b", strings.Repeat("k", 300), ""}[f.IntN(4)]))
	}
	if f.Float64() < 0.02 {
		opts = append(opts, testenv.Header("Content-Type", []string{"text/plain", "application/xml", "", "application/json; charset=latin1"}[f.IntN(4)]))
	}
	res, err := by.Try(op.method, path, body, opts...)
	if err != nil {
		t.Errorf("%s %s: %v\n%s", op.method, path, err, text(body))
		return
	}
	tally.Lock()
	tally.sent[op.ID]++
	if res.Status < 300 {
		tally.succeeded[op.ID]++
	}
	overloaded := res.Status == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "" // on a slow machine
	first := res.Status >= 500 && !overloaded && !tally.failed[op.ID]
	if first {
		tally.failed[op.ID] = true
	}
	tally.Unlock()
	if first {
		t.Errorf("%s %s as %s: %d %s\nbody: %.2000s", op.method, path, cmp.Or(by.User.Name, "nobody"), res.Status, res.Body, text(body))
	}
}

func (f *fuzzer) path(op *operation) string {
	return pathParameter.ReplaceAllStringFunc(op.path, func(parameter string) string {
		name := strings.Trim(parameter, "{}")
		switch {
		case f.Float64() < 0.03:
			return url.PathEscape(text(f.junk()))
		case strings.HasPrefix(op.path, "/jobs/{name}"):
			return []string{"meeting.start", "meeting.end", "notify.email", "approval.expire", "no.such"}[f.IntN(5)]
		case strings.HasPrefix(op.path, "/topics/") && name == "topic":
			return []string{"1", "2", "orders"}[f.IntN(3)]
		}
		for {
			id := int64(f.IntN(14) + 1)
			if !strings.HasPrefix(op.path, "/users/") || op.method == http.MethodGet || !f.reserved[id] {
				return strconv.FormatInt(id, 10)
			}
		}
	})
}

// value is one that the schema allows; the name of its field says more of what makes sense. Objects more than
// depth levels deep stay empty.
func (f *fuzzer) value(s *schema, name string, depth int) any {
	s = f.d.resolve(s)
	if s == nil || depth < 0 {
		return map[string]any{}
	}
	if of := append(slices.Clone(s.AnyOf), s.OneOf...); len(of) > 0 {
		return f.value(of[f.IntN(len(of))], name, depth)
	}
	if len(s.Enum) > 0 {
		return s.Enum[f.IntN(len(s.Enum))]
	}
	kinds, _ := s.Type.([]any)
	if kind, ok := s.Type.(string); ok {
		kinds = []any{kind}
	}
	if len(kinds) == 0 {
		return []any{"x", 1, true, nil, map[string]any{"a": 1}}[f.IntN(5)]
	}
	switch kinds[f.IntN(len(kinds))] {
	case "null":
		return nil
	case "boolean":
		return f.IntN(2) == 0
	case "integer", "number":
		return f.number(s, name)
	case "array":
		least, most := 0, 3
		if s.MinItems != nil {
			least = *s.MinItems
		}
		list := []any{}
		for range least + f.IntN(max(1, most-least+1)) {
			if v := f.value(s.Items, strings.TrimSuffix(name, "s"), depth-1); !slices.ContainsFunc(list, func(o any) bool { return text(o) == text(v) }) {
				list = append(list, v)
			}
		}
		return list
	case "object":
		object := map[string]any{}
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) { // in order: the same requests each time
			p := s.Properties[field]
			if slices.Contains(s.Required, field) || f.Float64() < 0.35 {
				object[field] = f.value(p, field, depth-1)
			}
		}
		f.span(object)
		return object
	}
	return f.string(s, name)
}

// span makes a start and an end of one object fit each other, mostly.
func (f *fuzzer) span(object map[string]any) {
	for _, names := range [][2]string{{"start", "end"}, {"from", "until"}, {"from", "to"}} {
		if _, ok := object[names[0]].(string); ok && object[names[1]] != nil && f.Float64() < 0.9 {
			start := f.instant()
			if strings.Contains(text(object[names[0]]), ":") && len(text(object[names[0]])) < 10 {
				object[names[0]], object[names[1]] = "08:00", "20:00"
				continue
			}
			object[names[0]], object[names[1]] = start.Format(time.RFC3339), start.Add(time.Duration(15*(1+f.IntN(8)))*time.Minute).Format(time.RFC3339)
		}
	}
}

func (f *fuzzer) instant() time.Time {
	return f.start.Truncate(time.Hour).AddDate(0, 0, f.IntN(60)).Add(time.Duration(15*f.IntN(96)) * time.Minute)
}

func (f *fuzzer) number(s *schema, name string) any {
	switch {
	case strings.HasSuffix(name, "wait_ms"):
		return f.IntN(20)
	case strings.HasSuffix(name, "_id"), strings.HasSuffix(name, "_ids"), name == "id":
		return f.IntN(9) + 1
	}
	least, most := 0.0, 60.0
	if s.Minimum != nil {
		least = *s.Minimum
		most = max(most, least+10)
	}
	if s.Maximum != nil {
		most = min(most, *s.Maximum)
	}
	return int64(least) + f.Int64N(max(1, int64(most-least)+1))
}

// what strings are, by the names of their fields.
var samples = map[string][]string{
	"timezone":       {"Europe/Berlin", "UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"},
	"rrule":          {"FREQ=DAILY;COUNT=3", "FREQ=WEEKLY;COUNT=4;BYDAY=MO,WE", "FREQ=MONTHLY;COUNT=2;BYMONTHDAY=-1", "FREQ=YEARLY;COUNT=2"},
	"duration":       {"15m", "1h", "90m", "24h"},
	"email":          {"guest@example.org", "x.y@example.com", "bob@example.org"},
	"phone":          {"+493012345678", "+4930123", ""},
	"locale":         {"en", "de", "zh-CN", "en-GB"},
	"url":            {"http://127.0.0.1:9/x"},
	"duration_like":  {"0s", "15m", "1h", "24h"},
	"days":           {"MO", "TU", "SU"},
	"channels":       {"email", "sms"},
	"scopes":         {"rooms:read", "meetings:read", "topics:produce"},
	"scope":          {"all", "following"},
	"yaml":           {"booking: {}", "booking: { timezone: Europe/Berlin }", "nonsense: [", ""},
	"organizer":      {"me", "1", "2"},
	"attendee":       {"me"},
	"awaiting":       {"me"},
	"password":       {"a good long password"},
	"status":         {"confirmed", "pending", "cancelled"},
	"state":          {"sent", "delayed", "ready", "dead"},
	"group":          {"room", "site", "day", "hour"},
	"before":         {"start", "end"},
	"cursor":         {"", "x", "eyJ9", "AAAA"},
	"visibility":     {"public", "private"},
	"role":           {"member", "manager"},
	"on_conflict":    {"fail", "skip", "other_room"},
	"reason":         {"", "because", "Grund"},
	"lease":          {"1", "x"},
	"response":       {"accepted", "declined", "tentative"},
	"features":       {"projector", "video"},
	"exdates":        {"2027-02-15"},
	"original_start": {"2027-02-15T09:00:00Z"},
}

var durations = []string{"timeout", "opens", "grace", "offset", "min_duration", "max_duration", "min_notice", "max_advance", "buffer_before", "buffer_after",
	"step", "remind_before", "escalate_after", "expires_in"}

func (f *fuzzer) string(s *schema, name string) any {
	if of, ok := samples[name]; ok {
		return of[f.IntN(len(of))]
	}
	if of, ok := samples[name+"s"]; ok {
		return of[f.IntN(len(of))]
	}
	switch {
	case slices.Contains(durations, name):
		return samples["duration_like"][f.IntN(4)]
	case s.Format == "date-time" || slices.Contains([]string{"start", "end", "from", "to", "until", "due", "expires_at", "rdate", "exdate"}, name):
		return f.instant().Format(time.RFC3339)
	case s.Format == "date":
		return f.instant().Format(time.DateOnly)
	case s.Format == "uri":
		return samples["url"][0]
	}
	least, most := 1, 12
	if s.MinLength != nil {
		least = *s.MinLength
	}
	if s.MaxLength != nil {
		most = min(most, *s.MaxLength)
	}
	runes := []rune("abcXYZ 019äÉ汉-_.")
	out := make([]rune, least+f.IntN(max(1, most-least+1)))
	for i := range out {
		out[i] = runes[f.IntN(len(runes))]
	}
	return string(out)
}

// spoil changes something in a body, so that it may be wrong.
func (f *fuzzer) spoil(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || f.Float64() < 0.1 {
			v["no_such_field"] = f.junk()
			return v
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		name := names[f.IntN(len(names))]
		switch f.IntN(4) {
		case 0:
			delete(v, name)
		case 1:
			v[name] = f.junk()
		default:
			v[name] = f.spoil(v[name])
		}
		return v
	case []any:
		if len(v) == 0 || f.Float64() < 0.3 {
			return append(v, f.junk())
		}
		if f.Float64() < 0.2 {
			return append(v, v[0])
		}
		i := f.IntN(len(v))
		v[i] = f.spoil(v[i])
		return v
	}
	return f.junk()
}

// junk is something that hardly any field takes.
func (f *fuzzer) junk() any {
	return []any{
		nil, true, -1, 0, 1.5, 1e300, json.Number("99999999999999999999999999"), int64(1<<63 - 1), "", " ", "\x00", "\u2028", "a\u202eb", strings.Repeat("x", 5000),
		[]any{}, []any{[]any{}}, map[string]any{}, map[string]any{"a": map[string]any{}}, "2027-13-45T99:99:99Z", "-144169-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00",
		"0001-01-01T00:00:00Z", "2027-02-10T10:00:00", "2027-03-28T02:30:00", "-1h", "1e9h", "Factory", "%", "' OR 1=1 --", "{{.}}", "../../etc/passwd", "=?utf-8?q?x?=", "İ", "\ud7ff",
	}[f.IntN(34)]
}

// text is a value as it stands in a query or a message.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
