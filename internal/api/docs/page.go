package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:embed page.html.tmpl page.css page.js
var files embed.FS

type docsView struct {
	Title, Version string
	Lead, Rules    template.HTML // the first paragraph of the contract's description, and the others
	Style, Script  template.HTML
	Steps          []docsStep
	Groups         []docsGroup
	Schemas        []docsSchema
}

type docsGroup struct {
	Name       string
	About      template.HTML
	Operations []docsOperation
}

type docsOperation struct {
	ID, Verb, Path, Summary, Scope, Words string
	Public                                bool
	About, BodyAbout                      template.HTML
	Parameters, Body                      []docsField
	BodyType, BodyName, BodySample        string
	Answers                               []docsAnswer
	Curl, Sample, SampleStatus            string
}

type docsField struct {
	Name, In, Type, Schema, Bounds string
	Sample                         string // of a parameter
	Required                       bool
	OneOf                          bool // one of several, of which the body needs exactly one
	About                          template.HTML
}

type docsAnswer struct {
	Status, Schema string
	Good           bool
	About          template.HTML
}

type docsSchema struct {
	Name, Type, Words string
	About             template.HTML
	Fields            []docsField
}

// render returns the page, with style and script inside, so that it works without a network.
func (d *document) render() ([]byte, error) {
	tmpl, err := template.ParseFS(files, "page.html.tmpl")
	if err != nil {
		return nil, err
	}
	css, err := files.ReadFile("page.css")
	if err != nil {
		return nil, err
	}
	js, err := files.ReadFile("page.js")
	if err != nil {
		return nil, err
	}
	lead, rules, _ := strings.Cut(d.spec.Info.Description, "\n\n")
	view := docsView{
		Title: d.spec.Info.Title, Version: d.spec.Info.Version, Lead: prose(lead), Rules: prose(rules), Steps: quickStart,
		Style:  template.HTML("<style>" + string(css) + "</style>"),  //nolint:gosec // our own embedded file
		Script: template.HTML("<script>" + string(js) + "</script>"), //nolint:gosec // our own embedded file
	}
	order := newFieldOrder(d.raw)
	for _, tag := range d.spec.Tags {
		view.Groups = append(view.Groups, docsGroup{
			Name: tag.Name, About: inline(tag.Description), Operations: d.docsOperations(tag.Name, order),
		})
	}
	for name, ref := range d.spec.Components.Schemas {
		view.Schemas = append(view.Schemas, docsSchema{
			Name: name, Type: typeName(ref.Value), Words: strings.ToLower(name),
			About: prose(ref.Value.Description), Fields: order.fields(name, ref.Value),
		})
	}
	sort.Slice(view.Schemas, func(i, j int) bool { return view.Schemas[i].Name < view.Schemas[j].Name })
	var out bytes.Buffer
	if err := tmpl.Execute(&out, view); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// docsOperations lists a tag's operations in the order of the document.
func (d *document) docsOperations(tag string, order fieldOrder) []docsOperation {
	var ops []*operation
	for _, o := range d.operations {
		if len(o.doc.Tags) > 0 && o.doc.Tags[0] == tag {
			ops = append(ops, o)
		}
	}
	position := func(o *operation) int { return bytes.Index(d.raw, []byte("operationId: "+o.id+"\n")) }
	sort.Slice(ops, func(i, j int) bool { return position(ops[i]) < position(ops[j]) })
	out := make([]docsOperation, 0, len(ops))
	for _, o := range ops {
		out = append(out, newDocsOperation(o, order))
	}
	return out
}

func newDocsOperation(o *operation, order fieldOrder) docsOperation {
	v := docsOperation{
		ID: o.id, Verb: strings.ToLower(o.method), Path: o.path, Summary: o.doc.Summary, Scope: o.scope,
		Public: o.public, About: prose(o.doc.Description),
		Words: strings.ToLower(strings.Join([]string{o.id, o.method, o.path, o.doc.Summary, o.doc.Description}, " ")),
	}
	for _, p := range o.doc.Parameters {
		v.Parameters = append(v.Parameters, docsField{
			Name: p.Value.Name, In: p.Value.In, Type: typeName(p.Value.Schema.Value), Schema: component(p.Value.Schema),
			Bounds: bounds(p.Value.Schema.Value), Required: p.Value.Required && p.Value.In != openapi3.ParameterInPath,
			Sample: parameterSample(p.Value), About: prose(p.Value.Description),
		})
	}
	if len(o.bodyTypes) > 0 {
		body := o.doc.RequestBody.Value
		v.BodyType, v.BodyAbout = o.bodyTypes[0], prose(body.Description)
		ref := body.Content[v.BodyType].Schema
		v.BodyName = component(ref)
		v.Body = order.fields(v.BodyName, ref.Value)
		v.BodySample = bodySample(o)
	}
	for status, ref := range o.doc.Responses.Map() {
		a := docsAnswer{Status: status, Good: strings.HasPrefix(status, "2")}
		if ref.Value.Description != nil {
			a.About = inline(*ref.Value.Description + " ")
		}
		if a.Good {
			a.Schema = answerSchema(ref.Value.Content)
		}
		v.Answers = append(v.Answers, a)
	}
	sort.Slice(v.Answers, func(i, j int) bool { return v.Answers[i].Status < v.Answers[j].Status })
	v.Curl = curlSample(o)
	v.SampleStatus, v.Sample = answerSample(o)
	return v
}

// answerSchema returns the name of an answer's schema: that of JSON, when there is one.
func answerSchema(content openapi3.Content) string {
	if c := content[mediaJSON]; c != nil {
		return component(c.Schema)
	}
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if name := component(content[media].Schema); name != "" {
			return name
		}
	}
	return ""
}

// fieldOrder is the order in which the contract writes the properties of its component schemas,
// which decoding loses: the most important ones come first.
type fieldOrder map[string][]string

var (
	schemaLine   = regexp.MustCompile(`^ {4}(\w+):`)
	propertyLine = regexp.MustCompile(`^ {8}(\w+):`)
)

// newFieldOrder reads the order from the contract's text, whose form TestFieldOrder checks.
func newFieldOrder(raw []byte) fieldOrder {
	order := fieldOrder{}
	var name string
	inside := false // the properties of the schema
	_, components, _ := strings.Cut(string(raw), "\ncomponents:\n")
	_, schemas, _ := strings.Cut(components, "\n  schemas:\n")
	for line := range strings.Lines(schemas) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if m := schemaLine.FindStringSubmatch(line); m != nil {
			name, inside = m[1], false
		} else if indent == 6 {
			inside = strings.HasPrefix(line, "      properties:")
		} else if m := propertyLine.FindStringSubmatch(line); m != nil && inside {
			order[name] = append(order[name], m[1])
		}
	}
	return order
}

// oneOfSentence begins the description of a body that needs exactly one of several fields.
var oneOfSentence = regexp.MustCompile("^Exactly one of ((?:`\\w+`(?:, | and )?)+)")

// fields lists an object's properties: required ones first, then those of which one is required, each
// in the order of the contract.
func (order fieldOrder) fields(schema string, s *openapi3.Schema) []docsField {
	var oneOf string
	if m := oneOfSentence.FindStringSubmatch(s.Description); m != nil {
		oneOf = m[1]
	}
	out := make([]docsField, 0, len(s.Properties))
	for name, ref := range s.Properties {
		f := docsField{
			Name: name, Type: typeName(ref.Value), Schema: component(ref), Bounds: bounds(ref.Value),
			About: prose(ref.Value.Description), Required: slices.Contains(s.Required, name),
			OneOf: strings.Contains(oneOf, "`"+name+"`"),
		}
		if ref.Value.Items != nil && f.Schema == "" {
			f.Schema = component(ref.Value.Items)
		}
		out = append(out, f)
	}
	rank := func(f docsField) int {
		switch {
		case f.Required:
			return 0
		case f.OneOf:
			return 1
		}
		return 2
	}
	slices.SortFunc(out, func(a, b docsField) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(slices.Index(order[schema], a.Name), slices.Index(order[schema], b.Name)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

// component returns the name of a referenced schema, "" for an inline one.
func component(ref *openapi3.SchemaRef) string {
	if ref == nil {
		return ""
	}
	name, _ := strings.CutPrefix(ref.Ref, "#/components/schemas/")
	return name
}

// typeName returns a schema's type in words: "array of string", "integer or null".
func typeName(s *openapi3.Schema) string {
	if s.Type == nil {
		if len(s.AnyOf) > 0 {
			names := make([]string, len(s.AnyOf))
			for i, ref := range s.AnyOf {
				names[i] = component(ref)
			}
			return strings.Join(names, " or ")
		}
		return "any"
	}
	name := strings.Join(s.Type.Slice(), " or ")
	if s.Items != nil && s.Items.Value != nil {
		inner := component(s.Items)
		if inner == "" {
			inner = typeName(s.Items.Value)
		}
		return strings.Replace(name, "array", "array of "+inner, 1)
	}
	if s.Format != "" && s.Format != "int64" && s.Format != "double" && s.Format != "float" {
		name += " (" + s.Format + ")"
	}
	return name
}

// bounds returns what the schema allows beyond its type.
func bounds(s *openapi3.Schema) string {
	var out []string
	if len(s.Enum) > 0 {
		names := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			names[i] = fmt.Sprint(v)
		}
		out = append(out, "one of "+strings.Join(names, ", "))
	}
	if s.Min != nil {
		out = append(out, "at least "+number(*s.Min))
	}
	if s.Max != nil {
		out = append(out, "at most "+number(*s.Max))
	}
	if s.MaxLength != nil {
		out = append(out, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	if s.MaxItems != nil {
		out = append(out, fmt.Sprintf("at most %d items", *s.MaxItems))
	}
	if s.Default != nil {
		out = append(out, fmt.Sprintf("default %v", s.Default))
	}
	return strings.Join(out, " · ")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	strongSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// inline renders the two marks that the contract's texts use, `code` and **strong**, and escapes
// everything else.
func inline(text string) template.HTML {
	s := template.HTMLEscapeString(text)
	s = codeSpan.ReplaceAllString(s, "<code>$1</code>")
	s = strongSpan.ReplaceAllString(s, "<strong>$1</strong>")
	return template.HTML(s) //nolint:gosec // escaped above
}

// prose renders paragraphs, which blank lines separate.
func prose(text string) template.HTML {
	var out strings.Builder
	for p := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if p != "" {
			out.WriteString("<p>" + string(inline(p)) + "</p>")
		}
	}
	return template.HTML(out.String()) //nolint:gosec // every piece is escaped
}
