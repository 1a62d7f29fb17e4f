package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Check is a numbered behavior, such as C017, that a test must show.
type Check int

// String returns the check in the form that tests use.
func (c Check) String() string { return fmt.Sprintf("C%03d", int(c)) }

// required lists the behaviors that the product must have by now, as ranges of numbers.
var required = [][2]Check{
	// A-MEM: notes, links, evolution, retrieval, stores, models, documentation.
	{1, 80},
	{81, 82},
	{86, 91},
	{315, 325},
	{327, 327},
	// MemoryBank.
	{92, 115},
	{328, 329},
	// MemGPT.
	{116, 158},
	{330, 330},
	// Mem0.
	{159, 187},
	{192, 193},
	{195, 195},
	{331, 331},
	// Mem0g.
	{196, 208},
	// MemoryOS.
	{209, 243},
	{245, 245},
	{247, 247},
	{332, 333},
	// Layers.
	{248, 309},
	{334, 341},
	// All systems: fitting scenarios, growth, persons apart, sources and confidence.
	{246, 246},
	{312, 314},
	// The comparison.
	{83, 85},
	{188, 191},
	{194, 194},
	{310, 311},
	{326, 326},
	// Costs of model calls.
	{244, 244},
}

// benches lists the required checks that are figures to measure and report, with the
// command that prints the figure. A test shows that the measurement works, on little data.
var benches = map[Check]string{
	55:  "make eval EVAL_PARTS=noise",
	80:  "make bench PKG=./internal/index BENCH=Search100k",
	208: "make eval EVAL_PARTS=recall EVAL_TRACKS=systems",
	312: "make eval EVAL_PARTS=growth",
	300: "make bench PKG=./internal/index BENCH=Search1M",
}

// Required returns the checks that the product has to meet by now, in order.
func Required() []Check {
	var all []Check
	for _, r := range required {
		for c := r[0]; c <= r[1]; c++ {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return all
}

// Bench returns the command that measures a check, and reports whether the check is a
// figure to measure.
func Bench(c Check) (command string, ok bool) {
	command, ok = benches[c]
	return command, ok
}

var checkName = regexp.MustCompile(`(?:^|[^A-Z0-9])C([0-9]{3})(?:(?:-|–|\.\.)C?([0-9]{3}))?(?:[^0-9]|$)`)

// FindChecks returns the checks that the test files of the module in root and of the
// modules in it name, each with the files that name it. A name is "C017" in a comment, a
// string or an identifier (TestC017Nearest). "C001-C016" names a range.
func FindChecks(root fs.FS) (map[Check][]string, error) {
	named := map[Check]map[string]bool{}
	err := walkOurs(root, func(file string) error {
		if !strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/archtest/") && !strings.HasSuffix(file, "/docs_test.go") {
			// The tests of this search name checks only to try it.
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
		// The character after a name may also be the one before the next: "C001,C002".
		text = text[end:]
	}
}

// number parses three digits. The expression matches nothing else.
func number(digits string) Check {
	var n Check
	for _, d := range digits {
		n = n*10 + Check(d-'0')
	}
	return n
}
