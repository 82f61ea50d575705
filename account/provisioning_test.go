package account_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/app/database"
	"punctual/tests/testenv"
)

// A directory does not redirect the mails of people who have a password, an invitation or a role: whoever
// reads them could sign in as these.
func TestUpdateProvisioned_address(t *testing.T) {
	onBothLinks(t, 100, func(t *testing.T, f *fixture, b *mailbox) {
		f.mustCreate(t, email, account.Admin)
		create := func(address string, role account.Role, invited bool) *account.User {
			t.Helper()
			make := f.CreateUser
			if invited {
				make = f.Invite
			}
			u, err := make(t.Context(), account.NewUser{Email: address, Name: "Carol", Role: role})
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		readdress := func(u *account.User) error {
			to := account.User{Email: "mallory." + u.Email, Name: u.Name}
			_, err := f.UpdateProvisioned(t.Context(), u.ID, account.Provisioned{User: to, UserName: u.Email})
			return err
		}
		carol, ivan := create("carol@example.org", account.Admin, true), create("ivan@example.org", account.Member, true)
		mona, pat := create("mona@example.org", account.Manager, false), f.mustCreate(t, "pat@example.org", account.Member)
		wantFaults(t, readdress(carol), "body.email invited")
		wantFaults(t, readdress(ivan), "body.email invited")
		wantFaults(t, readdress(mona), "body.email has_role")
		wantFaults(t, readdress(pat), "body.email has_password")
		if err := readdress(create("otto@example.org", account.Member, false)); err != nil {
			t.Errorf("of a member without a password: %v", err)
		}
		b.take()

		// An invitation that is over is no way in, nor one to another address.
		if err := f.RequestReset(t.Context(), "ivan@example.org", client); err != nil {
			t.Fatal(err)
		}
		b.secret(t, account.ResetLink, "ivan@example.org")
		if _, err := f.UpdateUser(t.Context(), carol.ID, nil, account.UserPatch{Email: new("caroline@example.org")}); err != nil {
			t.Fatal(err)
		}
		f.advance(7 * 24 * time.Hour)
		for _, address := range []string{"caroline@example.org", "ivan@example.org"} {
			if err := f.RequestReset(t.Context(), address, client); err != nil {
				t.Fatal(err)
			}
		}
		if mails := b.take(); len(mails) != 0 {
			t.Errorf("mails %+v", mails)
		}
		wantFaults(t, readdress(ivan), "body.email invited")
	})
}

// meanwhile is a store in which something happens before some calls.
type meanwhile struct {
	*gormstore.Store
	addReset, changeMembers func()
}

func (m *meanwhile) AddReset(ctx context.Context, mail *account.LinkMail, limit int) error {
	m.addReset()
	return m.Store.AddReset(ctx, mail, limit)
}

func (m *meanwhile) ChangeMembers(ctx context.Context, id int64, add, remove []int64, check func(*account.Group) error) error {
	m.changeMembers()
	return m.Store.ChangeMembers(ctx, id, add, remove, check)
}

func newMeanwhile(t *testing.T, b *mailbox) (*fixture, *meanwhile) {
	t.Helper()
	db, err := database.Open(t.Context(), testenv.SQLite(t), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := &meanwhile{Store: gormstore.New(db.Gorm).Mailing(b)}
	f := &fixture{}
	f.clock.Store(time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC).UnixMicro())
	f.Service = account.New(m, account.Config{Now: f.now, Links: linkSecrets, Limiter: account.NewMemoryLimiter(account.Rate{Count: 100, Per: time.Hour})})
	f.SetAnswerReset(0)
	return f, m
}

// A user whose address changes while a reset is requested gets no link at the former one.
func TestReset_addressChangesMeanwhile(t *testing.T) {
	t.Parallel()
	b := &mailbox{}
	f, m := newMeanwhile(t, b)
	ada := f.mustCreate(t, email, account.Member)
	m.addReset = func() {
		if _, err := f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Email: new("ada@example.net")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.RequestReset(t.Context(), email, client); err != nil {
		t.Fatal(err)
	}
	if mails := b.take(); len(mails) != 0 {
		t.Errorf("mails %+v", mails)
	}
	m.addReset = func() {
		if _, err := f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Name: new("Countess")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.RequestReset(t.Context(), "ada@example.net", client); err != nil {
		t.Fatal(err)
	}
	if mails := b.take(); len(mails) != 1 || mails[0].To.Email != "ada@example.net" || mails[0].To.Name != "Countess" {
		t.Errorf("mails %+v", mails)
	}
}

// A group whose members were not added is gone, even if the directory has hung up: it tries again.
func TestProvisionGroup_hangUp(t *testing.T) {
	t.Parallel()
	f, m := newMeanwhile(t, &mailbox{})
	ada := f.mustCreate(t, email, account.Member)
	ctx, hangUp := context.WithCancel(t.Context())
	m.changeMembers = hangUp
	if _, err := f.ProvisionGroup(ctx, "Facility", "", []int64{ada.ID}); !errors.Is(err, context.Canceled) {
		t.Fatalf("created after a hang-up: %v", err)
	}
	m.changeMembers = func() {}
	if _, err := f.ProvisionGroup(t.Context(), "Facility", "", []int64{ada.ID}); err != nil {
		t.Errorf("again: %v", err)
	}
}
