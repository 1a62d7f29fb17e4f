package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The rule of internal/memory/recall by which two statements are shown together.
const (
	sameFloor, sameMeaning, leastMeaning, meaningShare = 0.25, 0.75, 1.0 / 3, 0.75
)

// couple is two facts of one dialogue.
type couple struct {
	ends, related  bool // the later one ends the other; or ends, refines or repeats it
	cosine, shared float64
}

// isTogether reports whether the product shows both together.
func (c *couple) isTogether() bool {
	near := (c.cosine - sameFloor) / (1 - sameFloor)
	return near >= leastMeaning && meaningShare*near+c.shared >= sameMeaning
}

// runTogether says how many statements that end another one are shown together with it, and whether cosines alone tell more.
func runTogether(data string) error {
	dialogues, err := eval.ReadCorpus(data)
	if err != nil {
		return err
	}
	for _, quoted := range []bool{false, true} {
		byPart := map[string][]couple{}
		for i := range dialogues {
			d := &dialogues[i]
			found, err := couplesOf(d, quoted)
			if err != nil {
				return err
			}
			lang := map[string]string{"en": "English", "zh": "Chinese"}[d.Lang]
			part := map[bool]string{false: "learned", true: "believed"}[d.Believed()]
			for _, name := range []string{part, part + ", " + cmp.Or(lang, "others")} {
				byPart[name] = append(byPart[name], found...)
			}
		}
		enough := leastCosine(byPart["learned"], 0.9)
		fmt.Printf("quotations %t; the cosine that is right nine times in ten on what is learned from: %.3f\n", quoted, enough)
		for _, name := range sortedKeys(byPart) {
			of := byPart[name]
			fmt.Printf("%-18s", name)
			tell(of, "rule", func(c *couple) bool { return c.isTogether() })
			tell(of, "cosine", func(c *couple) bool { return c.cosine >= enough })
			fmt.Println()
		}
	}
	return nil
}

// tell prints how many endings are found, those without a shared word apart, and how many of the pairs that are found are related.
func tell(of []couple, by string, is func(*couple) bool) {
	var ends, found, wordless, foundWordless, all, right int
	for i := range of {
		c := &of[i]
		hit := is(c)
		ends += count(c.ends)
		found += count(c.ends && hit)
		wordless += count(c.ends && c.shared == 0)
		foundWordless += count(c.ends && c.shared == 0 && hit)
		all += count(hit)
		right += count(hit && c.related)
	}
	fmt.Printf("  %s: %d of %d endings, %d of %d without a shared word, precision %.3f of %d;", by, found, ends, foundWordless, wordless, float64(right)/float64(max(1, all)), all)
}

// leastCosine returns the least cosine from which on so many of the pairs are related.
func leastCosine(of []couple, precision float64) float64 {
	of = slices.Clone(of)
	slices.SortFunc(of, func(a, b couple) int { return cmp.Compare(b.cosine, a.cosine) })
	enough, right := 2.0, 0
	for i := range of {
		right += count(of[i].related)
		if i >= 20 && float64(right) >= precision*float64(i+1) {
			enough = of[i].cosine
		}
	}
	return enough
}

// couplesOf returns the pairs of facts of a dialogue, by their texts or as they were said.
func couplesOf(d *eval.Labeled, quoted bool) (out []couple, err error) {
	texts, words := make([]string, len(d.Facts)), make([][]string, len(d.Facts))
	for i := range d.Facts {
		texts[i] = d.Facts[i].Text
		if quoted {
			texts[i] = d.Facts[i].Span
		}
		words[i] = wordsOf(texts[i])
	}
	made, err := languageVectors(texts, d.Lang)
	if err != nil {
		return nil, err
	}
	shared := search.SharedWords(words)
	for j := range d.Facts {
		for i := range j {
			number := d.Facts[i].Number
			c := couple{ends: slices.Contains(d.Facts[j].Ends, number), shared: shared(i, j)}
			c.related = c.ends || slices.Contains(d.Facts[j].Refines, number) || slices.Contains(d.Facts[j].Same, number)
			for k := range made[i] {
				c.cosine += float64(made[i][k]) * float64(made[j][k])
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// wordsOf returns index terms, and the characters of Chinese.
func wordsOf(s string) (out []string) {
	for _, term := range text.Terms(s) {
		if !strings.ContainsFunc(term, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			out = append(out, term)
			continue
		}
		out = append(out, strings.Split(term, "")...)
	}
	return out
}

// english is the encoder for English, once it is open.
var english *encoder.Encoder

// languageVectors returns vectors by the encoder that the product takes for a language.
func languageVectors(texts []string, lang string) (out [][]float32, err error) {
	if lang != "en" || len(texts) == 0 {
		return readBy.vectors(texts, "")
	}
	if english == nil {
		dir, err := weights.DefaultDir()
		if err == nil {
			english, err = encoder.Open(encoder.MiniLMForTalk, dir)
		}
		if err != nil {
			return nil, err
		}
	}
	made, err := english.Encode(context.Background(), texts)
	for i := range made {
		out = append(out, made[i].Vector)
	}
	return out, err
}
