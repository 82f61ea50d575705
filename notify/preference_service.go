package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
)

// Preferences are what a user chose about notifications.
type Preferences struct {
	UserID  int64
	Choices Choices
	Quiet   QuietHours // zero: none
	Digest  Digest     // zero: none
	Version int64      // 0: nothing was chosen yet; incremented by each change

	Name     string // of the user, like the fields below; read only
	Phone    string
	Chat     string // [ChatAddress]
	Timezone string
	Bounced  *Bounce // of the email address; nil: mails arrive

	Planned Planned
}

// Planned is when the next digest is due.
type Planned struct {
	Due     time.Time // zero: never
	Zone    string    // of the user when Due was computed
	Version int64     // incremented by each change of Due
}

// PreferencesPatch changes the fields that are not nil.
type PreferencesPatch struct {
	Choices map[Kind]*[]Channel // nil for a kind: back to the default
	Quiet   *QuietHours         // zero: no quiet hours
	Digest  *DigestPatch
}

// DigestPatch changes the digest. A field that is nil stays.
type DigestPatch struct {
	Period  Period
	At      *int // minutes after midnight
	Weekday *time.Weekday
}

// PreferenceStore stores preferences.
type PreferenceStore interface {
	// Preferences returns those of a user, with version 0 if there are none. It returns [ErrNotFound] for an
	// unknown user.
	Preferences(ctx context.Context, userID int64) (Preferences, error)

	// UpdatePreferences locks the preferences of a user, lets change modify them, and stores them with the
	// next version, unless nothing has changed.
	UpdatePreferences(ctx context.Context, userID int64, now time.Time, change func(*Preferences) error) (Preferences, error)

	// EndQuiet makes due what waits for the end of a user's quiet hours, and returns it.
	EndQuiet(ctx context.Context, userID int64, now time.Time) ([]Notification, error)

	// OptOuts returns the kinds that an email address has switched off.
	OptOuts(ctx context.Context, address string) ([]Kind, error)

	// SetOptOuts switches kinds off or on for an email address.
	SetOptOuts(ctx context.Context, address string, kinds []Kind, off bool, now time.Time) error

	// Wishes returns what users and email addresses without an account chose. byAddress has its keys
	// in lower case.
	Wishes(ctx context.Context, users []int64, addresses []string) (byUser map[int64]Wishes, byAddress map[string]Wishes, err error)
}

// PreferenceService lets people choose their notifications.
type PreferenceService struct {
	store     PreferenceStore
	scheduler Scheduler
	policy    func() Policy
	now       func() time.Time
}

// NewPreferenceService returns a service. policy returns what admins currently decide.
func NewPreferenceService(s PreferenceStore, scheduler Scheduler, policy func() Policy, now func() time.Time) *PreferenceService {
	return &PreferenceService{store: s, scheduler: scheduler, policy: policy, now: now}
}

// Policy returns what admins decide about notifications.
func (s *PreferenceService) Policy() Policy { return s.policy() }

// Of returns the preferences of a user.
func (s *PreferenceService) Of(ctx context.Context, userID int64) (Preferences, error) {
	return s.store.Preferences(ctx, userID)
}

// Update changes the preferences of a user. It returns a [*fault.InvalidError] that names all invalid
// fields, or a [*fault.VersionError] if based is not the current version.
func (s *PreferenceService) Update(ctx context.Context, userID int64, based *int64, patch PreferencesPatch) (Preferences, error) {
	now := s.now()
	var soon DueDigest
	var quiet QuietHours
	p, err := s.store.UpdatePreferences(ctx, userID, now, func(p *Preferences) error {
		if err := fault.CheckVersion(based, p.Version); err != nil {
			return err
		}
		quiet = p.Quiet
		if err := s.apply(p, patch); err != nil {
			return err
		}
		if p.plan(now) {
			soon = DueDigest{UserID: userID, Version: p.Planned.Version, Due: p.Planned.Due}
		}
		return nil
	})
	if err == nil && !soon.Due.IsZero() {
		s.scheduler.Schedule(ctx, soon.Message())
	}
	if err != nil || p.Quiet == quiet {
		return p, err
	}
	// What waits is decided again. If a crash prevents that, it waits until the quiet hours end that were.
	waiting, err := s.store.EndQuiet(ctx, userID, now)
	for _, n := range waiting {
		s.scheduler.Schedule(ctx, n.Message())
	}
	return p, err
}

// plan computes when the next digest is due, and reports whether that has changed.
func (p *Preferences) plan(now time.Time) bool {
	due := p.Digest.Next(now, zoneOf(p.Timezone))
	if due.Equal(p.Planned.Due) && p.Timezone == p.Planned.Zone {
		return false
	}
	p.Planned = Planned{Due: due, Zone: p.Timezone, Version: p.Planned.Version + 1}
	return true
}

func (s *PreferenceService) apply(p *Preferences, patch PreferencesPatch) error {
	var faults fault.List
	policy := s.policy()
	for _, k := range slices.Sorted(maps.Keys(patch.Choices)) {
		cs := patch.Choices[k]
		at := "kinds." + string(k)
		switch {
		case !slices.Contains(Choosable(), k):
			faults.Add(at, "unknown_value", "must be one of %s", names(Choosable()))
		case cs == nil:
			delete(p.Choices, k)
		default:
			s.choose(&faults, at, p, policy, k, *cs)
		}
	}
	if q := patch.Quiet; q != nil {
		p.Quiet = *q
	}
	if d := patch.Digest; d != nil {
		p.Digest.Period = d.Period
		if d.At != nil {
			p.Digest.At = *d.At
		}
		if d.Weekday != nil {
			p.Digest.Weekday = *d.Weekday
		}
	}
	return faults.Err()
}

func (s *PreferenceService) choose(faults *fault.List, at string, p *Preferences, policy Policy, k Kind, cs []Channel) {
	if len(cs) == 0 && policy.Requires(k) {
		faults.Add(at, "required_kind", "must have a channel: administrators require notifications of this kind")
		return
	}
	open := policy.Open()
	for i, c := range cs {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case !slices.Contains(open, c):
			faults.Add(at, "unknown_value", "must be one of %s", list(open))
		case slices.Contains(cs[:i], c):
			faults.Add(at, "duplicate", "must not repeat %s", c)
		case c == SMS && p.Phone == "":
			faults.Add(at, "no_phone", "needs a phone number in your profile")
		case c == Chat && p.Chat == "":
			faults.Add(at, "no_chat", "needs a chat that is connected in your profile")
		}
	}
	if p.Choices == nil {
		p.Choices = Choices{}
	}
	p.Choices[k] = slices.Clone(cs)
}

func names(ks []Kind) string {
	all := make([]string, len(ks))
	for i, k := range ks {
		all[i] = string(k)
	}
	return strings.Join(all, ", ")
}

// A Reader is the recipient of a mail who follows its link: a user, or an email address without an
// account.
type Reader struct {
	UserID int64
	Email  string // without an account
	Kind   Kind   // of the mail
}

// Subscribed reports which of the kinds that a reader may switch off by a link arrive as mails: of a user only
// the kind of the mail.
func (s *PreferenceService) Subscribed(ctx context.Context, r Reader) (map[Kind]bool, error) {
	policy, on := s.policy(), map[Kind]bool{}
	if r.UserID != 0 {
		p, err := s.store.Preferences(ctx, r.UserID)
		if err != nil {
			return nil, err
		}
		switch {
		case r.Kind == DigestMail:
			on[r.Kind] = !p.Digest.Off()
		case !policy.Requires(r.Kind):
			chosen, _, set := policy.chosen(r.Kind, Wishes{Choices: p.Choices})
			on[r.Kind] = !set || slices.Contains(chosen, Email)
		}
		return on, nil
	}
	off, err := s.store.OptOuts(ctx, r.Email)
	if err != nil {
		return nil, err
	}
	for _, k := range GuestChoosable() {
		if !policy.Requires(k) {
			on[k] = !slices.Contains(off, k)
		}
	}
	return on, nil
}

// Subscribe switches mails of some kinds on or off for a reader. It ignores kinds that the reader may not
// switch off. Repeating it changes nothing.
func (s *PreferenceService) Subscribe(ctx context.Context, r Reader, kinds []Kind, on bool) error {
	now := s.now()
	if r.UserID == 0 {
		may, err := s.Subscribed(ctx, r)
		if err != nil {
			return err
		}
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { _, ok := may[k]; return !ok })
		return s.store.SetOptOuts(ctx, r.Email, kinds, !on, now)
	}
	_, err := s.store.UpdatePreferences(ctx, r.UserID, now, func(p *Preferences) error {
		if r.Kind == DigestMail {
			switch {
			case !on:
				p.Digest.Period = NoDigest
			case p.Digest.Off(): // what it covered before is not kept
				p.Digest.Period = DigestOfNext
			}
			p.plan(now)
			return nil
		}
		policy := s.policy()
		if !slices.Contains(Choosable(), r.Kind) || policy.Requires(r.Kind) {
			return nil
		}
		chosen, own, set := policy.chosen(r.Kind, Wishes{Choices: p.Choices})
		chosen = slices.DeleteFunc(append([]Channel{}, chosen...), func(c Channel) bool { return c == Email || on && c == NotEmail })
		if on {
			if slices.Contains(p.Choices[r.Kind], Email) {
				return nil
			}
			usual, decided := policy.Default(r.Kind)
			if sends := !decided || slices.Contains(usual, Email); sends && (!own || len(chosen) == 0) {
				delete(p.Choices, r.Kind)
				return nil
			}
			chosen = append([]Channel{Email}, chosen...)
		} else if !set { // other channels may be those that a meeting names
			chosen = []Channel{NotEmail}
		}
		if p.Choices == nil {
			p.Choices = Choices{}
		}
		p.Choices[r.Kind] = chosen
		return nil
	})
	return err
}
