// Package clip bounds texts that only have to show how they begin: in messages of errors, logs and prompts. What people read as a
// summary is cut between words, by text.Shorten.
package clip

import "unicode/utf8"

const ellipsis = "…"

// Runes returns the first n characters of s and an ellipsis, or s if it has at most n characters.
func Runes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	seen := 0
	for at := range s {
		if seen == n {
			return s[:at] + ellipsis
		}
		seen++
	}
	return s
}

// Bytes returns s, or its beginning and an ellipsis, in at most n bytes, n at least 3. No character is cut apart.
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n-len(ellipsis)) + ellipsis
}

// Head returns the longest beginning of s that has at most n bytes and cuts no character apart.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
