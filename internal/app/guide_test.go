package app

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/test/must"
)

// guideSection returns the text of the guide below a heading of the third level.
func guideSection(t *testing.T, heading string) string {
	t.Helper()
	guide := must.Get(os.ReadFile("../../docs/guide.md"))(t)
	_, rest, ok := strings.Cut(string(guide), "\n### "+heading+"\n")
	if !ok {
		t.Fatalf("the guide has no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n##")
	return text
}

var (
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	fieldName  = regexp.MustCompile(`^([a-z][a-z0-9]*(?:_[a-z0-9]+)+|k|category|attributes|mode|profile)$`)
	guideK     = regexp.MustCompile("a search returns \\(`k`, default ([0-9]+)\\)")
	guideNear  = regexp.MustCompile("(?s)an evolution\\s+reads \\(`k_neighbours`.*?default ([0-9]+)\\)")
	guideLinks = regexp.MustCompile("`max_links` \\(([0-9]+)\\) and `max_neighbour_changes` \\(([0-9]+)\\)")
	guideRule  = regexp.MustCompile("`(\\{\"field\": \"attributes[^`]*\\})`")
)

// C089: the guide to good practice is true of the product: its three sections name fields and
// settings that exist, the defaults that are in force, and a filter that finds what it says.
func TestGuideToGoodPractice_C089(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	var settings, defaults object
	for _, p := range g.call(http.StatusOK, http.MethodGet, "/v1/policies", nil)["items"].([]any) {
		if p := p.(object); p["name"] == "amem" {
			settings, defaults = p["schema"].(object)["properties"].(object), p["defaults"].(object)
		}
	}
	clearContent, tags, tuning := guideSection(t, "Clear content"), guideSection(t, "Consistent tags"), guideSection(t, "Tuning k")
	for heading, text := range map[string]string{"Clear content": clearContent, "Consistent tags": tags, "Tuning k": tuning} {
		var fields int
		for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(m[1], ":")
			if name = strings.Trim(name, `"`); !fieldName.MatchString(name) {
				continue
			}
			fields++
			if _, ok := settings[name]; !ok && !regexp.MustCompile(`(?m)^ +`+name+`:|name: `+name+`\b`).Match(contract.OpenAPI()) {
				t.Errorf("%s: %s is neither a field of the contract nor a setting of amem", heading, name)
			}
		}
		if fields == 0 {
			t.Errorf("%s names no field", heading)
		}
	}
	stated := func(expr *regexp.Regexp, in string) []int {
		t.Helper()
		m := expr.FindStringSubmatch(in)
		if m == nil {
			t.Fatalf("the guide does not state %v", expr)
		}
		var numbers []int
		for _, s := range m[1:] {
			n := must.Get(strconv.Atoi(s))(t)
			numbers = append(numbers, n)
		}
		return numbers
	}
	links := stated(guideLinks, tuning)
	for setting, want := range map[string]int{"k_neighbours": stated(guideNear, tuning)[0], "max_links": links[0], "max_neighbour_changes": links[1]} {
		if got := fmt.Sprint(defaults[setting]); got != strconv.Itoa(want) {
			t.Errorf("the guide states %d for %s, and the default is %s", want, setting, got)
		}
	}
	k := stated(guideK, tuning)[0]
	for i := range k + 3 {
		project := "atlas"
		if i > 0 {
			project = "other"
		}
		n := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{
			"content": fmt.Sprintf("Rosa repairs bicycle %d in Porto.", i), "infer": false, "occurred_at": "2026-03-01T10:00:00Z", "attributes": object{"project": project},
		})["note"].(object)
		if n["category"] != "Uncategorized" || !strings.Contains(tags, "Otherwise it is `Uncategorized`") {
			t.Errorf("a note without category is in %v", n["category"])
		}
		if n["occurred_at"] == n["created_at"] || !strings.Contains(clearContent, "`occurred_at`") {
			t.Errorf("the time of the event is %v", n["occurred_at"])
		}
	}
	hits := g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "bicycle repairs"})["hits"].([]any)
	if len(hits) != k {
		t.Errorf("a search returns %d hits, and the guide states %d", len(hits), k)
	}
	rule := guideRule.FindStringSubmatch(tags)
	if rule == nil {
		t.Fatal("the guide shows no filter by an attribute")
	}
	status, out := g.send(http.Header{"Content-Type": {"application/json"}}, http.MethodPost, "/v1/collections/c/search", `{"query": "bicycle repairs", "filter": `+rule[1]+`}`)
	if found, _ := out["hits"].([]any); status != http.StatusOK || len(found) != 1 {
		t.Errorf("the filter of the guide finds %d notes, status %d, want the one of the project: %v", len(found), status, out)
	}
}

var systemRow = regexp.MustCompile(`(?m)^\| [^|]+ \| \[` + "`([a-z0-9]+)`" + `\]\(#([a-z0-9-]+)\)`)

// C246, C315: the table to choose a memory system by names policies that exist, and leads to a section for
// each, which says as what each of its concepts is stored.
func TestChoosingASystem(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	var policies []any
	for _, p := range g.call(http.StatusOK, http.MethodGet, "/v1/policies", nil)["items"].([]any) {
		policies = append(policies, p.(object)["name"])
	}
	doc := must.Get(os.ReadFile("../../docs/systems.md"))(t)
	_, rest, _ := strings.Cut(string(doc), "\n## Which one\n")
	table, _, _ := strings.Cut(rest, "\n## ")
	rows := systemRow.FindAllStringSubmatch(table, -1)
	if len(rows) == 0 {
		t.Fatal("the table has no row")
	}
	for _, p := range policies {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[1] == p }) {
			t.Errorf("the table has no row for %v", p)
		}
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(doc), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		sections[strings.ReplaceAll(strings.ToLower(heading), " ", "-")] = text
	}
	for _, row := range rows {
		if !slices.Contains(policies, any(row[1])) {
			t.Errorf("the table names %s, and the policies are %v", row[1], policies)
		}
		text, ok := sections[row[2]]
		if !ok || !strings.Contains(text, "`"+row[1]+"`") {
			t.Errorf("no section #%s says what %s is for", row[2], row[1])
		}
		if row[1] != "none" && !strings.Contains(text, "| concept | stored as |") {
			t.Errorf("the section of %s does not say what is stored where", row[1])
		}
	}
}
