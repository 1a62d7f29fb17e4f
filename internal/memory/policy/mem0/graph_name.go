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

// The types that entities get without a better one.
const (
	typePerson = "person"
	typeThing  = "thing"
)

// selfNames are what people call themselves, and what facts call the user.
var selfNames = policy.WordSet("i me my mine myself user the_user users we us our speaker the_speaker 用户 我 我们 自己 本人")

// userOf gives the name that the facts' "I" and "user" stand for: that of the
// one person who says them, else "User".
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

// relationKey makes a relation's name of how an answer writes it.
func relationKey(relation string) string {
	key := graph.EntityKey(relation)
	for len(key) > memory.MaxRelationBytes {
		_, n := utf8.DecodeLastRuneInString(key)
		key = key[:len(key)-n]
	}
	return key
}

// typeKey makes a type's name of how an answer writes it.
func typeKey(kind string) string {
	key := graph.EntityKey(text.Shorten(graph.EntityName(kind), 40))
	if !strings.ContainsFunc(key, unicode.IsLetter) {
		return typeThing
	}
	return key
}

// alike tells whether two names of entities of one type are two spellings of
// one name: the same words but for case, marks, articles, hyphens and endings.
// In a longer name one word may be misspelt, but no first name: Maria Berg and
// Marie Berg are two. Similar vectors alone say little, since the vectors of
// names of one kind are all similar.
func isSameName(a, b, kind string) bool {
	x, y := nameWords(a, kind), nameWords(b, kind)
	if len(x) == 0 || len(x) != len(y) {
		return false
	}
	misspelt := 0
	for i := range x {
		switch {
		case x[i] == y[i]:
		case kind == typePerson && i == 0, len([]rune(x[i])) < 6 || len([]rune(y[i])) < 6, !isOneEditApart(x[i], y[i]):
			return false
		default:
			misspelt++
		}
	}
	return misspelt <= 1
}

// nameWords gives the words of a name without what spellings differ in.
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

// oneEdit tells that one letter more, less or other makes a word of the other.
func isOneEditApart(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 || slices.ContainsFunc(y, unicode.IsDigit) {
		return false // numbers name different things
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

// mentions tells whether a text has every word of a name.
func mentionsName(said, name string) bool {
	if strings.Contains(text.Fold(said), text.Fold(name)) {
		return true
	}
	have := nameWords(said, "")
	want := nameWords(name, "")
	return len(want) > 0 && !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}
