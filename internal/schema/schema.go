// Package schema compiles JSON schemas (draft 2020-12) and says in words what does not fit. Nothing is ever loaded:
// a reference to another document is an error.
//
// [Compile] takes the schemas of this program. [Parse] takes those that a tenant wrote, and refuses what would make
// the check of a value expensive.
//
// It imports no other package of this module. internal/llm and internal/memory/policy/memgpt/agent/tools call it.
package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema checks values.
type Schema = jsonschema.Schema

// Compile compiles a decoded schema.
func Compile(doc any) (*Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	const name = "schema.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return compiled, nil
}

// noLoader refuses references to other documents.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("no schema is loaded: %s", url) }

// maxComplaints bounds how many errors of one value are shown.
const maxComplaints = 5

// Explain lists what a check found, with its location.
func Explain(err error) string {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return err.Error()
	}
	p := message.NewPrinter(language.English)
	var lines []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 && len(lines) < maxComplaints {
			lines = append(lines, "/"+strings.Join(e.InstanceLocation, "/")+": "+e.ErrorKind.LocalizedString(p))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(ve)
	return strings.Join(lines, "; ")
}
