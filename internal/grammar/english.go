package grammar

import (
	_ "embed" // the table
	"encoding/binary"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed english.bin
var englishTable []byte

// perceptron holds the weights of the features of a word, by the hash of the feature's name.
type perceptron struct {
	tags   []string
	hashes []byte   // sorted, four bytes each
	starts []uint32 // of the weights of each feature
	body   []byte   // weights: the tag's index, then the weight in thousandths
}

const weightBytes = 3

var loadPerceptron = sync.OnceValue(func() *perceptron {
	raw := unpack(englishTable)
	p := &perceptron{}
	at := 1
	for range int(raw[0]) {
		n := int(raw[at])
		p.tags = append(p.tags, string(raw[at+1:at+1+n]))
		at += 1 + n
	}
	n := int(binary.LittleEndian.Uint32(raw[at:]))
	at += 4
	p.hashes = raw[at : at+4*n]
	counts := raw[at+4*n : at+5*n]
	p.body = raw[at+5*n:]
	p.starts = make([]uint32, n+1)
	for i, c := range counts {
		p.starts[i+1] = p.starts[i] + weightBytes*uint32(c)
	}
	return p
})

// The start values and the prime of the 32-bit FNV-1a hash.
const (
	hashStart = 2166136261
	hashPrime = 16777619
)

// weights returns the weights of a feature, whose name is the parts with a space between them.
func (p *perceptron) weights(parts ...string) []byte {
	h := uint32(hashStart)
	for i, part := range parts {
		if i > 0 {
			h = (h ^ ' ') * hashPrime
		}
		for j := range len(part) {
			h = (h ^ uint32(part[j])) * hashPrime
		}
	}
	n := len(p.starts) - 1
	i := sort.Search(n, func(i int) bool { return binary.LittleEndian.Uint32(p.hashes[4*i:]) >= h })
	if i == n || binary.LittleEndian.Uint32(p.hashes[4*i:]) != h {
		return nil
	}
	return p.body[p.starts[i]:p.starts[i+1]]
}

// English splits a text into words, in the way of the Penn Treebank ("don't" is two words, "do" and
// "n't"), and tags them. A text of several sentences is tagged as if it were one.
func English(s string) []Word {
	words := splitEnglish(s)
	if len(words) == 0 {
		return nil
	}
	p := loadPerceptron()
	// Two words before the first and behind the last are marks.
	context := make([]string, 0, len(words)+4)
	context = append(context, "-START-", "-START2-")
	for i := range words {
		context = append(context, normalize(words[i].Text))
	}
	context = append(context, "-END-", "-END2-")
	scores := make([]int, len(p.tags))
	before, beforeThat := "-START-", "-START2-"
	for i := range words {
		w := &words[i]
		plain := strings.ReplaceAll(w.Text, "’", "'")
		if known := p.weights("word " + plain); known != nil {
			w.Tag = p.tags[known[0]]
		} else {
			clear(scores)
			c := context[i : i+5] // the word is c[2]
			first, _ := utf8.DecodeRuneInString(plain)
			for _, feature := range [][]string{
				{"bias"}, {"i suffix", ending(plain)}, {"i pref1", string(first)},
				{"i-1 tag", before}, {"i-2 tag", beforeThat}, {"i tag+i-2 tag", before, beforeThat},
				{"i word", c[2]}, {"i-1 tag+i word", before, c[2]},
				{"i-1 word", c[1]}, {"i-1 suffix", ending(c[1])}, {"i-2 word", c[0]},
				{"i+1 word", c[3]}, {"i+1 suffix", ending(c[3])}, {"i+2 word", c[4]},
			} {
				list := p.weights(feature...)
				for ; len(list) > 0; list = list[weightBytes:] {
					scores[list[0]] += int(int16(binary.LittleEndian.Uint16(list[1:]))) //nolint:gosec // weights are signed
				}
			}
			best := 0
			for t, score := range scores {
				if score > scores[best] {
					best = t
				}
			}
			w.Tag = p.tags[best]
		}
		beforeThat, before = before, w.Tag
	}
	return words
}

// ending returns the last three bytes of a word, as the weights name endings.
func ending(w string) string { return w[max(0, len(w)-3):] }

// normalize returns the form of a word that features of context name.
func normalize(w string) string {
	first, _ := utf8.DecodeRuneInString(w)
	w = strings.ReplaceAll(w, "’", "'")
	switch {
	case strings.Contains(w, "-") && first != '-':
		return "!HYPHEN"
	case len(w) == 4 && strings.Trim(w, "0123456789") == "":
		return "!YEAR"
	case first >= '0' && first <= '9':
		return "!DIGITS"
	}
	return strings.ToLower(w)
}

// titles are abbreviations that keep their full stop.
var titles = map[string]bool{"mr": true, "mrs": true, "ms": true, "dr": true, "st": true, "prof": true, "jr": true, "sr": true, "vs": true}

// splitEnglish splits a text into words and punctuation marks.
func splitEnglish(s string) []Word {
	var out []Word
	add := func(start, end int) { out = append(out, Word{Text: s[start:end], Start: start, End: end}) }
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) || r == utf8.RuneError {
			i += n
			continue
		}
		if !isWordRune(r) && r != '\'' && r != '’' {
			add(i, i+n)
			i += n
			continue
		}
		end := i + n
		for end < len(s) {
			r, n := utf8.DecodeRuneInString(s[end:])
			next, _ := utf8.DecodeRuneInString(s[min(end+n, len(s)):])
			joins := isWordRune(r) || (r == '\'' || r == '’' || r == '-' || r == '_' || r == '&' || r == '.' || r == ',' || r == '@') && isWordRune(next) &&
				(r != ',' && r != '.' || unicode.IsDigit(next) || unicode.IsLetter(next) && r == '.' && end-i <= 3)
			if !joins {
				break
			}
			end += n
		}
		if end < len(s) && s[end] == '.' && (titles[strings.ToLower(s[i:end])] || strings.Contains(s[i:end], ".") && end-i <= 4) {
			end++
		}
		stem := end - len(clitic(s[i:end]))
		if stem > i {
			add(i, stem)
		}
		if stem < end {
			add(stem, end)
		}
		i = end
	}
	return out
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// clitic returns the contracted word at the end of a word: "n't" of "don't", "'s" of "Ana's".
func clitic(w string) string {
	low := strings.ReplaceAll(strings.ToLower(w), "’", "'")
	if low == "can't" || low == "won't" || strings.HasSuffix(low, "n't") {
		return w[len(w)-len(w[strings.LastIndexAny(w, "'’"):])-1:]
	}
	for _, c := range []string{"'s", "'m", "'re", "'ve", "'ll", "'d"} {
		if strings.HasSuffix(low, c) && len(low) > len(c) {
			return w[strings.LastIndexAny(w, "'’"):]
		}
	}
	return ""
}
