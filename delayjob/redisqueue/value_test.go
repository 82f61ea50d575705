package redisqueue

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
)

func FuzzValue(f *testing.F) {
	f.Add("meeting.start", "42:start:900", int64(7), int64(1_790_000_000_123), "body", "traceparent", "00-0af7")
	f.Add("a", " ", int64(0), int64(-1), "", "", "")
	f.Add("a", "b", int64(1<<62), int64(0), "1 2 3 ", "\xff", strings.Repeat("x", 300))
	f.Fuzz(func(t *testing.T, job, key string, version, due int64, body, header, value string) {
		m := delayjob.Message{Job: job, Key: key, Version: version, Due: time.UnixMilli(due), Body: []byte(body)}
		if m.Validate() != nil {
			return
		}
		if header != "" {
			m.Headers = map[string]string{header: value, "": header}
		}
		got, err := decodeMessage(m.ID(), string(encodeValue(&m)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Job != job || got.Key != key || got.Version != version || !got.Due.Equal(m.Due) || string(got.Body) != body || !maps.Equal(got.Headers, m.Headers) {
			t.Errorf("got %+v, want %+v", got, m)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "1", "1 2", "1 2 3", "1 2 3 ", "1 2 -1 ", "1 2 2 \x01", "1 2 1 \xff", "x 1 0 ", "1 2 11 \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a", "99999999999999999999 1 0 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		m, err := decodeMessage("job:1", value)
		if err == nil && len(m.Headers) == 0 && !strings.HasSuffix(value, string(m.Body)) {
			t.Errorf("%q has the body %q", value, m.Body)
		}
	})
}

func TestSpread(t *testing.T) {
	if got := crc16("123456789"); got != 0x31c3 { // the example of the cluster specification
		t.Fatalf("CRC16 is %x", got)
	}
	for _, shards := range []int{1, 2, 16, 64} {
		seen := map[string]bool{}
		for i, k := range newShardKeys("punctual", shards, true) {
			if s := int(crc16(strings.Trim(k.tag, "{}"))) % slots; s*shards/slots != i {
				t.Errorf("shard %d of %d is in slot %d", i, shards, s)
			}
			if seen[k.tag] {
				t.Errorf("%s is there twice", k.tag)
			}
			seen[k.tag] = true
		}
	}
	if k := newShardKeys("punctual", 16, false)[3]; k.m != "{punctual:g1.16:03}:m" {
		t.Errorf("the key is %s", k.m)
	}
}

func TestDial(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"redis://localhost:6379/3", "single localhost:6379 3"},
		{"redis://:p%40ss@h", "single h:6379 0"},
		{"rediss://user:pw@h:1", "single h:1 0 tls"},
		{"redis://h:1?pool_size=7", "single h:1 0"},
		{"redis+cluster://u:p@h1:1,h2:2,h3:3", "cluster h1:1,h2:2,h3:3"},
		{"rediss+cluster://h1:1", "cluster h1:1 tls"},
		{"redis+sentinel://h1:1,h2:2/main/2", "sentinel main 2"},
		{"redis+sentinel://h1:1/main", "sentinel main 0"},

		{"redis+sentinel://h1:1", "must name the master"},
		{"redis://h1:1,h2:2", "several hosts"},
		{"redis+cluster://", "must contain a host"},
		{"http://h:1", "must begin with redis://"},
		{"redis+magic://h:1", "must begin with redis://"},
		{"redis:h:1", "must begin with redis://"},
		{"redis://user:secret@h:port", "invalid"},
		{"redis://user:secret@h:1?nonsense=1", "nonsense"},
	} {
		got := dialled(tt.url)
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.url, got, tt.want)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("%s: the error tells the password: %s", tt.url, got)
		}
	}
}

func dialled(url string) string {
	u, err := parseURL(url)
	if err != nil {
		return err.Error()
	}
	c, err := Dial(url)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	tls := map[bool]string{true: " tls", false: ""}
	switch c := c.(type) {
	case *redis.ClusterClient:
		o := c.Options()
		return "cluster " + strings.Join(o.Addrs, ",") + tls[o.TLSConfig != nil]
	case *redis.Client:
		o := c.Options()
		if u.kind == "sentinel" {
			name, _, _ := strings.Cut(u.path, "/")
			return "sentinel " + name + " " + strconv.Itoa(o.DB)
		}
		return "single " + o.Addr + " " + strconv.Itoa(o.DB) + tls[o.TLSConfig != nil]
	}
	return "?"
}
