package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/schema"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of a call.
const (
	maxArguments = 64 << 10 // bytes
	maxQuery     = 8 << 10  // bytes of arguments in a query
	shownError   = 500      // characters of an answer that says why it failed
)

// Call calls a tool with the arguments of a model, and returns what the service answered. key is the same for a call
// that is made again. Everything that a model can do something about, such as arguments that do not fit or a service
// that fails, is a fault of the code Invalid, Conflict or TooLarge.
func (v *Service) Call(ctx context.Context, s tenant.Scope, t *memory.HTTPTool, arguments map[string]any, key string) (string, error) {
	given := make(map[string]any, len(arguments))
	for name, value := range arguments {
		if name != argHeartbeat {
			given[name] = value
		}
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "encode the arguments of a tool")
	}
	if len(raw) > maxArguments {
		return "", fault.New(fault.TooLarge, "the arguments have %d bytes; at most %d are possible", len(raw), maxArguments)
	}
	if err := checkArguments(t, raw); err != nil {
		return "", err
	}
	hosts, err := v.hosts(ctx, s)
	if err != nil {
		return "", err
	}
	secrets, err := v.open(s, t)
	if err != nil {
		return "", err
	}
	r := outbound.Request{
		Method: t.Spec.Method, URL: t.Spec.URL, Key: key, Hosts: hosts, Timeout: time.Duration(t.Spec.TimeoutMS) * time.Millisecond, MaxBytes: t.Spec.MaxBytes,
	}
	if r.Header, err = fill(t.Spec.Headers, secrets); err != nil {
		return "", err
	}
	if slices.Contains(inQuery, t.Spec.Method) {
		if r.Query, err = query(given); err != nil {
			return "", err
		}
	} else {
		r.Body = raw
	}
	answer, err := v.client.Do(ctx, r)
	if err != nil {
		return "", err
	}
	return read(&answer, masker(secrets))
}

// checkArguments returns Invalid with everything that does not fit the schema of a tool.
func checkArguments(t *memory.HTTPTool, raw []byte) error {
	_, compiled, err := schema.Parse(t.Spec.Parameters)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the parameters of the tool %s cannot be read", t.Name)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fault.Wrap(err, fault.Internal, "decode the arguments of a tool")
	}
	if err := compiled.Validate(doc); err != nil {
		return fault.New(fault.Invalid, "the arguments do not fit the tool's schema: %s", schema.Explain(err))
	}
	return nil
}

// query returns arguments as a query: a list has a value for each element, and an object is JSON.
func query(given map[string]any) (url.Values, error) {
	out := url.Values{}
	for name, value := range given {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, x := range list {
			if s, ok := x.(string); ok {
				out.Add(name, s)
				continue
			}
			raw, err := json.Marshal(x)
			if err != nil {
				return nil, fault.Wrap(err, fault.Internal, "encode the argument of a tool")
			}
			out.Add(name, string(raw))
		}
	}
	if n := len(out.Encode()); n > maxQuery {
		return nil, fault.New(fault.TooLarge, "the arguments have %d bytes in the query; at most %d are possible", n, maxQuery)
	}
	return out, nil
}

// read returns the text of an answer, without secrets.
func read(a *outbound.Response, mask func(string) string) (string, error) {
	if !utf8.Valid(a.Body) || bytes.IndexByte(a.Body, 0) >= 0 {
		return "", fault.New(fault.Invalid, "the service answered %d with %d bytes that are no text%s", a.Status, len(a.Body), mask(kind(a.MediaType)))
	}
	body := mask(string(a.Body))
	if a.Status < 200 || a.Status > 299 {
		return "", fault.New(fault.Invalid, "the service answered %d: %s", a.Status, excerpt(body))
	}
	if isJSON(a.MediaType) && len(bytes.TrimSpace(a.Body)) > 0 && !json.Valid(a.Body) {
		return "", fault.New(fault.Invalid, "the service answered %d with broken JSON: %s", a.Status, excerpt(body))
	}
	return body, nil
}

func kind(media string) string {
	if media == "" || len(media) > 100 {
		return ""
	}
	return fmt.Sprintf(" (%s)", media)
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// excerpt returns the beginning of a text.
func excerpt(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "(empty)"
	}
	n := 0
	for i := range s {
		if n == shownError {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
