package doctor

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9/logging"

	"punctual/app/config"
	"punctual/delayjob/redisqueue"
)

func examineQueue(ctx context.Context, c *config.Config) []Finding {
	if c.Queue.URL == "memory:" {
		return ok("in memory")
	}
	logging.Disable() // the client would log each failed connection; the finding says it once
	client, err := redisqueue.Dial(c.Queue.URL)
	if err != nil {
		return failure("Correct queue.url.", "%v", err)
	}
	defer client.Close()
	text, err := client.Info(ctx, "server", "memory", "replication").Result()
	if err != nil {
		return failure("Check queue.url, and that Redis runs and accepts this user. Until then punctual works from memory.", "Redis does not answer: %v", err)
	}
	return examineRedis(parseInfo(text))
}

// examineRedis judges the answer of INFO.
func examineRedis(info map[string]string) []Finding {
	version := info["redis_version"]
	used, limit := number(info["used_memory"]), number(info["maxmemory"])
	found := ok("Redis %s, %s in use", version, bytes(used))
	if tooOld(version) {
		found = append(found, failure("Upgrade to Redis 6.2 or later, or Valkey.", "Redis %s is too old", version)...)
	}
	if info["role"] == "slave" {
		found = append(found, failure("Set queue.url to the master, or to Sentinel.", "this server is a replica, so nothing can be queued")...)
	}
	if policy := info["maxmemory_policy"]; limit > 0 && policy != "noeviction" {
		found = append(found, failure("Set maxmemory-policy to noeviction.", "Redis deletes queued jobs when its memory is full: maxmemory-policy is %s", policy)...)
	}
	if limit > 0 && used > limit/10*9 {
		found = append(found, warning("Raise maxmemory.", "%s of %s are in use", bytes(used), bytes(limit))...)
	}
	return found
}

// tooOld reports whether the queue's scripts need a newer version.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return number(major) < 6 || number(major) == 6 && number(minor) < 2
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[key] = value
		}
	}
	return info
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
