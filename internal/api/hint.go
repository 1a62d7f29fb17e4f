package api

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// otherNames maps names that other memory systems use for a field to ours. A name helps only where
// the field exists: the body decides between several. Keys are written as plainName writes them.
var otherNames = map[string][]string{
	"text": {"content"}, "memory": {"content"}, "data": {"content"}, "body": {"content"}, "message": {"content", "messages"},
	"metadata": {"attributes"}, "meta": {"attributes"}, "properties": {"attributes"}, "labels": {"tags"},
	"topk": {"k", "limit"}, "limit": {"k"}, "n": {"k", "limit"}, "nresults": {"k", "limit"}, "count": {"k", "limit"},
	"k": {"limit"}, "size": {"k", "limit"}, "pagesize": {"limit"}, "perpage": {"limit"},
	"q": {"query"}, "question": {"query"}, "prompt": {"query", "message"}, "filters": {"filter"}, "where": {"filter"},
	"threshold": {"min_score"}, "maxtokens": {"token_budget"}, "budget": {"token_budget"},
	"timestamp": {"occurred_at"}, "time": {"occurred_at"}, "date": {"occurred_at"}, "type": {"kind"},
	"ttl": {"ttl_seconds"}, "expiresin": {"ttl_seconds"}, "title": {"name"}, "id": {"name"}, "collection": {"name"}, "config": {"policy_config"},
}

// maxHintName bounds the length of a name that is compared by spelling.
const maxHintName = 64

// unknownName words the refusal of a field or parameter that does not exist, and suggests the name
// that was probably meant, if any.
func unknownName(what, name string, valid []string) string {
	meant := suggest(name, valid)
	if meant == "" {
		return "unknown " + what
	}
	return "unknown " + what + "; did you mean `" + meant + "`?"
}

// suggest returns the valid name that name was probably meant to be: another system's name for it,
// the same letters in another case or without "_", or a near spelling. It returns "" without one.
func suggest(name string, valid []string) string {
	plain := plainName(name)
	for _, ours := range otherNames[plain] {
		if slices.Contains(valid, ours) {
			return ours
		}
	}
	if utf8.RuneCountInString(name) > maxHintName {
		return ""
	}
	// One mistake in a name of three letters, two in one of seven. Of equally near names the first wins.
	best, least := "", min((len(plain)+1)/4, 2)+1
	for _, v := range slices.Sorted(slices.Values(valid)) {
		if d := editDistance([]rune(plain), []rune(plainName(v))); d < least {
			best, least = v, d
		}
	}
	return best
}

// plainName drops what spellings of one name differ by: case, "_" and "-".
func plainName(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// editDistance counts the letters to insert, delete, replace or swap with a neighbor to get from a to b.
func editDistance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
