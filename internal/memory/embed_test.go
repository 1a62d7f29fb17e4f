package memory_test

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// What was taken from a note without a model does not change its vector, so that a note is encoded once; what a model or the
// caller has added does.
func TestVectorOfADescribedNote(t *testing.T) {
	t.Parallel()
	added := memory.Note{Content: "The kiln is fixed. Nora is happy.", Context: memory.DefaultContext, Tags: []string{"studio"}}
	quoted := added
	quoted.Context, quoted.Keywords, quoted.Analyst = "The kiln is fixed.", []string{"kiln"}, memory.AnalystHeuristic
	worded := quoted
	worded.Context, worded.Analyst = "The pottery can open again.", memory.AnalystModel
	own := added
	own.Context = "About the studio in Porto."
	item := memory.Note{
		Kind: memory.KindNote, Content: "x := 1", Context: "code start.go: Sets the start.", Analyst: memory.AnalystHeuristic,
		Attributes: map[string]any{memory.AttrItem: map[string]any{"type": "code", "name": "start.go"}},
	}
	for name, c := range map[string]struct {
		note memory.Note
		want string
	}{
		"added":                     {added, "The kiln is fixed. Nora is happy.\ntags: studio"},
		"described without a model": {quoted, "The kiln is fixed. Nora is happy.\ntags: studio"},
		"described by a model":      {worded, "The kiln is fixed. Nora is happy.\ncontext: The pottery can open again.\nkeywords: kiln\ntags: studio"},
		"described by the caller":   {own, "The kiln is fixed. Nora is happy.\ncontext: About the studio in Porto.\ntags: studio"},
		"an item":                   {item, "x := 1\ncontext: code start.go: Sets the start."},
	} {
		if got := memory.VectorText(&c.note); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if same := memory.SameToEmbed(&added, &c.note); same != (c.want == memory.VectorText(&added)) {
			t.Errorf("%s: the vector is the same: %v", name, same)
		}
	}
}
