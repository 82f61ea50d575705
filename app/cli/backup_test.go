package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteWhole: a file is replaced, only its owner can read it, and anything else is refused and stays as it was.
func TestWriteWhole(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name, link := filepath.Join(folder, "a"), filepath.Join(folder, "link")
	for _, text := range []string{"old", "new"} {
		if err := writeWhole(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{link, folder} {
		before, err := os.Lstat(other)
		if err != nil {
			t.Fatal(err)
		}
		err = writeWhole(other, func(io.Writer) error { t.Errorf("%s is written", other); return nil })
		if err == nil || !strings.Contains(err.Error(), other+": must be a file") {
			t.Errorf("%s: error %v", other, err)
		}
		if after, err := os.Lstat(other); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v, is %v, %v", other, before.Mode(), after, err)
		}
	}
}
