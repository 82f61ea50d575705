package redisqueue

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Each atomic step is one script, which declares all its keys. Scripts are sent by digest, or in
// full to a server that does not know them. Versions of the program can share a server, because a
// changed script has another digest.
var (
	//go:embed add.lua
	addSource string
	//go:embed claim.lua
	claimSource string
	//go:embed ack.lua
	ackSource string
	//go:embed nack.lua
	nackSource string
	//go:embed extend.lua
	extendSource string
	//go:embed remove.lua
	removeSource string
	//go:embed requeue.lua
	requeueSource string
	//go:embed epoch.lua
	epochSource string
	//go:embed pause.lua
	pauseSource string
	//go:embed resume.lua
	resumeSource string
	//go:embed poll.lua
	pollSource string
	//go:embed get.lua
	getSource string
	//go:embed list.lua
	listSource string
	//go:embed stats.lua
	statsSource string
	//go:embed check.lua
	checkSource string

	addScript     = newScript(addSource)
	claimScript   = newScript(claimSource)
	ackScript     = newScript(ackSource)
	nackScript    = newScript(nackSource)
	extendScript  = newScript(extendSource)
	removeScript  = newScript(removeSource)
	requeueScript = newScript(requeueSource)
	epochScript   = newScript(epochSource)
	pauseScript   = newScript(pauseSource)
	resumeScript  = newScript(resumeSource)
	pollScript    = newScript(pollSource)
	getScript     = newScript(getSource)
	listScript    = newScript(listSource)
	statsScript   = newScript(statsSource)
	checkScript   = newScript(checkSource)
)

type script struct{ source, digest string }

func newScript(source string) *script {
	return &script{source, redis.NewScript(source).Hash()}
}

const (
	// maxBatch is how many messages one run of a script handles, so that it blocks the server for
	// only a millisecond or two. (Lua's unpack allows 8,000.)
	maxBatch = 500
	// maxPipeline is how many runs are sent before their replies are read.
	maxPipeline = 16
)

type call struct {
	script *script
	shard  int
	keys   []string
	args   []any

	reply any
	err   error
}

// A command is sent only once. go-redis would repeat it after a broken connection, and a claim that
// arrived twice would lease a second batch to no consumer.
type command struct{ *redis.Cmd }

func (command) NoRetry() bool { return true }

func (c *call) command(ctx context.Context, full bool) command {
	args := make([]any, 0, 3+len(c.keys)+len(c.args))
	if full {
		args = append(args, "eval", c.script.source, len(c.keys))
	} else {
		args = append(args, "evalsha", c.script.digest, len(c.keys))
	}
	for _, k := range c.keys {
		args = append(args, k)
	}
	args = append(args, c.args...)
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	return command{cmd}
}

// run makes the calls and sets their replies and errors. It pipelines the calls of each server and
// runs the servers in parallel, so a server that is down delays only its own calls.
func (q *Queue) run(ctx context.Context, calls []*call) {
	if err := q.ready(ctx); err != nil {
		for _, c := range calls {
			c.err = err
		}
		return
	}
	byNode := map[*redis.Client][]*call{}
	for _, c := range calls {
		node, err := q.node(ctx, c.shard)
		if err != nil {
			c.err = err
			continue
		}
		byNode[node] = append(byNode[node], c)
	}
	if len(byNode) == 1 {
		for node, cs := range byNode {
			q.runOn(ctx, node, cs)
		}
		return
	}
	var wg sync.WaitGroup
	for node, cs := range byNode {
		wg.Go(func() { q.runOn(ctx, node, cs) })
	}
	wg.Wait()
}

func (q *Queue) runOn(ctx context.Context, node *redis.Client, calls []*call) {
	for len(calls) > 0 {
		part := calls[:min(maxPipeline, len(calls))]
		calls = calls[len(part):]
		send(ctx, node, part, false)
		var unknown []*call
		for _, c := range part {
			if redis.HasErrorPrefix(c.err, "NOSCRIPT") {
				unknown = append(unknown, c)
			}
		}
		send(ctx, node, unknown, true)
		for _, c := range part {
			q.redirect(ctx, c)
		}
		if err := part[len(part)-1].err; unanswered(err) {
			for _, c := range calls { // the server will not answer these either
				c.err = err
			}
			return
		}
	}
}

// unanswered reports whether err is a connection error, not one that the server reported.
func unanswered(err error) bool {
	_, answered := errors.AsType[redis.Error](err)
	return err != nil && !answered
}

func send(ctx context.Context, node *redis.Client, calls []*call, full bool) {
	switch len(calls) {
	case 0:
	case 1:
		cmd := calls[0].command(ctx, full)
		_ = node.Process(ctx, cmd)
		calls[0].reply, calls[0].err = cmd.Result()
	default:
		pipe := node.Pipeline()
		cmds := make([]command, len(calls))
		for i, c := range calls {
			cmds[i] = c.command(ctx, full)
			_ = pipe.Process(ctx, cmds[i])
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, c := range calls {
			c.reply, c.err = cmds[i].Result()
		}
	}
}

// redirect repeats a call that a cluster node refused, without running it, because the shard has
// moved or is moving. If a node does not answer, it may be dead, so the slots are reloaded.
func (q *Queue) redirect(ctx context.Context, c *call) {
	if q.cluster == nil || c.err == nil {
		return
	}
	for _, prefix := range [...]string{"MOVED ", "ASK ", "TRYAGAIN ", "READONLY ", "CLUSTERDOWN "} {
		if !redis.HasErrorPrefix(c.err, prefix) {
			continue
		}
		cmd := c.command(ctx, true)
		_ = q.cluster.Process(ctx, cmd)
		c.reply, c.err = cmd.Result()
		break
	}
	if c.err != nil {
		q.cluster.ReloadState(ctx)
	}
}

func (q *Queue) node(ctx context.Context, shard int) (*redis.Client, error) {
	if q.cluster == nil {
		return q.single, nil
	}
	node, err := q.cluster.MasterForKey(ctx, q.keys[shard].c)
	if err != nil {
		q.cluster.ReloadState(ctx)
		return nil, fmt.Errorf("find the master of shard %d: %w", shard, err)
	}
	return node, nil
}

var errReply = errors.New("unexpected script reply")

func (c *call) list(n int) ([]any, error) {
	if c.err != nil {
		return nil, c.err
	}
	l, ok := c.reply.([]any)
	if !ok || len(l) < n {
		return nil, errReply
	}
	return l, nil
}
