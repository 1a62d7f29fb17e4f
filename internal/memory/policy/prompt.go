package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// partSeparator separates the system message of a prompt file from the template of
// the user message.
const partSeparator = "\n=====\n"

// The marks of a template, which Render fills. They look like those of text/template, which is not
// used: it calls methods by name, so the linker would keep every exported method of the program.
const (
	markData    = "{{.Data}}"
	markCompact = "{{.Compact}}"
	markCount   = "{{.Count}}"
)

// Prompt is one versioned prompt with the schema of its answer. A changed text is a
// new file with a higher version.
type Prompt struct {
	// Version is such as "amem/analyze@1", or "memorybank/daily_summary.zh@1" for a
	// prompt that exists in several languages.
	Version string
	System  string
	body    string
	Schema  json.RawMessage
}

// LoadPrompt reads a prompt and the schema of its answer from a policy's files.
// "mem0/extract@1" is prompts/extract.v1.txt with schemas/extract.v1.json.
// "memorybank/daily_summary.zh@1" is prompts/daily_summary.zh.v1.txt with
// schemas/daily_summary.v1.json: an answer has the same schema in all languages.
func LoadPrompt(files fs.FS, version string) (Prompt, error) {
	file, number, _ := strings.Cut(version, "@")
	_, full, _ := strings.Cut(file, "/")
	name, _, _ := strings.Cut(full, ".")
	path := fmt.Sprintf("prompts/%s.v%s.txt", full, number)
	raw, err := fs.ReadFile(files, path)
	if err != nil {
		return Prompt{}, fmt.Errorf("read prompt: %w", err)
	}
	head, body, ok := strings.Cut(string(raw), partSeparator)
	if !ok {
		return Prompt{}, fmt.Errorf("prompt %s: no line of five equals signs", path)
	}
	if strings.Contains(head, "{{") {
		return Prompt{}, fmt.Errorf("prompt %s: a mark in the system message, which is sent as it is: move it below the line of equals signs", path)
	}
	body = strings.TrimSpace(body)
	if err := checkMarks(body); err != nil {
		return Prompt{}, fmt.Errorf("prompt %s: %w", path, err)
	}
	schema, err := fs.ReadFile(files, fmt.Sprintf("schemas/%s.v%s.json", name, number))
	if err != nil {
		return Prompt{}, fmt.Errorf("read schema: %w", err)
	}
	if !json.Valid(schema) {
		return Prompt{}, fmt.Errorf("schema of %s is not JSON", name)
	}
	return Prompt{
		Version: version,
		System:  strings.TrimSpace(head),
		body:    body,
		Schema:  schema,
	}, nil
}

// checkMarks returns an error unless every brace pair of a template belongs to a mark that Render fills.
func checkMarks(body string) error {
	rest := strings.NewReplacer(markData, "", markCompact, "", markCount, "").Replace(body)
	for _, brace := range []string{"{{", "}}"} {
		if _, after, found := strings.Cut(rest, brace); found {
			line, _, _ := strings.Cut(after, "\n")
			return fmt.Errorf("unknown mark at %q: use %s, %s or %s", brace+line, markData, markCompact, markCount)
		}
	}
	return nil
}

// Call returns a call with the prompt about count entries of material.
func (p *Prompt) Call(c memory.Call, material any, count int) (memory.Call, error) {
	body, err := p.Render(material, count)
	c.Version, c.System, c.Prompt, c.Schema = p.Version, p.System, body, p.Schema
	return c, err
}

// Ask makes such a call.
func (p *Prompt) Ask(ctx context.Context, d memory.Desk, c memory.Call, material any, count int) (memory.Answer, error) {
	c, err := p.Call(c, material, count)
	if err != nil {
		return memory.Answer{}, err
	}
	return d.Ask(ctx, c)
}

// Render returns the user message: the template with the material, and with the count
// of entries in it. The material is written as JSON in which "<", ">", "&" and what else
// opens a tag are escaped, so that no memory text can close the marks around it or hold
// a control token of a model's template. A template takes it as Compact, or as Data:
// indented, which costs about a third more tokens.
func (p *Prompt) Render(material any, count int) (string, error) {
	compact, err := json.Marshal(material)
	if err != nil {
		return "", fmt.Errorf("encode the material of %s: %w", p.Version, err)
	}
	marks := []string{markCount, strconv.Itoa(count)}
	if strings.Contains(p.body, markCompact) {
		marks = append(marks, markCompact, text.EscapeTagsJSON(string(compact)))
	}
	if strings.Contains(p.body, markData) {
		var data bytes.Buffer
		if err := json.Indent(&data, compact, "", "  "); err != nil {
			return "", fmt.Errorf("indent the material of %s: %w", p.Version, err)
		}
		marks = append(marks, markData, text.EscapeTagsJSON(data.String()))
	}
	// One pass, so that a mark in the material stays as it is.
	return strings.NewReplacer(marks...).Replace(p.body), nil
}
