// Package outbox keeps mails and short messages as files instead of sending them, so that a
// fresh installation tells nobody anything and an administrator can read what it would have said.
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

// ErrNotFound says that the outbox holds no such file.
var ErrNotFound = errors.New("outbox: no such message")

// Outbox is a folder of messages: a header and a body each, mails as .eml, short messages as
// .txt. It is safe for concurrent use, also by several processes.
type Outbox struct{ dir string }

// Open makes the folder if it is missing, readable by nobody else: mails are private.
func Open(dir string) (*Outbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return &Outbox{dir: dir}, nil
}

// At is an outbox to read from, whether or not anything was ever put there.
func At(dir string) *Outbox { return &Outbox{dir: dir} }

// Dir is the folder.
func (o *Outbox) Dir() string { return o.dir }

// Put stores what write writes under the name of id, which it makes fit for a file, with the
// extension ext (".eml" or ".txt"). It replaces what an earlier attempt left, as a whole or not at all.
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

// fileName keeps of an id what is harmless in a file's name on any system.
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

// Item is one message in a list.
type Item struct {
	Name    string // of the file
	At      time.Time
	Size    int64
	To      string
	Subject string
	Kind    string // X-Punctual-Kind
}

// Message is one message with its content.
type Message struct {
	Item
	Text string
	HTML string // of mails; as it was sent: show it in a sandbox only
	Raw  []byte
}

// List returns the messages, newest first, at most n beginning behind the one named after
// (empty: at the newest).
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
		if info, err := e.Info(); err == nil { // else it has just been replaced
			items = append(items, Item{Name: e.Name(), At: info.ModTime().UTC(), Size: info.Size()})
		}
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Name, b.Name))
	})
	if after != "" {
		i := slices.IndexFunc(items, func(it Item) bool { return it.Name == after })
		items = items[i+1:] // an unknown name starts from the newest
	}
	items = items[:min(n, len(items))]
	for i := range items {
		if m, err := o.Read(items[i].Name); err == nil {
			items[i] = m.Item
		}
	}
	return items, nil
}

// Trim deletes messages that were put there before an instant, and returns how many.
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
	if err != nil { // somebody put it there; show it as it is
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

// addPart takes the first text and the first HTML of a tree of parts.
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
	into := map[string]*string{"text/plain": &m.Text, "text/html": &m.HTML}[kind]
	if into == nil || *into != "" {
		return
	}
	switch strings.ToLower(encoding) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	if b, err := io.ReadAll(body); err == nil {
		*into = string(b)
	}
}
