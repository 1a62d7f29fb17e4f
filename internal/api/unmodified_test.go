package api_test

import (
	"net/http"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
)

// Who has the version of an answer, as its entity tag says, does not get it again (RFC 9110 §13.1.2).
func TestUnmodified(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "wiki", "none")
	note := func(content string) string {
		return c + "/notes/" + b.Call(t, "one", "POST", c+"/notes", `{"content":"`+content+`"}`).Want(http.StatusCreated).Text("note.id")
	}
	first, second := note("a"), note("b")
	b.Call(t, "one", "PUT", c+"/blocks/persona", `{"value":"kind"}`).Want(http.StatusCreated)
	shared := "/v1/blocks/" + standAlone(t, b, "house", "x")
	id := second[len(c+"/notes/"):]
	for path, change := range map[string][3]string{
		first:                 {"PATCH", first, `{"content":"c"}`},
		first + "/links":      {"PUT", first + "/links", `{"links":[{"target":"` + id + `","confidence":1}]}`},
		c + "/blocks/persona": {"PUT", c + "/blocks/persona", `{"value":"curt"}`},
		shared:                {"PATCH", shared, `{"value":"y"}`},
	} {
		etag := b.Call(t, "one", "GET", path, "").Want(http.StatusOK).Header().Get("ETag")
		for header, status := range map[string]int{
			etag: 304, "W/" + etag: 304, "*": 304, `"other", W/` + etag + ` , "another"`: 304, `"other"`: 200, etag[1 : len(etag)-1]: 200, `W/"other"`: 200,
		} {
			got := b.Call(t, "one", "GET", path, "", "If-None-Match", header)
			if got.Code != status || got.Header().Get("ETag") != etag || (status == 304) != (got.Body.Len() == 0) {
				t.Errorf("%s with %s: %d %s %s", path, header, got.Code, got.Header(), got.Body)
			}
		}
		b.Call(t, "one", change[0], change[1], change[2], "If-None-Match", etag).Want(http.StatusOK)
		b.Call(t, "one", "GET", path, "", "If-None-Match", etag).Want(http.StatusOK)
	}
	b.Call(t, "one", "GET", c+"/notes/"+id+"0", "", "If-None-Match", "*").Want(http.StatusNotFound)
	incoming := second + "/links?direction=in"
	etag := b.Call(t, "one", "GET", incoming, "").Want(http.StatusOK).Header().Get("ETag")
	if got := b.Call(t, "one", "GET", incoming, "", "If-None-Match", etag).Want(http.StatusOK); got.Length("items") != 1 {
		t.Errorf("the tag of the outgoing links hides incoming ones: %s", got.Body)
	}
}

// Each operation that reads and sends an entity tag takes it back, and documents that.
func TestEntityTagsAreTakenBack(t *testing.T) {
	t.Parallel()
	read := 0
	for path, item := range contracttest.Documents(t)[""].Paths.Map() {
		if item.Get == nil {
			continue
		}
		ok := item.Get.Responses.Status(http.StatusOK)
		if ok == nil || ok.Value.Headers["ETag"] == nil {
			continue
		}
		read++
		if item.Get.Responses.Status(http.StatusNotModified) == nil || item.Get.Parameters.GetByInAndName("header", "If-None-Match") == nil {
			t.Errorf("GET %s sends an ETag, and documents no If-None-Match or no 304", path)
		}
	}
	if read < 4 {
		t.Errorf("only %d operations send an ETag", read)
	}
}
