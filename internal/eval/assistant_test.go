package eval

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

func writeConverted(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	f := must.Get(os.Create(filepath.Join(dir, name)))(t)
	w := gzip.NewWriter(f)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	must.Do(t, f.Close())
	return dir
}

const chatFile = `{"convs":[{"id":"ann","turns":[
	{"id":"s:0","role":"user","name":"Ann","session":"s","time":"2025-01-02T09:00:00Z","text":"I keep bees."},
	{"id":"s:1","role":"assistant","name":"Assistant","session":"s","time":"2025-01-02T09:00:01Z","text":"Try lavender."},
	{"id":"t:0","role":"user","name":"Ann","session":"t","time":"2025-01-03T09:00:00Z","text":"What did you suggest?"}],
	"qs":[{"i":"q","q":"What did you suggest?","cat":"x","answer":"lavender","gold":[1],"gsess":["s"],"asof":2,
		"msgs":[["Ann","Hello."],["Assistant","Hello Ann."],["Ann","What did you suggest?"]],"who":"Ann"}]}]}`

func TestReadRealMem(t *testing.T) {
	t.Parallel()
	d := must.Get(ReadRealMem(writeConverted(t, "realmem6.json.gz", chatFile)))(t)
	c := d.Conversations[0]
	if len(c.Turns) != 3 || c.Turns[1].Text != "Assistant: Try lavender." || c.Turns[1].Attributes["role"] != "assistant" {
		t.Errorf("turns %+v", c.Turns)
	}
	q := c.Questions[0]
	if q.Before != 2 || q.Category != assistantGold || len(q.Gold) != 1 || q.Gold[0] != "1" || len(q.GoldSessions) != 1 {
		t.Errorf("question %+v", q)
	}
	if len(q.Dialogue) != 3 || q.Dialogue[0].Role != "user" || q.Dialogue[0].Name != "Ann" || q.Dialogue[1].Role != "assistant" {
		t.Errorf("dialogue %+v", q.Dialogue)
	}
	scale := newScale(c.Turns, d.Budgets)
	if got := scale.sessionRecall([]string{"2", "0"}, q.GoldSessions); got != 1 {
		t.Errorf("a turn of the gold session counts %v", got)
	}
	if got := scale.sessionRecall([]string{"2"}, q.GoldSessions); got != 0 {
		t.Errorf("a turn of another session counts %v", got)
	}
	if names := d.Metrics(); names[len(names)-1] != sessionMetric {
		t.Errorf("metrics %q", names)
	}
}

func TestReadMADial(t *testing.T) {
	t.Parallel()
	d := must.Get(ReadMADial(writeConverted(t, "madial_zh_dev.json.gz", strings.Replace(chatFile, `"asof":2`, `"asof":null`, 1)), true))(t)
	q := d.Conversations[0].Questions[0]
	if q.Before != 0 || q.Category != "x" || !d.hasDialogues() || d.Sessions || d.Name != "madial-zh" {
		t.Errorf("%+v of %s", q, d.Name)
	}
}

func TestConvertedFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":          "{",
		"no turn of index": strings.Replace(chatFile, `"gold":[1]`, `"gold":[3]`, 1),
	} {
		if d, err := ReadRealMem(writeConverted(t, "realmem6.json.gz", text)); err == nil || d != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadMADial(t.TempDir(), false); err == nil {
		t.Error("no file")
	}
}
