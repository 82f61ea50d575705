package redisqueue

import (
	"fmt"
	"strconv"
)

// layout is the version of the keys and values. Each layout and number of shards has its own
// generation of keys. Nothing is migrated; the loader fills a new generation.
const layout = 1

// All keys of a shard share the hash tag T = {<prefix>:g<layout>.<shards>:<shard>}, and so a slot:
//
//	T:m        hash  ID -> "<version> <due ms> <length of headers> <headers><body>"
//	T:s        hash  ID -> "<token> <attempts>", from the first claim on, and " <crashes>" from
//	                 the first crash on; token 0: not leased
//	T:w:<job>  zset  waiting: ID -> due ms, or later after a Nack
//	T:l:<job>  zset  leased: ID -> end of the lease, ms
//	T:x:<job>  zset  dead: ID -> time of death, ms
//	T:c        hash  control: seq (last token), born (time of the first write since the shard was
//	                 last empty), epoch (the load that filled it), p:<job> (paused)
//	T:sig      pub/sub channel: due ms of a new head
//
// All generations share one more key: <prefix>:generations, a zset of when each was last in use.
//
// A key per message would cost more memory, and scripts could not declare it.
type shardKeys struct{ tag, m, s, c, sig string }

func newShardKeys(prefix string, shards int, cluster bool) []shardKeys {
	keys := make([]shardKeys, shards)
	for i := range keys {
		tag := fmt.Sprintf("%s:%s:%0*d", prefix, generation(shards), len(strconv.Itoa(shards-1)), i)
		if cluster {
			tag = spread(tag, i, shards)
		}
		tag = "{" + tag + "}"
		keys[i] = shardKeys{tag: tag, m: tag + ":m", s: tag + ":s", c: tag + ":c", sig: tag + ":sig"}
	}
	return keys
}

func (k shardKeys) waiting(job string) string { return k.tag + ":w:" + job }
func (k shardKeys) leased(job string) string  { return k.tag + ":l:" + job }
func (k shardKeys) dead(job string) string    { return k.tag + ":x:" + job }

const slots = 16384

// spread appends a salt to a tag that puts it into the i-th of n equal parts of the slots. Masters
// own ranges of slots, so each gets its share of the shards. Without it, one of three masters
// sometimes gets two thirds of them.
func spread(tag string, i, n int) string {
	low, high := i*slots/n, (i+1)*slots/n
	for salt := 0; ; salt++ {
		t := tag + "." + strconv.Itoa(salt)
		if s := int(crc16(t)) % slots; low <= s && s < high {
			return t
		}
	}
}

// crc16 is CRC16-CCITT (XMODEM), with which Redis Cluster maps hash tags to slots.
func crc16(s string) uint16 {
	var crc uint16
	for _, b := range []byte(s) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
