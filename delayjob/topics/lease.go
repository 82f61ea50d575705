package topics

import (
	"encoding/base64"
	"encoding/binary"

	"punctual/delayjob"
)

// Lease is the right to end one delivery of a job. Its holder treats it as an opaque text.
type Lease struct {
	shard int
	token int64
}

func (l Lease) String() string {
	b := binary.AppendUvarint(nil, uint64(l.shard))
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(b, uint64(l.token)))
}

// ParseLease parses the output of [Lease.String]. For any other text it returns
// [delayjob.ErrLeaseLost].
func ParseLease(s string) (Lease, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Lease{}, delayjob.ErrLeaseLost
	}
	shard, n := binary.Uvarint(b)
	if n <= 0 || shard > 1<<16 {
		return Lease{}, delayjob.ErrLeaseLost
	}
	token, m := binary.Uvarint(b[n:])
	if m <= 0 || n+m != len(b) || token == 0 || token > 1<<63-1 {
		return Lease{}, delayjob.ErrLeaseLost
	}
	return Lease{int(shard), int64(token)}, nil
}
