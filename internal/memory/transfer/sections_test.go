package transfer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names of files and people are the same with accents as marks, as macOS writes them, and tags have all their vowels.
func TestNamesInOtherSigns(t *testing.T) {
	t.Parallel()
	if got := targetsOf("[[Café Ñandú]] und [[부산]]"); !slices.Equal(got, []string{"café ñandú", "부산"}) ||
		!slices.Contains(Names("Notes/Cafe\u0301 N\u0303andu\u0301.md", nil), got[0]) || !slices.Contains(Names("x.md", []string{norm.NFD.String("부산")}), got[1]) {
		t.Errorf("%q", got)
	}
	if (&reading{Options: Options{OnePerson: true, Me: "José"}}).roleOf("Jose\u0301") != "user" {
		t.Error("José is somebody else")
	}
	for _, tag := range []string{"पुणे", "ภาษาไทย", "বাংলা", "Cafe\u0301"} {
		if m := inlineTag.FindStringSubmatch("a #" + tag + " b"); !slices.Contains(m, tag) {
			t.Errorf("%q: %q", tag, m)
		}
	}
}

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
