package quote

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text/parts"
)

const maxLists = 8 // that are read in a text

var beginsList = regexp.MustCompile(`\[\s*\{`)

// Unpacked returns a text with lines in place of its lists of messages in JSON: a line with who speaks, and what is said below it.
func Unpacked(s string) string {
	var out strings.Builder
	for range maxLists {
		at := beginsList.FindStringIndex(s)
		if at == nil {
			break
		}
		out.WriteString(s[:at[0]])
		s = s[at[0]:]
		var list []map[string]any
		d := json.NewDecoder(strings.NewReader(s))
		if d.Decode(&list) != nil {
			out.WriteString(s[:1])
			s = s[1:]
			continue
		}
		for _, m := range list {
			read := parts.ReadMessage(m)
			out.WriteString("\n" + cmp.Or(read.Role, read.Named) + ":\n" + cmp.Or(read.Text, longestIn(m)) + "\n")
		}
		s = s[d.InputOffset():]
	}
	return out.String() + s
}

// longestIn returns the longest text of an object: programs have names of their own for what was said.
func longestIn(m map[string]any) (out string) {
	for _, v := range m {
		if s, ok := v.(string); ok && len(s) > len(out) {
			out = s
		}
	}
	return out
}
