package gormstore

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"punctual/meeting"
)

const defaultLimit = 50

// position is the end of a page, in the order of its list; opaque to clients.
type position struct {
	List string `json:"l"`           // which list
	At   int64  `json:"t,omitempty"` // microseconds
	Name string `json:"n,omitempty"`
	ID   int64  `json:"i"`
}

// A cursor beyond these instants, of the years 1 and 9999, is a forgery that a database may refuse.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()
)

func (p position) time() time.Time { return time.UnixMicro(p.At).UTC() }

// readCursor returns nil for the start of a list.
func readCursor(list, c string) (*position, error) {
	if c == "" {
		return nil, nil
	}
	var p position
	b, err := base64.RawURLEncoding.DecodeString(c)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.List != list || p.ID <= 0 || p.At < earliest || p.At > latest || strings.ContainsRune(p.Name, 0) {
		return nil, &meeting.InvalidError{Faults: []meeting.Fault{
			{Location: "cursor", Code: "invalid_cursor", Message: "must be a cursor returned by this list"},
		}}
	}
	return &p, nil
}

// paged removes the extra row that was read beyond the page, and returns the cursor if there was
// one.
func paged[T any](rows []T, limit int, at func(T) position) (page []T, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], at(rows[limit-1]).cursor()
}

func (p position) cursor() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers and text
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func limit(p meeting.Page) int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return p.Limit
}
