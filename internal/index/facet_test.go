package index

import (
	"fmt"
	"maps"
	"testing"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

func layerOf(t *testing.T, rows ...Row) *View {
	t.Helper()
	l := must.Get(NewLayer(Config{}))(t)
	for i := range rows {
		rows[i].Note, rows[i].From = ID{15: byte(i), 14: byte(i >> 8)}, int64(i+1)
	}
	must.Do(t, l.Apply(0, int64(len(rows)), rows))
	v := must.Get(Open([]Bound{{l, int64(len(rows))}}))(t)
	return v
}

func said(attributes map[string]any) Row {
	return Row{Content: "words", Record: filter.Record{Attributes: attributes}}
}

// A query names the value of an attribute that many notes have, if exactly one.
func TestNamed(t *testing.T) {
	t.Parallel()
	rows := make([]Row, 0, 40)
	for i := range 40 {
		a := map[string]any{"speaker": []string{"Ada", "Bo Lind", "Ü"}[i%3], "id": fmt.Sprint("note ", i), "session": i / 10, "same": "Ada"}
		if i%4 == 0 {
			a["rare"] = []string{"Rome", "Oslo"}[i/4%2]
		}
		rows = append(rows, said(a))
	}
	v := layerOf(t, rows...)
	for query, want := range map[string]string{
		"What did Ada say?":       "Ada",
		"ADA'S garden":            "Ada",
		"what does bo lind think": "Bo Lind",
		"Lind Bo":                 "",
		"Bo":                      "",
		"Ada and Bo Lind":         "",
		"Adam":                    "",
		"did ü like it":           "Ü",
		"note 7":                  "",
		"Rome":                    "",
		"":                        "",
	} {
		named := v.Named(query)
		if named["speaker"] != want || len(named) > 1 || want == "" && named != nil {
			t.Errorf("%q names %v, want %q", query, named, want)
		}
	}
}

// A key with too many values is not counted, and takes no more memory.
func TestWideFacets(t *testing.T) {
	t.Parallel()
	rows := make([]Row, 0, 3000)
	for i := range 3000 {
		rows = append(rows, said(map[string]any{"id": fmt.Sprint(i), "kind": fmt.Sprint(i % 2)}))
	}
	v := layerOf(t, rows...)
	if f := v.Facets(); len(f) != 1 || !maps.Equal(f["kind"].Values, map[string]int{"0": 1500, "1": 1500}) || f["kind"].Notes != 3000 {
		t.Errorf("%v", f)
	}
	if n := len(v.layers[0].data.facets.list); n != maxFacetValues+2 {
		t.Errorf("%d values are kept", n)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]marks{
		"":                   0,
		"Ada: How was Oslo?": endsWithQuestion | hasQuestion | 1,
		"Ada: Really? I went to Rome, Oslo and Paris with Bo": hasQuestion | 3,
		"Ada: Yes. No! Well":       0,
		"It is (Rome) I'm I've in": 1,
		"去了吗？":                     endsWithQuestion | hasQuestion,
		"The End":                  1,
	} {
		r := said(map[string]any{"speaker": "Ada"})
		r.Content = content
		if got := marksOf(&r); got != want {
			t.Errorf("%q: %b, want %b", content, got, want)
		}
	}
}
