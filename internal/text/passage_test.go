package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPassages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"a short text is one", "  Hello, world!\n\nHow are you?\n", 100, []string{"Hello, world!\n\nHow are you?"}},
		{"whole lines", "one two three\nfour five\nsix seven eight", 5, []string{"one two three\nfour five", "six seven eight"}},
		{"code lines stay whole", "func f() {\n\treturn a.b\n}", 6, []string{"func f() {", "return a.b\n}"}},
		{"sentences of a long line", "One two. Dr. No came at 3.5 p.m. today! Three four five.", 6,
			[]string{"One two.", "Dr. No came at", "3.5 p.m", ". today!", "Three four five."}},
		{"sentences of a line pack", "A b c. D e f. G h i.", 8, []string{"A b c. D e f.", "G h i."}},
		{"quotes close a sentence", `He said "go away." She went off (at once!) So did we.`, 8,
			[]string{`He said "go away."`, `She went off (at once!)`, "So did we."}},
		{"a long sentence between words", "aa bb cc dd-ee ff", 5, []string{"aa bb cc", "dd-ee ff"}},
		{"no space in reach", "a-b-c-d", 4, []string{"a-b-", "c-d"}},
		{"han characters count each", "我爱北京。你呢？他也爱", 5, []string{"我爱北京。", "你呢？", "他也爱"}},
		{"han at a comma", "昨天我去了，今天不去", 8, []string{"昨天我去了，", "今天不去"}},
		{"one long word", strings.Repeat("z", 10_000), 3, []string{strings.Repeat("z", 10_000)}},
		{"invalid bytes", "\xff\xfe \xfd", 2, []string{"\xff\xfe", "\xfd"}},
		{"a limit below one", "a b", -5, []string{"a", "b"}},
		{"blank", " \n\t\u3000\n", 10, nil},
		{"carriage returns", "one two\r\nthree four\r\n", 3, []string{"one two", "three four"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range Passages(c.in, c.limit) {
				got = append(got, c.in[s.Start:s.End])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Passages(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
			}
		})
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"": 0, " \n": 0, "Hello, world!": 4, "v2.0 don't": 6, "我爱 Go": 3, "é": 1, "\xff\xff": 2} {
		if got := CountTokens(in); got != want {
			t.Errorf("Count(%q) = %d, want %d", in, got, want)
		}
	}
}

// checkPassages checks what the comment of Passages promises for every text.
func checkPassages(t *testing.T, s string, limit int) {
	t.Helper()
	at := 0
	check := func(gap string) {
		if strings.TrimSpace(gap) != "" {
			t.Fatalf("%q, limit %d: %q is in no passage", s, limit, gap)
		}
	}
	for _, p := range Passages(s, limit) {
		if p.Start < at || p.End <= p.Start || p.End > len(s) {
			t.Fatalf("%q, limit %d: span %v after %d", s, limit, p, at)
		}
		check(s[at:p.Start])
		at = p.End
		piece := s[p.Start:p.End]
		if strings.TrimSpace(piece) != piece {
			t.Fatalf("%q is not trimmed", piece)
		}
		if n := CountTokens(piece); n > max(limit, 1) {
			t.Fatalf("%q has %d tokens, limit %d", piece, n, limit)
		}
		if utf8.ValidString(s) && !utf8.ValidString(piece) {
			t.Fatalf("%q cuts a character", piece)
		}
	}
	check(s[at:])
}

func FuzzPassages(f *testing.F) {
	for _, s := range []string{
		"", "a. B. c.\n\n```go\nx := f(a, b)\n```\n", "我爱北京，天安门。上太阳升", "e\u0301\u0301 👩‍👩‍👧 ❤️", "\xff.\xff \xff!", "a.b.c.d.e.f g h i",
		"Mr. A. B. and J. R. R. went. . . . !!! ... ", "שלום עולם. مرحبا؟ نعم", strings.Repeat("word, ", 300), "\r\n\r\n\u2028x\u0085",
	} {
		f.Add(s, 4)
		f.Add(s, 100)
	}
	f.Fuzz(checkPassages)
}

func BenchmarkPassages(b *testing.B) {
	const size = 64 << 10
	sentence := "Melanie is planning a camping trip to the mountains, with her family. "
	for _, c := range []struct{ name, unit string }{
		{"lines", strings.Repeat(sentence, 3) + "\n"},
		{"one line", sentence},
		{"one sentence", "word and "},
		{"Han", "我昨天和妹妹去了北京。"},
		{"one word", "z"},
		{"full stops", "a.b "},
		{"marks", "!"},
	} {
		s := strings.Repeat(c.unit, size/len(c.unit))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				Passages(s, 100)
			}
		})
	}
}
