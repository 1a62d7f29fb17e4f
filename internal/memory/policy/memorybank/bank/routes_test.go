package bank_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

const adaBank = `{"name":"Ada","meta_information":{"personality":"curious","hobbies":"tide models"},
	"history":{"2023-05-01":[{"query":"I moved to Lisbon.","response":"How do you like it?"}],"2023-05-02":[{"query":"It rains.","response":"Take an umbrella."}]},
	"summary":{"2023-05-01":"Ada moved to Lisbon.","2023-05-02":"It rained."},
	"personality":{"2023-05-01":"Ada is brave; encourage her.","2023-05-02":"Ada is patient."},
	"overall_history":"Ada moved to a rainy Lisbon.","overall_personality":"Ada is brave and patient."}`

// An imported bank is readable as summaries, as a profile and as a bank.
func TestBank(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada-bank", "memorybank")
	got := b.Call(t, "one", "POST", c+"/bank", adaBank).Want(http.StatusOK)
	if got.Text("name") != "Ada" || got.Number("days") != 2 || got.Number("messages") != 4 || got.Number("known") != 0 {
		t.Fatalf("%s", got.Body)
	}
	if again := b.Call(t, "one", "POST", c+"/bank", adaBank).Want(http.StatusOK); again.Number("messages") != 0 || again.Number("known") == 0 {
		t.Errorf("%s", again.Body)
	}
	exported := b.Call(t, "reader", "GET", c+"/bank", "").Want(http.StatusOK)
	if diff := cmp.Diff(decoded(t, []byte(adaBank)), decoded(t, exported.Body.Bytes())); diff != "" {
		t.Errorf("-in +out:\n%s", diff)
	}
	summaries := b.Call(t, "reader", "GET", c+"/summaries", "").Want(http.StatusOK)
	if summaries.Length("items") != 3 {
		t.Fatalf("%s", summaries.Body)
	}
	days := b.Call(t, "reader", "GET", c+"/summaries?period=day&limit=1", "").Want(http.StatusOK)
	if days.Text("items.0.date") != "2023-05-01" || days.Text("items.0.content") != "Ada moved to Lisbon." || days.Text("items.0.period") != "day" {
		t.Errorf("%s", days.Body)
	}
	days = b.Call(t, "reader", "GET", c+"/summaries?period=day&limit=1&cursor="+days.Text("next_cursor"), "").Want(http.StatusOK)
	if days.Text("items.0.date") != "2023-05-02" || days.At("next_cursor") != nil {
		t.Errorf("%s", days.Body)
	}
	days = b.Call(t, "reader", "GET", c+"/summaries?period=day&order=newest&limit=1", "").Want(http.StatusOK)
	last := b.Call(t, "reader", "GET", c+"/summaries?period=day&order=newest&limit=1&cursor="+days.Text("next_cursor"), "").Want(http.StatusOK)
	if days.Text("items.0.date") != "2023-05-02" || last.Text("items.0.date") != "2023-05-01" || last.At("next_cursor") != nil {
		t.Errorf("newest first: %s, then %s", days.Body, last.Body)
	}
	if whole := b.Call(t, "reader", "GET", c+"/summaries?period=global", "").Want(http.StatusOK); whole.Length("items") != 1 || whole.Text("items.0.content") != "Ada moved to a rainy Lisbon." {
		t.Errorf("%s", whole.Body)
	}
	if none := b.Call(t, "reader", "GET", c+"/summaries?period=session", "").Want(http.StatusOK); none.Length("items") != 0 {
		t.Errorf("%s", none.Body)
	}
	if past := b.Call(t, "reader", "GET", c+"/summaries?as_of=0", "").Want(http.StatusOK); past.Length("items") != 0 {
		t.Errorf("%s", past.Body)
	}
	profile := b.Call(t, "reader", "GET", c+"/profile", "").Want(http.StatusOK)
	if profile.Text("portrait") != "Ada is brave and patient." || profile.Length("days") != 2 || profile.Text("days.0.date") != "2023-05-02" ||
		!strings.Contains(profile.Text("days.1.content"), "brave") || profile.Length("notes") != 2 {
		t.Errorf("%s", profile.Body)
	}
	if meta, _ := profile.At("meta").(map[string]any); meta["hobbies"] != "tide models" {
		t.Errorf("%s", profile.Body)
	}
	if one := b.Call(t, "reader", "GET", c+"/profile?limit=1", "").Want(http.StatusOK); one.Length("days") != 1 {
		t.Errorf("%s", one.Body)
	}
	if past := b.Call(t, "reader", "GET", c+"/profile?as_of=0", "").Want(http.StatusOK); past.At("portrait") != nil || past.Length("days") != 0 || past.At("meta") != nil {
		t.Errorf("%s", past.Body)
	}
	for body, status := range map[string]int{`{`: 400, `[]`: 422, `{"history":7}`: 422, `{"history":{"yesterday":[]}}`: 422} {
		if got := b.Call(t, "one", "POST", c+"/bank", body); got.Code != status {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	b.Call(t, "reader", "POST", c+"/bank", adaBank).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "ada", "POST", c+"/bank", adaBank).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "two", "POST", c+"/bank", adaBank).Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "writer", "GET", c+"/bank", "").Refused(http.StatusForbidden, fault.Forbidden, "")
	for _, path := range []string{"/bank", "/summaries", "/profile"} {
		b.Call(t, "two", "GET", c+path, "").Refused(http.StatusNotFound, fault.NotFound, "")
		b.Call(t, "reader", "GET", c+path+"?flavor=red", "").Refused(http.StatusUnprocessableEntity, fault.Invalid, "flavor")
	}
	b.Call(t, "reader", "GET", c+"/summaries?period=year", "").Refused(http.StatusUnprocessableEntity, fault.Invalid, "period")
}
