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

// A value is what the hash m holds of a message: version and due time in decimal, since the
// scripts read them, then the headers with their length, then the body as it is. Around a
// body it costs some 20 bytes.

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

// encodeHeaders writes names and values with their lengths before them.
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

// decodeMessage makes the message of an ID from its value; the body is the caller's.
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

// Due times are Unix milliseconds, rounded up: never early.
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
