package secret

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// url looks for a password in the address that follows a scheme: user:password@host.
func (f *finder) url(from int) {
	const longest = 256
	rest := f.s[from:min(len(f.s), from+longest)]
	at := strings.IndexAny(rest, "@/ \t\r\n\"'<>`")
	if at < 0 || rest[at] != '@' {
		return
	}
	colon := strings.IndexByte(rest[:at], ':')
	if colon < 0 || at-colon < 4 || !telling(rest[colon+1:at]) {
		return
	}
	f.add(from+colon+1, from+at, URLPassword)
}

// telling reports whether a word is a value, and not a placeholder for one.
func telling(v string) bool {
	if strings.HasPrefix(v, "[redacted") || strings.HasPrefix(v, "<") || strings.HasPrefix(v, "{{") || strings.HasPrefix(v, "${") || strings.Trim(v, v[:1]) == "" {
		return false
	}
	low := strings.ToLower(v)
	return !plainWords[low] && (!strings.Contains(low, "password") || strings.Trim(low, "abcdefghijklmnopqrstuvwxyz_-") != "")
}

// privateKey takes a private key in PEM, to its end or that of the text. It reports false for anything else in PEM.
func (f *finder) privateKey(from int) bool {
	rest := f.s[from:]
	head := strings.Index(rest[len("-----BEGIN"):min(len(rest), 200)], "-----")
	if head < 0 || !strings.Contains(rest[:len("-----BEGIN")+head], "PRIVATE KEY") {
		return false
	}
	body := len("-----BEGIN") + head + len("-----")
	end := strings.Index(rest[body:], "-----END")
	switch {
	case end < 0 && !strings.ContainsAny(rest[body:min(len(rest), body+80)], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"):
		return false // only the line is told of
	case end < 0:
		end = len(rest)
	default:
		end += body + len("-----END")
		if tail := strings.Index(rest[end:min(len(rest), end+100)], "-----"); tail >= 0 {
			end += tail + len("-----")
		}
	}
	f.add(from, from+end, PrivateKey)
	return true
}

// card takes the number of a payment card that begins at a digit: 14 to 19 digits in the groups that are printed on
// cards or in one, with the prefix of a network and the right check digit (Luhn, ISO/IEC 7812-1).
func (f *finder) card(from, to int) bool {
	s := f.s
	if d := s[from]; d < '2' || d > '6' || from > 0 && !startsNumber(s[:from]) {
		return false
	}
	var digits [20]byte
	var groups []int
	n, size, i, sep := 0, 0, from, byte(0)
	for i < len(s) && n < len(digits) {
		c := s[i]
		if class[c]&digit != 0 {
			digits[n] = c - '0'
			n, size, i = n+1, size+1, i+1
			continue
		}
		if c != ' ' && c != '-' && c != '.' || sep != 0 && c != sep || i+1 >= len(s) || class[s[i+1]]&digit == 0 {
			break
		}
		if size < 4 { // "4 000 …" is not a card
			return false
		}
		sep, groups, size, i = c, append(groups, size), 0, i+1
	}
	groups = append(groups, size)
	if n < 14 || n > 19 || i < len(s) && (class[s[i]]&(lower|upper) != 0 || s[i] == '_') || i < to && s[i] == '-' {
		return false
	}
	if i+1 < len(s) && s[i] == '.' && class[s[i+1]]&digit != 0 {
		return false // a decimal
	}
	if !network(digits[:n]) || !printed(groups, n) || !luhn(digits[:n]) {
		return false
	}
	f.add(from, i, Card)
	return true
}

// startsNumber reports whether a number may begin after a text: not within a word or another number.
func startsNumber(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	if r == '.' { // within dotted groups, or at the end of a sentence
		return len(before) == 1 || class[before[len(before)-2]]&digit == 0
	}
	if r == ' ' || r == '-' { // "12 4111 …" is a longer number
		before = strings.TrimRight(before, " -")
		return before == "" || class[before[len(before)-1]]&digit == 0
	}
	return r >= utf8.RuneSelf || class[byte(r)]&inRun == 0 //nolint:gosec // below RuneSelf it is a byte
}

// printed reports whether groups are those of cards: one, fours, or 4-6-5 and 4-6-4.
func printed(groups []int, n int) bool {
	if len(groups) == 1 {
		return true
	}
	if n == 15 || n == 14 {
		return len(groups) == 3 && groups[0] == 4 && groups[1] == 6
	}
	for _, g := range groups[:len(groups)-1] {
		if g != 4 {
			return false
		}
	}
	return groups[len(groups)-1] <= 4
}

// network reports whether a number has the prefix and length of a network: Visa, Mastercard, American Express, Discover,
// Diners Club, JCB, UnionPay.
func network(d []byte) bool {
	n := len(d)
	p2 := int(d[0])*10 + int(d[1])
	p4 := p2*100 + int(d[2])*10 + int(d[3])
	switch {
	case d[0] == 4:
		return n == 16 || n == 19
	case p2 >= 51 && p2 <= 55, p4 >= 2221 && p4 <= 2720:
		return n == 16
	case p2 == 34 || p2 == 37:
		return n == 15
	case p2 == 36 || p2 == 38 || p4/10 >= 300 && p4/10 <= 305:
		return n == 14
	case p4 >= 3528 && p4 <= 3589, p4 == 6011, p4/10 >= 644 && p4/10 <= 649, p2 == 65:
		return n == 16
	case p2 == 62:
		return n >= 16
	}
	return false
}

func luhn(d []byte) bool {
	sum, same := 0, true
	for i := range d {
		x := int(d[len(d)-1-i])
		if i%2 == 1 {
			if x *= 2; x > 9 {
				x -= 9
			}
		}
		sum += x
		same = same && d[i] == d[0]
	}
	return sum%10 == 0 && !same
}

// How people tell a password. The first group that is not empty is the value; a quoted one may have spaces.
var (
	tellsPassword = regexp.MustCompile(`(?i)^(?:[\w.-]{0,40}?pass(?:word|code|phrase|wd)|[\w.-]{0,40}?pwd)s?(?:['’]s)?["']?(?: (?:for|to|of|on|at) [^\n.!?;:"=]{1,40}?)?\s{0,3}(is now|is still|is|was|are|will be|to be|changed to|set to|=>|=|:|：)\s{0,3}(?:["“「『]([^"”」』\n]{3,100})["”」』]|['‘\x60]?([^\s"“”「」]{3,64}))`)
	tellsChange   = regexp.MustCompile(`(?i)^(?:passw(?:ord|d)|passcode|passphrase|pwd)\s(?:from\s([^\s"“”]{4,64})\s)?to\s["“']?([^\s"“”]{4,64})`)
	tellsPIN      = regexp.MustCompile(`(?i)^pin(?: (?:for|to|of|on) [^\n.!?;:"=]{1,40}?| number)?\s{0,3}(?:is now|is|was|=|:|：)\s{0,3}["“]?(\d{4,8})(?:\D|$)`)
	tellsPINCode  = regexp.MustCompile(`(?i)^pin(?: ?code|码|碼)\s{0,3}(?:is now|is|was|=|:|：|是|为|為)\s{0,3}["“]?(\d{4})(?:\D|$)`)
	tellsCardCode = regexp.MustCompile(`(?i)^(?:cvv|cvc)2?(?: (?:code|number))?\s{0,3}(?:is|was|=|:|：|是|为|為)?\s{0,3}(\d{3,4})(?:\D|$)`)
	tellsCurl     = regexp.MustCompile(`^curl\s[^\n]{0,300}?\s(?:-u|--user)[\s=]{1,3}["']?[^\s:"']{1,64}:([^\s"']{3,128})`)
	tellsHan      = regexp.MustCompile(`^(?:密码|密碼|口令)[^\n。，！？：\x21-\x7e]{0,10}?(?:是|为|為|：|:|=|成|成了|为了|用)\s{0,3}["“「『']?([\x21-\x7e]{4,64})`)
)

// cue looks at what follows a word for a password, a PIN or the code of a card.
func (f *finder) cue(from int) {
	const longest = 512
	rest := f.s[from:min(len(f.s), from+longest)]
	if f.budget -= len(rest); f.budget < 0 {
		return
	}
	take := func(m []int, group int, kind string, is func(v string, next rune) bool) {
		if len(m) == 0 || m[2*group] < 0 {
			return
		}
		start, end := m[2*group], m[2*group+1]
		v := strings.TrimRight(rest[start:end], ".,;:!?)'’\x60]}")
		if v == "" {
			return
		}
		next, _ := utf8.DecodeRuneInString(rest[start+len(v):])
		if telling(v) && is(v, next) {
			f.add(from+start, from+start+len(v), kind)
		}
	}
	number := func(string, rune) bool { return true }
	switch c := rest[0] | 0x20; {
	case rest[0] == 0xE5:
		take(tellsHan.FindStringSubmatchIndex(rest), 1, Password, func(v string, _ rune) bool { return secretHan(v) })
	case strings.HasPrefix(rest, "curl"):
		take(tellsCurl.FindStringSubmatchIndex(rest), 1, Password, number)
	case c == 'c':
		take(tellsCardCode.FindStringSubmatchIndex(rest), 1, CardCode, number)
	case c == 'p' && strings.EqualFold(rest[:3], "pin"):
		take(tellsPIN.FindStringSubmatchIndex(rest), 1, PIN, number)
		take(tellsPINCode.FindStringSubmatchIndex(rest), 1, PIN, number)
	default:
		if m := tellsPassword.FindStringSubmatchIndex(rest); m != nil {
			take(m, 2, Password, func(v string, _ rune) bool { return secretWord(v, 0, true) })
			take(m, 3, Password, func(v string, next rune) bool { return secretWord(v, next, false) })
		}
		m := tellsChange.FindStringSubmatchIndex(rest)
		for g := 1; m != nil && g <= 2; g++ {
			take(m, g, Password, func(v string, next rune) bool { return secretWord(v, next, false) })
		}
	}
}

// secretHan reports whether what follows a Chinese word for a password is one: people say it in Latin letters and digits.
func secretHan(v string) bool {
	return strings.ContainsAny(v, "0123456789") || len(v) >= 5
}

// amount matches numbers of something: "8-character", "12+", "2nd".
var amount = regexp.MustCompile(`^\d{1,3}(?:[-+]?[a-zA-Z-]*|\.\d+)$`)

// secretWord reports whether a word that is said to be a password looks like one. next is the character after it. A word
// of letters alone is one only in quotes or at the end of its sentence, and if it does not describe a password.
func secretWord(v string, next rune, quoted bool) bool {
	if !quoted && strings.IndexByte(v, '(') > 0 { // a call in code
		return false
	}
	seen, symbol, plain := byte(0), false, true
	for i := range len(v) {
		seen |= class[v[i]]
		symbol = symbol || strings.IndexByte("@#$%^&*!~+=|\\", v[i]) >= 0
		plain = plain && class[v[i]]&(lower|upper) != 0
	}
	switch {
	case len(v) < 4:
		return false
	case seen&digit != 0 && seen&(lower|upper) != 0:
		return !amount.MatchString(v)
	case seen&digit != 0: // a number, not a date
		return strings.Trim(v, "0123456789") == ""
	case symbol:
		return true
	case quoted:
		return true
	case !plain || strings.ToLower(v) != v && strings.ToUpper(v) != v && !mixedCase(v):
		return false
	}
	ends := next == utf8.RuneError || next == 0 || strings.ContainsRune(".!?,;\n\r。，！？", next)
	low := strings.ToLower(v)
	for _, suffix := range []string{"ed", "ing", "ly", "en", "able", "ible", "ful", "less", "ous", "ive", "ent", "ant", "est", "al", "ic"} {
		if strings.HasSuffix(low, suffix) {
			return false
		}
	}
	return ends && len(v) >= 5
}

// mixedCase reports whether capitals are elsewhere than at the start.
func mixedCase(v string) bool { return strings.ToLower(v[1:]) != v[1:] }

// plainWords describe a password, or are written in place of one.
var plainWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`
		wrong right weak strong safe secure insecure long short longer shorter same old new correct incorrect okay fine unique gone bad
		good better great simple complex easy hard valid invalid private secret public string text number required optional none null true
		false yes hidden empty blank missing here there below above this that these those what something anything nothing everything enough
		stupid silly terrible awful perfect important necessary useless ready visible different similar case-sensitive mine yours theirs
		password passwords passcode passphrase username email admin-only never always maybe myself yourself later soon today tomorrow
		yesterday again anymore though either obvious online offline work home somewhere bytes varchar object boolean integer unknown
		undefined changeme example sample your_password yourpassword another other default`) {
		m[w] = true
	}
	return m
}()
