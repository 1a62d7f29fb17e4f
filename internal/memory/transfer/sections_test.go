package transfer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A file is cut at its headings; nothing of its text is lost, and no part is too long.
func TestSections(t *testing.T) {
	t.Parallel()
	const text = "\n# Guide\n## Install\nRun make.\n\n```sh\n# no heading\n```\n#not one\n## Use ##\nCall it.\n# Empty\n"
	want := []cut{
		{"Install", "# Guide\n## Install\nRun make.\n\n```sh\n# no heading\n```\n#not one"},
		{"Use", "## Use ##\nCall it."},
		{"Empty", "# Empty"},
	}
	got := sections(text)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := sections(" \n\n"); len(got) != 0 {
		t.Errorf("an empty file: %q", got)
	}
	long := strings.Repeat("Ein Satz über Öfen. ", 300) + "\n\n" + strings.Repeat("字", 5_000)
	var joined strings.Builder
	for _, s := range sections(long) {
		if n := utf8.RuneCountInString(s.content); n > sectionSize || !utf8.ValidString(s.content) {
			t.Errorf("a part of %d characters", n)
		}
		joined.WriteString(s.content)
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if squeeze(joined.String()) != squeeze(long) {
		t.Error("text is lost")
	}
}
