package memoryos

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

// exactly fails when a figure differs from the wanted one by 1e-9 or more.
func exactly(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) < 1e-9) {
		t.Errorf("%s is %.12f, want %.12f", what, got, want)
	}
}

// C217, C218, C219: the cosine of normalized vectors, the Jaccard index of keywords, and their weighted sum.
func TestMatch_C219(t *testing.T) {
	t.Parallel()
	a, b := []float32{3, 4, 0}, []float32{4, 3, 0}
	cosine, ok := memory.Cosine(a, b)
	if !ok {
		t.Fatal("the vectors have no cosine")
	}
	exactly(t, "the cosine", cosine, 0.96)
	for _, tt := range []struct {
		a, b []string
		want float64
	}{
		{nil, nil, 0},
		{[]string{"tea"}, nil, 0},
		{[]string{"", ""}, []string{""}, 0},
		{[]string{"tea", "cake"}, []string{"Tea", "coffee"}, 1. / 3},
		{[]string{"tea", "tea", "TEA"}, []string{"tea"}, 1},
		{[]string{"茶", "咖啡"}, []string{"茶"}, 0.5},
		{[]string{"a", "b", "c"}, []string{"b", "c", "d"}, 0.5},
	} {
		exactly(t, strings.Join(tt.a, ",")+" and "+strings.Join(tt.b, ","), jaccard(foldAll(tt.a), foldAll(tt.b)), tt.want)
		exactly(t, "the other way round", jaccard(foldAll(tt.b), foldAll(tt.a)), tt.want)
	}
	exactly(t, "the match", match(cosine, 1, foldAll([]string{"tea", "cake"}), []string{"tea", "coffee"}), 0.96+1./3)
	exactly(t, "the match at a weight", match(-0.25, 0.5, foldAll([]string{"tea"}), []string{"tea"}), 0.25)
}

// C222, C223, C224: heat, recency, and the recency of times that cannot be read, are equal, or lie in the future.
func TestHeat_C222(t *testing.T) {
	t.Parallel()
	now, day := policytest.Noon, 24*time.Hour
	exactly(t, "the recency after a day", recency(now.Add(-day), now, day), math.Exp(-1))
	if r := recency(now.Add(-day), now, day); math.Abs(r-0.3679) > 5e-5 {
		t.Errorf("24 h at 24 h give %.4f", r)
	}
	exactly(t, "the recency now", recency(now, now, day), 1)
	exactly(t, "the recency of the future", recency(now.Add(time.Hour), now, day), 1)
	exactly(t, "the recency without a visit", recency(time.Time{}, now, day), 1)
	exactly(t, "the recency after ages", recency(now.AddDate(-500, 0, 0), now, day), 0)
	exactly(t, "the recency without a time constant", recency(now.Add(-1), now, 0), 0)
	for last, want := range map[string]float64{
		"":                               1,
		"2026-03-04T12:00:00Z":           1,
		"2026-03-03T12:00:00Z":           math.Exp(-1),
		"2026-03-03T13:00:00.5+01:00":    math.Exp(-(day - 500*time.Millisecond).Hours() / 24),
		"yesterday":                      0.1,
		"2026-13-40T00:00:00Z":           0.1,
		"0000-00-00":                     0.1,
		strings.Repeat("9", 70_000):      0.1,
		"2026-03-04T12:00:00Z and later": 0.1,
	} {
		exactly(t, "the recency of "+last[:min(len(last), 40)], readVisit(last).recency(now, day), want)
	}
	for _, preset := range []string{presetCode, presetPaper, presetLoCoMo} {
		c := presetConfig(preset)
		s := SessionState{Interaction: 4, Seen: 3, LastVisit: formatVisit(now.Add(-6 * time.Hour))}
		u := memory.Usage{AccessCount: 5, LastAccess: now.Add(-3 * time.Hour)}
		heat, recency := s.Heat(&c, u, now)
		want := math.Exp(-(3 * time.Hour).Seconds() / c.TauSeconds)
		exactly(t, preset+": the recency", recency, want)
		exactly(t, preset+": the heat", heat, c.Alpha*2+c.Beta*4+c.Gamma*want)
	}
	c := DefaultConfig()
	fresh := SessionState{Interaction: 4, LastVisit: formatVisit(now)}
	if heat, _ := fresh.Heat(&c, memory.Usage{}, now); heat < c.HeatThreshold {
		t.Errorf("a new session of four pages has the heat %v", heat)
	}
}

// C210, C220, C222, C227, C236: the settings with their presets; values out of range are refused by name.
func TestSettings_C210(t *testing.T) {
	t.Parallel()
	p := must.Get(New("small"))(t)
	for config, field := range map[string]string{
		`{"short_capacity":0}`: "short_capacity", `{"short_capacity":1000000}`: "short_capacity", `{"short_capacity":2.5}`: "short_capacity",
		`{"mid_capacity":0}`: "mid_capacity", `{"mid_capacity":1000000}`: "mid_capacity", `{"mid_capacity":-1}`: "mid_capacity",
		`{"knowledge_capacity":0}`: "knowledge_capacity", `{"knowledge_capacity":1000000}`: "knowledge_capacity",
		`{"heat_threshold":-0.1}`: "heat_threshold", `{"heat_threshold":1e9}`: "heat_threshold", `{"heat_threshold":"hot"}`: "heat_threshold",
		`{"merge_threshold":-1}`: "merge_threshold", `{"merge_threshold":12}`: "merge_threshold",
		`{"recency_tau_seconds":0}`: "recency_tau_seconds", `{"recency_tau_seconds":1e12}`: "recency_tau_seconds",
		`{"alpha":-1}`: "alpha", `{"beta":1e6}`: "beta", `{"gamma":null,"alpha":-2}`: "alpha",
		`{"preset":"mine"}`: "preset", `{"eviction":"all"}`: "eviction", `{"persons":"none"}`: "persons", `{"model":"huge"}`: "model", `{"heat":1}`: "heat",
	} {
		if err := p.CheckConfig(json.RawMessage(config)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", config, err)
		}
	}
	for config, want := range map[string]func(c Config) bool{
		``: func(c Config) bool {
			return c.ShortCapacity == 10 && c.MidCapacity == 2_000 && c.TauSeconds == 86_400 && c.Pages == 7
		},
		`{"preset":"paper"}`: func(c Config) bool {
			return c.ShortCapacity == 7 && c.MidCapacity == 200 && c.TauSeconds == 1e7 && c.Eviction == EvictColdest
		},
		`{"preset":"locomo"}`: func(c Config) bool {
			return c.ShortCapacity == 1 && c.Alpha == 0.8 && c.Gamma == 0.0001 && c.Pages == 10
		},
		`{"preset":"paper","short_capacity":3}`: func(c Config) bool {
			return c.ShortCapacity == 3 && c.MidCapacity == 200 && c.HeatThreshold == 5 && c.MergeThreshold == 0.6 && c.KnowledgeCapacity == 100
		},
	} {
		if err := p.CheckConfig(json.RawMessage(config)); err != nil {
			t.Errorf("%s: %v", config, err)
		}
		if c, err := ParseConfig(json.RawMessage(config)); err != nil || !want(c) {
			t.Errorf("%s: %+v, %v", config, c, err)
		}
	}
}

// C242: what cannot be read is an error that says what is damaged, never an empty record.
func TestDamagedRecords_C242(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]map[string]any{
		"none":         nil,
		"empty":        {},
		"wrong types":  {"pages": "many"},
		"negative":     {"pages": -1, "fresh": 0},
		"contradicted": {"pages": 1, "fresh": 2},
	} {
		if s, err := ReadSession(&memory.Note{Attributes: attributes}); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
	first, other, session := policytest.ID(1), policytest.ID(2), policytest.ID(9)
	link := func(n byte, attributes map[string]any) memory.Link {
		return memory.Link{LinkID: memory.LinkID{Source: session, Target: policytest.ID(n), Relation: RelPage}, Attributes: attributes}
	}
	pages, damaged := PagesOf([]memory.Link{
		link(2, map[string]any{"of": first.String()}), link(1, map[string]any{"meta": "Tea.", "analyzed": true}),
		link(3, map[string]any{"of": "nobody"}), link(4, map[string]any{"analyzed": "yes"}),
		link(6, map[string]any{"of": policytest.ID(5).String()}), link(7, map[string]any{"of": policytest.ID(5).String()}),
	})
	if len(damaged) != 2 || damaged[0].Note != session {
		t.Errorf("damaged are %+v", damaged)
	}
	if len(pages) != 2 || pages[0].First != first || pages[0].State.Meta != "Tea." || len(pages[0].Others) != 1 || pages[0].Others[0] != other {
		t.Fatalf("pages are %+v", pages)
	}
	if pages[1].First != policytest.ID(6) || len(pages[1].Others) != 1 || pages[1].State.Analyzed {
		t.Errorf("a page without its first message is %+v", pages[1])
	}
}

// Ten quotations take the room of one entry by a model: a quotation says what one message does.
func TestQuotationsTakeLessRoom(t *testing.T) {
	t.Parallel()
	for want, c := range map[int]struct{ quoted, written int }{0: {0, 0}, 1: {10, 0}, 2: {11, 0}, 3: {0, 3}, 5: {21, 2}} {
		list := &shelf{}
		for range c.quoted {
			list.add(newEntry(&memory.Note{Analyst: memory.AnalystHeuristic}))
		}
		for range c.written {
			list.add(newEntry(&memory.Note{Analyst: memory.AnalystModel}))
		}
		if got := list.filled(); got != want {
			t.Errorf("%+v: %d, want %d", c, got, want)
		}
	}
}
