package reference

import (
	"regexp"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/porter"
)

var word = regexp.MustCompile(`[a-z0-9]+`)

// Plain returns the terms of a text: lower-case runs of the letters a to z and digits.
func Plain(text string) []string { return word.FindAllString(strings.ToLower(text), -1) }

var stopWords = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`a an the and or but if then so of in on at to from for with by about as into over after before
		is are was were be been being am do does did done doing have has had having i me my mine we us our ours you your yours he him
		his she her hers it its they them their theirs this that these those there here what which who whom whose when where why how
		not no nor can could will would shall should may might must just very too also than s t d ll m re ve`) {
		out[w] = true
	}
	return out
}()

// Stem returns the stem of an English word by the rules of M. F. Porter, "An algorithm for
// suffix stripping", Program 14 (1980). Words of up to two letters, and those with a digit,
// stay as they are.
func Stem(word string) string {
	if len(word) <= 2 || strings.ContainsAny(word, "0123456789") {
		return word
	}
	env := snowballstem.NewEnv(word)
	porter.Stem(env)
	return env.Current()
}

// Stemmed returns the terms of Plain without English stop words, stemmed by Stem.
func Stemmed(text string) []string {
	terms := Plain(text)
	out := terms[:0]
	for _, t := range terms {
		if !stopWords[t] {
			out = append(out, Stem(t))
		}
	}
	return out
}
