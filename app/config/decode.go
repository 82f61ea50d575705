package config

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// binder decodes the nodes of a parsed file into a Config and collects every fault with its line.
// goccy's own strict decoding stops at the first fault, loses the line of a bad duration and reads
// 080, 0x50 and 8_0 all as 80.
type binder struct {
	source  string
	anchors map[string]ast.Node
	origins map[string]Origin // by path: where a value was set
	secrets []string          // values that must not be shown
	faults  []Fault
	unread  map[string]bool // sections that were not understood in full; "" is the whole file
}

// Origin is where a value was set: a place in a file, or an environment variable.
type Origin struct {
	Source       string // the file or the variable
	Line, Column int    // 0 for an environment variable
}

type scalar interface{ parse(text string) error }

// maxFaults of one file are reported; the last one says that there may be more.
const maxFaults = 100

func (b *binder) full() bool { return len(b.faults) >= maxFaults }

func (b *binder) fault(n ast.Node, format string, args ...any) {
	o := b.at(n)
	switch len(b.faults) {
	case maxFaults:
		return
	case maxFaults - 1:
		format, args = "too many faults; further ones are not reported", nil
	}
	b.faults = append(b.faults, Fault{o.Source, o.Line, o.Column, maskUserInfo(fmt.Sprintf(format, args...))})
}

func (b *binder) at(n ast.Node) Origin {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key // a block has no token of its own; goccy gives its first colon
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		n = v.Key
	}
	if n == nil || n.GetToken() == nil {
		return Origin{Source: b.source, Line: 1, Column: 1}
	}
	p := n.GetToken().Position
	return Origin{b.source, p.Line, p.Column}
}

func newBinder(source string) *binder {
	return &binder{source: source, anchors: map[string]ast.Node{}, origins: map[string]Origin{}, unread: map[string]bool{}}
}

// understood reports whether the value at path was read without faults. A rule about a section with
// faults might complain about values that were never read.
func (b *binder) understood(path string) bool {
	section, _, _ := strings.Cut(path, ".")
	return !b.unread[""] && !b.unread[section]
}

// bindDocument decodes YAML text into v. Text with nothing but comments leaves v unchanged.
func (b *binder) bindDocument(text []byte, path string, v reflect.Value) {
	if nested(text) > maxNested { // the parser takes minutes for it
		b.faults = append(b.faults, Fault{Source: b.source, Line: 1, Column: 1, Message: fmt.Sprintf("more than %d brackets stand in each other", maxNested)})
		b.unread[""] = true
		return
	}
	if n := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte(",")); n > maxEntries { // the parser takes n² steps
		b.faults = append(b.faults, Fault{Source: b.source, Line: 1, Column: 1, Message: fmt.Sprintf("must have at most %d lines and commas, not %d", maxEntries, n)})
		b.unread[""] = true
		return
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		b.syntaxFault(err)
		b.unread[""] = true
		return
	}
	bodies := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	for _, d := range bodies[min(1, len(bodies)):] {
		b.fault(d.Body, "a second document; the file holds one, without ---")
		b.unread[""] = true
	}
	if len(bodies) > 0 {
		b.bind(path, bodies[0].Body, v, false)
	}
}

// maxEntries limits the lines and commas of a file, far above what all settings need.
const maxEntries = 5000

const maxNested = 100

func nested(text []byte) int {
	depth, most := 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return most
}

func (b *binder) syntaxFault(err error) {
	f := Fault{Source: b.source, Line: 1, Column: 1, Message: err.Error()}
	if e, ok := err.(yaml.Error); ok {
		f.Message = e.GetMessage()
		if t := e.GetToken(); t != nil {
			f.Line, f.Column = t.Position.Line, t.Position.Column
		}
	}
	if strings.Contains(f.Message, "cannot start any token") && strings.ContainsAny(f.Message, "\t") {
		f.Message = "must not be indented with tabs: use spaces"
	}
	b.faults = append(b.faults, f)
}

func (b *binder) bind(path string, n ast.Node, v reflect.Value, secret bool) {
	n = b.resolve(n)
	if n == nil {
		return
	}
	if _, null := n.(*ast.NullNode); null {
		return // "key:" alone: the default stays
	}
	if _, isBlock := n.(*ast.MappingNode); !isBlock {
		b.origins[path] = b.at(n) // a section is found at its key
	}
	switch _, isScalar := v.Addr().Interface().(scalar); {
	case isScalar:
		b.bindScalar(path, n, v, secret)
	case v.Kind() == reflect.Struct:
		b.bindStruct(path, n, v)
	case v.Kind() == reflect.Map:
		b.bindMap(path, n, v, secret)
	case v.Kind() == reflect.Slice:
		b.bindSlice(path, n, v, secret)
	default:
		b.bindScalar(path, n, v, secret)
	}
}

func (b *binder) resolve(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.AnchorNode:
		b.anchors[n.Name.GetToken().Value] = n.Value
		return b.resolve(n.Value)
	case *ast.AliasNode:
		target, ok := b.anchors[n.Value.GetToken().Value]
		if !ok {
			b.fault(n, "unknown alias")
			return nil
		}
		delete(b.anchors, n.Value.GetToken().Value) // no alias within itself
		defer func() { b.anchors[n.Value.GetToken().Value] = target }()
		return b.resolve(target)
	case *ast.TagNode:
		b.fault(n, "tags such as !!str are not understood here")
		return nil
	default:
		return n
	}
}

func (b *binder) entries(path string, n ast.Node) (keys []string, values map[string]*ast.MappingValueNode) {
	var list []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		list = n.Values
	case *ast.MappingValueNode:
		list = []*ast.MappingValueNode{n}
	default:
		b.fault(n, "%s wants keys and values", name(path))
		return nil, nil
	}
	values = map[string]*ast.MappingValueNode{}
	for _, e := range list {
		key := e.Key.GetToken().Value
		if first, twice := values[key]; twice {
			b.fault(e.Key, "%s is set twice; first in line %d", name(join(path, key)), b.at(first.Key).Line)
			continue
		}
		keys = append(keys, key)
		values[key] = e
	}
	return keys, values
}

func (b *binder) bindStruct(path string, n ast.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	keys, values := b.entries(path, n)
	for _, key := range keys {
		f, known := fields[key]
		if !known && b.full() {
			continue // without a look for what may have been meant
		}
		if !known {
			b.fault(values[key].Key, "unknown key %s%s", name(join(path, key)), Suggest(key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		b.origins[join(path, key)] = b.at(values[key].Key)
		before := len(b.faults)
		b.bind(join(path, key), values[key].Value, v.FieldByIndex(f.Index), f.Tag.Get("secret") != "")
		if path == "" && (len(b.faults) > before || b.full()) {
			b.unread[key] = true
		}
	}
}

// bindMap replaces the whole map: the file lists all of it.
func (b *binder) bindMap(path string, n ast.Node, v reflect.Value, secret bool) {
	keys, values := b.entries(path, n)
	m := reflect.MakeMap(v.Type())
	for _, key := range keys {
		b.origins[join(path, key)] = b.at(values[key].Key)
		e := reflect.New(v.Type().Elem()).Elem()
		b.bind(join(path, key), values[key].Value, e, secret)
		m.SetMapIndex(reflect.ValueOf(key), e)
	}
	v.Set(m)
}

func (b *binder) bindSlice(path string, n ast.Node, v reflect.Value, secret bool) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		b.fault(n, "%s wants a list", name(path))
		return
	}
	s := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, e := range list.Values {
		item := fmt.Sprintf("%s[%d]", path, i)
		b.origins[item] = b.at(e)
		b.bind(item, e, s.Index(i), secret)
	}
	v.Set(s)
}

func (b *binder) bindScalar(path string, n ast.Node, v reflect.Value, secret bool) {
	text, quoted := "", false
	switch n := n.(type) {
	case *ast.StringNode:
		text, quoted = n.Value, true
	case *ast.LiteralNode:
		text, quoted = n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	default:
		b.fault(n, "%s wants a single value", name(path))
		return
	}
	if secret && text != "" {
		b.secrets = append(b.secrets, text, n.GetToken().Value)
	}
	if v.Kind() == reflect.String && !quoted {
		b.fault(n, "%s wants text: put it in quotes", name(path))
		return
	}
	if err := setScalar(v, text); err != nil {
		b.fault(n, "%s: %v", name(path), err)
	}
}

// setScalar reads text as YAML's core types are usually written: plain decimals, true and false.
func setScalar(v reflect.Value, text string) error {
	if s, ok := v.Addr().Interface().(scalar); ok {
		return s.parse(text)
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := parseDuration(text)
		v.SetInt(int64(d))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(text == "true")
	case reflect.Int:
		i, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(i) != text {
			return fmt.Errorf("%q is not a whole number in plain decimals", text)
		}
		v.SetInt(int64(i))
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.Trim(text, "-0123456789.") != "" {
			return fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(f)
	default:
		panic("config: no way to set a " + v.Type().String())
	}
	return nil
}

func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := make(map[string]reflect.StructField, t.NumField())
	for f := range t.Fields() {
		fields[f.Tag.Get("yaml")] = f
	}
	return fields
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func name(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}
