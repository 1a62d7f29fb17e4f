package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/test/must"
)

// What one request may take of the process.
const (
	memoryPerByte = 4
	memoryOfAny   = 16 << 20 // bytes
	cpuPerMiB     = 300 * time.Millisecond
	cpuOfAny      = time.Second
	// deadline is the shortest that each request with its processor time can meet.
	deadline     = cpuOfAny + 32*cpuPerMiB
	pastDeadline = time.Second
)

// TestHostileRequests sends requests to every operation of the contract that are wrong in every
// element of their lists, objects and texts, and requests that are valid at the limits of the contract.
// None may take more memory or processor time than its size allows. The process is measured, and not
// the time, so that the test holds on a busy machine. SLIPBOX_HOSTILE=full tries every place of every
// body with every kind of content, at the largest size; the default is a part of them. With it no
// request may outlive its deadline either, by more than a second.
func TestHostileRequests(t *testing.T) { //nolint:paralleltest // measures a process
	full := os.Getenv("SLIPBOX_HOSTILE") == "full"
	data := t.TempDir()
	p := serve(t, data, []string{"GOGC=100", "SLIPBOX_EMBEDDER=hash", "SLIPBOX_LOG_LEVEL=error", "SLIPBOX_REFUSALS_PER_ADDRESS=0", "SLIPBOX_REQUEST_TIMEOUT=" + deadline.String()})
	h := hostile{t: t, p: p, key: newKey(t, data), operator: platformKey(t, data), full: full}
	p.must(t, h.key, http.StatusCreated, "POST", "/v1/collections", object{"name": "space", "policy": "none"})
	for i := range 20 {
		p.must(t, h.key, http.StatusCreated, "POST", "/v1/collections/space/notes", object{"content": sentence(i)})
	}
	doc := must.Get(openapi3.NewLoader().LoadFromData(contract.OpenAPI()))(t)
	h.bulkLine = doc.Components.Schemas["BulkNote"].Value
	operations, last := 0, []func(){}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			op := item.GetOperation(method)
			operations++
			if method == http.MethodDelete { // what other operations need is deleted last
				last = append(last, func() { h.operation(method, path, op) })
				continue
			}
			h.operation(method, path, op)
		}
	}
	for _, f := range last {
		f()
	}
	t.Logf("%d requests to %d operations; the most memory: %s; the most processor time: %s", h.sent, operations, h.mostMemory, h.mostTime)
	if operations < 60 || h.sent < 2*operations {
		t.Errorf("%d requests to %d operations: too few", h.sent, operations)
	}
}

func platformKey(t *testing.T, data string) string {
	t.Helper()
	out, errOut, code := run(t, nil, "key", "create", "--operator", "--data", data)
	key := keyText.FindString(out)
	if code != 0 || key == "" {
		t.Fatalf("key create: exit %d\n%s\n%s", code, out, errOut)
	}
	return key
}

type hostile struct {
	t             *testing.T
	p             *process
	key, operator string
	full          bool
	bulkLine      *openapi3.Schema

	sent                 int
	mostMemory, mostTime string
	memoryShare          float64
	timeShare            float64
}

// operation sends the requests of one operation.
func (h *hostile) operation(method, path string, op *openapi3.Operation) {
	key := h.key
	if op.Extensions["x-scope"] == "operator" {
		key = h.operator
	}
	target := strings.NewReplacer("{collection}", "space", "{agent}", "nobody", "{tenant}", "nobody").Replace(path)
	for strings.Contains(target, "{") {
		head, rest, _ := strings.Cut(target, "{")
		_, tail, _ := strings.Cut(rest, "}")
		target = head + "01a1fdda-ccd6-713d-97db-eda78326c93a" + tail
	}
	// Parameters: unknown ones, and each that is known with a long value.
	query := url.Values{}
	for _, ref := range op.Parameters {
		if ref.Value.In == openapi3.ParameterInQuery {
			query.Set(ref.Value.Name, strings.Repeat("x", 8<<10))
		}
	}
	for i := range 3000 {
		query.Set(fmt.Sprint("unknown", i), "")
	}
	h.send(method, target+"?"+query.Encode(), key, "", "parameters", nil)
	if op.RequestBody == nil {
		h.send(method, target, key, "application/json", "a body that is not asked for", []byte(elements("numbers", 1<<20)))
		return
	}
	limit := 1 << 20
	switch n := op.Extensions["x-body-limit"].(type) {
	case float64:
		limit = int(n)
	case int:
		limit = n
	case uint64:
		limit = int(n)
	}
	limit = min(limit, 32<<20) // an import may be larger; it is not read into memory
	if !h.full {
		limit = max(min(limit/2, 128<<10), limit/16)
	}
	for media, content := range op.RequestBody.Value.Content {
		schema, lines := content.Schema.Value, 1
		if media != "application/json" {
			schema, lines = h.bulkLine, max(1, limit/(250<<10))
		}
		size := (limit - 32<<10) / lines
		whole := func(line string) []byte {
			return []byte(strings.TrimSuffix(strings.Repeat(line+"\n", lines), "\n"))
		}
		if media != "application/json" {
			h.send(method, target, key, media, "one line", []byte(`{"content":"x","tags":`+elements("numbers", limit-32<<10)+`}`))
		}
		h.send(method, target, key, media, "valid at its limits", whole(atLimits(schema, size, 0)))
		places := spots(schema, 0)
		for i, spot := range places {
			for k, kind := range kinds {
				// Without full, each operation has one kind of content in three places.
				if !h.full && (i%((len(places)+2)/3) != 0 || (i+len(path))%len(kinds) != k) {
					continue
				}
				h.send(method, target, key, media, kind+" as "+spot.name, whole(spot.around(elements(kind, size))))
			}
		}
	}
}

// send sends a request and checks what it took. What the process did before may still be measured, so
// one that took too much is sent again.
func (h *hostile) send(method, target, key, media, what string, body []byte) {
	h.t.Helper()
	const tries = 3
	mostMemory := int64(memoryPerByte*len(body) + memoryOfAny)
	mostTime := cpuOfAny + cpuPerMiB*time.Duration(len(body))/(1<<20)
	var status int
	var memory int64
	var used, passed time.Duration
	for range tries {
		before, busy := h.resident("VmRSS"), h.cpu()
		h.resetPeak()
		began := time.Now()
		status = h.request(method, target, key, media, body)
		memory, used, passed = h.resident("VmHWM")-before, h.cpu()-busy, time.Since(began)
		if memory <= mostMemory && used <= mostTime {
			break
		}
	}
	h.sent++
	path, _, _ := strings.Cut(target, "?")
	where := fmt.Sprintf("%s %s, %s in %d KiB", method, path, what, len(body)>>10)
	if memory > mostMemory || used > mostTime || status >= http.StatusInternalServerError && status != http.StatusGatewayTimeout {
		h.t.Errorf("%s: status %d, %d MiB of %d, %s of %s", where, status, memory>>20, mostMemory>>20, used, mostTime)
	}
	if h.full && passed > deadline+pastDeadline {
		h.t.Errorf("%s: status %d after %s, with a deadline of %s", where, status, passed, deadline)
	}
	if share := float64(memory) / float64(mostMemory); share > h.memoryShare {
		h.memoryShare, h.mostMemory = share, fmt.Sprintf("%d MiB of %d, %s", memory>>20, mostMemory>>20, where)
	}
	if share := float64(used) / float64(mostTime); share > h.timeShare {
		h.timeShare, h.mostTime = share, fmt.Sprintf("%s of %s, %s", used, mostTime, where)
	}
}

func (h *hostile) request(method, target, key, media string, body []byte) int {
	h.t.Helper()
	req := must.Get(http.NewRequestWithContext(h.t.Context(), method, h.p.url+target, bytes.NewReader(body)))(h.t)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Slipbox-Collection", "space")
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		select {
		case <-h.p.Done:
			h.t.Fatalf("%s %s with %d KiB: the process ended: %v\n%s", method, target, len(body)>>10, err, h.p.Stderr)
		default:
		}
		return 0 // refused before the body was sent
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// resident returns a size of the process in bytes: VmRSS is the resident memory, VmHWM its peak.
func (h *hostile) resident(name string) int64 {
	h.t.Helper()
	for line := range strings.Lines(h.proc("status")) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n := must.Get(strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64))(h.t)
			return n << 10
		}
	}
	h.t.Fatalf("no %s of the process", name)
	return 0
}

// resetPeak makes VmHWM begin again (proc(5), clear_refs).
func (h *hostile) resetPeak() {
	h.t.Helper()
	must.Do(h.t, os.WriteFile(h.file("clear_refs"), []byte("5"), 0o600))
}

// cpu returns the processor time that the process has used (proc(5), stat: fields 14 and 15).
func (h *hostile) cpu() time.Duration {
	h.t.Helper()
	const tick = 10 * time.Millisecond // USER_HZ of Linux
	_, rest, _ := strings.Cut(h.proc("stat"), ") ")
	fields := strings.Fields(rest)
	total := time.Duration(0)
	for _, f := range fields[11:13] {
		n := must.Get(strconv.Atoi(f))(h.t)
		total += time.Duration(n) * tick
	}
	return total
}

func (h *hostile) file(name string) string {
	return fmt.Sprintf("/proc/%d/%s", h.p.PID(), name)
}

func (h *hostile) proc(name string) string {
	h.t.Helper()
	raw := must.Get(os.ReadFile(h.file(name)))(h.t)
	return string(raw)
}

// kinds are contents that are wrong in every element, or too long.
var kinds = []string{"numbers", "texts", "lists", "objects", "deep lists", "members", "text", "escapes", "number"}

// elements returns content of a kind, of about n bytes.
func elements(kind string, n int) string {
	repeat := func(s string) string { return "[" + strings.Repeat(s+",", n/(len(s)+1)) + s + "]" }
	switch kind {
	case "numbers":
		return repeat("1")
	case "texts":
		return repeat(`""`)
	case "lists":
		return repeat("[]")
	case "objects":
		return repeat(`{"a":{}}`)
	case "deep lists":
		return repeat(strings.Repeat("[", 50) + strings.Repeat("]", 50))
	case "members":
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	case "escapes":
		return `"` + strings.Repeat(`\u0041`, n/6) + `"`
	case "number":
		return strings.Repeat("1", n)
	}
	return `"` + strings.Repeat("x", n) + `"`
}

// spot is a place in a body.
type spot struct {
	name   string
	around func(content string) string
}

// spots returns the places of a body: itself, the members of objects and the elements of lists, three
// levels deep.
func spots(s *openapi3.Schema, depth int) []spot {
	out := []spot{{"the value", func(content string) string { return content }}}
	if depth == 3 {
		return out
	}
	inside := func(name, head, tail string, ref *openapi3.SchemaRef) {
		for _, in := range spots(ref.Value, depth+1) {
			out = append(out, spot{name + " " + in.name, func(content string) string { return head + in.around(content) + tail }})
		}
	}
	for _, part := range s.AllOf {
		out = append(out, spots(part.Value, depth)[1:]...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		inside(name+":", fmt.Sprintf("{%q:", name), "}", s.Properties[name])
	}
	if s.Items != nil {
		inside("element:", "[", "]", s.Items)
	}
	if more := s.AdditionalProperties.Schema; more != nil {
		inside("any member:", `{"any":`, "}", more)
	}
	return out
}

// atLimits returns a value that matches a schema and has the longest lists and texts that the contract
// admits, in at most about n bytes.
func atLimits(s *openapi3.Schema, n, depth int) string {
	for _, part := range s.AllOf {
		return atLimits(part.Value, n, depth)
	}
	if len(s.Enum) > 0 {
		return fmt.Sprintf("%q", fmt.Sprint(s.Enum[0]))
	}
	switch {
	case s.Type == nil:
		return `"x"`
	case s.Type.Permits(openapi3.TypeObject):
		var members []string
		if depth < 4 {
			names := slices.Sorted(maps.Keys(s.Properties))
			for _, name := range names {
				members = append(members, fmt.Sprintf("%q:%s", name, atLimits(s.Properties[name].Value, n/len(names)-len(name)-4, depth+1)))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	case s.Type.Permits(openapi3.TypeArray):
		count := 1 << 10
		if s.MaxItems != nil {
			count = int(*s.MaxItems)
		}
		element := atLimits(s.Items.Value, n/count-1, depth+1)
		count = max(1, min(count, n/(len(element)+1)))
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", count), ",") + "]"
	case s.Type.Permits(openapi3.TypeString):
		length := n
		if s.MaxLength != nil {
			length = min(length, int(*s.MaxLength))
		}
		switch s.Format {
		case "uuid":
			return `"01a1fdda-ccd6-713d-97db-eda78326c93a"`
		case "date-time":
			return `"2026-01-01T00:00:00Z"`
		}
		return `"` + strings.Repeat("word ", max(length, 1)/5) + `x"`
	case s.Type.Permits(openapi3.TypeBoolean):
		return "true"
	case s.Max != nil:
		return strconv.FormatFloat(*s.Max, 'f', -1, 64)
	}
	return "1"
}
