package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/slipboxhq/slipbox/test/must"
)

// Text fits in its columns, in any script, and nothing of it is lost.
func TestWrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                    {""},
		"one two three":       {"one two", "three"},
		"one\n\ntwo":          {"one", "", "two"},
		"unbreakablewordhere": {"unbreakab", "lewordher", "e"},
		"東京に住んでいます":           {"東京に住", "んでいま", "す"},
		"a 👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦": {"a 👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"},
	} {
		if got := wrap(text, 9); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// What a note holds cannot move the cursor, paint the terminal or turn the direction of text.
func TestCleanTextCannotControlATerminal(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J\x1b]0;title\x07red\u009b31m\u202Etxt.exe\u2066\r\nnext\tcell\x00"
	got := clean(hostile)
	if strings.ContainsAny(got, "\x1b\x07\u009b\u202e\u2066\r\t\x00") || !strings.Contains(got, "next cell") {
		t.Errorf("%q", got)
	}
}

// JSON on a terminal cannot control it either, and says the same.
func TestJSONOnATerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := screen{w: &b, terminal: true}
	const raw = "{\"a\": \"\\u001b red\u009b31m\u202Etxt\u007f\"}\n{\"b\": 1}"
	must.Do(t, s.json([]byte(raw)))
	var was, is struct {
		A string `json:"a"`
	}
	first, _, _ := strings.Cut(b.String(), "\n")
	if err := errors.Join(json.Unmarshal([]byte(first), &is), json.NewDecoder(strings.NewReader(raw)).Decode(&was)); err != nil || is != was || strings.ContainsAny(b.String(), "\u009b\u202e\u007f") {
		t.Errorf("%v: %q", err, b.String())
	}
}

// What comes in parts is wrapped as what comes in one piece.
func TestStreamedTextIsWrappedAsAWhole(t *testing.T) {
	t.Parallel()
	const text = "A kiln, 東京 and vases; un\x1bbreak\u00a0able.\nThe end of it"
	var whole, parts bytes.Buffer
	s := &screen{w: &whole, width: 20}
	must.Do(t, s.text("", text))
	f := flow{screen: &screen{w: &parts, width: 20}}
	for _, r := range text {
		must.Do(t, f.add(string(r), false))
	}
	must.Do(t, f.add("", true))
	if got := parts.String() + "\n"; got != whole.String() {
		t.Errorf("%q; at once %q", got, whole.String())
	}
}

// A status is one line, however wide its characters are.
func TestStatusFitsInALine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := &screen{w: &b, moves: true, width: 20}
	s.statusf("reading %s", strings.Repeat("東京", 9))
	if got := strings.TrimPrefix(b.String(), "\r\x1b[K"); uniseg.StringWidth(got) > 19 || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

// A result fits in a terminal of 40 columns.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	env := map[string]string{"COLUMNS": "40"}
	s := newScreen(&b, func(name string) string { return env[name] })
	must.Do(t, s.text(" 1 ", strings.Repeat("A kiln, 東京 and vases. ", 9)))
	must.Do(t, s.details(3, "0.83", "", "2026-03-01 09:30", "01a1fdda-ccd6-713d-97db-eda78326c93a", strings.Repeat("x", 30)))
	for line := range strings.Lines(b.String()) {
		if n := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if s.statusf("working"); strings.Contains(b.String(), "working") {
		t.Error("a pipe has a status")
	}
}

// full is an output that takes one write.
type full struct{ has string }

func (f *full) Write(p []byte) (int, error) {
	if f.has != "" {
		return 0, io.ErrShortWrite
	}
	f.has = string(p)
	return len(p), nil
}

// The first write that fails is the last one, and every later one returns its error.
func TestScreenKeepsItsFirstError(t *testing.T) {
	t.Parallel()
	var w full
	s := &screen{w: &w, width: 20}
	must.Do(t, s.line("one"))
	if s.line("two"); !errors.Is(s.err, io.ErrShortWrite) || !errors.Is(s.details(0, "three"), io.ErrShortWrite) || w.has != "one\n" {
		t.Errorf("%v after %q", s.err, w.has)
	}
}
