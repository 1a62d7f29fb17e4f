// Package lazyregexp is package regexp for tables of patterns: a pattern is compiled when it is first used. A process
// that starts only to create a key, or serves without rules, does not compile the hundreds of patterns of internal/analyst.
// Those tables import it under the name regexp.
package lazyregexp

import (
	"fmt"
	"regexp"
	"sync"
)

// Regexp is a regular expression of package regexp. It is safe for use by several goroutines.
type Regexp struct {
	compiled func() *regexp.Regexp
	text     string
}

// patterns are those of variables of packages, for Check.
var patterns []*Regexp

// MustCompile returns a pattern for a variable of a package. It panics when it is first used if it cannot be parsed;
// Check finds that.
func MustCompile(text string) *Regexp {
	r := Build(text)
	patterns = append(patterns, r)
	return r
}

// Build returns a pattern that is made while the program runs.
func Build(text string) *Regexp {
	return &Regexp{text: text, compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// Check returns an error for a pattern of a variable that cannot be parsed. Tests of the packages with tables call it.
func Check() error {
	for _, r := range patterns {
		if _, err := regexp.Compile(r.text); err != nil {
			return fmt.Errorf("lazyregexp: %w", err)
		}
	}
	return nil
}

// QuoteMeta is regexp.QuoteMeta.
func QuoteMeta(s string) string { return regexp.QuoteMeta(s) }

// String is that of regexp.Regexp.
func (r *Regexp) String() string { return r.text }

// MatchString is that of regexp.Regexp.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString is that of regexp.Regexp.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex is that of regexp.Regexp.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch is that of regexp.Regexp.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// SubexpIndex is that of regexp.Regexp.
func (r *Regexp) SubexpIndex(name string) int { return r.compiled().SubexpIndex(name) }

// Split is that of regexp.Regexp.
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }

// FindStringSubmatchIndex is that of regexp.Regexp.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// FindAllString is that of regexp.Regexp.
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// FindAllStringIndex is that of regexp.Regexp.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is that of regexp.Regexp.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is that of regexp.Regexp.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString is that of regexp.Regexp.
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc is that of regexp.Regexp.
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}

// ExpandString is that of regexp.Regexp.
func (r *Regexp) ExpandString(dst []byte, template, s string, match []int) []byte {
	return r.compiled().ExpandString(dst, template, s, match)
}
