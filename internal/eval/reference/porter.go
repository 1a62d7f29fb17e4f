package reference

import "strings"

// Stem gives the stem of an English word by the rules of M. F. Porter, "An algorithm for
// suffix stripping", Program 14 (1980), without later changes. Words of up to two letters,
// and those with anything but the letters a to z, stay as they are.
func Stem(word string) string {
	if len(word) <= 2 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return word
	}
	w := step1(word)
	w = replaceLongest(w, step2, 1)
	w = replaceLongest(w, step3, 1)
	w = step4(w)
	return step5(w)
}

// consonant says whether the letter at i is one: y is, after a vowel or at the start.
func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

// measure counts the sequences of vowels that a consonant follows.
func measure(w string) int {
	n, vowel := 0, false
	for i := range len(w) {
		if c := consonant(w, i); c && vowel {
			n++
			vowel = false
		} else if !c {
			vowel = true
		}
	}
	return n
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

func doubleConsonant(w string) bool {
	n := len(w)
	return n >= 2 && w[n-1] == w[n-2] && consonant(w, n-1)
}

// shortEnd says whether w ends consonant, vowel, consonant, the last none of w, x and y.
func shortEnd(w string) bool {
	n := len(w)
	return n >= 3 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) && !strings.ContainsRune("wxy", rune(w[n-1]))
}

// step1 takes plurals and -ed, -ing away, and writes a last y as i.
func step1(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		w = w[:len(w)-1]
	}
	if stem, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(stem) > 0 {
			w = w[:len(w)-1]
		}
	} else {
		for _, suffix := range []string{"ed", "ing"} {
			if stem, ok := strings.CutSuffix(w, suffix); ok {
				if hasVowel(stem) {
					w = mend(stem)
				}
				break
			}
		}
	}
	if stem, ok := strings.CutSuffix(w, "y"); ok && hasVowel(stem) {
		w = stem + "i"
	}
	return w
}

// mend makes a stem of what is left of a word when -ed or -ing is gone.
func mend(w string) string {
	switch {
	case strings.HasSuffix(w, "at"), strings.HasSuffix(w, "bl"), strings.HasSuffix(w, "iz"):
		return w + "e"
	case doubleConsonant(w) && !strings.ContainsRune("lsz", rune(w[len(w)-1])):
		return w[:len(w)-1]
	case measure(w) == 1 && shortEnd(w):
		return w + "e"
	}
	return w
}

var (
	step2 = [][2]string{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"abli", "able"}, {"alli", "al"},
		{"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"},
		{"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
	}
	step3 = [][2]string{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	step4Suffixes = strings.Fields("al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize")
)

// replaceLongest applies the rule with the longest suffix of w, if the measure of the rest
// is at least least.
func replaceLongest(w string, rules [][2]string, least int) string {
	var rule [2]string
	for _, r := range rules {
		if len(r[0]) > len(rule[0]) && strings.HasSuffix(w, r[0]) {
			rule = r
		}
	}
	if stem := strings.TrimSuffix(w, rule[0]); rule[0] != "" && measure(stem) >= least {
		return stem + rule[1]
	}
	return w
}

func step4(w string) string {
	longest := ""
	for _, s := range step4Suffixes {
		if len(s) > len(longest) && strings.HasSuffix(w, s) {
			longest = s
		}
	}
	stem := strings.TrimSuffix(w, longest)
	if longest == "" || measure(stem) < 2 || longest == "ion" && !strings.HasSuffix(stem, "s") && !strings.HasSuffix(stem, "t") {
		return w
	}
	return stem
}

// step5 takes a last e away, and one l of two.
func step5(w string) string {
	if stem, ok := strings.CutSuffix(w, "e"); ok {
		if m := measure(stem); m > 1 || m == 1 && !shortEnd(stem) {
			w = stem
		}
	}
	if strings.HasSuffix(w, "ll") && measure(w) > 1 {
		w = w[:len(w)-1]
	}
	return w
}
