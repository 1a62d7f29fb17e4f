package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/wording"
)

const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaSSE    = "text/event-stream"
)

// maxFullReport is the largest body, in bytes, for which every wrong field is reported. Of larger
// ones only the first is: the validator collects an error for each wrong element before it looks at
// the length of a list, which costs several hundred times the size of the body.
const maxFullReport = 16 << 10

// firstError checks the formats that the contract uses, and stops at the first error. It does not
// fill in defaults: a handler must be able to distinguish absent fields.
var firstError = []openapi3.SchemaValidationOption{
	openapi3.EnableFormatValidation(),
	openapi3.WithStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(
		`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)),
}

// allErrors is firstError that reports all fields.
var allErrors = append([]openapi3.SchemaValidationOption{openapi3.MultiErrors()}, firstError...)

// checkSchema refuses a value that does not match the schema, and names the wrong fields below
// prefix. size is the length of the value as JSON; see maxFullReport.
func checkSchema(schema *openapi3.Schema, value any, size int, prefix string) error {
	err := schema.VisitJSON(value, firstError...)
	if err == nil {
		return nil
	}
	if size <= maxFullReport {
		err = schema.VisitJSON(value, allErrors...)
	}
	fields := schemaFields(err, prefix, nil)
	if len(fields) == 0 {
		fields = []fault.Field{{Field: prefix, Reason: "does not match the contract"}}
	}
	slices.SortStableFunc(fields, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
	at := cmp.Or(fields[0].Field, "the body")
	return &fault.Error{Code: fault.Invalid, Message: at + ": " + fields[0].Reason, Fields: fields}
}

// schemaFields flattens the validator's errors. Only reasons are shown; of values they repeat the start of one that is none
// of an enumeration.
func schemaFields(err error, prefix string, out []fault.Field) []fault.Field {
	if len(out) > maxProblemFields {
		return out
	}
	var many openapi3.MultiError
	var one *openapi3.SchemaError
	switch {
	case errors.As(err, &one) && !isMulti(err):
		path := prefix
		for _, key := range one.JSONPointer() {
			path = join(path, key)
		}
		if one.SchemaField == "allOf" && one.Origin != nil {
			return schemaFields(one.Origin, prefix, out) // the failed part says more
		}
		reason := one.Reason
		if name, ok := strings.CutPrefix(reason, "property "); ok && one.SchemaField == "properties" {
			// The validator names an unknown key only in its reason.
			if key, err := strconv.Unquote(strings.TrimSuffix(name, " is unsupported")); err == nil {
				path, reason = join(path, key), unknownName("field", key, slices.Collect(maps.Keys(one.Schema.Properties)))
			}
		}
		if ours := reasonOf(one); ours != "" {
			reason = ours
		}
		return append(out, fault.Field{Field: path, Reason: reason})
	case errors.As(err, &many):
		for _, e := range many {
			out = schemaFields(e, prefix, out)
		}
	}
	return out
}

// patternRules words the patterns of the contract.
var patternRules = map[string]string{
	`^[a-z0-9][a-z0-9_.-]{0,127}$`: tenant.NameRule,
	`^[A-Za-z0-9_-]{1,64}$`:        "must be 1 to 64 of a-z, A-Z, 0-9, _ -", // names of tools, as models take them
	`^auto$`:                       `must be a number or "auto"`,
}

// minTimeLength is the least length of a time. The contract asks it of nothing else.
const minTimeLength = 10

// reasonOf words a refusal of which the validator's own reason does not say what to do; "" for any other.
func reasonOf(e *openapi3.SchemaError) string {
	switch e.SchemaField {
	case "enum":
		var allowed []string
		for _, v := range e.Schema.Enum {
			if v != nil {
				allowed = append(allowed, fmt.Sprint(v))
			}
		}
		if given, ok := e.Value.(string); ok {
			return fmt.Sprintf("must be one of %s; it is %q", wording.Or(allowed...), clip.Runes(given, 64))
		}
		return "must be one of " + wording.Or(allowed...)
	case "required":
		return "is required"
	case "nullable":
		return "must not be null"
	case "pattern":
		return patternRules[e.Schema.Pattern]
	case "format":
		return "must have the format " + e.Schema.Format
	case "minLength":
		switch e.Schema.MinLength {
		case 1:
			return "must not be empty"
		case minTimeLength:
			return "must be " + memory.TimeForm
		}
	case "minItems":
		return tooFewItems(e.Schema.MinItems)
	}
	return ""
}

func tooFewItems(least uint64) string {
	if least == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("minimum number of items is %d", least)
}

func isMulti(err error) bool {
	_, ok := err.(openapi3.MultiError) //nolint:errorlint // the outermost type decides
	return ok
}

// checkParameters validates the query and headers of a request. Handlers check path parameters: an
// id that cannot exist is NotFound, not Invalid.
func (o *operation) checkParameters(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.Wrap(err, fault.Malformed, "the query string is malformed")
	}
	if o.public {
		return query, nil
	}
	var bad []fault.Field
	checks := o.checks()
	for name, values := range query {
		if len(bad) > maxProblemFields {
			break // no more are shown, and each is compared with all valid names
		}
		if err := checkText(name, append([]string{name}, values...)...); err != nil {
			return nil, err
		}
		p := checks.query[name]
		switch {
		case p == nil && o.open:
		case p == nil:
			bad = append(bad, fault.Field{Field: name, Reason: unknownName("parameter", name, slices.Collect(maps.Keys(checks.query)))})
		case len(values) > 1:
			bad = append(bad, fault.Field{Field: name, Reason: "is repeated"})
		default:
			bad = append(bad, checkParameter(p, values[0])...)
		}
	}
	for name, p := range checks.query {
		if p.Required && !query.Has(name) {
			bad = append(bad, fault.Field{Field: name, Reason: "is required"})
		}
	}
	if o.noIdempotency && len(r.Header.Values("Idempotency-Key")) > 0 {
		return nil, &fault.Error{
			Code: fault.Malformed, Message: "Idempotency-Key is refused here, because the answer contains a secret",
			Fields: []fault.Field{{Field: "Idempotency-Key", Reason: "refused by this operation"}},
		}
	}
	for _, p := range checks.headers {
		values := r.Header.Values(p.Name)
		if len(values) == 0 {
			continue
		}
		if err := checkText(p.Name, values...); err != nil {
			return nil, err
		}
		if len(values) > 1 {
			bad = append(bad, fault.Field{Field: p.Name, Reason: "is repeated"})
			continue
		}
		bad = append(bad, checkParameter(p, values[0])...)
	}
	if len(bad) == 0 {
		return query, nil
	}
	slices.SortFunc(bad, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
	return nil, &fault.Error{Code: fault.Invalid, Message: bad[0].Field + ": " + bad[0].Reason, Fields: bad}
}

func checkText(field string, values ...string) error {
	for _, v := range values {
		if !utf8.ValidString(v) {
			return fault.New(fault.Malformed, "a parameter is not valid UTF-8")
		}
		if strings.ContainsRune(v, 0) {
			return fault.InvalidField(strings.ReplaceAll(field, "\x00", ""), "must not contain NUL")
		}
	}
	return nil
}

func checkParameter(p *openapi3.Parameter, text string) []fault.Field {
	schema := p.Schema.Value
	var value any = text
	if schema.Type.Is(openapi3.TypeInteger) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return []fault.Field{{Field: p.Name, Reason: "must be an integer"}}
		}
		value = json.Number(strconv.FormatInt(n, 10))
	}
	if schema.Type.Is(openapi3.TypeBoolean) {
		if text != "true" && text != "false" {
			return []fault.Field{{Field: p.Name, Reason: "must be true or false"}}
		}
		value = text == "true"
	}
	if f, ok := errors.AsType[*fault.Error](checkSchema(schema, value, len(text), p.Name)); ok {
		return f.Fields
	}
	return nil
}

// readBody reads and validates the body of an operation, and stores its bytes for bind. body is the
// request's share of the memory for bodies. NDJSON bodies are read but not parsed; the size of streamed
// ones is limited, but they are not read.
func (o *operation) readBody(c *gin.Context, body *share) error {
	if len(o.bodyTypes) == 0 {
		return nil // a body is ignored
	}
	r := c.Request
	if err := o.checkMedia(r); err != nil {
		return err
	}
	if r.ContentLength > o.bodyLimit {
		return tooLarge(o.bodyLimit)
	}
	r.Body = http.MaxBytesReader(c.Writer, r.Body, o.bodyLimit)
	if o.bodyStreams {
		return nil
	}
	most := o.bodyLimit
	if r.ContentLength >= 0 {
		most = r.ContentLength
	}
	raw, err := readAll(r.Body, most, body)
	if err != nil {
		return err
	}
	c.Set(keyBody, raw)
	schema := o.checks().body
	if schema == nil {
		return nil
	}
	if len(raw) == 0 {
		if o.bodyMust {
			return fault.New(fault.Malformed, "a JSON body is required")
		}
		return nil
	}
	_, err = checkBody(r.Context(), schema, raw)
	return err
}

// checkMedia refuses other content types and encodings. Without a content type, the operation's own
// is assumed.
func (o *operation) checkMedia(r *http.Request) error {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return fault.New(fault.Unsupported, "compressed bodies are not accepted")
	}
	ct := r.Header.Get("Content-Type")
	if ct == "" || r.ContentLength == 0 {
		return nil
	}
	media, params, err := mime.ParseMediaType(ct)
	charset := strings.ToLower(params["charset"])
	if err != nil || !slices.Contains(o.bodyTypes, media) || (charset != "" && charset != "utf-8") {
		return fault.New(fault.Unsupported, "the body must be %s in UTF-8", strings.Join(o.bodyTypes, " or "))
	}
	return nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "the body is larger than %d bytes", limit)
}

// bodyError describes an error while a body was read.
func bodyError(err error) error {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(big.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault.Wrap(err, fault.Timeout, "the body did not arrive in time")
	}
	return fault.Wrap(err, fault.Malformed, "the body ended early")
}
