package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestImportCSV_faults: each fault of a table of rooms names its line and column, and nothing is added.
func TestImportCSV_faults(t *testing.T) {
	install(t)
	var faults bytes.Buffer
	c := &cli{stdin: strings.NewReader("name,capacity\nLovelace,many\nNoether,4\nNoether,4\n"), stdout: io.Discard, stderr: &faults}
	root := c.root()
	root.SetArgs([]string{"import", "csv", "-"})
	err := root.ExecuteContext(t.Context())
	want := "line 2: capacity must be a whole number\nline 4: name is also in line 3\n"
	if err == nil || faults.String() != want {
		t.Errorf("error %v, faults:\n%s\nwant:\n%s", err, faults.String(), want)
	}
	if out, err := runCommand(t, "name\nNoether\n", "import", "csv", "-"); err != nil || !strings.Contains(out, "Rooms added: 1.") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}
