package notify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cursor is a position in a list: after the row with this CreatedAt and ID. The zero Cursor is the
// beginning of a list. As Page.Next it means the end.
type Cursor struct {
	CreatedAt time.Time
	ID        int64
}

// String encodes the cursor for [ParseCursor].
func (c Cursor) String() string {
	if c.ID == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "n%d.%d", c.CreatedAt.UnixMicro(), c.ID))
}

// ErrCursor reports a malformed [Cursor].
var ErrCursor = errors.New("malformed cursor")

// ParseCursor decodes the result of [Cursor.String]. It returns [ErrCursor] for other text.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	text, ok := strings.CutPrefix(string(b), "n")
	at, id, _ := strings.Cut(text, ".")
	micros, errAt := strconv.ParseInt(at, 10, 64)
	n, errID := strconv.ParseInt(id, 10, 64)
	c := Cursor{CreatedAt: time.UnixMicro(micros).UTC(), ID: n}
	if year := c.CreatedAt.Year(); errors.Join(err, errAt, errID) != nil || !ok || n <= 0 || year < 1 || year > 9999 {
		return Cursor{}, ErrCursor
	}
	return c, nil
}
