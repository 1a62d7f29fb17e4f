// Package wording is what messages to people share: a list in words, a number with its noun, and the name that was
// probably meant. Texts that are only cut are in internal/clip; the errors themselves are in internal/fault.
package wording

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Or words alternatives: "a", "a or b", "a, b or c".
func Or[T ~string](values ...T) string {
	if len(values) == 0 {
		return ""
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// maxName bounds the length of a name that is compared by spelling.
const maxName = 64

// Count returns a number with its noun: "1 row", "2 rows".
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + many
}

// Nearest returns the valid name that name was probably meant to be: the same letters in another case or without "_",
// or a near spelling. It returns "" without one.
func Nearest(name string, valid []string) string {
	if utf8.RuneCountInString(name) > maxName {
		return ""
	}
	// One mistake in a name of three letters, two in one of seven. Of equally near names the first wins.
	plain := Plain(name)
	best, least := "", min((len(plain)+1)/4, 2)+1
	for _, v := range slices.Sorted(slices.Values(valid)) {
		if d := editDistance([]rune(plain), []rune(Plain(v))); d < least {
			best, least = v, d
		}
	}
	return best
}

// Plain drops what spellings of one name differ by: case, "_" and "-".
func Plain(name string) string {
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
