package transfer

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
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
	for _, tt := range []struct {
		name, format string
		o            Options
	}{
		{"chatgpt", "chatgpt", Options{Me: "Nora", Newest: true}},
		{"claude", "claude", Options{}},
		{"slack", "slack", Options{}},
		{"telegram", "telegram", Options{Me: "nora", OnePerson: true}},
		{"telegram-all", "telegram", Options{}},
		{"whatsapp-ios", "whatsapp", Options{Zone: zone}},
		{"whatsapp-android", "whatsapp", Options{OnePerson: true, Newest: true}},
		{"vault", "markdown", Options{}},
		{"jsonl", "jsonl", Options{}},
		{"mem0", "mem0", Options{}},
		{"memoryos", "memoryos", Options{}},
		{"memorybank", "memorybank", Options{OnePerson: true, Me: "Nora"}},
		{"letta", "letta", Options{Me: "Ann"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := filepath.Join("testdata", tt.name)
			if tt.name == "vault" {
				at = copied(t, at)
			}
			lines, report, err := translate(t, at, tt.o)
			if err != nil || report.Format != tt.format {
				t.Fatalf("%s: %v", report.Format, err)
			}
			said, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := lines + string(said) + "\n"
			golden := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			again, _, err := translate(t, at, tt.o)
			if err != nil || again != lines {
				t.Errorf("a second reading differs: %v\n%s", err, again)
			}
		})
	}
}

// copied copies a folder, with a time at which all files were written.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(at string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(at, now.AddDate(0, 0, -1), now.AddDate(0, 0, -1))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
