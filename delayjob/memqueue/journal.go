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

// A Journal records in a file what a queue has handed out, so that the next process knows what a
// crashed one held. Otherwise a message that crashes the process would be handed out indefinitely,
// each time as a first attempt. See [WithJournal].
//
// The file survives the process, not the machine: no write waits for the disk. Each call of the
// queue appends with one write. The file is rewritten when it has grown.
type Journal struct {
	path  string
	log   *slog.Logger
	file  *os.File // nil: writing failed
	size  int
	lines []byte // of the current call

	marks map[string]mark // by ID: held, or returned after a crash
	// past holds what earlier processes left, until the messages are added again.
	past map[string]mark
}

type mark struct {
	held     bool // when the process died
	version  int64
	attempts int32
	crashes  uint8
}

const journalSize = 1 << 20 // a file above this size and four times its live records is rewritten

// OpenJournal reads what an earlier process left in the file at path and appends to it. It creates
// the file if there is none. If a later write fails, the journal logs an error and stops recording.
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

// Close closes the file. Do not use the queue afterward.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// A line is "+" (held), "=" (returned after a crash) or "-" (neither), then version, attempts,
// crashes and the quoted ID. The last line of an ID applies.
func appendLine(b []byte, kind byte, id string, m mark) []byte {
	b = append(b, kind, ' ')
	for _, n := range [...]int64{m.version, int64(m.attempts), int64(m.crashes)} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	return append(strconv.AppendQuote(b, id), '\n')
}

// parseJournal skips invalid lines: the last one may be torn.
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

// flush writes what the current call recorded, before it returns.
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
		j.log.Error("crash journal unavailable, a message that crashes the process will be retried indefinitely", "file", j.path, "error", err)
		_ = j.file.Close()
		j.file = nil
	}
}

const journalLine = 64 // bytes, about

func (j *Journal) hold(it *item) { j.note('+', it, true) }

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

// take returns what an earlier process left of a message that is added again, unless its version
// changed.
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

// loaded forgets messages that a complete load did not add again.
func (j *Journal) loaded() {
	if j == nil {
		return
	}
	for id, m := range j.past {
		j.lines = appendLine(j.lines, '-', id, m)
	}
	clear(j.past)
}
