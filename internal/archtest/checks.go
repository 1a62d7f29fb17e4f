package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Check is a numbered behavior, such as C017, that some test must show.
type Check int

// String gives the check as tests name it.
func (c Check) String() string { return fmt.Sprintf("C%03d", int(c)) }

// Required returns the checks that the product has to meet by now, in order.
func Required() []Check {
	ranges := [][2]Check{{1, 79}, {82, 82}, {86, 91}, {316, 325}, {327, 327}}
	var all []Check
	for _, r := range ranges {
		for c := r[0]; c <= r[1]; c++ {
			all = append(all, c)
		}
	}
	return all
}

var checkName = regexp.MustCompile(`(?:^|[^A-Z0-9])C([0-9]{3})(?:(?:-|–|\.\.)C?([0-9]{3}))?(?:[^0-9]|$)`)

// FindChecks returns the checks that the test files of the module in root name, each with
// the files that name it. A name is "C017" in a comment, a string or an identifier
// (TestC017Nearest), and "C001-C016" names a range.
func FindChecks(root fs.FS) (map[Check][]string, error) {
	named := map[Check]map[string]bool{}
	err := walkGo(root, func(file string) error {
		if !strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/archtest/") && !strings.HasSuffix(file, "/docs_test.go") {
			// The tests of this listing name checks only to try the listing.
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		for _, c := range checksIn(string(src)) {
			if named[c] == nil {
				named[c] = map[string]bool{}
			}
			named[c][file] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := make(map[Check][]string, len(named))
	for c, files := range named {
		found[c] = slices.Sorted(maps.Keys(files))
	}
	return found, nil
}

// checksIn returns the checks named in a text, with repeats.
func checksIn(text string) []Check {
	var found []Check
	for {
		m := checkName.FindStringSubmatchIndex(text)
		if m == nil {
			return found
		}
		first := number(text[m[2]:m[3]])
		last, end := first, m[3]
		if m[4] >= 0 {
			last, end = number(text[m[4]:m[5]]), m[5]
		}
		for c := first; c <= last; c++ {
			found = append(found, c)
		}
		// What follows a name may also stand before the next one: "C001, C002".
		text = text[end:]
	}
}

// number reads three digits, which the expression has made sure of.
func number(digits string) Check {
	var n Check
	for _, d := range digits {
		n = n*10 + Check(d-'0')
	}
	return n
}
