package files

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// A file of few tokens and many bytes is cut into chunks that a note can hold, and none of its text is lost.
func TestChunkBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media document.Media
		data  string
	}{
		"one letter":          {document.Plain, strings.Repeat("a", 1_200_299)},
		"lines of one word":   {document.Plain, strings.Repeat(strings.Repeat("b", 3_000)+"\n", 200)},
		"digits":              {document.Markdown, strings.Repeat("0123456789", 30_000)},
		"characters of Han":   {document.Plain, strings.Repeat("字", 100_000)},
		"a long field":        {document.CSV, "name,text\nx,\"" + strings.Repeat("z", 300_000) + "\"\n"},
		"long words of lines": {document.Plain, strings.Repeat(strings.Repeat("c", 900)+" ", 500)},
	} {
		pages, err := document.Extract(c.media, []byte(c.data), document.Limits{}, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lines, _ := chunk(&File{ID: uuid.New()}, pages)
		var got strings.Builder
		for _, l := range lines {
			text := l.Note.Content
			if text == "" || len(text) > memory.MaxContentBytes || !utf8.ValidString(text) || strings.TrimSpace(text) != text {
				t.Errorf("%s: a chunk has %d bytes", name, len(text))
			}
			got.WriteString(text)
		}
		if bare := func(s string) string { return strings.Join(strings.Fields(s), "") }; bare(got.String()) != bare(strings.Join(pages, "")) {
			t.Errorf("%s: text is lost", name)
		}
	}
}
