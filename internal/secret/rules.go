package secret

import (
	"bytes"
	"compress/flate"
	_ "embed" // the table
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/google/uuid"
)

//go:embed rules.bin
var packed []byte

// rule finds keys of one kind.
type rule struct {
	kind     string
	keywords []string // of which one must be in the window, in lower case
	entropy  float64  // of a secret at least, in bits a byte
	group    int      // of the expression; 0: the first that is not empty, or the whole match
	expr     func() *regexp.Regexp
	is       func(secret, match string) bool // nil: every match
}

// rules returns the rules of keys, those of the talk of people last. They are unpacked when a text first needs them.
var rules = sync.OnceValue(func() []rule {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	var t struct {
		Allow     []string
		Stopwords []string
		Rules     []struct {
			ID         string
			Regex      string
			Entropy    float64
			Group      int
			Keywords   []string
			Allow      []string
			AllowMatch []string `json:"allow_match"`
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &t) //nolint:musttag // the generator has the same struct
	}
	if err != nil { // it is a part of the program
		panic("secret: the embedded table cannot be read: " + err.Error())
	}
	allow := compiled(t.Allow)
	var out []rule
	for _, r := range t.Rules {
		x := rule{kind: kindOf(r.ID), keywords: r.Keywords, entropy: r.Entropy, group: r.Group, expr: lazily(r.Regex)}
		own, matches := compiled(r.Allow), compiled(r.AllowMatch)
		var stop []string
		if r.ID == "generic-api-key" {
			x.kind, stop = genericKind, t.Stopwords
		}
		x.is = func(secret, match string) bool {
			return (x.kind != genericKind || !names(secret, match)) && !anyMatch(allow(), secret) && !anyMatch(own(), secret) && !anyMatch(matches(), match) && !containsAny(strings.ToLower(secret), stop)
		}
		out = append(out, x)
	}
	return append(out, ownRules()...)
})

// genericKind is the kind of what only the words before it show to be a key.
const genericKind = "API key or token"

// ownRules returns the rules of keys that gitleaks does not have: our own keys, and keys as only people write them.
func ownRules() []rule {
	return []rule{
		// The form is that of package auth. No words are needed before it: nothing else looks like this.
		{kind: OwnKey, keywords: []string{"sb_"}, expr: lazily(`sb_[a-z0-9]{1,16}_(?:platform|[a-z2-7]{26})_[a-z2-7]{26}_[a-z2-7]{52}`)},
		// Of keys that have no more order than this, too.
		{kind: kindOf("aws-access-token"), keywords: []string{"akia", "asia"}, expr: lazily(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
		{kind: APIKey, keywords: []string{"sk-"}, expr: lazily(`\bsk-[A-Za-z0-9_-]{8,200}`), is: func(s, _ string) bool { return random(s[len("sk-"):]) || strings.Count(s, "-") > 1 && random(s) }},
		{
			kind: Key, keywords: []string{"authorization"},
			expr: lazily(`(?i)authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:basic|bearer|token)\s{1,3}([\w=~@.+/-]{8,500})`),
			is:   func(s, _ string) bool { return !strings.Contains(strings.ToLower(s), "token") },
		},
		{
			kind: Key, keywords: []string{"key", "token", "secret", "密钥", "密鑰", "令牌", "秘钥"},
			expr: lazily(`(?i)(?:\b(?:(?:api|access|secret|private)[ _-]?)?(?:key|token|secret)|密钥|密鑰|秘钥|令牌)(?: (?:for|to|of) [^\n.!?;:"]{1,40}?)?\s{0,3}(?:is now|is|was|=>|=|:|：|是|为|為)\s{0,3}["'“\x60]?([\w+/.~-]{8,150}={0,2})`),
			is:   func(s, match string) bool { return random(s) && !names(s, match) },
		},
	}
}

// names reports whether a secret is a UUID that its match calls no more than a key: "key 43fd93a3-…" names a thing
// far more often than it opens one.
func names(secret, match string) bool {
	secret = strings.TrimRight(secret, ".")
	return len(secret) == 36 && uuid.Validate(secret) == nil && !containsAny(strings.ToLower(match), []string{"api", "secret", "token", "密", "令牌"})
}

// random reports whether one part of a word, between its hyphens, periods and slashes, has letters and digits as no
// word has: at least eight of both together.
func random(s string) bool {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("-_./+~", r) }) {
		seen := byte(0)
		for i := range len(part) {
			seen |= class[part[i]]
		}
		if len(part) >= 8 && seen&digit != 0 && seen&(lower|upper) != 0 && !datelike.MatchString(part) {
			return true
		}
	}
	return false
}

// datelike matches numbers with a unit, and times without their separators.
var datelike = regexp.MustCompile(`^(?i)(?:\d{1,4}[a-z]+|[a-z]+\d{1,4}|\d{6,8}t\d{2,6}z?)$`)

func (r *rule) mayMatch(low string) bool { return containsAny(low, r.keywords) }

// find adds what the rule finds in a window that begins at a place of the text.
func (r *rule) find(window string, at int, found []Found) []Found {
	for _, m := range r.expr().FindAllStringSubmatchIndex(window, -1) {
		start, end := m[0], m[1]
		if r.group > 0 && 2*r.group+1 < len(m) && m[2*r.group] >= 0 {
			start, end = m[2*r.group], m[2*r.group+1]
		} else {
			for g := 2; g+1 < len(m); g += 2 {
				if m[g] >= 0 && m[g+1] > m[g] {
					start, end = m[g], m[g+1]
					break
				}
			}
		}
		secret := window[start:end]
		if r.entropy > 0 && entropy(secret) <= r.entropy || r.is != nil && !r.is(secret, window[m[0]:m[1]]) {
			continue
		}
		found = append(found, Found{at + start, at + end, r.kind})
	}
	return found
}

// entropy returns the entropy of the bytes of a text, in bits a byte (Shannon 1948).
func entropy(s string) float64 {
	var n [256]int
	for i := range len(s) {
		n[s[i]]++
	}
	h := 0.0
	for _, k := range &n {
		if k > 0 {
			p := float64(k) / float64(len(s))
			h -= p * math.Log2(p)
		}
	}
	return h
}

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func compiled(list []string) func() []*regexp.Regexp {
	return sync.OnceValue(func() []*regexp.Regexp {
		out := make([]*regexp.Regexp, len(list))
		for i, x := range list {
			out[i] = regexp.MustCompile(x)
		}
		return out
	})
}

func anyMatch(list []*regexp.Regexp, s string) bool {
	for _, x := range list {
		if x.MatchString(s) {
			return true
		}
	}
	return false
}

func containsAny(s string, list []string) bool {
	for _, w := range list {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// initials are words of the rules' names that are written otherwise in English.
var initials = map[string]string{
	"ad": "AD", "api": "API", "aws": "AWS", "ca": "CA", "cicd": "CI/CD", "gcp": "GCP", "github": "GitHub", "gitlab": "GitLab", "id": "ID",
	"jwt": "JWT", "npm": "npm", "oauth": "OAuth", "openai": "OpenAI", "pat": "personal access token", "pypi": "PyPI", "scim": "SCIM",
	"tf": "Terraform", "url": "URL", "personnal": "personal",
}

// kindOf returns what a rule finds as a reader calls it: "aws-access-token" is "AWS access token".
func kindOf(id string) string {
	words := strings.Split(id, "-")
	for i, w := range words {
		switch name, ok := initials[w]; {
		case ok:
			words[i] = name
		case i == 0:
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}
