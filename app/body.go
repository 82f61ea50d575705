package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/app/problem"
)

// Limits of a body. Its faults are reported one by one, so its cost grows with the number of its
// values, and with the length of names, which each fault repeats.
const (
	maxBody          = 1 << 20
	maxAnonymousBody = 16 << 10 // of requests that need no sign-in, mail links included
	maxBodyValues    = 50_000   // keys and array elements
	maxTopicValues   = 200_000  // of jobs of topics, whose bodies are any JSON
	maxBodyDepth     = 100
	maxBodyName      = 1024 // bytes of a key
)

// bodyTimeout is how long the body of a request may take to arrive.
var bodyTimeout = 5 * time.Second

// receiveBody reads the whole body before an operation runs, and rejects what would cost more to
// examine than any request needs. Handlers then read it from memory.
func receiveBody(ctx huma.Context, next func(huma.Context)) {
	c := humagin.Unwrap(ctx)
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		next(ctx)
		return
	}
	limit := int64(maxBody)
	if account.Public(ctx.Operation().OperationID) {
		limit = maxAnonymousBody
	}
	body, p := readBody(c, limit)
	if p == nil {
		values := maxBodyValues
		if strings.HasPrefix(ctx.Operation().Path, "/topics/") {
			values = maxTopicValues
		}
		p = bodyShape(body, values)
	}
	if p != nil {
		problem.Write(c, p)
		return
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	next(ctx)
}

func readBody(c *gin.Context, limit int64) ([]byte, *problem.Problem) {
	connection := http.NewResponseController(c.Writer) // a recorder in a test has none
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err == nil {
		// The server continues to read, to notice when the client disconnects. An expired deadline
		// would look like that.
		_ = connection.SetReadDeadline(time.Time{})
		return body, nil
	}
	// The deadline stays: before it answers, the server reads what is left of the body.
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return nil, problem.New(http.StatusRequestTimeout, "timeout", "The body did not arrive in time")
	}
	return nil, cmp.Or(problem.TooLarge(err), problem.New(problem.StatusClientGone, "cancelled", "The client closed the connection"))
}

// bodyShape returns an error if the JSON text has more than maxValues values, too deep nesting or a
// too long key. Whether it is JSON at all is left to the decoder.
func bodyShape(text []byte, maxValues int) *problem.Problem {
	depth, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			values++
		case '}', ']':
			depth--
		case ',':
			values++
		case '"':
			begin := i + 1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i-begin > maxBodyName && isName(text, i+1) {
				return bodyProblem("too_long", "must have keys of at most %d bytes", maxBodyName)
			}
		}
		if depth > maxBodyDepth {
			return bodyProblem("too_deep", "must be nested at most %d levels deep", maxBodyDepth)
		}
		if values > maxValues {
			return bodyProblem("too_many", "must hold at most %d values", maxValues)
		}
	}
	return nil
}

func bodyProblem(code, format string, limit int) *problem.Problem {
	p := problem.New(http.StatusUnprocessableEntity, "invalid", "Invalid request")
	p.Errors = []problem.ProblemFault{{Location: "body", Message: fmt.Sprintf(format, limit), Code: code}}
	return p
}

// isName reports whether a string that ends before i is the key of an object.
func isName(text []byte, i int) bool {
	rest := bytes.TrimLeft(text[min(i, len(text)):], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
