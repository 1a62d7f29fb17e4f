package policy

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/slipboxhq/slipbox/internal/memory"
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

// loadPrompt reads prompts/<system>/<name>.v<n>.txt and schemas/<name>.v<n>.json.
func loadPrompt(system, name string, version int) (prompt, error) {
	return loadPromptIn(system, name, "", version)
}

// loadPromptIn reads the prompt of a language, prompts/<system>/<name>.<language>.v<n>.txt. The
// answers have one schema in all languages.
func loadPromptIn(system, name string, language memory.Language, version int) (prompt, error) {
	own := name
	if language != "" {
		own += "." + string(language)
	}
	path := fmt.Sprintf("prompts/%s/%s.v%d.txt", system, own, version)
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
	schema, err := files.ReadFile(fmt.Sprintf("schemas/%s.v%d.json", name, version))
	if err != nil {
		return prompt{}, fmt.Errorf("read schema: %w", err)
	}
	if !json.Valid(schema) {
		return prompt{}, fmt.Errorf("schema of %s is no JSON", name)
	}
	return prompt{
		version: fmt.Sprintf("%s/%s@%d", system, own, version),
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
