package redisqueue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"punctual/delayjob"
)

// A value is the text of a message in the hash m: version, due time and length of the headers in
// decimal, which the scripts read, then headers and body. It adds about 20 bytes to a body.

func encodeValue(m *delayjob.Message) []byte {
	headers := encodeHeaders(m.Headers)
	b := make([]byte, 0, 40+len(headers)+len(m.Body))
	b = strconv.AppendInt(b, m.Version, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, ceilMilli(m.Due), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(headers)), 10)
	b = append(b, ' ')
	b = append(b, headers...)
	return append(b, m.Body...)
}

// encodeHeaders writes each name and value with its length before it.
func encodeHeaders(h map[string]string) []byte {
	var b []byte
	for _, k := range slices.Sorted(maps.Keys(h)) {
		for _, s := range [...]string{k, h[k]} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return b
}

var errValue = errors.New("not a message of this version of the queue")

// decodeMessage decodes the value of an ID. The caller owns the body.
func decodeMessage(id, value string) (delayjob.Message, error) {
	var m delayjob.Message
	m.Job, m.Key = delayjob.SplitID(id)
	v := []byte(value)
	var numbers [3]int64
	for i := range numbers {
		end := bytes.IndexByte(v, ' ')
		if end < 0 {
			return m, fmt.Errorf("%s: %w", id, errValue)
		}
		n, err := strconv.ParseInt(string(v[:end]), 10, 64)
		if err != nil {
			return m, fmt.Errorf("%s: %w", id, errValue)
		}
		numbers[i], v = n, v[end+1:]
	}
	m.Version, m.Due = numbers[0], fromMilli(numbers[1])
	n := numbers[2]
	if n < 0 || n > int64(len(v)) {
		return m, fmt.Errorf("%s: %w", id, errValue)
	}
	for h := v[:n]; len(h) > 0; {
		var pair [2]string
		for i := range pair {
			size, used := binary.Uvarint(h)
			if used <= 0 || size > uint64(len(h)-used) {
				return m, fmt.Errorf("%s: %w", id, errValue)
			}
			end := used + int(size)
			pair[i], h = string(h[used:end]), h[end:]
		}
		if m.Headers == nil {
			m.Headers = map[string]string{}
		}
		m.Headers[pair[0]] = pair[1]
	}
	m.Body = v[n:]
	return m, nil
}

// ceilMilli rounds up, so that no message runs early.
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
