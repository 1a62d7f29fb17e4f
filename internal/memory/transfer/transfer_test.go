package transfer

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

var update = flag.Bool("update", false, "write the golden files")

// now is the present of these tests.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// translate reads a source, and returns its lines and what was understood, one a line.
func translate(t *testing.T, at string, o Options) (string, Report, error) {
	t.Helper()
	s, err := Open(at)
	if err != nil {
		return "", Report{}, err
	}
	defer s.Close()
	if o.Now.IsZero() {
		o.Now = now
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	report, err := Read(t.Context(), s, o, func(l Line) error { return enc.Encode(l) })
	return out.String(), report, err
}

// Every format is read as its golden file says, which a person has read: what was said, by whom and when, and what was left out.
func TestFormats(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3600)
	missing := Formats()
	for _, tt := range []struct {
		name string // of the fixture: the format, or that and what it shows
		o    Options
	}{
		{"chatgpt", Options{Me: "Nora", Newest: true}},
		{"claude", Options{}},
		{"slack", Options{}},
		{"telegram", Options{Me: "nora", OnePerson: true}},
		{"telegram-all", Options{}},
		{"gemini", Options{}},
		{"mail", Options{}},
		{"transcript", Options{}},
		{"whatsapp-ios", Options{Zone: zone}},
		{"whatsapp", Options{OnePerson: true, Newest: true}},
		{"markdown", Options{}},
		{"jsonl", Options{}},
		{"mem0", Options{}},
		{"messages", Options{}},
		{"messages-discord", Options{}},
		{"memoryos", Options{}},
		{"memorybank", Options{OnePerson: true, Me: "Nora"}},
		{"letta", Options{Me: "Ann"}},
	} {
		format, _, _ := strings.Cut(tt.name, "-")
		missing = slices.DeleteFunc(missing, func(f string) bool { return f == tt.name })
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := filepath.Join("testdata", tt.name)
			if tt.name == "markdown" {
				at = copied(t, at)
			}
			lines, report, err := translate(t, at, tt.o)
			if err != nil || report.Format != format {
				t.Fatalf("%s: %v", report.Format, err)
			}
			said := must.Get(json.MarshalIndent(report, "", "  "))(t)
			got := lines + string(said) + "\n"
			golden := filepath.Join("testdata", tt.name+".golden")
			if *update {
				must.Do(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			again, _, err := translate(t, at, tt.o)
			if err != nil || again != lines {
				t.Errorf("a second reading differs: %v\n%s", err, again)
			}
		})
	}
	if len(missing) > 0 {
		t.Errorf("no fixture shows what is read of %v", missing)
	}
}

// Every format has a page, which the page about all of them links to. test/pages runs its commands on the fixture.
func TestEveryFormatHasAPage(t *testing.T) {
	t.Parallel()
	index := must.Get(os.ReadFile("../../../docs/history.md"))(t)
	for _, format := range Formats() {
		page, err := os.ReadFile("../../../docs/history/" + format + ".md")
		if err != nil || !bytes.Contains(page, []byte("```sh\nslipbox import ")) {
			t.Errorf("%s has no page with its command: %v", format, err)
		}
		if !bytes.Contains(index, []byte("(history/"+format+".md)")) {
			t.Errorf("docs/history.md does not lead to the page of %s", format)
		}
	}
}

// copied copies a folder, with a time at which all files were written.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	must.Do(t, os.CopyFS(to, os.DirFS(from)))
	must.Do(t, filepath.WalkDir(to, func(at string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(at, now.AddDate(0, 0, -1), now.AddDate(0, 0, -1))
	}))
	return to
}
