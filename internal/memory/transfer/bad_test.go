package transfer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// put writes a file and returns where it is.
func put(t *testing.T, name string, content []byte) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(at, content, 0o600))
	return at
}

// packed returns a zip of files, which are names and contents in turn.
func packed(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f := must.Get(w.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Deflate, Modified: now}))(t)
		must.Get(io.WriteString(f, files[i+1]))(t)
	}
	must.Do(t, w.Close())
	return put(t, "export.zip", out.Bytes())
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
	return raw
}

// A format that is asked for, and that a source is not, is refused: an import of nothing is not a success.
func TestOtherFormatsAreRefused(t *testing.T) {
	t.Parallel()
	sources := []string{put(t, "photo.bin", []byte{0, 1, 2}), put(t, "chat.txt", fixture(t, "whatsapp/WhatsApp Chat with Nora.txt"))}
	for _, name := range []string{"chatgpt", "claude", "slack", "telegram", "letta", "memoryos"} {
		sources = append(sources, filepath.Join("testdata", name))
	}
	for _, source := range sources {
		for _, format := range Formats() {
			said, r, err := translate(t, source, Options{Format: format})
			s := must.Get(Open(source))(t)
			own, _ := s.formatOf(format)
			is := own.detect(s)
			s.Close()
			switch {
			case err == nil && !is && len(said) == 0:
				t.Errorf("%s as %s: nothing is read, and no error: %+v", source, format, r)
			case err != nil && (is || fault.CodeOf(err) == fault.Internal):
				t.Errorf("%s as %s: %v", source, format, err)
			}
		}
	}
}

// What is not an export, or only the beginning of one, is refused with a reason, wherever it ends.
func TestBrokenExportsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chatgpt/conversations.json", "claude/conversations.json", "telegram/result.json", "telegram-all/result.json", "mem0/memories.json", "memorybank/nora.json", "letta/sam.af"} {
		raw := fixture(t, name)
		for end := 0; end < len(bytes.TrimSpace(raw)); end += 1 + len(raw)/90 {
			if _, r, err := translate(t, put(t, filepath.Base(name), raw[:end]), Options{}); err == nil {
				t.Errorf("%s, cut after %d of %d bytes, is %s with %d messages", name, end, len(raw), r.Format, r.Messages)
			} else if fault.CodeOf(err) == fault.Internal {
				t.Errorf("%s, cut after %d bytes: %v", name, end, err)
			}
		}
	}
	whole := must.Get(os.ReadFile(packed(t, "conversations.json", string(fixture(t, "chatgpt/conversations.json")))))(t)
	for name, raw := range map[string][]byte{
		"one.json": []byte("["), "one.txt": {0}, "half.zip": whole[:len(whole)/2], "rows.json": []byte(`{"rows":[1]}`),
		"table.csv": []byte("a,b\n1,2\n"), "deep.json": []byte(strings.Repeat("[", 1<<20)), "more.json": []byte(string(fixture(t, "claude/conversations.json")) + "]"),
	} {
		if _, r, err := translate(t, put(t, name, raw), Options{}); err == nil {
			t.Errorf("%s is taken as %s", name, r.Format)
		}
	}
	if _, _, err := translate(t, put(t, "rows.json", []byte(`{"rows":[1]}`)), Options{}); !strings.Contains(fmt.Sprint(err), "whatsapp") {
		t.Errorf("the refusal does not say what is supported: %v", err)
	}
}

// A zip that unpacks to far more than it has is refused, and so is one whose sizes lie; names that point out of it are left out.
func TestHostileZipsAreRefused(t *testing.T) {
	t.Parallel()
	bomb := packed(t, "conversations.json", `[{"title":"x","mapping":{}},`+strings.Repeat(" ", bombSize+(1<<20))+`{"mapping":{}}]`)
	if _, _, err := translate(t, bomb, Options{}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a bomb: %v", err)
	}
	said := `{"role":"user","content":"I keep bees.","id":"1"}`
	tricky := packed(t, "../../evil.jsonl", said, "/etc/evil.jsonl", said, `c:\evil.jsonl`, said, "__MACOSX/x.jsonl", said, ".hidden/x.jsonl", said, "chat.jsonl", said)
	lines, r, err := translate(t, tricky, Options{})
	if err != nil || strings.Count(lines, "\n") != 1 || r.Left["files of the zip whose names point out of it"] != 3 {
		t.Errorf("%s %+v %v", lines, r.Left, err)
	}
	if _, _, err := translate(t, packed(t), Options{}); err == nil {
		t.Error("an empty zip is taken")
	}
	// A link out of a folder is not followed.
	dir := t.TempDir()
	must.Do(t, os.Symlink(put(t, "secret.md", []byte("secret")), filepath.Join(dir, "a.md")))
	if lines, _, err := translate(t, dir, Options{}); err == nil {
		t.Errorf("a link out of the folder: %s", lines)
	}
}

// Texts in other encodings are read as they are meant.
func TestEncodings(t *testing.T) {
	t.Parallel()
	const chat = "[13.03.26, 09:00:00] Zoë: Grüße aus Köln – ça va?\r\n[14.03.26, 09:00:00] Zoë: Ja\r\n"
	little := must.Get(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(chat))(t)
	bare := must.Get(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(chat))(t)
	latin := must.Get(charmap.Windows1252.NewEncoder().String(chat))(t)
	want, _, err := translate(t, put(t, "chat.txt", []byte(chat)), Options{})
	if err != nil || !strings.Contains(want, "Grüße aus Köln – ça va?") {
		t.Fatalf("%s %v", want, err)
	}
	for name, text := range map[string]string{"BOM": "\uFEFF" + chat, "UTF-16": little, "UTF-16 without a mark": bare, "Windows-1252": latin} {
		if got, _, err := translate(t, put(t, "chat.txt", []byte(text)), Options{}); err != nil || got != want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if got, _, err := translate(t, packed(t, "chat.txt", text), Options{}); err != nil || got != want {
			t.Errorf("%s in a zip: %v\n%s", name, err, got)
		}
	}
}

// The whole file decides how its dates are written; where it cannot, it is said.
func TestTheWholeFileDecidesHowDatesAreWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string // times; none: it is asked
	}{
		{"day first", []string{"12/3/26, 09:00 - A: x", "13/3/26, 10:00 - A: x"}, []string{"2026-03-12T09:00:00Z", "2026-03-13T10:00:00Z"}},
		{"month first", []string{"3/4/26, 9:00 AM - A: x", "3/13/26, 1:00 PM - A: x"}, []string{"2026-03-04T09:00:00Z", "2026-03-13T13:00:00Z"}},
		{"consecutive days", []string{"3/4/26, 09:00 - A: x", "3/5/26, 09:00 - A: x", "3/6/26, 09:00 - A: x"}, []string{"2026-03-04T09:00:00Z", "2026-03-05T09:00:00Z", "2026-03-06T09:00:00Z"}},
		{"backwards", []string{"28/2/26, 09:00 - A: x", "01/03/26, 09:00 - A: x", "02/03/26, 08:00 - A: x"}, []string{"2026-02-28T09:00:00Z", "2026-03-01T09:00:00Z", "2026-03-02T08:00:00Z"}},
		{"one day", []string{"3/4/26, 09:00 - A: x"}, nil},
		{"dots", []string{"[13.03.26, 09:00:00] A: x"}, []string{"2026-03-13T09:00:00Z"}},
		{"year first", []string{"2026/3/13 上午9:00 - A: x", "2026/3/13 下午3:00 - A: x"}, []string{"2026-03-13T09:00:00Z", "2026-03-13T15:00:00Z"}},
		{"Korean", []string{"2026년 3월 13일 오전 9:00, A : x", "2026년 3월 13일 오후 2:44, A : x"}, []string{"2026-03-13T09:00:00Z", "2026-03-13T14:44:00Z"}},
		{"Arabic", []string{"١٣/٣/٢٠٢٦، ٩:٠٠ ص - A: x", "١٣/٣/٢٠٢٦، ٣:٠٠ م - A: x"}, []string{"2026-03-13T09:00:00Z", "2026-03-13T15:00:00Z"}},
		{"French", []string{"13/03/2026 à 09:00 - A: x", "14/03/2026 à 21:00 - A: x"}, []string{"2026-03-13T09:00:00Z", "2026-03-14T21:00:00Z"}},
		{"Spanish", []string{"13/3/26, 12:05 a. m. - A: x", "13/3/26, 9:05 p. m. - A: x"}, []string{"2026-03-13T00:05:00Z", "2026-03-13T21:05:00Z"}},
		{"a Chinese afternoon", []string{"2026/2/13 下午5:45 - A: x"}, []string{"2026-02-13T17:45:00Z"}},
		{"a Chinese noon and evening", []string{"2026/2/13 中午12:05 - A: x", "2026/2/13 晚上8:45 - A: x"}, []string{"2026-02-13T12:05:00Z", "2026-02-13T20:45:00Z"}},
		{"a Chinese midnight", []string{"2026/2/13 上午12:05 - A: x"}, []string{"2026-02-13T00:05:00Z"}},
		{"a Japanese afternoon", []string{"2026/02/13 午後5:45 - A: x", "2026/02/14 午前12:45 - A: x"}, []string{"2026-02-13T17:45:00Z", "2026-02-14T00:45:00Z"}},
		{"a Korean afternoon", []string{"2026. 2. 13. 오후 5:45, A : x"}, []string{"2026-02-13T17:45:00Z"}},
		{"an Arabic afternoon", []string{"١٣/٢/٢٠٢٦، ٥:٤٥ م - A: x"}, []string{"2026-02-13T17:45:00Z"}},
		{"a Greek afternoon", []string{"13/2/26, 5:45 μ.μ. - A: x"}, []string{"2026-02-13T17:45:00Z"}},
		{"a Malay afternoon", []string{"13/2/26, 5:45 PTG - A: x"}, []string{"2026-02-13T17:45:00Z"}},
		{"marks that are not known", []string{"13/2/26, 9:45 ab - A: x", "13/2/26, 5:45 cd - A: x"}, []string{"2026-02-13T09:45:00Z", "2026-02-13T17:45:00Z"}},
		{"a Vietnamese evening", []string{"13/05/2024, 9:00 CH - Lan: x", "14/05/2024, 8:00 SA - Minh: ok"}, []string{"2024-05-13T21:00:00Z", "2024-05-14T08:00:00Z"}},
		{"Korean evenings", []string{"2024년 5월 13일 오후 9:00 - 민수: x", "2024년 5월 13일 오후 9:05 - 민수: y"}, []string{"2024-05-13T21:00:00Z", "2024-05-13T21:05:00Z"}},
		{"a Korean evening of iOS", []string{"[2024. 5. 13. 오후 9:00:05] 민수: x"}, []string{"2024-05-13T21:00:05Z"}},
		{"a Japanese evening with units", []string{"2024年5月13日午後9:00 - A: x"}, []string{"2024-05-13T21:00:00Z"}},
		{"a Korean clock of 24 hours", []string{"2024년 5월 13일 9:00 - 민수: x"}, []string{"2024-05-13T09:00:00Z"}},
		{"a Hungarian evening", []string{"2024. 05. 13. du. 9:00 - A: x"}, []string{"2024-05-13T21:00:00Z"}},
		{"an Albanian evening", []string{"13.5.2024, 9:00 e pasdites - A: x"}, []string{"2024-05-13T21:00:00Z"}},
		{"a Hindi evening", []string{"13/5/2024, 9:00 अपराह्न - A: x"}, []string{"2024-05-13T21:00:00Z"}},
		{"a Finnish evening", []string{"13.5.2024, 9.00 ap. - A: x", "13.5.2024, 9.00 ip. - A: x"}, []string{"2024-05-13T09:00:00Z", "2024-05-13T21:00:00Z"}},
		{"the hours of Quebec", []string{"2024-05-13 09 h 00 - A: x", "2024-05-13 21 h 05 - A: x"}, []string{"2024-05-13T09:00:00Z", "2024-05-13T21:05:00Z"}},
		{"an evening after a word", []string{"13/5/2024 a las 9:00 p. m. - A: x"}, []string{"2024-05-13T21:00:00Z"}},
		{"twenty-four hours", []string{"13/2/26, 17:45 - A: x", "13/2/26, 5:45 - A: x"}, []string{"2026-02-13T17:45:00Z", "2026-02-13T05:45:00Z"}},
		{"Thai years", []string{"13/3/2569 09:00 - A: x"}, []string{"2026-03-13T09:00:00Z"}},
		{"ahead", []string{"13/3/99, 09:00 - A: x"}, nil},
		{"Portuguese", []string{"13/03/2026 09:00 - A: x"}, []string{"2026-03-13T09:00:00Z"}},
	} {
		lines, _, err := translate(t, put(t, "chat.txt", []byte(strings.Join(tt.lines, "\n"))), Options{Format: "whatsapp"})
		var got []string
		for line := range strings.Lines(lines) {
			_, rest, _ := strings.Cut(line, `"occurred_at":"`)
			at, _, _ := strings.Cut(rest, `"`)
			got = append(got, at)
		}
		if (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
	if lines, _, err := translate(t, put(t, "chat.txt", []byte("3/4/26, 09:00 - A: x")), Options{Dates: "dmy"}); err != nil || !strings.Contains(lines, "2026-04-03") {
		t.Errorf("what the caller says of the order: %s %v", lines, err)
	}
}

// Where no mark of the clock is known, and no day shows which is the afternoon, the report says that hours may be wrong.
func TestAClockThatIsNotKnownIsADoubt(t *testing.T) {
	t.Parallel()
	for text, doubts := range map[string]int{
		"13/5/2024, 9:00 xy - A: x":                             1,
		"13/5/2024, 9:00 xy - A: x\n14/5/2024, 8:00 zz - A: x":  1,
		"13/5/2024, 9:00 xy - A: x\n13/5/2024, 8:00 zz - A: x":  0,
		"13/5/2024, 9:00 PM - A: x\n13/5/2024, 8:00 zz - A: x":  0,
		"13/5/2024 à 09:00 - A: x":                              0,
		"13/5/2024, 9:00 - A: x":                                0,
		"13/5/2024 um 9:00 - A: x\n13/5/2024 um 21:00 - A: x":   0,
		"2024년 5월 13일 9:00 - A: x\n2024년 5월 14일 오후 9:00 - A: x": 0,
	} {
		if _, r, err := translate(t, put(t, "chat.txt", []byte(text+"\n")), Options{}); err != nil || len(r.Doubts) != doubts {
			t.Errorf("%s: %q %v", text, r.Doubts, err)
		}
	}
}

// Messages without a date are read, all of them once, and a date that cannot be right is none.
func TestMessagesWithoutDatesAreReadOnce(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&b, "{\"role\":\"user\",\"content\":\"ok %d\"}\n", i%7)
	}
	at := put(t, "chat.jsonl", b.Bytes())
	s := must.Get(Open(at))(t)
	defer s.Close()
	ids := map[string]bool{}
	r, err := Read(t.Context(), s, Options{Now: now}, func(l Line) error { ids[l.ID] = true; return nil })
	if err != nil || r.Messages != n || r.Undated != n || len(ids) != n {
		t.Errorf("%d messages, %d ids, %d undated, %v", r.Messages, len(ids), r.Undated, err)
	}
	for _, date := range []string{"1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "0001-01-01T00:00:00Z"} {
		lines, r, err := translate(t, put(t, "chat.jsonl", []byte(`{"role":"user","content":"x","occurred_at":"`+date+`"}`)), Options{})
		if err != nil || r.Undated != 1 || strings.Contains(lines, "occurred_at") {
			t.Errorf("%s: %s %v", date, lines, err)
		}
	}
}

// A large history is read in the memory of a small one. SLIPBOX_HISTORY_MB says how large.
func TestConstantMemory(t *testing.T) {
	megabytes := 24
	if text := os.Getenv("SLIPBOX_HISTORY_MB"); text != "" {
		must.Get(fmt.Sscan(text, &megabytes))(t)
	}
	for name, item := range map[string]func(w io.Writer, i int){
		"conversations.json": func(w io.Writer, i int) {
			fmt.Fprintf(w, `{"title":"T%d","create_time":%d,"id":"c-%d","current_node":"n","mapping":{"n":{"message":{"id":"m%d","author":{"role":"user"},"create_time":%d,"content":{"content_type":"text","parts":[%q]}},"parent":null}}},`+"\n",
				i, 1_600_000_000+i, i, i, 1_600_000_000+i, strings.Repeat("I keep bees. ", 300))
		},
		"chat.txt": func(w io.Writer, i int) {
			at := time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10 * time.Minute) // a gigabyte is five years
			fmt.Fprintf(w, "%s - Nora: %s\n", at.Format("02/01/2006, 15:04"), strings.Repeat("I keep bees. ", 300))
		},
	} {
		t.Run(name, func(t *testing.T) { constant(t, name, megabytes, item) })
	}
}

// constant writes a history of items, and reads it.
func constant(t *testing.T, name string, megabytes int, item func(w io.Writer, i int)) {
	t.Helper()
	at := put(t, name, nil)
	f := must.Get(os.Create(at))(t)
	w, size, n := bufio.NewWriter(f), megabytes<<20, 0
	if strings.HasSuffix(name, ".json") {
		fmt.Fprint(w, "[")
	}
	for ; n < size/3_900; n++ {
		item(w, n)
	}
	if strings.HasSuffix(name, ".json") {
		fmt.Fprint(w, `{"title":"end","mapping":{}}]`)
	}
	must.Do(t, w.Flush())
	must.Do(t, f.Close())
	s := must.Get(Open(at))(t)
	runtime.GC()
	var before, is runtime.MemStats
	runtime.ReadMemStats(&before)
	peak, read := uint64(0), 0
	last := ""
	_, err := Read(t.Context(), s, Options{Newest: true}, func(l Line) error {
		if read++; read%500 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&is)
			peak = max(peak, is.HeapAlloc)
		}
		if last != "" && l.OccurredAt[:10] > last[:10] {
			return fmt.Errorf("%s is after %s", l.OccurredAt, last)
		}
		last = l.OccurredAt
		return nil
	})
	s.Close()
	if err != nil || read != n {
		t.Fatalf("%s: %d of %d messages, %v", name, read, n, err)
	}
	const most = 16 << 20
	if peak > before.HeapAlloc+most {
		t.Errorf("%s of %d MiB needs %d KiB", name, megabytes, (peak-before.HeapAlloc)>>10)
	}
}

// An object with messages whose author has a name that is not known is refused: as lines of JSON, who spoke and when would be lost.
func TestMessagesWithoutAKnownAuthorAreRefused(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "chat.json")
	for _, text := range []string{
		`{"messages":[{"poster":"Tom","sent":1700000000000,"content":"Hello there."}]}`,
		`{"participants":["Tom"],"messages":[{"content":"Hello there."}]}`,
		`[{"messages":[{"poster":"Tom","content":"Hello there."}]}]`,
	} {
		must.Do(t, os.WriteFile(at, []byte(text), 0o600))
		for _, format := range []string{"", "jsonl"} {
			if out, _, err := translate(t, at, Options{Format: format}); err == nil {
				t.Errorf("%s as %q is taken: %s", text, format, out)
			}
		}
	}
}

// The author and the time of a message are read under each name that programs have for them.
func TestMessagesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "chat.json")
	for _, text := range []string{
		`{"messages":[{"sender_name":"J\u00c3\u00bcrgen","timestamp_ms":1700000000000,"content":"Gr\u00c3\u00bc\u00c3\u009fe"}]}`,
		`{"threadName":"a","messages":[{"senderName":"Jürgen","timestamp":1700000000000,"text":"Grüße"}]}`,
		`{"messages":[{"from":"Jürgen","date":"2023-11-14T22:13:20Z","text":"Grüße","attachments":["x.png"],"embeds":{},"share":true}]}`,
		`{"messages":[{"sender":{"name":"Jürgen"},"created_at":1700000000,"content":"Grüße"}]}`,
		`{"messages":[{"author":"Jürgen","timestamp":"2023-11-14T23:13:20+01:00","content":[{"type":"text","text":"Grüße"}]}]}`,
		`[{"sender":"Jürgen","timestamp":1700000000,"text":"Grüße"}]`,
		`{"from":{"name":"Jürgen"},"created_at":"2023-11-14T22:13:20Z","content":"Grüße"}`,
		`{"date":"2023-11-14T22:13:20","sender":"Jürgen","body":"Grüße","quote":"","reactions":[]}`,
	} {
		must.Do(t, os.WriteFile(at, []byte(text), 0o600))
		out, report, err := translate(t, at, Options{})
		if err != nil || report.Messages != 1 || report.Sessions != 1 || len(report.People) != 1 || report.People[0].Name != "Jürgen" ||
			!strings.Contains(out, `"Grüße"`) || report.From[:4] != "2023" || report.Undated != 0 {
			t.Errorf("%s: %v\n%s%+v", text, err, out, report)
		}
	}
	for _, text := range []string{"Grüße", "plain", "é", "日本", "â\u0080"} {
		if got := repaired(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// The number that a browser adds to the name of a second file of that name makes no other conversation of it.
func TestANumberedFileIsTheSameConversation(t *testing.T) {
	t.Parallel()
	said := `{"id":"1","author":{"name":"Nora"},"timestamp":"2026-03-13T09:00:00Z","content":"x"}`
	for name, text := range map[string]string{
		"WhatsApp Chat with Nora.txt": "13/3/26, 09:00 - Nora: x",
		"chat.json":                   `{"messages":[` + said + `]}`,
		"lines.jsonl":                 said + "\n" + `{"messages":[{"role":"user","content":"y"}]}`,
	} {
		once, _, err := translate(t, put(t, name, []byte(text)), Options{})
		if err != nil || once == "" {
			t.Fatalf("%s: %v", name, err)
		}
		for _, number := range []string{" (1)", "(12)"} {
			ending := filepath.Ext(name)
			second := strings.TrimSuffix(name, ending) + number + ending
			if again, _, err := translate(t, put(t, second, []byte(text)), Options{}); err != nil || again != once {
				t.Errorf("%s: %v\n%s\nnot\n%s", second, err, again, once)
			}
		}
	}
	for _, name := range []string{"(1).txt", "Nora (2024).txt", "Nora (1) and Tom.txt"} {
		if got := unnumbered(name); got != name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
}

// The beginning of a message that is cut off is no part of the message before it, and a last line that may be cut is said.
func TestAChatThatIsCutOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		chat, last   string
		left, doubts int
	}{
		{"15.03.24, 08:00 - Nora: Good morning\n15.03.24, 08:0", "Good morning", 1, 0},
		{"15.03.24, 08:00 - Nora: Good morning\n15.03.24", "Good morning", 1, 0},
		{"15.03.24, 08:00 - Nora: Good morning\n15.03.24, 08:0\n", `Good morning\n15.03.24, 08:0`, 0, 0},
		{"15.03.24, 08:00 - Nora: My list\n15", `My list\n15`, 0, 1},
		{"[3/15/24, 8:00:00 AM] Nora: Good morning\r\n\u200e[3/15/24, 8:0", "Good morning", 1, 0},
		{"15.03.24, 08:00 - Nora: Good morning\n15.03.24, 08:05 - Nora: He", "He", 0, 1},
		{"15.03.24, 08:00 - Nora: Good morning\n15.03.24, 08:05 - Nora: Hello\n", "Hello", 0, 0},
	} {
		lines, r, err := translate(t, put(t, "chat.txt", []byte(tt.chat)), Options{})
		if err != nil || !strings.Contains(lines[strings.LastIndex(strings.TrimSpace(lines), "\n")+1:], `"content":"`+tt.last+`"`) ||
			r.Left["a last line that is cut off"] != tt.left || len(r.Doubts) != tt.doubts {
			t.Errorf("%q: %v %q %v\n%s", tt.chat, r.Left, r.Doubts, err, lines)
		}
	}
}

// A place, a contact or a link that somebody sent without words is what the message says.
func TestWhatIsSentWithoutWords(t *testing.T) {
	t.Parallel()
	const head = `{"id":1,"type":"message","date":"2026-03-13T09:00:00","date_unixtime":"1773388800","from":"Zoë 🐝","from_id":"user1","text":"",`
	for more, want := range map[string]string{
		`"location_information":{"latitude":52.5,"longitude":13.4}`:                                                   "52.5, 13.4",
		`"location_information":{"latitude":52.5,"longitude":13.4},"place_name":"Kiln Café","address":"Main St 1"`:    "Kiln Café, Main St 1",
		`"contact_information":{"first_name":"Tom","last_name":"","phone_number":"+491"},"contact_vcard":"(not set)"`: "Tom +491",
		`"todo_list":{"title":"Buy","answers":[{"id":1,"text":"clay"},{"id":2,"text":["cobalt"]}]}`:                   `Buy\n- clay\n- cobalt`,
		`"poll":{"question":{"text":"Tea?","text_entities":[]},"answers":[]}`:                                         "Tea?",
	} {
		chat := `{"name":"Zoë 🐝","type":"personal_chat","id":7,"messages":[` + head + more + `}]}`
		if out, _, err := translate(t, put(t, "result.json", []byte(chat)), Options{}); err != nil || !strings.Contains(out, `"content":"`+want+`"`) {
			t.Errorf("%s: %s %v", more, out, err)
		}
	}
	const shared = `{"messages":[{"sender_name":"Nora","timestamp_ms":1773388801000,"share":{"link":"https://example.com","share_text":"Gr\u00c3\u00bc\u00c3\u009fe"}}],"title":"Nora"}`
	if out, _, err := translate(t, put(t, "message_1.json", []byte(shared)), Options{}); err != nil || !strings.Contains(out, `"content":"Grüße\nhttps://example.com"`) {
		t.Errorf("a link: %s %v", out, err)
	}
	const passed = `{"channel":{"name":"kiln"},"messages":[{"id":"1","type":"Default","timestamp":"2026-03-01T10:00:00Z","content":"","author":{"id":"8","name":"ida"},` +
		`"forwardedMessage":{"timestamp":"2026-02-28T10:00:00Z","content":"40 feldspar","attachments":[],"embeds":[]}},` +
		`{"id":"2","type":"20","timestamp":"2026-03-01T10:01:00Z","content":"The kiln is at 900.","author":{"id":"9","name":"bot","isBot":true}},` +
		`{"id":"3","type":"ChannelPinnedMessage","timestamp":"2026-03-01T10:02:00Z","content":"Pinned a message.","author":{"id":"8","name":"ida"}}]}`
	out, report, err := translate(t, put(t, "kiln.json", []byte(passed)), Options{})
	if err != nil || !strings.Contains(out, `"content":"40 feldspar"`) || !strings.Contains(out, `"content":"The kiln is at 900."`) ||
		report.Messages != 2 || report.Left["notices of the program"] != 1 {
		t.Errorf("a message that was passed on, and the answer of a bot: %v\n%s%+v", err, out, report)
	}
}

// What ChatGPT draws in place of signs that nobody sees is read as the page shows it: names and links stay, citations do not.
func TestMarksOfChatGPT(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"May is best. \ue200cite\ue202turn0search3\ue202turn0search5\ue201 Go.":       "May is best. Go.",
		"In \ue200entity\ue202[\"city\",\"Porto\",\"Portugal\"]\ue201, by train":      "In Porto, by train",
		"See \ue200url\ue202the guide\ue202https://x.example\ue201.":                  "See the guide (https://x.example).",
		"Ask \ue200entity\ue202turn0business1\ue201.":                                 "Ask Casa Rosa.",
		"\ue200image_group\ue202{\"query\":[\"kiln\"]}\ue201Fire it twice.【12†L3-L5】": "Fire it twice.",
		"As the manual says\ue200filecite\ue202turn1file0\ue202L1-L2\ue201":           "As the manual says",
		"Plain 【注】 text": "Plain 【注】 text",
	} {
		chat := must.Get(json.Marshal([]any{map[string]any{"title": "Trip", "id": "c", "create_time": 1760000000, "current_node": "n", "mapping": map[string]any{"n": map[string]any{
			"message": map[string]any{
				"id": "m", "author": map[string]any{"role": "assistant"}, "create_time": 1760000001, "content": map[string]any{"content_type": "text", "parts": []string{said}},
				"metadata": map[string]any{"content_references": []any{map[string]any{"matched_text": "\ue200entity\ue202turn0business1\ue201", "name": "Casa Rosa"}}},
			},
		}}}}))(t)
		out, _, err := translate(t, put(t, "conversations.json", chat), Options{})
		var l Line
		if err != nil || json.Unmarshal([]byte(out), &l) != nil || l.Content != want {
			t.Errorf("%q becomes %q, not %q: %v", said, l.Content, want, err)
		}
	}
}
