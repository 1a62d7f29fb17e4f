package mem0

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// TestQuotations: a fact whose quotation nobody said is left out and counted, in any language; case, spaces and punctuation
// of a quotation may differ, and a fact without one is kept.
func TestQuotations(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerWith("extract", `{"facts":[
		{"said":"i've moved to bergen","fact":"Ada moved to Bergen"},
		{"said":"我住在杭州","fact":"Ada 住在杭州"},
		{"said":"Bergen is lovely","fact":"Ada thinks that Bergen is lovely"},
		{"fact":"Ada lives in Bergen"}]}`)
	message := "So, I've moved - to Bergen! 以前我住在 杭州。"
	o := readOutcome(t, k.learn(k.addMessage(memory.RoleUser, message)))
	if diff := cmp.Diff([]string{"Ada moved to Bergen", "Ada 住在杭州", "Ada lives in Bergen"}, k.contents(memory.KindFact)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if o.Extract.Facts != 4 || o.Dropped.NotSaid != 1 {
		t.Errorf("outcome %+v", o)
	}
	want := fmt.Sprintf(`"maxItems": %d`, len(text.Sentences(message))+spareFacts)
	if schema := string(k.called("extract")[0].Schema); !strings.Contains(schema, want) {
		t.Errorf("the schema has no %s: %s", want, schema)
	}
}

// TestQuotationsInOtherSigns: a model quotes with accents as one sign and with plain letters, also where a person's keyboard or file has
// marks behind the letters, or signs of other widths.
func TestQuotationsInOtherSigns(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"Vivo en Cádiz con José.", "저는 부산에 살아요.", "Tôi sống ở Đà Nẵng.", "Ｉ ｌｉｖｅ ｉｎ Ｋｙｏｔｏ．", "أنا أسكن في الإسكندرية."} {
		for _, written := range []string{norm.NFD.String(said), said} {
			k := newTestDesk(t, newTestMem0(t), "")
			k.answerWith("extract", fmt.Sprintf(`{"facts":[{"said":%[1]q,"fact":%[1]q}]}`, norm.NFKC.String(said)))
			o := readOutcome(t, k.learn(k.addMessage(memory.RoleUser, written)))
			if got := k.contents(memory.KindFact); len(got) != 1 {
				t.Errorf("%q as %+q: %q, %+v", said, written, got, o.Dropped)
			}
		}
	}
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerWith("extract", `{"facts":[{"said":"راتبي 8500","fact":"راتبي 8500"}]}`)
	if o := readOutcome(t, k.learn(k.addMessage(memory.RoleUser, "راتبي ٨٥٠٠ في الشهر."))); len(k.contents(memory.KindFact)) != 1 {
		t.Errorf("digits of another script: %+v", o.Dropped)
	}
}

// TestAnsweredIsASource: the earlier message of which a quotation has the question is one of its sources.
func TestAnsweredIsASource(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerWith("extract", `{"facts":[]}`)
	asked := k.addMessage(memory.RoleUser, "Hello. How often is she shod?")
	k.learn(asked)
	k.answerWith("extract", `{"facts":["“How often is she shod?” – Rory, 2026-06-01: “Every six weeks.”"]}`)
	answered := k.addMessage(memory.RoleUser, "Every six weeks.")
	k.learn(answered)
	for _, n := range k.notes {
		if n.Kind == memory.KindFact && !slices.Equal(n.Provenance.Sources, []uuid.UUID{answered.ID, asked.ID}) {
			t.Errorf("the sources are %v, want %v and %v", n.Provenance.Sources, answered.ID, asked.ID)
		}
	}
	if len(k.contents(memory.KindFact)) != 1 {
		t.Errorf("facts: %q", k.contents(memory.KindFact))
	}
}

// TestShortTalkIsLearned: a fact is learned from a sentence that is too short to show its language, in the words of its speaker.
func TestShortTalkIsLearned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, said, fact, invented string }{
		{"María", "Vivo en Sevilla.", "María vive en Sevilla.", "María vive en Huelva."},
		{"João", "Sou padeiro.", "João é padeiro.", "João é enfermeiro."},
		{"Tom", "Ich rauche.", "Tom raucht.", "Tom trinkt."},
		{"健", "独身です。", "健は独身だ。", "健は学生だ。"},
		{"ليلى", "أدخن.", "ليلى تدخن.", "ليلى تسبح."},
	} {
		k := newTestDesk(t, newTestMem0(t), "")
		k.answerWith("extract", fmt.Sprintf(`{"facts":[{"said":%[1]q,"fact":%[2]q},{"said":%[1]q,"fact":%[3]q}]}`, c.said, c.fact, c.invented))
		m := k.addMessage(memory.RoleUser, c.said)
		m.Attributes[memory.AttrName] = c.name
		o := readOutcome(t, k.learn(m))
		if got := k.contents(memory.KindFact); !slices.Equal(got, []string{c.fact}) || o.Dropped.NotSaid != 1 {
			t.Errorf("%q of %s: %q, %+v", c.said, c.name, got, o.Dropped)
		}
	}
}
