package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// stated is what a scripted model finds in a message: what it states, the subject before the relation unless it is the user,
// and the objects that it ends.
type stated struct {
	triples [][2]string
	ends    []string
}

// findTriples makes a model answer the calls "triples" by what messages state. Only what the prompt numbers can end.
func findTriples(t *testing.T, model *llmtest.Server, messages map[string]stated) {
	t.Helper()
	model.Handle("triples", func(r llmtest.Request) llmtest.Reply {
		_, rest, _ := strings.Cut(r.User, "<memory-data>")
		data, _, _ := strings.Cut(rest, "</memory-data>")
		var asked struct {
			Message string `json:"message"`
			Known   []struct {
				Number int    `json:"number"`
				Object string `json:"object"`
			} `json:"known"`
		}
		if err := json.Unmarshal([]byte(data), &asked); err != nil {
			t.Errorf("%v in %s", err, r.User)
		}
		found, ends := []object{}, []int{}
		for _, x := range messages[asked.Message].triples {
			subject, relation, ok := strings.Cut(x[0], " ")
			if !ok {
				subject, relation = "user", x[0]
			}
			found = append(found, object{"subject": subject, "relation": relation, "object": x[1], "confidence": 1})
		}
		for _, k := range asked.Known {
			if slices.Contains(messages[asked.Message].ends, k.Object) {
				ends = append(ends, k.Number)
			}
		}
		return llmtest.JSON(object{"triples": found, "ends": ends})
	})
}

// What a model finds to be ended by a message ends at once: a place after a move, a goal that was given up, a diet that
// stopped. It is kept with its time. With the setting off, and of what nothing names, only repeats settle it.
func TestLayeredEndsAtOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		findTriples(t, model, map[string]stated{
			"I live in Rotterdam.":                      {triples: [][2]string{{"place", "Rotterdam"}}},
			"I'm a vegetarian.":                         {triples: [][2]string{{"diet", "vegetarian"}}},
			"I want to run the Ghent half.":             {triples: [][2]string{{"goals", "run the Ghent half"}}},
			"I drink tea.":                              {triples: [][2]string{{"drinks", "tea"}}},
			"Back then I moved to Delft.":               {triples: [][2]string{{"place", "Delft"}}, ends: []string{"Rotterdam", "Copenhagen"}},
			"I moved to Copenhagen, and am pescatarian": {triples: [][2]string{{"place", "Copenhagen"}, {"diet", "pescatarian"}}, ends: []string{"Rotterdam", "vegetarian"}},
			"My knee says no to Ghent.":                 {ends: []string{"run the Ghent half"}},
		})
		g := startChat(start, model)
		objects := func(c, query string) (out []string) {
			t.Helper()
			for _, f := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/"+c+"/facts?limit=50&"+query, nil)["items"].([]any) {
				out = append(out, f.(object)["object"].(string))
			}
			slices.Sort(out)
			return out
		}
		for c, x := range map[string]struct {
			config      object
			valid, past string
		}{
			"at-once":  {object{}, "Copenhagen pescatarian tea", "Rotterdam run the Ghent half vegetarian"},
			"repeated": {object{"end_at_once": false}, "Copenhagen Delft Rotterdam pescatarian run the Ghent half tea vegetarian", ""},
		} {
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": c, "policy": "layered", "policy_config": x.config})
			for i, said := range []string{"I live in Rotterdam.", "I'm a vegetarian.", "I want to run the Ghent half.", "I drink tea.", "I moved to Copenhagen, and am pescatarian", "My knee says no to Ghent."} {
				got := g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+c+"/remember", object{"content": said, "role": "user", "occurred_at": "2026-03-0" + string(rune('1'+i)) + "T09:00:00Z"})
				if conflicts := got["conflicts"].([]any); c == "at-once" && len(conflicts) != 0 {
					t.Errorf("%s: %s: %v", c, said, conflicts)
				}
			}
			if c == "repeated" { // an item of an earlier time ends nothing that was stated about a later one
				g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+c+"/remember", object{"content": "Back then I moved to Delft.", "role": "user", "occurred_at": "2026-02-01T09:00:00Z"})
			}
			if got := strings.Join(objects(c, ""), " "); got != x.valid {
				t.Errorf("%s: valid are %s, want %s", c, got, x.valid)
			}
			if got := strings.Join(objects(c, "valid=false"), " "); got != x.past {
				t.Errorf("%s: past are %s, want %s", c, got, x.past)
			}
		}
		g.call(http.StatusOK, http.MethodPost, "/v1/collections/at-once/remember", object{"content": "Back then I moved to Delft.", "role": "user", "occurred_at": "2026-02-01T09:00:00Z"})
		if got := objects("at-once", "relation=place"); !slices.Contains(got, "Copenhagen") {
			t.Errorf("an item of an earlier time ended what was stated later: %v", got)
		}
		asOf := objects("at-once", "relation=place&valid_at=2026-03-02T00:00:00Z")
		if !slices.Contains(asOf, "Rotterdam") {
			t.Errorf("before the move the place was %v", asOf)
		}
	})
}

// A message ends nothing that it is not about, and its answer says what it ended and what a model would have ended. What ended
// holds again when it is stated again.
func TestLayeredEndsWhatIsMeant(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		findTriples(t, model, map[string]stated{
			"I live in Cork.":                            {triples: [][2]string{{"place", "Cork"}}},
			"I work as a baker":                          {triples: [][2]string{{"job", "baker"}}},
			"My author friend moved from Lyon to Paris.": {ends: []string{"Cork", "baker"}},
			"I left Cork for good.":                      {ends: []string{"Cork", "baker"}},
			"I am a nurse now.":                          {triples: [][2]string{{"job", "nurse"}}, ends: []string{"baker"}},
			"I am back in Cork.":                         {triples: [][2]string{{"place", "Cork"}}},
		})
		g := startChat(start, model)
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "layered"})
		for i, x := range []struct{ said, ended, refused, valid string }{
			{"I live in Cork.", "", "", "Cork"},
			{"I work as a baker", "", "", "Cork baker"},
			{"My author friend moved from Lyon to Paris.", "", "Cork baker", "Cork baker"},
			{"I left Cork for good.", "Cork", "baker", "baker"},
			{"I am a nurse now.", "baker", "", "nurse"},
			{"I am back in Cork.", "", "", "Cork nurse"},
		} {
			got := g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/remember", object{"content": x.said, "role": "user", "occurred_at": fmt.Sprintf("2026-03-%02dT09:00:00Z", i+1)})
			var ended, refused, valid []string
			for _, e := range got["ended"].([]any) {
				ended = append(ended, e.(object)["object"].(string))
			}
			for _, s := range got["skipped"].([]any) {
				if reason, ok := strings.CutSuffix(s.(object)["reason"].(string), " is not ended: what was said is about something else"); ok {
					refused = append(refused, reason[strings.LastIndex(reason, " ")+1:])
				}
			}
			for _, f := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/facts", nil)["items"].([]any) {
				valid = append(valid, f.(object)["object"].(string))
			}
			for what, list := range map[string][2]string{"ended": {strings.Join(ended, " "), x.ended}, "refused": {strings.Join(refused, " "), x.refused}} {
				if list[0] != list[1] {
					t.Errorf("%s: %s %q, want %q", x.said, what, list[0], list[1])
				}
			}
			if slices.Sort(valid); strings.Join(valid, " ") != x.valid {
				t.Errorf("%s: valid are %q, want %s", x.said, valid, x.valid)
			}
		}
	})
}

// What a message says to be over of somebody or something that it names ends at once, too. What it does not name cannot end:
// it has no number.
func TestLayeredEndsOfOthers(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	findTriples(t, model, map[string]stated{
		"Eva lives in Bergen.":                    {triples: [][2]string{{"Eva lives in", "Bergen"}}},
		"My cat Mo eats fish.":                    {triples: [][2]string{{"Mo eats", "fish"}}},
		"王芳住在北京。":                                 {triples: [][2]string{{"王芳 住在", "北京"}}},
		"Piet lives in Bergen op Zoom":            {triples: [][2]string{{"Piet lives in", "Bergen op Zoom"}}},
		"I live in Rome.":                         {triples: [][2]string{{"user place", "Rome"}}},
		"Eva's flat is empty: she moved to Oslo.": {triples: [][2]string{{"Eva lives in", "Oslo"}}, ends: []string{"Bergen", "Bergen op Zoom", "fish"}},
		"王芳搬到上海了。":                                {triples: [][2]string{{"王芳 住在", "上海"}}, ends: []string{"北京", "fish"}},
		"Nobody is named here.":                   {ends: []string{"fish", "Bergen op Zoom", "上海"}},
		// Whom a pronoun means is said before, and a call has one message: what it states is kept beside the rest.
		"Er ist nach Bern gezogen.": {ends: []string{"fish", "Bergen op Zoom", "Oslo"}},
		"他搬到伯尔尼了。":                  {ends: []string{"fish", "Bergen op Zoom", "上海"}},
	})
	g := startChat(func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "layered"})
	for i, said := range []string{
		"Eva lives in Bergen.", "My cat Mo eats fish.", "王芳住在北京。", "Piet lives in Bergen op Zoom", "I live in Rome.", "Eva's flat is empty: she moved to Oslo.", "王芳搬到上海了。", "Nobody is named here.", "Er ist nach Bern gezogen.",
	} {
		g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/remember", object{"content": said, "role": "user", "occurred_at": "2026-03-0" + string(rune('1'+i)) + "T09:00:00Z"})
	}
	g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/remember", object{"content": "他搬到伯尔尼了。", "role": "user", "occurred_at": "2026-03-10T09:00:00Z"})
	for query, want := range map[string]string{"": "Bergen op Zoom,Oslo,Rome,fish,上海", "&valid=false": "Bergen,北京"} {
		var got []string
		for _, f := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/facts?limit=50"+query, nil)["items"].([]any) {
			got = append(got, f.(object)["object"].(string))
		}
		slices.Sort(got)
		if strings.Join(got, ",") != want {
			t.Errorf("facts%s are %q, want %s", query, got, want)
		}
	}
}

// C334: no model is asked what an assistant states; only what a person says is asked about.
func TestC334WithAModel(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	findTriples(t, model, map[string]stated{
		"I live in Bergen.": {triples: [][2]string{{"place", "Bergen"}}}, "You live in Rome, and I am Bo.": {triples: [][2]string{{"place", "Rome"}, {"name", "Bo"}}},
	})
	g := startChat(func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "layered"})
	g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/c/messages?wait=evolved", object{"messages": []object{
		{"role": "user", "content": "I live in Bergen."}, {"role": "assistant", "content": "You live in Rome, and I am Bo."},
	}})
	for _, role := range []string{"assistant", "system", "tool"} {
		g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/remember", object{"content": "You live in Rome, and I am Bo.", "role": role, "importance": 1})
	}
	facts := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/facts", nil)["items"].([]any)
	if len(facts) != 1 || facts[0].(object)["object"] != "Bergen" || model.Calls("triples") != 1 {
		t.Errorf("after %d calls known is %v", model.Calls("triples"), facts)
	}
}
