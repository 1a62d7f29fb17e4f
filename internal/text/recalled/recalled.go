// Package recalled marks what was recalled from a memory, so that it is recognized in a conversation and not learned
// again. It depends on nothing.
package recalled

import "strings"

// The marks around recalled memories in a prompt.
const (
	Open  = "<slipbox-memory>"
	Close = "</slipbox-memory>"
)

// Mark returns a text between the marks; "" stays empty. The text has no mark of its own: notes in a context are
// escaped.
func Mark(s string) string {
	if s == "" {
		return ""
	}
	return Open + "\n" + s + "\n" + Close
}

// Within reports whether a message has recalled memories.
func Within(s string) bool { return indexFold(s, Open) >= 0 }

// Strip removes recalled memories from a message, and spaces around the rest. A block without an end mark is removed
// up to the end of the message.
func Strip(s string) string {
	for {
		i := indexFold(s, Open)
		if i < 0 {
			return strings.TrimSpace(s)
		}
		rest := s[i+len(Open):]
		j := indexFold(rest, Close)
		if j < 0 {
			return strings.TrimSpace(s[:i])
		}
		s = s[:i] + rest[j+len(Close):]
	}
}

// indexFold returns the index of an ASCII mark in s, in any letter case; -1: not there.
func indexFold(s, mark string) int {
	for i := 0; i+len(mark) <= len(s); i++ {
		j := strings.IndexByte(s[i:], mark[0])
		if j < 0 || i+j+len(mark) > len(s) {
			return -1
		}
		i += j
		if strings.EqualFold(s[i:i+len(mark)], mark) {
			return i
		}
	}
	return -1
}
