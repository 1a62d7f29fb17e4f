package secret

import "strings"

// MayContinue reports whether a text begins as the second half of a secret does: with a run of letters and digits, or a
// number of several digits. Few texts do.
func MayContinue(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	seen, n := byte(0), 0
	for n < len(s) && class[s[n]]&inRun != 0 {
		seen |= class[s[n]]
		n++
	}
	return n >= 4 && seen&digit != 0 || n >= 16
}

// Halves looks for one secret of which the first half ends a text and the second begins another, as when somebody sends
// a key or a card's number in two messages. It returns how many bytes of the first, from its end, and of the second,
// from its start, are of the secret, and its kind; "" without one. Each alone has no secret. All of it is in the second when
// the first only announces it, as "My password is" does.
func Halves(a, b string) (first, second int, kind string) {
	a = strings.TrimRight(a, " \t\r\n")
	skipped := len(b) - len(strings.TrimLeft(b, " \t\r\n"))
	for _, between := range []string{"", " "} { // a card's number has spaces
		for _, f := range Find(a + between + b[skipped:]) {
			from, to := len(a)-f.Start, f.End-len(a)-len(between)
			switch {
			case to <= 0:
			case from > 0 && (between == "" || f.Kind == Card):
				return from, skipped + to, f.Kind
			case from <= 0 && between != "":
				return 0, skipped + to, f.Kind
			}
		}
	}
	return 0, 0, ""
}
