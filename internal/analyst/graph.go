package analyst

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// graphCalls are the calls of Mem0g.
func graphCalls() map[string]answerer {
	return map[string]answerer{
		"entities":  answer(findEntities),
		"relations": answer(findRelations),
		"conflicts": answer(findConflicts),
	}
}

// findEntities returns what the facts name: words with a capital letter inside a sentence, where capitals mark names,
// and titles between marks that only titles have. What kind of thing a name is of cannot be told.
func findEntities(in mem0.EntitiesInput) mem0.EntitiesFound {
	out := mem0.EntitiesFound{Entities: []mem0.Entity{}}
	seen := map[string]bool{}
	for _, fact := range in.Texts {
		words := quote.Words(fact)
		for _, name := range append(capitalized(words), titles(words)...) {
			if !seen[name] {
				seen[name] = true
				out.Entities = append(out.Entities, mem0.Entity{Entity: name, Type: "thing"})
			}
		}
	}
	return out
}

// findRelations returns nothing: which relation a sentence states cannot be told by its form in any language. Who is
// named together is found by the facts that the entities come from.
func findRelations(mem0.RelationsInput) mem0.RelationsFound {
	return mem0.RelationsFound{Relations: []mem0.Triple{}}
}

// findConflicts returns nothing: without a model no edge is retired.
func findConflicts(mem0.ConflictsInput) mem0.ConflictsFound {
	return mem0.ConflictsFound{Invalidate: []mem0.Triple{}}
}

// namesAtMost is the share of words with a capital letter from which capitals are not a sign of a name: people who shout write
// all words with them.
const namesAtMost = 0.45

// capitalized returns the names inside the sentences of a text: runs of words with a capital letter, without the first
// word of a sentence and without parts of dates, which are beside a number.
func capitalized(s string) []string {
	if lang, _ := text.Guess(s); lang == text.German { // which writes all nouns so
		return nil
	}
	words := strings.Fields(s)
	var names, run []string
	inner, begins, numberBefore := 0, true, false
	flush := func(beside bool) {
		if len(run) > 0 && !beside {
			names = append(names, strings.Join(run, " "))
		}
		run = nil
	}
	for _, raw := range words {
		word := nameOf(raw)
		number := strings.ContainsFunc(raw, unicode.IsNumber)
		if begins || word == "" {
			flush(number)
		} else if inner++; !numberBefore || len(run) > 0 {
			run = append(run, word)
		}
		numberBefore = number
		end, _ := utf8.DecodeLastRuneInString(raw)
		begins = strings.ContainsRune(".!?…:", end)
		if begins || strings.ContainsRune(",;)", end) {
			flush(false)
		}
	}
	flush(false)
	if float64(inner) > namesAtMost*float64(len(words))+1 {
		return nil
	}
	return names
}

// nameOf returns a word that is written as a name, without the marks around it and without an ending behind an
// apostrophe; "" if it is none. A letter before an apostrophe is of the name if that continues with a capital: "O'Brien", but
// "l'Italie".
func nameOf(raw string) string {
	word := strings.TrimFunc(raw, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
	if i := strings.IndexAny(word, "'’ʼ"); i > 1 {
		word = word[:i]
	} else if i >= 0 {
		_, n := utf8.DecodeRuneInString(word[i:])
		name := nameOf(word[i+n:])
		if first, _ := utf8.DecodeRuneInString(word); name == "" || !unicode.IsUpper(first) {
			return name
		}
		return word[:i+n] + name
	}
	first, size := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(first) || len(word) == size {
		return ""
	}
	return word
}

// titleMarks begin and end titles.
var titleMarks = [][2]string{{"《", "》"}, {"『", "』"}}

// titles returns what is between marks of titles.
func titles(s string) []string {
	var out []string
	for _, m := range titleMarks {
		rest := s
		for {
			_, behind, ok := strings.Cut(rest, m[0])
			title, after, closed := strings.Cut(behind, m[1])
			if !ok || !closed {
				break
			}
			if rest = after; title != "" {
				out = append(out, title)
			}
		}
	}
	return out
}
