// Package outbox stores emails and text messages as files instead of sending them. A new
// installation notifies nobody, and administrators can read what it would have sent.
package outbox

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNotFound reports that a message does not exist.
var ErrNotFound = errors.New("outbox: no such message")

// Outbox is a folder of messages with headers and a body: emails as .eml, text messages as .txt.
// Safe for concurrent use, also by several processes.
type Outbox struct{ dir string }

// Open creates the folder if necessary, accessible only to its owner because mails are private.
func Open(dir string) (*Outbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return &Outbox{dir: dir}, nil
}

// At returns an outbox for reading. The folder need not exist.
func At(dir string) *Outbox { return &Outbox{dir: dir} }

// Dir returns the path of the folder.
func (o *Outbox) Dir() string { return o.dir }

// Put stores the output of write in a file named after id, made safe as a file name, with the
// extension ext (".eml" or ".txt"). It atomically replaces the file of an earlier attempt.
func (o *Outbox) Put(id, ext string, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(o.dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("outbox: %w", errors.Join(err, tmp.Close(), os.Remove(tmp.Name())))
		}
	}()
	if err := write(tmp); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(o.dir, fileName(id)+ext))
}

// fileName replaces characters of an ID that are not safe in file names.
func fileName(id string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.@", r):
			return r
		case r == '<', r == '>':
			return -1
		}
		return '_'
	}, id)
	return strings.TrimLeft(name, ".")
}

// Item is a message in a list.
type Item struct {
	Name    string // file name
	At      time.Time
	Size    int64
	To      string
	Subject string
	Kind    string // header X-Punctual-Kind
}

// Message is a message with its content.
type Message struct {
	Item
	Text string
	HTML string // of emails, as sent: show it in a sandbox
	Raw  []byte
}

// List returns at most n messages, newest first, starting after the one named after ("" starts at
// the newest).
func (o *Outbox) List(after string, n int) ([]Item, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	var items []Item
	for _, e := range entries {
		if !valid(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil { // on error it has just been replaced
			items = append(items, Item{Name: e.Name(), At: info.ModTime().UTC(), Size: info.Size()})
		}
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Name, b.Name))
	})
	if after != "" {
		i := slices.IndexFunc(items, func(it Item) bool { return it.Name == after })
		items = items[i+1:] // an unknown name starts at the newest
	}
	items = items[:min(n, len(items))]
	for i := range items {
		if m, err := o.Read(items[i].Name); err == nil {
			items[i] = m.Item
		}
	}
	return items, nil
}

// Trim deletes the messages stored before the given time and returns their number.
func (o *Outbox) Trim(before time.Time) (n int, err error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("outbox: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !valid(e.Name()) || !info.ModTime().Before(before) {
			continue
		}
		if err := os.Remove(filepath.Join(o.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("outbox: %w", err)
		}
		n++
	}
	return n, nil
}

// Delete deletes the messages whose files match, as they are stored.
func (o *Outbox) Delete(match func(text string) bool) error {
	entries, err := os.ReadDir(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("outbox: %w", err)
	}
	for _, e := range entries {
		if !valid(e.Name()) {
			continue
		}
		name := filepath.Join(o.dir, e.Name())
		text, err := os.ReadFile(name)
		if err == nil && match(string(text)) {
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

// Read returns one message, or [ErrNotFound].
func (o *Outbox) Read(name string) (Message, error) {
	if !valid(name) {
		return Message{}, ErrNotFound
	}
	root, err := os.OpenRoot(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Message{}, ErrNotFound
	}
	if err != nil {
		return Message{}, fmt.Errorf("outbox: %w", err)
	}
	defer root.Close()
	raw, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Message{}, ErrNotFound
	}
	if err != nil {
		return Message{}, fmt.Errorf("outbox: %w", err)
	}
	info, err := root.Stat(name)
	if err != nil {
		return Message{}, fmt.Errorf("outbox: %w", err)
	}
	m := Message{Item: Item{Name: name, At: info.ModTime().UTC(), Size: info.Size()}, Raw: raw}
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil { // a foreign file: show it unchanged
		m.Text = string(raw)
		return m, nil
	}
	m.To = decodeWords(parsed.Header.Get("To"))
	m.Subject = decodeWords(parsed.Header.Get("Subject"))
	m.Kind = parsed.Header.Get("X-Punctual-Kind")
	m.addPart(parsed.Header.Get("Content-Type"), parsed.Header.Get("Content-Transfer-Encoding"), parsed.Body)
	return m, nil
}

func valid(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".eml" || ext == ".txt") && !strings.HasPrefix(name, ".") && fileName(name) == name
}

func decodeWords(s string) string {
	if d, err := new(mime.WordDecoder).DecodeHeader(s); err == nil {
		return d
	}
	return s
}

func (m *Message) addPart(contentType, encoding string, body io.Reader) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "text/plain"
	}
	if strings.HasPrefix(kind, "multipart/") {
		for parts := multipart.NewReader(body, params["boundary"]); ; {
			p, err := parts.NextRawPart()
			if err != nil {
				return
			}
			m.addPart(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
		}
	}
	dest := map[string]*string{"text/plain": &m.Text, "text/html": &m.HTML}[kind]
	if dest == nil || *dest != "" {
		return
	}
	switch strings.ToLower(encoding) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	if b, err := io.ReadAll(body); err == nil {
		*dest = string(b)
	}
}
