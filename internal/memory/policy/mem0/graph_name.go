package mem0

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The types of the speaker, and of entities of unknown type.
const (
	typePerson = "person"
	typeThing  = "thing"
)

// selfNames are the words by which people speak of themselves and facts of the user.
var selfNames = policy.WordSet("i me my mine myself user the_user users we us our speaker the_speaker 用户 我 我们 自己 本人")

// userNameOf returns whom "I" and "user" in the facts mean: the name of their only
// speaker, else "User".
func userNameOf(facts []memory.Note) string {
	name := ""
	for i := range facts {
		u := memory.UtteranceOf(&facts[i])
		own := graph.EntityName(u.Name)
		if u.Role != memory.RoleUser || own == "" {
			continue
		}
		if name != "" && name != own {
			return "User"
		}
		name = own
	}
	if name == "" {
		return "User"
	}
	return name
}

// relationKey returns the name of a relation from an answer's form of it.
func relationKey(relation string) string {
	key := graph.EntityKey(relation)
	for len(key) > memory.MaxRelationBytes {
		_, n := utf8.DecodeLastRuneInString(key)
		key = key[:len(key)-n]
	}
	return key
}

// typeKey returns the name of an entity type from an answer's form of it.
func typeKey(kind string) string {
	key := graph.EntityKey(text.Shorten(graph.EntityName(kind), 40))
	if !strings.ContainsFunc(key, unicode.IsLetter) {
		return typeThing
	}
	return key
}

// isSameName reports whether two names of entities of one type are spellings of one name:
// the same words but for case, punctuation, articles, hyphens and endings. One long word
// may be misspelled, but not a first name: Maria Berg and Marie Berg are two persons.
// Similar vectors are not enough, since the names of one type all have similar vectors.
func isSameName(a, b, kind string) bool {
	x, y := nameWords(a, kind), nameWords(b, kind)
	if len(x) == 0 || len(x) != len(y) {
		return false
	}
	misspelled := 0
	for i := range x {
		switch {
		case x[i] == y[i]:
		case kind == typePerson && i == 0, len([]rune(x[i])) < 6 || len([]rune(y[i])) < 6, !isOneEditApart(x[i], y[i]):
			return false
		default:
			misspelled++
		}
	}
	return misspelled <= 1
}

// nameWords returns the words of a name, without articles and endings.
func nameWords(name, kind string) []string {
	words := text.Words(strings.ReplaceAll(name, "_", " "))
	words = slices.DeleteFunc(words, func(w string) bool { return w == "the" || w == "a" || w == "an" })
	endings := text.English
	if kind == typePerson {
		endings = "" // a person's name has no plural
	}
	for i, w := range words {
		words[i] = text.Stem(strings.TrimSuffix(w, "'s"), endings)
	}
	return words
}

// isOneEditApart reports whether two words differ in one letter, which is added, left out
// or replaced. Numbers are never a misspelling.
func isOneEditApart(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 || slices.ContainsFunc(y, unicode.IsDigit) {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	if len(x) == len(y) {
		return slices.Equal(x[min(i+1, len(x)):], y[min(i+1, len(y)):])
	}
	return slices.Equal(x[i:], y[i+1:])
}

// mentionsName reports whether a text has every word of a name.
func mentionsName(content, name string) bool {
	if strings.Contains(text.Fold(content), text.Fold(name)) {
		return true
	}
	words := nameWords(content, "")
	own := nameWords(name, "")
	return len(own) > 0 && !slices.ContainsFunc(own, func(w string) bool { return !slices.Contains(words, w) })
}
