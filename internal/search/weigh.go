package search

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Feature is something of a query, or of the view that it asks, that weights depend on.
type Feature int

// The features. All are about 0 to 1, so that their weights compare.
const (
	Always        Feature = iota // 1
	Asks                         // 1 when the query ends with a question mark
	NamesOne                     // 1 when the query names a value of an attribute, such as a speaker
	QueryLength                  // ln(1 + words) / 5
	AssistantPart                // share of the notes that are an assistant's
	NoteLength                   // ln(1 + mean terms of a note) / 5
	SessionLength                // ln(1 + mean notes of a session) / 5; 0 without sessions
	features
)

var featureNames = [features]string{"always", "asks", "names_one", "query_length", "assistant_part", "note_length", "session_length"}

// String returns the name that explanations use.
func (f Feature) String() string { return featureNames[f] }

// Features holds the value of each feature.
type Features [features]float64

// Named returns the features by name.
func (f *Features) Named() map[string]float64 {
	out := make(map[string]float64, features)
	for i, x := range f {
		out[Feature(i).String()] = x
	}
	return out
}

// LogLength returns a number of words, notes or terms as a feature.
func LogLength(n float64) float64 { return math.Log1p(max(n, 0)) / 5 }

// FeaturesOf returns features by their names; unknown ones are left out.
func FeaturesOf(named map[string]float64) (out Features) {
	for i, name := range featureNames {
		out[i] = named[name]
	}
	return out
}

// ValuesOf returns measures by the names of their signals; unknown ones are left out.
func ValuesOf(named map[string]float64) (out Values) {
	for i := range table {
		out[i] = named[table[i].name]
	}
	return out
}

// SignalsNamed returns signals by name.
func SignalsNamed(names []string) ([]Signal, error) {
	out := make([]Signal, len(names))
	for i, name := range names {
		at := slices.Index(signalNames(), name)
		if at < 0 {
			return nil, fmt.Errorf("%s: no such signal; the signals are %s", name, strings.Join(signalNames(), ", "))
		}
		out[i] = Signal(at)
	}
	return out, nil
}

// Comparable divides the measures of one search that are compared with the largest of them.
func Comparable(all []Values) {
	var highest Values
	for i := range all {
		for j, x := range all[i] {
			highest[j] = max(highest[j], x)
		}
	}
	for i := range all {
		for j := range all[i] {
			if table[j].norm == byMaximum {
				all[i][j] = share(all[i][j], highest[j])
			}
		}
	}
}

// share returns a measure as a share of the highest one, 0..1.
func share(x, highest float64) float64 {
	if highest <= 0 {
		return 0
	}
	return min(max(x/highest, 0), 1)
}

// Table holds how much of the weight of each signal comes with each feature.
type Table [signals]Features

//go:embed weights.tsv
var fittedText string

// fitted is the table that "eval fit" learned.
var fitted = must(ParseTable(fittedText))

func must(t Table, err error) Table {
	if err != nil {
		panic(err) // the file is a part of the binary
	}
	return t
}

// FittedConfig returns the constants of ranking for the features of a query, as they were learned.
func FittedConfig(f *Features) Config {
	c := DefaultConfig(Auto)
	c.Weights = fitted.Weights(f)
	return c
}

// Weights returns the weights for the features of a query.
func (t *Table) Weights(f *Features) (out Values) {
	for s := range t {
		for i, x := range f {
			out[s] += t[s][i] * x
		}
	}
	return out
}

// String returns the table as text: a line of signals' names and numbers behind one of features' names.
func (t *Table) String() string {
	var b strings.Builder
	b.WriteString("signal\t" + strings.Join(featureNames[:], "\t") + "\n")
	for s := range t {
		if t[s] == (Features{}) {
			continue
		}
		b.WriteString(Signal(s).String())
		for _, x := range t[s] {
			b.WriteString("\t" + strconv.FormatFloat(x, 'f', 3, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseTable reads what String writes.
func ParseTable(s string) (t Table, err error) {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if lines[0] != "signal\t"+strings.Join(featureNames[:], "\t") {
		return t, fmt.Errorf("search: the weights are of other features: %q", lines[0])
	}
	for _, line := range lines[1:] {
		columns := strings.Split(line, "\t")
		named, err := SignalsNamed(columns[:1])
		if err != nil {
			return t, err
		}
		if len(columns) != 1+int(features) {
			return t, fmt.Errorf("search: a line of weights has %d columns, want %d", len(columns), 1+features)
		}
		for i, c := range columns[1:] {
			if t[named[0]][i], err = strconv.ParseFloat(c, 64); err != nil {
				return t, fmt.Errorf("search: a weight: %w", err)
			}
		}
	}
	return t, nil
}
