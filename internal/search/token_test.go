package search

import (
	"sync"
	"testing"
)

// The expected counts are those that OpenAI's cookbook prints for tiktoken.
func TestEncodingsCountAsPublished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		o200k int
	}{
		{"", 0},
		{"tiktoken is great!", 6},
		{"antidisestablishmentarianism", 6},
		{"2 + 2 = 4", 7},
		{"お誕生日おめでとう", 8},
	} {
		for e, want := range map[Encoding]int{O200k: tt.o200k, Estimate: EstimateTokens(tt.text)} {
			if got, err := e.Count(tt.text); err != nil || got != want {
				t.Errorf("%s counts %d in %q (%v), want %d", e, got, tt.text, err, want)
			}
		}
	}
}

func TestUnknownEncoding(t *testing.T) {
	t.Parallel()
	for _, e := range []Encoding{"", "cl100k_base", "O200K_BASE"} {
		if n, err := e.Count("a"); err == nil {
			t.Errorf("%q counts %d", e, n)
		}
	}
}

// What a chat template would read as a control token is text here.
func TestControlTokensAreText(t *testing.T) {
	t.Parallel()
	for _, e := range Encodings() {
		if n, err := e.Count("<|endoftext|>"); err != nil || n < 3 {
			t.Errorf("%s counts %d, %v", e, n, err)
		}
	}
}

func TestEncodingsCountAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, e := range Encodings() {
				if n, err := e.Count("2 + 2 = 4"); err != nil || n != 7 && e != Estimate {
					t.Errorf("%s: %d, %v", e, n, err)
				}
			}
		})
	}
	wg.Wait()
}
