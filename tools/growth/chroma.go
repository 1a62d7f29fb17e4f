package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/corpus"
)

//go:embed chroma.py
var chromaScript []byte

// mostForChroma is the largest collection that Chroma is measured with: its index takes minutes to
// build beyond it.
const mostForChroma = 100_000

// chroma measures Chroma inside its own process, without HTTP, with the texts and vectors that the
// gateway was given.
func (b *bench) chroma(ctx context.Context) error {
	sizes := slices.DeleteFunc(slices.Clone(b.sizes), func(n int) bool { return n > mostForChroma })
	if b.python == "" || len(sizes) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp(b.dir, "chroma-")
	if err != nil {
		return err
	}
	text, n := corpus.New(11), sizes[len(sizes)-1]
	notes := make([]string, n)
	for i := range notes {
		notes[i] = text.Note()
	}
	queries := text.Queries(64)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte(strings.Join(notes, "\n")), 0o600); err != nil {
		return err
	}
	for name, texts := range map[string][]string{"notes.f32": notes, "queries.f32": queries} {
		if err := writeVectors(ctx, filepath.Join(dir, name), texts); err != nil {
			return err
		}
	}
	list := make([]string, len(sizes))
	for i, n := range sizes {
		list[i] = strconv.Itoa(n)
	}
	args := []string{"-", dir, strconv.Itoa(n), strconv.Itoa(dimensions), strconv.Itoa(len(queries)), strconv.Itoa(b.calls), strings.Join(list, ",")}
	cmd := exec.CommandContext(ctx, b.python, args...) //nolint:gosec // the user's Python
	cmd.Stdin, cmd.Stderr = bytes.NewReader(chromaScript), os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("measure Chroma: %w", err)
	}
	var out struct {
		Version string
		Figures []Figure
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("measure Chroma: %w: %.300s", err, raw)
	}
	for _, f := range out.Figures {
		f.Who = "Chroma " + out.Version
		b.add(f)
	}
	return nil
}

// writeVectors writes the vectors of texts as float32, one after the other.
func writeVectors(ctx context.Context, path string, texts []string) error {
	var raw bytes.Buffer
	for part := range slices.Chunk(texts, 512) {
		made, err := llm.Hash{}.Embed(ctx, tenant.Scope{}, part)
		if err != nil {
			return err
		}
		for _, e := range made {
			if err := binary.Write(&raw, binary.LittleEndian, e.Vector); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(path, raw.Bytes(), 0o600)
}
