package o200k

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/slipboxhq/slipbox/test/must"
)

var reference = sync.OnceValue(codec.NewO200kBase)

// emptyLine is a line of blanks alone. The other implementation ends a piece before it, though the expression reads to
// the last end of a line, and tokens such as "\n  \n" exist.
var emptyLine = regexp.MustCompile(`[\r\n][\t\v\f\x{85}\p{Z}]+[\r\n]`)

// same fails unless a text has as many tokens as another implementation of the encoding counts.
func same(t *testing.T, s string) {
	t.Helper()
	if emptyLine.MatchString(s) {
		return
	}
	want := must.Get(reference().Count(s))(t)
	if got, err := Count(s); err != nil || got != want {
		t.Errorf("%d tokens (%v) in %q, want %d", got, err, s, want)
	}
}

// The texts of this tree: prose and programs, in several languages.
func TestCountOfFiles(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.go", "../../../README.md", "../../../docs/*.md", "../../../console/src/*.ts*", "../../analyst/*.go", "../../when/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %v, %d files", pattern, err, len(files))
		}
		for _, name := range files {
			content := must.Get(os.ReadFile(name))(t)
			for line := range strings.Lines(string(content)) {
				same(t, line)
			}
			same(t, string(content[:min(len(content), 20_000)]))
		}
	}
}

// Characters at the borders of what the expression distinguishes, in all orders.
func TestCountOfOddTexts(t *testing.T) {
	t.Parallel()
	parts := []string{
		"a", "B", "the", "HTTP", "ǅ", "ʰ", "ª", "語", "お", "́", "⃝", "7", "½", "Ⅳ", "١", " ", "  ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\u0085", "\u00a0", "\u2028",
		"\u200b", "\u180e", "\u3000", "\x00", "\x1c", "/", "'", "'s", "'S", "'ſ", "'re", "'VE", "'m", "'lL", "'l", "'d", "’s", "!", "…", "€", "😀", "👩‍👩‍👧", "\ufeff", "\xff", "\xc3", "\xe2\x82", "_", "<|endoftext|>",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		var b strings.Builder
		for range 1 + random.IntN(7) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		same(t, b.String())
	}
	for range 3_000 {
		raw := make([]rune, 1+random.IntN(12))
		for i := range raw {
			raw[i] = rune(random.IntN(0x30000))
		}
		same(t, string(raw))
	}
	for _, part := range parts {
		same(t, strings.Repeat(part, 300))
	}
}

func TestCountOfEmptyLines(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{"\n  \n": 1, "a\n  \n": 2, "\n \n b": 2, "\r\n  \n": 2, "x\n    \n    y": 4} {
		if got, err := Count(s); err != nil || got != want {
			t.Errorf("%d tokens (%v) in %q, want %d", got, err, s, want)
		}
	}
}

// A long piece takes no more time for each byte than a short one, and is counted alike.
func TestCountOfLongPieces(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, alphabet := range []string{"ab", "abcdefghijklmnopqrstuvwxyz", "=-", "語本日"} {
		letters := []rune(alphabet)
		word := make([]rune, 100_000)
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		same(t, string(word))
	}
}

func TestDamagedRanks(t *testing.T) {
	t.Parallel()
	if _, err := newRanks([]byte{1, 'a', 3, 'b'}); err == nil {
		t.Error("a token that is cut off is no error")
	}
}

func BenchmarkCount(b *testing.B) {
	content := must.Get(os.ReadFile("../../../docs/architecture.md"))(b)
	text := string(content)
	for name, count := range map[string]func(string) (int, error){"own": Count, "reference": reference().Count} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				must.Get(count(text))(b)
			}
		})
	}
}
