package policy

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

//go:embed prompts schemas
var files embed.FS

// partsMark divides the system part of a prompt file from the material.
const partsMark = "\n=====\n"

// prompt is one versioned prompt with the schema of its answer. A change of
// the text is a new file with a higher version.
type prompt struct {
	version string // such as "amem/analyze@1", or "memorybank/daily_summary.zh@1" where there is one per language
	system  string
	body    *template.Template
	schema  json.RawMessage
}

// loadPrompt reads a prompt and the schema of its answer by the prompt's version: "mem0/extract@1" is
// prompts/mem0/extract.v1.txt with schemas/extract.v1.json, and "memorybank/daily_summary.zh@1" is
// prompts/memorybank/daily_summary.zh.v1.txt with schemas/daily_summary.v1.json, since answers have one
// schema in all languages.
func loadPrompt(version string) (prompt, error) {
	file, number, _ := strings.Cut(version, "@")
	_, name, _ := strings.Cut(file, "/")
	name, _, _ = strings.Cut(name, ".")
	path := fmt.Sprintf("prompts/%s.v%s.txt", file, number)
	raw, err := files.ReadFile(path)
	if err != nil {
		return prompt{}, fmt.Errorf("read prompt: %w", err)
	}
	head, body, ok := strings.Cut(string(raw), partsMark)
	if !ok {
		return prompt{}, fmt.Errorf("prompt %s: no line of five equals signs", path)
	}
	t, err := template.New(name).Option("missingkey=error").Parse(strings.TrimSpace(body))
	if err != nil {
		return prompt{}, fmt.Errorf("prompt %s: %w", path, err)
	}
	schema, err := files.ReadFile(fmt.Sprintf("schemas/%s.v%s.json", name, number))
	if err != nil {
		return prompt{}, fmt.Errorf("read schema: %w", err)
	}
	if !json.Valid(schema) {
		return prompt{}, fmt.Errorf("schema of %s is no JSON", name)
	}
	return prompt{
		version: version,
		system:  strings.TrimSpace(head),
		body:    t,
		schema:  schema,
	}, nil
}

// render puts material into the prompt. The material is written as JSON in
// which "<", ">" and "&" are escaped, so that no memory text can close the
// marks around it.
func (p *prompt) render(material any, count int) (string, error) {
	data, err := json.MarshalIndent(material, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the material of %s: %w", p.version, err)
	}
	var b strings.Builder
	err = p.body.Execute(&b, struct {
		Data  string
		Count int
	}{string(data), count})
	if err != nil {
		return "", fmt.Errorf("render %s: %w", p.version, err)
	}
	return b.String(), nil
}
