package api_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// searchIDs returns the ids of the hits of a search.
func searchIDs(t *testing.T, b *apptest.System, c, query, mode string) (out []string, answerable any) {
	t.Helper()
	got := b.Call(t, "one", "POST", c+"/search", `{"query":`+apptest.JSON(t, query)+`,"mode":"`+mode+`","k":10}`).Want(http.StatusOK)
	for i := range got.Length("hits") {
		out = append(out, got.Text("hits."+strconv.Itoa(i)+".note.id"))
	}
	return out, got.At("answerable")
}

// A word is found with the small words that its language writes together with it, with and without its marks, and as a part
// of a compound; whole words are first.
func TestWordsInsideOfWordsAreFound(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	add := func(content string) string {
		return b.Call(t, "one", "POST", c+"/notes", `{"content":`+apptest.JSON(t, content)+`,"infer":false}`).Want(http.StatusCreated).Text("note.id")
	}
	add("Nothing of all this is here.")
	for _, tt := range []struct{ note, query string }{
		{"שתלנו עגבניות בגינה של סבתא", "גינה"},
		{"הכלב ישן כל היום", "כלב"},
		{"ולשוק הלכנו יחד", "שוק"},
		{"קנינו מחשב", "המחשב"},
		{"נסענו לחיפה ברכבת", "הרכבת"},
		{"זכרתי את המִטְרִיָּה", "מטריה"},
		{"زرنا المتحف يوم الجمعة", "متحف"},
		{"ذهبت بالسيارة إلى العمل", "سيارة"},
		{"أحمد يحب القهوة", "احمد"},
		{"شربت القهوة", "قهوه"},
		{"اشترى مُعَلِّمٌ كتاباً", "معلم"},
		{"وللطبيب موعد", "الطبيب"},
		{"Die Krankenversicherung zahlt das.", "Versicherung"},
		{"Wir haben ein neues Treppengeländer.", "Geländer"},
		{"Der Apfelkuchen war schnell weg.", "Apfel"},
		{"Die Donaudampfschifffahrtsgesellschaft hat angerufen.", "Schifffahrt"},
		{"De fietsenmaker belde gisteren.", "fietsen"},
		{"Polkupyörävarasto on lukossa.", "varasto"},
	} {
		id := add(tt.note)
		if got, _ := searchIDs(t, b, c, tt.query, "lexical"); !slices.Contains(got, id) {
			t.Errorf("%q does not find %q: %q", tt.query, tt.note, got)
		}
		if got, _ := searchIDs(t, b, c, tt.query, "hybrid"); len(got) == 0 || got[0] != id {
			t.Errorf("%q does not find %q first in hybrid: %q", tt.query, tt.note, got)
		}
	}
	whole := add("Die Versicherung kommt am Montag.")
	if got, _ := searchIDs(t, b, c, "Versicherung", "lexical"); len(got) != 2 || got[0] != whole {
		t.Errorf("a whole word is not first: %q", got)
	}
	if got, _ := searchIDs(t, b, c, "cat", "lexical"); len(got) != 0 {
		t.Errorf("what no note has finds %q", got)
	}
}

// Emoji are words in both modes. What no note can have is not answerable.
func TestEmojiAreWordsAndRandomLettersAreNot(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	ids := map[string]string{}
	for sign, content := range map[string]string{
		"🎂": "Tomorrow is my birthday 🎂🎂", "🍕": "we had 🍕 again", "👍": "sure 👍🏽", "🇵🇹": "back from there 🇵🇹", "❤": "my bike ❤️", "🧑": "she is a 🧑‍🚀 now", "": "The ferry leaves at seven.",
	} {
		ids[sign] = b.Call(t, "one", "POST", c+"/notes", `{"content":`+apptest.JSON(t, content)+`,"infer":false}`).Want(http.StatusCreated).Text("note.id")
	}
	for _, mode := range []string{"lexical", "hybrid"} {
		for query, sign := range map[string]string{"🎂": "🎂", "🍕🍕": "🍕", "👍": "👍", "👍🏿": "👍", "🇵🇹": "🇵🇹", "❤️": "❤", "♥️❤": "❤", "🚀": "🧑"} {
			if got, _ := searchIDs(t, b, c, query, mode); len(got) == 0 || got[0] != ids[sign] || mode == "lexical" && len(got) != 1 {
				t.Errorf("%s: %q finds %q, not %q first", mode, query, got, ids[sign])
			}
		}
	}
	for _, query := range []string{"🦖", "🇵🇷", "asdfghjkl", "xkqjz wvvq", "цщфжкх", "?", "€ →", "zzzzzzzz"} {
		got := b.Call(t, "one", "POST", c+"/search", `{"query":`+apptest.JSON(t, query)+`}`).Want(http.StatusOK)
		if got.Length("hits") > 0 && got.Number("answerable") != 0 {
			t.Errorf("%q is answerable with %v", query, got.At("answerable"))
		}
		context := b.Call(t, "one", "POST", c+"/context", `{"query":`+apptest.JSON(t, query)+`,"min_answerable":0.01}`).Want(http.StatusOK)
		if context.Text("text") != "" {
			t.Errorf("%q has the context %q", query, context.Text("text"))
		}
	}
}
