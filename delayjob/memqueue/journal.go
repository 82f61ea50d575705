package memqueue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
)

// A Journal keeps in a file what a queue has handed out, so that the process after one that died
// knows what was held: a message that kills whoever runs it would otherwise be handed out for
// the first time for ever. See [WithJournal].
//
// The file survives the process, not the machine: nothing waits for a disk. It is appended to
// with one write for each call of the queue, and written anew when it has grown.
type Journal struct {
	path  string
	log   *slog.Logger
	file  *os.File // nil: it could not be written
	size  int
	lines []byte // of the present call

	marks map[string]mark // by ID: held, or given back after a crash
	past  map[string]mark // what earlier processes left, until the messages come again
}

// A mark is what must be known of a message after a crash.
type mark struct {
	held     bool // when the process died
	version  int64
	attempts int32
	crashes  uint8
}

const journalSize = 1 << 20 // at which it is written anew, or at four times what is left of it then

// OpenJournal reads what an earlier process left in a file and goes on with it, creating it if it
// is not there. A file that cannot be written later is told of in the log and given up.
func OpenJournal(path string, log *slog.Logger) (*Journal, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("memqueue: journal: %w", err)
	}
	j := &Journal{path: path, log: log, marks: map[string]mark{}, past: parseJournal(text)}
	if err := j.rewrite(); err != nil {
		return nil, err
	}
	return j, nil
}

// Close closes the file. The queue must not be used any more.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// A line is "+", "=" or "-" for held, given back after a crash, or neither; then version,
// attempts, crashes and the ID, quoted. Of an ID the last one counts.
func appendLine(b []byte, kind byte, id string, m mark) []byte {
	b = append(b, kind, ' ')
	for _, n := range [...]int64{m.version, int64(m.attempts), int64(m.crashes)} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	return append(strconv.AppendQuote(b, id), '\n')
}

// parseJournal leaves out what it cannot read: the last line may be torn.
func parseJournal(text []byte) map[string]mark {
	marks := map[string]mark{}
	for line := range bytes.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), " ", 5)
		if len(f) != 5 {
			continue
		}
		version, err1 := strconv.ParseInt(f[1], 10, 64)
		attempts, err2 := strconv.ParseInt(f[2], 10, 32)
		crashes, err3 := strconv.ParseUint(f[3], 10, 8)
		id, err4 := strconv.Unquote(f[4])
		if errors.Join(err1, err2, err3, err4) != nil {
			continue
		}
		if f[0] == "-" {
			delete(marks, id)
			continue
		}
		marks[id] = mark{f[0] == "+", version, int32(attempts), uint8(crashes)}
	}
	return marks
}

// rewrite makes a new file of what counts.
func (j *Journal) rewrite() error {
	var text []byte
	for _, marks := range []map[string]mark{j.past, j.marks} {
		for id, m := range marks {
			kind := byte('=')
			if m.held {
				kind = '+'
			}
			text = appendLine(text, kind, id, m)
		}
	}
	next := j.path + ".new"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("memqueue: journal: %w", err)
	}
	if _, err = file.Write(text); err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("memqueue: journal: %w", err), file.Close())
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.size = file, len(text)
	return nil
}

// flush writes down what the present call noted, before it returns.
func (j *Journal) flush() {
	if j == nil || len(j.lines) == 0 {
		return
	}
	lines := j.lines
	j.lines = j.lines[:0]
	if j.file == nil {
		return
	}
	n, err := j.file.Write(lines)
	if j.size += n; err == nil && j.size > journalSize && j.size > 4*journalLine*(len(j.marks)+len(j.past)) {
		err = j.rewrite()
	}
	if err != nil {
		j.log.Error("what is being done cannot be written down; a message that kills the process will be tried again for ever", "file", j.path, "error", err)
		_ = j.file.Close()
		j.file = nil
	}
}

const journalLine = 64 // bytes, about

// hold notes that a message was handed out.
func (j *Journal) hold(it *item) { j.note('+', it, true) }

// back notes that a message waits again.
func (j *Journal) back(it *item) {
	if j == nil {
		return
	}
	if it.crashes == 0 {
		j.forget(it.id())
		return
	}
	j.note('=', it, false)
}

func (j *Journal) note(kind byte, it *item, held bool) {
	if j == nil {
		return
	}
	m := mark{held, it.version, it.attempts, it.crashes}
	j.marks[strings.Clone(it.id())] = m // without the body
	j.lines = appendLine(j.lines, kind, it.id(), m)
}

// forget notes that a message is done with.
func (j *Journal) forget(id string) {
	if j == nil {
		return
	}
	m, ok := j.marks[id]
	if !ok {
		return
	}
	delete(j.marks, id)
	j.lines = appendLine(j.lines, '-', id, m)
}

// take tells what an earlier process left of a message that comes again. Another version of it
// begins anew.
func (j *Journal) take(id string, version int64) (m mark, ok bool) {
	if j == nil || len(j.past) == 0 {
		return m, false
	}
	if m, ok = j.past[id]; !ok {
		return m, false
	}
	delete(j.past, id)
	if m.version != version {
		j.lines = appendLine(j.lines, '-', id, m)
		return m, false
	}
	j.marks[strings.Clone(id)] = m
	return m, true
}

// loaded forgets what did not come again although everything was loaded.
func (j *Journal) loaded() {
	if j == nil {
		return
	}
	for id, m := range j.past {
		j.lines = appendLine(j.lines, '-', id, m)
	}
	clear(j.past)
}
