package outbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func put(t *testing.T, o *Outbox, id, content string) {
	t.Helper()
	err := o.Put(id, ".txt", func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *Outbox {
	t.Helper()
	o, err := Open(filepath.Join(t.TempDir(), "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPages(t *testing.T) {
	o := open(t)
	for i := range 5 {
		id := fmt.Sprintf("<%d@example.org>", i)
		put(t, o, id, "To: x\r\n\r\nhello")
		at := time.Now().Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(o.Dir(), fmt.Sprintf("%d@example.org.txt", i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	after := ""
	for {
		items, err := o.List(after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			names = append(names, it.Name)
		}
		after = items[len(items)-1].Name
	}
	if len(names) != 5 || names[0] != "4@example.org.txt" || names[4] != "0@example.org.txt" {
		t.Errorf("listed %v", names)
	}
}

func TestNamesStayInside(t *testing.T) {
	o := open(t)
	secret := filepath.Join(filepath.Dir(o.Dir()), "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(o.Dir(), "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../secret.txt", "/etc/passwd", "a/b.txt", ".hidden.txt", "x.exe", "none.txt", `..\secret.txt`} {
		if _, err := o.Read(name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if m, err := o.Read("link.txt"); err == nil {
		t.Errorf("a link led outside: %q", m.Raw)
	}
	put(t, o, "../../<evil>/\x00x", "To: x\r\n\r\nhello")
	items, err := o.List("", 10)
	if err != nil || len(items) != 2 { // the link is listed, not read
		t.Errorf("%+v, %v", items, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Dir()), "*evil*")); len(left) != 0 {
		t.Errorf("written outside: %v", left)
	}
}

func TestAFailedWriteLeavesTheOldMail(t *testing.T) {
	o := open(t)
	put(t, o, "a", "To: x\r\n\r\nold")
	full := errors.New("disk full")
	err := o.Put("a", ".txt", func(w io.Writer) error {
		io.WriteString(w, "To: x\r\n\r\nhalf")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if m, err := o.Read("a.txt"); err != nil || m.Text != "old" {
		t.Errorf("%q, %v", m.Text, err)
	}
	if entries, _ := os.ReadDir(o.Dir()); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

func TestWhatIsNoMailIsShownAsItIs(t *testing.T) {
	o := open(t)
	put(t, o, "a", "just text")
	if m, err := o.Read("a.txt"); err != nil || m.Text != "just text" {
		t.Errorf("%q, %v", m.Text, err)
	}
}

func TestNothingWasEverPut(t *testing.T) {
	o := At(filepath.Join(t.TempDir(), "none"))
	if items, err := o.List("", 10); len(items) != 0 || err != nil {
		t.Errorf("%v, %v", items, err)
	}
	if _, err := o.Read("a.eml"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestTrim: old messages are deleted, and nothing that is no message.
func TestTrim(t *testing.T) {
	box, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, "To: ada@example.org\r\n\r\nhello"); return err }
	for _, id := range []string{"old", "young"} {
		if err := box.Put(id, ".eml", write); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(box.Dir(), "notes.pdf")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().AddDate(-2, 0, 0)
	for _, file := range []string{filepath.Join(box.Dir(), "old.eml"), other} {
		if err := os.Chtimes(file, past, past); err != nil {
			t.Fatal(err)
		}
	}
	n, err := box.Trim(time.Now().AddDate(-1, 0, 0))
	left, _ := box.List("", 9)
	if _, kept := os.Stat(other); err != nil || n != 1 || len(left) != 1 || left[0].Name != "young.eml" || kept != nil {
		t.Errorf("deleted %d, left %v, %v, %v", n, left, err, kept)
	}
	if n, err := At(filepath.Join(box.Dir(), "nowhere")).Trim(time.Now()); n != 0 || err != nil {
		t.Errorf("without a folder: %d, %v", n, err)
	}
}
