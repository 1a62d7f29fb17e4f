package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// columns are units with a column of their own; the last column takes the rest.
var columns = []struct{ unit, title string }{
	{"calls", "calls"},
	{"p50-ms", "p50 ms"},
	{"p99-ms", "p99 ms"},
	{"calls/s", "calls/s"},
	{"p50-ratio", "p50 ÷ first"},
	{"rate-ratio", "calls/s ÷ first"},
}

// markdown is the form for documentation. The first part of a name is that of the
// run and left out, the second makes a section of the table.
type markdown struct {
	w     io.Writer
	part  string
	begun bool
	err   error
}

func (m *markdown) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

func (m *markdown) setting(line string) bool {
	key, value, _ := strings.Cut(line, ": ")
	m.printf("- %s: %s\n", key, strings.TrimSpace(value))
	return true
}

func (m *markdown) row(r row) {
	parts := strings.Split(strings.ReplaceAll(r.name, "_", " "), "/")
	name := strings.Join(parts[min(2, len(parts)-1):], "/")
	if !m.begun {
		m.begun = true
		m.printf("\n| what |")
		for _, c := range columns {
			m.printf(" %s |", c.title)
		}
		m.printf(" more |\n|---|%s---|\n", strings.Repeat("---:|", len(columns)))
	}
	if len(parts) > 2 && parts[1] != m.part {
		m.part = parts[1]
		m.printf("| **%s** |%s\n", m.part, strings.Repeat("  |", len(columns)+1))
	}
	m.printf("| %s |", name)
	for _, c := range columns {
		m.printf(" %s |", r.take(c.unit))
	}
	var rest []string
	for _, f := range r.figures {
		rest = append(rest, f.short()+" "+strings.ReplaceAll(f.unit, "-", " "))
	}
	m.printf(" %s |\n", strings.Join(rest, ", "))
}

func (m *markdown) end() error { return m.err }

// take removes the figure of a unit; "" when there is none.
func (r *row) take(unit string) string {
	for i, f := range r.figures {
		if f.unit == unit {
			r.figures = append(r.figures[:i:i], r.figures[i+1:]...)
			return f.short()
		}
	}
	return ""
}

// short has three digits, or as many as stand before the point.
func (f figure) short() string {
	v, err := strconv.ParseFloat(f.value, 64)
	switch {
	case err != nil:
		return f.value
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}
