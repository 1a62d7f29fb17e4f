package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// A run writes the part of the documentation between these lines.
const (
	tableBegin = "<!-- made by make bench/index: begin -->"
	tableEnd   = "<!-- made by make bench/index: end -->"
)

// replace replaces the text between the marks of a file.
func replace(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return fmt.Errorf("%s lacks the lines %q and %q", path, tableBegin, tableEnd)
	}
	return os.WriteFile(path, []byte(before+tableBegin+"\n\n"+text+"\n"+tableEnd+after), 0o644) //nolint:gosec // documentation
}

// markdown returns the circumstances of the run and two tables of figures.
func (r *Result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- command: `%s`\n- machine: %s\n- others: %s\n- %d queries, k = %d, %g s for each figure in %d turns\n",
		r.Command, r.Machine, strings.Join(r.Others, ", "), r.Queries, k, r.Seconds, turns)
	for _, s := range r.Sizes {
		mixed := ""
		if s.Encoded < s.Notes {
			mixed = fmt.Sprintf(", %s of them encoded, the others mixed", grouped(s.Encoded))
		}
		fmt.Fprintf(&b, "- %s notes%s: cosine of the tenth nearest %.3f\n", grouped(s.Notes), mixed, s.Tenth)
	}
	b.WriteString("\n| notes | what | p50 ms | p99 ms | recall@10 | build s | bytes/note |\n|---:|---|---:|---:|---:|---:|---:|\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			grouped(f.Notes), f.name(), short(f.P50), optional(f.P99, "%.3g"), optional(f.Recall, "%.4f"), short(f.Build), grouped(int(f.Bytes)))
	}
	b.WriteString("\n| notes | codes | processors | plain read, GB/s | our answer, GB/s | share |\n|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range r.Sizes {
		rate := func(ms float64) string { return fmt.Sprintf("%.1f", float64(s.Scan.Bytes)/ms/1e6) }
		fmt.Fprintf(&b, "| %s | %.1f MB | %d | %s | %s | %.0f %% |\n", grouped(s.Notes), float64(s.Scan.Bytes)/1e6, s.Scan.Processors,
			rate(s.Scan.Read), rate(s.Scan.Answer), 100*s.Scan.Share())
	}
	return b.String()
}

func (f *Figure) name() string {
	if f.Setting == "" {
		return f.Library
	}
	return f.Library + ", " + f.Setting
}

// short formats a number with three significant digits.
func short(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x < 0.0005:
		return "0"
	}
	return fmt.Sprintf("%.3g", x)
}

func optional(x *float64, format string) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf(format, *x)
}

// grouped formats 1000 as 1,000.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// versions returns the versions of the Go libraries in this binary.
func versions() []string {
	var out []string
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return nil
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/coder/hnsw", "github.com/philippgille/chromem-go", "github.com/viterin/vek", "modernc.org/sqlite":
			out = append(out, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
		}
	}
	return out
}
