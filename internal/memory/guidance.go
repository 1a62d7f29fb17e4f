package memory

import (
	"encoding/json"
	"slices"
)

// Bounds of guidance.
const (
	MaxGuidanceBytes  = 8 << 10 // of the instructions, and of what is included or excluded
	MaxCategories     = 50
	maxCategoryDetail = 1 << 10 // bytes of a description
)

// Guidance is what a caller wants of what a model learns from one add. It is kept with the job of that add alone, so that a
// later try has it; it is not a setting.
type Guidance struct {
	Instructions string     `json:"instructions,omitempty"`
	Includes     string     `json:"includes,omitempty"`   // only this is learned
	Excludes     string     `json:"excludes,omitempty"`   // this is not
	Categories   []Category `json:"categories,omitempty"` // what is learned is tagged with those that fit
}

// Category is a name for what is learned, and what belongs to it.
type Category struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// IsZero reports whether nothing is wanted.
func (g *Guidance) IsZero() bool {
	return g == nil || g.Instructions == "" && g.Includes == "" && g.Excludes == "" && len(g.Categories) == 0
}

// Check returns Invalid for guidance that is too long.
func (g *Guidance) Check() error {
	var r Validation
	for field, text := range map[string]string{"instructions": g.Instructions, "includes": g.Includes, "excludes": g.Excludes} {
		r.Text("guidance."+field, text, MaxGuidanceBytes)
	}
	if len(g.Categories) > MaxCategories {
		r.Addf("guidance.categories", "at most %d; there are %d", MaxCategories, len(g.Categories))
	}
	for i, c := range g.Categories {
		at := ElementField("guidance.categories", i)
		if c.Name == "" {
			r.Addf(at+".name", "is required")
		}
		r.Text(at+".name", c.Name, MaxTermBytes)
		r.Text(at+".description", c.Description, maxCategoryDetail)
	}
	return r.Err()
}

// Known returns those of some names that are categories, each once.
func (g *Guidance) Known(names []string) (out []string) {
	if g == nil {
		return nil
	}
	for _, c := range g.Categories {
		if slices.Contains(names, c.Name) && !slices.Contains(out, c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

// UnguidedOf returns why a job did not follow the guidance of its add; "": it did, or there was none.
func UnguidedOf(j *Job) string {
	var r struct {
		Unguided string `json:"unguided"`
	}
	if len(j.Result) == 0 || json.Unmarshal(j.Result, &r) != nil {
		return ""
	}
	return r.Unguided
}
