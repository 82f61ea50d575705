package account_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"punctual/account"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestAuthorize goes through every operation as everybody: whoever changes the table sees in
// the golden file what that means.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s%-10s%-10s%-10s%-10s%s\n", "operation", "nobody", "member", "manager", "admin", "scopes that reach it; +: whatever the role")
	for _, op := range slices.Sorted(account.Operations()) {
		fmt.Fprintf(&b, "%-24s%-10s", op, verdict(t, nil, op))
		for _, r := range account.Roles {
			fmt.Fprintf(&b, "%-10s", verdict(t, &account.Principal{Role: r}, op))
		}
		var reach []string
		for _, s := range append(account.Scopes, "other:scope") {
			p := &account.Principal{Role: account.Admin, Scopes: []account.Scope{s}}
			if account.Authorize(p, op) == nil {
				narrow := &account.Principal{Role: account.Member, Scopes: p.Scopes}
				if account.Authorize(&account.Principal{Role: account.Member}, op) != nil && account.Authorize(narrow, op) == nil {
					s = "+" + s
				}
				reach = append(reach, string(s))
			}
		}
		atDoor := &account.Principal{Role: account.Member, Scopes: []account.Scope{"door:7"}}
		if !account.Public(op) && account.Authorize(atDoor, op) == nil {
			reach = append(reach, "+door:7")
		}
		app := &account.Principal{Role: account.Member, Scopes: []account.Scope{account.CalDAV}}
		if !account.Public(op) && account.Authorize(app, op) == nil {
			reach = append(reach, "+caldav")
		}
		switch len(reach) {
		case 0:
			b.WriteString("none\n")
		case len(account.Scopes) + 1:
			b.WriteString("any\n")
		default:
			b.WriteString(strings.Join(reach, " ") + "\n")
		}
	}
	const golden = "testdata/authz.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the table changed (-want +got); if it is meant so, run with -update:\n%s", diff)
	}
}

func verdict(t *testing.T, p *account.Principal, op string) string {
	t.Helper()
	switch err := account.Authorize(p, op); {
	case err == nil:
		return "yes"
	case errors.Is(err, account.ErrUnauthorized):
		return "sign in"
	case errors.Is(err, account.ErrForbidden):
		return "no"
	default:
		t.Errorf("%s: %v", op, err)
		return "?"
	}
}

func TestAuthorize_unknown(t *testing.T) {
	t.Parallel()
	for _, p := range []*account.Principal{nil, {Role: account.Admin}} {
		if err := account.Authorize(p, "launch-rocket"); !errors.Is(err, account.ErrForbidden) {
			t.Errorf("an operation that is not in the table: %v, want ErrForbidden", err)
		}
	}
	if account.Public("launch-rocket") {
		t.Error("an operation that is not in the table is public")
	}
	if err := account.Authorize(&account.Principal{Role: "king"}, "me"); !errors.Is(err, account.ErrForbidden) {
		t.Errorf("an unknown role: %v, want ErrForbidden", err)
	}
}

func TestPrincipal_HasScope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		have []account.Scope
		want account.Scope
		ok   bool
	}{
		{nil, account.MeetingsRead, true},
		{[]account.Scope{}, account.MeetingsRead, false},
		{[]account.Scope{account.MeetingsWrite}, account.MeetingsRead, false},
		{[]account.Scope{account.RoomsRead, account.MeetingsRead}, account.MeetingsRead, true},
		{[]account.Scope{account.TopicsProduce}, "topics:produce:orders", true},
		{[]account.Scope{"topics:produce:orders"}, "topics:produce:orders", true},
		{[]account.Scope{"topics:produce:orders"}, "topics:produce:orders2", false},
		{[]account.Scope{"topics:produce:orders"}, account.TopicsProduce, false},
		{[]account.Scope{account.TopicsProduce}, "topics:consume:orders", false},
	}
	for _, tt := range tests {
		p := &account.Principal{Scopes: tt.have}
		if got := p.HasScope(tt.want); got != tt.ok {
			t.Errorf("%q reaches %q: %v, want %v", tt.have, tt.want, got, tt.ok)
		}
	}
}

func TestFromContext(t *testing.T) {
	t.Parallel()
	if p, ok := account.FromContext(t.Context()); ok || p != nil {
		t.Errorf("nobody signed in, got %v", p)
	}
	if _, ok := account.FromContext(account.WithPrincipal(t.Context(), nil)); ok {
		t.Error("a nil principal is somebody")
	}
	want := &account.Principal{UserID: 3}
	if got, ok := account.FromContext(account.WithPrincipal(t.Context(), want)); !ok || got != want {
		t.Errorf("got %v, %v", got, ok)
	}
}

// A token of a program does what its scopes of topics say, and nothing else, whoever it belongs to.
func TestAuthorize_topics(t *testing.T) {
	t.Parallel()
	p := &account.Principal{Role: account.Member, Scopes: []account.Scope{"topics:produce:orders"}}
	for op, want := range map[string]bool{
		"add-topic-jobs": true, "get-topic-job": true, "list-topics": true, "me": true,
		"pop-topic-jobs": false, "set-topic-webhook": false, "pause-topic": false, "list-rooms": false, "create-meeting": false, "list-jobs": false, "create-my-token": false,
	} {
		if got := account.Authorize(p, op) == nil; got != want {
			t.Errorf("%s: %v, want %v", op, got, want)
		}
	}
	for _, scopes := range [][]account.Scope{nil, {}, {"topicsproduce"}, {"topics"}, {"topics:producer:orders"}, {account.JobsAdmin}} {
		if p := (&account.Principal{Role: account.Manager, Scopes: scopes}); account.Authorize(p, "add-topic-jobs") == nil {
			t.Errorf("a manager with the scopes %q adds jobs", scopes)
		}
	}
}

// TestScopes_page keeps the page's list of what a token can be limited to the same as ours.
func TestScopes_page(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../web/src/pages/admin/scopes.ts")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`'([a-z]+(?::[a-z]+)?)'`).FindAllStringSubmatch(string(source), -1) {
		found[m[1]] = true
	}
	want := make([]string, len(account.Scopes))
	for i, s := range account.Scopes {
		want[i] = string(s)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("the page offers other scopes (-want +got):\n%s", diff)
	}
}
