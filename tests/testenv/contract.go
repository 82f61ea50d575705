package testenv

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contract is the description of the API at /openapi.json. See [CheckContract].
type Contract struct {
	document   map[string]any
	operations []contractOperation
	compiler   *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by JSON pointer
}

type contractOperation struct {
	method   string
	segments []string // of the path
	pointer  string   // to the operation
}

const contractURL = "openapi.json"

// NewContract reads the description of an API.
func NewContract(description []byte) (*Contract, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	if err != nil {
		return nil, err
	}
	c := &Contract{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(contractURL, document); err != nil {
		return nil, err
	}
	c.document = document.(map[string]any)
	for path, item := range c.document["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			c.operations = append(c.operations, contractOperation{
				method: strings.ToUpper(method), segments: strings.Split(path, "/"), pointer: pointer("paths", path, method),
			})
		}
	}
	// A path without parameters is meant before one with.
	slices.SortFunc(c.operations, func(a, b contractOperation) int {
		return strings.Count(a.pointer, "{") - strings.Count(b.pointer, "{")
	})
	return c, nil
}

// Faults lists where an answer differs from the description: an operation, status or content type that it
// lacks, or a body that is not as its schema says.
func (c *Contract) Faults(method, path string, res *Response) []string {
	if method == http.MethodHead {
		if res.Status == http.StatusMethodNotAllowed {
			return nil // a stream
		}
		method = http.MethodGet
	}
	if res.Status == http.StatusNotFound && bytes.Contains(res.Body, []byte("There is nothing at this path")) {
		return nil // a worker has no API
	}
	op := c.find(method, path)
	if op == "" {
		if slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity}, res.Status) {
			return nil // the router's answer, or a path that is no text
		}
		return []string{fmt.Sprintf("answers %d, but is not described", res.Status)}
	}
	at := op + pointer("responses", fmt.Sprint(res.Status))
	described, ok := c.at(at).(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("answers %d, which is not described\n%.300s", res.Status, res.Body)}
	}
	if ref, ok := described["$ref"].(string); ok {
		at = strings.TrimPrefix(ref, "#")
		described = c.at(at).(map[string]any)
	}
	contents, _ := described["content"].(map[string]any)
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if len(res.Body) == 0 { // a HEAD, or no content
		return nil
	}
	content, ok := contents[kind].(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("answers %d as %q, which is not described", res.Status, kind)}
	}
	if !strings.HasSuffix(kind, "json") || content["schema"] == nil {
		return nil
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(res.Body))
	if err != nil {
		return []string{fmt.Sprintf("answers %d without JSON: %v", res.Status, err)}
	}
	schema, err := c.schema(at + pointer("content", kind, "schema"))
	if err == nil {
		err = schema.Validate(body)
	}
	if err != nil {
		return []string{fmt.Sprintf("answers %d against its schema: %v\n%.500s", res.Status, err, res.Body)}
	}
	return nil
}

// find returns the pointer to the operation of a path below the base; "": there is none.
func (c *Contract) find(method, path string) string {
	segments := strings.Split(path, "/")
	for _, op := range c.operations {
		fits := op.method == method && len(op.segments) == len(segments)
		for i := 0; fits && i < len(segments); i++ {
			// A parameter may have a suffix, such as {id}.ics.
			open, rest, isParameter := strings.Cut(op.segments[i], "{") // which may be empty
			_, suffix, _ := strings.Cut(rest, "}")
			fits = op.segments[i] == segments[i] || isParameter &&
				strings.HasPrefix(segments[i], open) && strings.HasSuffix(segments[i], suffix)
		}
		if fits {
			return op.pointer
		}
	}
	return ""
}

// at is the value that a pointer leads to; nil: there is none.
func (c *Contract) at(p string) any {
	var v any = c.document
	for _, name := range strings.Split(p, "/")[1:] {
		object, _ := v.(map[string]any)
		v = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return v
}

func (c *Contract) schema(p string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.schemas[p]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile(contractURL + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(p))
	if err == nil {
		c.schemas[p] = s
	}
	return s, err
}

func pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// contract is that of the program under test, read from the first server that answers.
var contract struct {
	sync.Mutex
	wanted   bool
	read     *Contract
	faults   []string
	reported map[string]bool
}

// CheckContract compares each answer to a [Client] with the description that the program serves. Call it
// before the first request. Measurements do without: the comparison takes longer than most requests.
func CheckContract() { contract.wanted = true }

// checked keeps the faults of an answer for [ContractFaults]; each is reported once.
func (c *Client) checked(method, path string, res *Response) {
	path, ok := strings.CutPrefix(path, c.Base+"/api/v1")
	if !ok || !contract.wanted {
		return
	}
	path, _, _ = strings.Cut(path, "?")
	contract.Lock()
	defer contract.Unlock()
	if contract.read == nil {
		answer, err := plain.Get(c.Base + "/openapi.json")
		if err != nil {
			return // the server is down again
		}
		defer answer.Body.Close()
		description, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			return
		}
		if contract.read, err = NewContract(description); err != nil {
			panic(fmt.Sprintf("testenv: /openapi.json: %v", err))
		}
	}
	for _, f := range contract.read.Faults(method, path, res) {
		op := method + " " + contract.read.find(method, path)
		key, _, _ := strings.Cut(op+f, "\n")
		if contract.reported == nil {
			contract.reported = map[string]bool{}
		}
		if !contract.reported[key] {
			contract.reported[key] = true
			contract.faults = append(contract.faults, method+" "+path+" "+f)
		}
	}
}

// ContractFaults lists in what answers differed from /openapi.json so far.
func ContractFaults() []string {
	contract.Lock()
	defer contract.Unlock()
	return slices.Clone(contract.faults)
}
