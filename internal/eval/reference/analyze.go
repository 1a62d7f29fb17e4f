package reference

import (
	"regexp"
	"strings"
)

var word = regexp.MustCompile(`[a-z0-9]+`)

// Plain gives the terms of a text: lower-case runs of the letters a to z and digits.
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

// Stemmed gives the terms of Plain without English stop words, stemmed by Porter's rules.
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
