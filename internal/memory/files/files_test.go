package files_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// docx returns a DOCX whose text part is given.
func docx(t *testing.T, part string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err == nil {
		_, err = w.Write([]byte(part))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// C141: a folder is created with an embedder, listed, attached to agents, deleted. C142: an upload is a job that ends in
// done or failed with a reason. C143: text from the middle of a long file is found through the agent's tool.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	made := b.Call(t, "one", "POST", "/v1/folders", `{"name":"manuals"}`).Want(http.StatusCreated)
	folder := "/v1/folders/manuals"
	if made.Text("name") != "manuals" || made.Text("embedder") == "" || made.Number("files") != 0 || made.Length("attached") != 0 {
		t.Errorf("the folder is %s", made.Body)
	}
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"manuals"}`).Refused(http.StatusConflict, fault.Exists, "")
	b.Space(t, "no-folder", "none")
	if got := b.Call(t, "reader", "GET", "/v1/folders", "").Want(http.StatusOK); got.Length("items") != 1 || got.Text("items.0.name") != "manuals" {
		t.Errorf("the folders are %s", got.Body)
	}
	b.Call(t, "one", "GET", "/v1/folders/no-folder", "").Refused(http.StatusNotFound, fault.NotFound, "")

	var long strings.Builder
	for i := range 400 {
		fmt.Fprintf(&long, "Paragraph %d tells about gear number %d of the old mill.\n", i, i*7)
		if i == 200 {
			long.WriteString("The emergency valve is painted green and sits behind the boiler.\n")
		}
	}
	file := b.ReadFile(t, folder, "mill.txt", long.String())
	if file.Text("state") != "ready" || file.Number("chunks") < 10 || file.Number("tokens") < 4000 || file.Text("media_type") != "text/plain" || file.Number("bytes") != float64(long.Len()) {
		t.Errorf("the file is %s", file.Body)
	}
	b.Upload(t, "one", folder, "mill.txt", "again").Refused(http.StatusConflict, fault.Exists, "")

	c := "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", `{"name":"agent","agent":"ada","policy":"memgpt"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "ada", "POST", c+"/folders/attach", `{"folder":"manuals"}`).Want(http.StatusOK)
	use := func(tool string, arguments map[string]any) string {
		t.Helper()
		got := b.Call(t, "ada", "POST", c+"/step", apptest.JSON(t, map[string]any{"tool": tool, "arguments": arguments})).Want(http.StatusOK)
		if got.At("ok") != true {
			t.Fatalf("%s: %s", tool, got.Body)
		}
		return got.Text("result")
	}
	fails := func(tool string, arguments map[string]any) string {
		t.Helper()
		got := b.Call(t, "ada", "POST", c+"/step", apptest.JSON(t, map[string]any{"tool": tool, "arguments": arguments})).Want(http.StatusOK)
		if got.At("ok") != false {
			t.Fatalf("%s: %s", tool, got.Body)
		}
		return got.Text("error")
	}
	if got := use("semantic_search_files", map[string]any{"query": "Where is the emergency valve?", "top_k": 3}); !strings.Contains(got, "painted green") || !strings.Contains(got, `"file":"manuals/mill.txt"`) {
		t.Errorf("found is %s", got)
	}
	if got := use("grep_files", map[string]any{"pattern": "emergency (valve|exit)"}); !strings.Contains(got, "Page 1 of 1: 1 lines match.") || !strings.Contains(got, `"line":202`) {
		t.Errorf("grep: %s", got)
	}
	page := use("grep_files", map[string]any{"pattern": "^Paragraph", "page": 20, "names": []string{"mill.txt"}})
	if !strings.HasPrefix(page, "Page 20 of 20: 400 lines match.") || strings.Count(page, "\n") != 20 {
		t.Errorf("the last page: %s", page)
	}
	for what, arguments := range map[string]map[string]any{
		"no expression": {"pattern": "(a"}, "a long one": {"pattern": strings.Repeat("a", 2000)}, "an absent file": {"pattern": "a", "names": []string{"other.txt"}},
		"a page too far": {"pattern": "valve", "page": 2},
	} {
		if got := fails("grep_files", arguments); got == "" {
			t.Errorf("%s has no reason", what)
		}
	}
	// RE2 takes linear time for what hangs others.
	if got := use("grep_files", map[string]any{"pattern": "(a*)*(a*)*(a*)*$x"}); !strings.Contains(got, "0 lines match") {
		t.Errorf("a pattern that is meant to hang: %s", got)
	}

	files := func() float64 {
		at := b.Call(t, "ada", "GET", c+"/context", "").Want(http.StatusOK)
		for i := range at.Length("parts") {
			if at.Text(fmt.Sprintf("parts.%d.part", i)) == "files" {
				return at.Number(fmt.Sprintf("parts.%d.tokens", i))
			}
		}
		t.Fatalf("the context has no part for files: %s", at.Body)
		return 0
	}
	if files() != 0 {
		t.Error("a file is open at first")
	}
	if got := use("open_files", map[string]any{"names": []string{"mill.txt"}, "line": 200}); !strings.Contains(got, "202: The emergency valve") || strings.Contains(got, "\n199:") {
		t.Errorf("opened: %s", got)
	}
	if got := files(); got < 1000 || got > 3000 {
		t.Errorf("the context has %v tokens of files", got)
	}
	if got := fails("open_files", map[string]any{"names": []string{"mill.txt"}, "line": 100000}); !strings.Contains(got, "lines 1 to 401") {
		t.Errorf("a line too far: %s", got)
	}
	fails("open_files", map[string]any{"names": []string{"a", "b", "c", "d"}})
	use("open_files", map[string]any{"names": []string{}})
	if files() != 0 {
		t.Error("a file is open after all were closed")
	}

	// C141: a new agent has the folders that its creation names, by name or id.
	with := func(folders ...string) string {
		return apptest.JSON(t, map[string]any{"name": "new-" + strings.Join(folders, "-"), "agent": "ada", "policy": "memgpt", "folders": folders})
	}
	born := "/v1/collections/" + b.Call(t, "ada", "POST", "/v1/collections", with("manuals", made.Text("id"))).Want(http.StatusCreated).Text("id")
	if got := b.Use(t, born, "grep_files", map[string]any{"pattern": "emergency"}); !strings.Contains(got.Text("result"), "1 lines match") {
		t.Errorf("a new agent finds %s", got.Body)
	}
	b.Call(t, "one", "DELETE", born, "").Want(http.StatusNoContent)
	for _, folder := range []string{"none", "no-folder", "agent", uuid.NewString()} {
		b.Call(t, "ada", "POST", "/v1/collections", with(folder)).Refused(http.StatusNotFound, fault.NotFound, "")
	}
	b.Call(t, "two", "POST", "/v1/collections", apptest.JSON(t, map[string]any{"name": "thief", "folders": []string{made.Text("id")}})).Refused(http.StatusNotFound, fault.NotFound, "")

	// A fork reads the same files; deleting the folder names who has it.
	fork := b.Call(t, "one", "POST", c+"/clone", `{}`).Want(http.StatusCreated).Text("id")
	got := b.Call(t, "one", "DELETE", folder, "")
	got.Refused(http.StatusConflict, fault.Conflict, "")
	if got.Length("collections") != 2 || !strings.Contains(got.Body.String(), fork) {
		t.Errorf("attached to %s", got.Body)
	}
	for _, at := range []string{c, "/v1/collections/" + fork} {
		b.Call(t, "one", "POST", at+"/folders/detach", `{"folder":"manuals"}`).Want(http.StatusOK)
	}
	b.Call(t, "one", "POST", c+"/folders/detach", `{"folder":"manuals"}`).Refused(http.StatusNotFound, fault.NotFound, "")
	if got := fails("semantic_search_files", map[string]any{"query": "valve"}); !strings.Contains(got, "no folder") {
		t.Errorf("without a folder: %s", got)
	}
	b.Call(t, "one", "DELETE", folder+"/files/"+file.Text("id"), "").Want(http.StatusNoContent)
	b.Call(t, "one", "GET", folder+"/files/"+file.Text("id"), "").Refused(http.StatusNotFound, fault.NotFound, "")
	if got := b.Call(t, "one", "GET", "/v1/collections/manuals", "").Want(http.StatusOK); got.Number("counts.notes") != 0 {
		t.Errorf("the empty folder is %s", got.Body)
	}
	b.Call(t, "one", "DELETE", folder, "").Want(http.StatusNoContent)
	b.Call(t, "one", "GET", folder, "").Refused(http.StatusNotFound, fault.NotFound, "")
}

// C143: what is found in a file with pages is cited with file, page and line, by meaning and by pattern.
func TestCitations(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"books"}`).Want(http.StatusCreated)
	var pages []string
	for i := range 7 {
		text := fmt.Sprintf("Chapter %d\nThe gears of mill %d turn slowly.\n", i+1, i+1)
		if i == 4 {
			text += "The lighthouse keeper hid the brass key under the stairs.\n"
		}
		pages = append(pages, text)
	}
	if file := b.ReadFile(t, "/v1/folders/books", "novel.txt", strings.Join(pages, "\f")); file.Number("pages") != 7 {
		t.Errorf("the file is %s", file.Body)
	}
	c := b.Space(t, "reader-agent", "memgpt")
	b.Call(t, "one", "POST", c+"/folders/attach", `{"folder":"books"}`).Want(http.StatusOK)
	for tool, arguments := range map[string]map[string]any{
		"semantic_search_files": {"query": "Where is the brass key of the lighthouse?", "top_k": 1}, "grep_files": {"pattern": "brass"},
	} {
		got := b.Did(t, c, tool, arguments)
		_, first, _ := strings.Cut(got, "\n")
		var m struct {
			File string `json:"file"`
			Page int    `json:"page"`
			Line int    `json:"line"`
			Text string `json:"text"`
		}
		line := map[string]int{"semantic_search_files": 9, "grep_files": 11}[tool] // a passage begins with its page
		if err := json.Unmarshal([]byte(first), &m); err != nil || m.File != "books/novel.txt" || m.Page != 5 || m.Line != line || !strings.Contains(m.Text, "under the stairs") {
			t.Errorf("%s: %s (%v)", tool, got, err)
		}
	}
	if got := b.Did(t, c, "open_files", map[string]any{"names": []string{"novel.txt"}, "line": 11}); !strings.Contains(got, `page="5"`) || !strings.Contains(got, "11: The lighthouse keeper") {
		t.Errorf("opened: %s", got)
	}
}

// endless is a body that counts what is read of it.
type endless struct {
	head string
	read int64
}

// Read returns the head, then the same byte again and again.
func (e *endless) Read(p []byte) (int, error) {
	if n := copy(p, e.head); n > 0 {
		e.head = e.head[n:]
		return n, nil
	}
	for i := range p {
		p[i] = 'x'
	}
	e.read += int64(len(p))
	return len(p), nil
}

// C142: of a file of 500 MB nothing is read when its size is known, and no more than the limit when it is not.
func TestHugeUpload(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).Want(http.StatusCreated)
	for size, most := range map[int64]int64{500 << 20: 0, -1: 52 << 20} {
		body := &endless{head: "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.7\n"}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/folders/f/files", body)
		r.Header.Set("Authorization", "Bearer one")
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.ContentLength = size
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || body.read > most {
			t.Errorf("of a body of %d bytes %d were read: %d %s", size, body.read, w.Code, w.Body)
		}
	}
	if list := b.Call(t, "one", "GET", "/v1/folders/f/files", "").Want(http.StatusOK); list.Length("items") != 0 {
		t.Errorf("there are %s", list.Body)
	}
}

// Formats are read, and what cannot be read says why.
func TestFilesOfAnyFormat(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).Want(http.StatusCreated)
	folder := "/v1/folders/f"
	for name, content := range map[string]string{
		"a.md": "# Title\n\nText.", "b.html": "<h1>Title</h1><script>alert(1)</script><p>Text.", "c.csv": "name,city\nNora,Porto\n",
		"d.docx": docx(t, `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Text.</w:t></w:r></w:p></w:body></w:document>`), "e.txt": "Text.",
	} {
		if got := b.ReadFile(t, folder, name, content); got.Text("state") != "ready" || got.Number("chunks") != 1 {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	list := b.Call(t, "one", "GET", "/v1/collections/f/notes?kind=passage", "").Want(http.StatusOK)
	if strings.Contains(list.Body.String(), "alert") {
		t.Errorf("a script is text: %s", list.Body)
	}
	for name, content := range map[string]string{
		"cut.pdf": "%PDF-1.7\n1 0 obj", "no.docx": "PK\x03\x04 not a zip", "bytes.txt": "\xff\xfe\x00", "blank.md": " \n ",
		"bomb.docx": docx(t, `<w:document xmlns:w="w">`+strings.Repeat("<w:t>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</w:t>", 1_000_000)),
	} {
		made := b.Upload(t, "one", folder, name, content).Want(http.StatusAccepted)
		b.RunJobs(t)
		if got := b.Call(t, "one", "GET", folder+"/files/"+made.Text("file.id"), "").Want(http.StatusOK); got.Text("state") != "failed" || got.Text("error") == "" {
			t.Errorf("%s: %s", name, got.Body)
		}
		if job := b.Call(t, "one", "GET", "/v1/jobs/"+made.Text("job.id"), "").Want(http.StatusOK); job.Text("state") != "failed" || job.Text("error") == "" {
			t.Errorf("the job of %s: %s", name, job.Body)
		}
	}
	b.Upload(t, "one", folder, "x.exe", "MZ\x00\x01").Refused(http.StatusUnsupportedMediaType, fault.Unsupported, "")
	b.Upload(t, "one", folder, "empty.txt", "").Refused(422, fault.Invalid, "file")
	b.Upload(t, "one", folder, strings.Repeat("x", 300)+".txt", "x").Refused(422, fault.Invalid, "file")
	b.Upload(t, "one", folder, "large.txt", strings.Repeat("x", 50<<20+1)).Refused(http.StatusRequestEntityTooLarge, fault.TooLarge, "")
	b.Call(t, "one", "POST", folder+"/files", `{}`).Want(http.StatusUnsupportedMediaType)
	b.Call(t, "one", "POST", folder+"/files", "x", "Content-Type", "multipart/form-data").Want(http.StatusBadRequest)
	b.Call(t, "one", "POST", folder+"/files", "--x--\r\n", "Content-Type", "multipart/form-data; boundary=x").Refused(422, fault.Invalid, "file")

	// Who may do what.
	b.Upload(t, "reader", folder, "r.txt", "x").Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Upload(t, "ada", folder, "r.txt", "x").Refused(http.StatusForbidden, fault.Forbidden, "") // it is of all agents
	b.Upload(t, "two", folder, "r.txt", "x").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "two", "GET", folder, "").Refused(http.StatusNotFound, fault.NotFound, "")
	c := "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", `{"name":"agent","agent":"ada","policy":"memgpt"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "one", "POST", c+"/folders/attach", apptest.JSON(t, map[string]any{"folder": uuid.NewString()})).Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "one", "POST", c+"/folders/attach", `{"folder":"agent"}`).Refused(http.StatusNotFound, fault.NotFound, "")
}

// Files that are opened at once are all open: no view is lost.
func TestFilesOpenedAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).Want(http.StatusCreated)
	c := b.Space(t, "ada", "memgpt")
	b.Call(t, "one", "POST", c+"/folders/attach", `{"folder":"f"}`).Want(http.StatusOK)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		b.ReadFile(t, "/v1/folders/f", name+".txt", "This is file "+name+".\n")
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { b.Did(t, c, "open_files", map[string]any{"names": []string{name + ".txt"}}) })
	}
	all.Wait()
	list := b.Call(t, "one", "GET", c+"/notes?kind=file", "").Want(http.StatusOK)
	if n := list.Length("items.0.attributes.views"); list.Length("items") != 1 || n != len(names) {
		t.Errorf("%d files are open: %s", n, list.Body)
	}
}

// The body of a file that is deleted or erased before it was read does not wait for a sweep.
func TestBodiesOfGoneFilesAreDropped(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).Want(http.StatusCreated)
	for query, status := range map[string]int{"": http.StatusNoContent, "?erase=true": http.StatusOK} {
		made := b.Upload(t, "one", "/v1/folders/f", "a"+query+".txt", "The okapi sleeps.").Want(http.StatusAccepted)
		b.Call(t, "one", "DELETE", "/v1/folders/f/files/"+made.Text("file.id")+query, "").Want(status)
		waits := func() (parts int) {
			must.Do(t, b.Store.Parts(t.Context(), b.Scopes["one"].Scope, uuid.MustParse(made.Text("job.id")), memory.SpoolBody, func([]byte) error {
				parts++
				return nil
			}))
			return parts
		}
		if n := waits(); query != "" && n != 0 {
			t.Errorf("%d parts of an erased file wait for its job", n)
		}
		b.RunJobs(t)
		if n := waits(); n != 0 {
			t.Errorf("DELETE %s leaves %d parts of the file", query, n)
		}
	}
}

// C262: a file that a folder refuses for its secrets fails and says why, and nothing of it waits; a name with a secret is refused.
func TestFilesWithSecrets_C262(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).Want(http.StatusCreated)
	b.Call(t, "one", "PATCH", "/v1/collections/f", `{"policy_config":{"secrets":"refuse"}}`).Want(http.StatusOK)
	const folder, said = "/v1/folders/f", "My password is hunter2x9"
	made := b.Upload(t, "one", folder, "a.txt", said).Want(http.StatusAccepted)
	b.RunJobs(t)
	if got := b.Call(t, "one", "GET", folder+"/files/"+made.Text("file.id"), "").Want(http.StatusOK); got.Text("state") != "failed" || !strings.Contains(got.Text("error"), "has a secret (password)") || strings.Contains(got.Body.String(), "hunter2x9") {
		t.Errorf("the file is %s", got.Body)
	}
	if notes := b.Call(t, "one", "GET", "/v1/collections/f/notes?kind=passage", "").Want(http.StatusOK); notes.Length("items") != 0 {
		t.Errorf("it has passages: %s", notes.Body)
	}
	if err := b.Store.Parts(t.Context(), b.Scopes["one"].Scope, uuid.MustParse(made.Text("job.id")), memory.SpoolBody, func([]byte) error {
		t.Error("a part of the file waits")
		return nil
	}); err != nil {
		t.Error(err)
	}
	b.Upload(t, "one", folder, said+".txt", "Text.").Refused(422, fault.Invalid, "file")
}

// F11: files that take long to read use up the seconds of their tenant, and then wait; those of other tenants do not.
func TestFilesWaitForTime(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Parses = 70 * time.Second // as a damaged PDF does, which is ended after a minute
	for _, tenant := range []string{"one", "two"} {
		b.Call(t, tenant, "POST", "/v1/folders", `{"name":"slow"}`).Want(http.StatusCreated)
	}
	var files []string
	for i := range 4 {
		made := b.Upload(t, "one", "/v1/folders/slow", fmt.Sprintf("f%d.txt", i), fmt.Sprintf("The text of file %d.", i)).Want(http.StatusAccepted)
		files = append(files, "/v1/folders/slow/files/"+made.Text("file.id"))
		b.RunJobs(t)
	}
	states := func() string {
		var out []string
		for _, f := range files {
			out = append(out, b.Call(t, "one", "GET", f, "").Want(http.StatusOK).Text("state"))
		}
		return strings.Join(out, " ")
	}
	if got := states(); got != "ready ready queued queued" {
		t.Errorf("after two files that took 140 of 120 seconds: %s", got)
	}
	waiting := b.Call(t, "one", "GET", "/v1/jobs?limit=100", "").Want(http.StatusOK)
	waits := 0
	for i := range waiting.Length("items") {
		job := fmt.Sprintf("items.%d.", i)
		if waiting.Text(job+"kind") == "file" && waiting.Text(job+"state") == "queued" {
			waits++
			if waiting.Number(job+"attempts") != 0 || waiting.Text(job+"next_try_at") < "2026-03-01T09:02:30" || !strings.Contains(waiting.Text(job+"error"), "parse_seconds_per_hour") {
				t.Errorf("a job that waits: %s", waiting.Body)
			}
		}
	}
	if waits != 2 {
		t.Errorf("the jobs that wait: %s", waiting.Body)
	}
	other := b.Upload(t, "two", "/v1/folders/slow", "f.txt", "Another tenant.").Want(http.StatusAccepted)
	b.RunJobs(t)
	if got := b.Call(t, "two", "GET", "/v1/folders/slow/files/"+other.Text("file.id"), ""); got.Text("state") != "ready" {
		t.Errorf("the file of another tenant: %s", got.Body)
	}
	b.Pass(time.Hour)
	b.Parses = time.Second
	b.RunJobs(t)
	if got := states(); got != "ready ready ready ready" {
		t.Errorf("an hour later: %s", got)
	}
}

// A file of a collection of any policy is found and cited by its name and page, and nothing is derived from it.
func TestFilesOfAnyPolicy(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	const book = "The mill grinds rye.\n\fThe brass key of the lighthouse hangs behind the stairs.\n"
	for _, policy := range b.Policies.Names() {
		c := b.Space(t, "files-"+policy, policy)
		before := b.Call(t, "one", "GET", c, "").Want(http.StatusOK).Number("counts.notes")
		file := b.ReadFile(t, c, "novel.txt", book)
		if file.Text("state") != "ready" || file.Number("chunks") != 2 || file.Number("pages") != 2 {
			t.Errorf("%s: the file is %s", policy, file.Body)
		}
		if after := b.Call(t, "one", "GET", c, "").Want(http.StatusOK).Number("counts.notes"); after != before+3 {
			t.Errorf("%s: %v notes came, and not the file with its passages", policy, after-before)
		}

		const question = `{"query":"Where is the brass key of the lighthouse?"}`
		found := b.Call(t, "one", "POST", c+"/search", question).Want(http.StatusOK)
		note := b.Call(t, "one", "GET", c+"/notes/"+found.Text("hits.0.note.id"), "").Want(http.StatusOK)
		if note.Text("kind") != "passage" || note.Text("attributes.file_name") != "novel.txt" || note.Number("attributes.page") != 2 || note.Text("provenance.sources.0") != file.Text("id") {
			t.Errorf("%s: found %s", policy, note.Body)
		}
		context := b.Call(t, "one", "POST", c+"/context", question).Want(http.StatusOK)
		if !strings.Contains(context.Text("text"), "novel.txt, p. 2: The brass key") || !slices.ContainsFunc(citationsOf(context), func(s string) bool { return s == "novel.txt 2" }) {
			t.Errorf("%s: the context is %s", policy, context.Body)
		}

		again := b.Upload(t, "one", c, "novel.txt", book).Want(http.StatusOK)
		other := b.Upload(t, "one", c, "copy.txt", book).Want(http.StatusOK)
		if again.Text("file.id") != file.Text("id") || other.Text("file.id") != file.Text("id") || again.At("job") != nil {
			t.Errorf("%s: the same bytes again: %s, %s", policy, again.Body, other.Body)
		}
		b.Upload(t, "one", c, "novel.txt", "Other words.").Refused(http.StatusConflict, fault.Exists, "")
		if list := b.Call(t, "one", "GET", c+"/files", "").Want(http.StatusOK); list.Length("items") != 1 || list.Text("items.0.name") != "novel.txt" {
			t.Errorf("%s: the files are %s", policy, list.Body)
		}
		b.Call(t, "one", "DELETE", c+"/files/"+file.Text("id"), "").Want(http.StatusNoContent)
		b.Call(t, "one", "GET", c+"/files/"+file.Text("id"), "").Refused(http.StatusNotFound, fault.NotFound, "")
		if gone := b.Call(t, "one", "POST", c+"/search", question).Want(http.StatusOK); strings.Contains(gone.Body.String(), "brass") {
			t.Errorf("%s: a deleted file is found: %s", policy, gone.Body)
		}
	}
}

// citationsOf returns the files and pages that a context cites.
func citationsOf(r apptest.Response) (out []string) {
	for i := range r.Length("citations") {
		at := fmt.Sprintf("citations.%d.", i)
		if name := r.At(at + "file"); name != nil {
			out = append(out, fmt.Sprint(name, " ", r.At(at+"page")))
		}
	}
	return out
}

// Nothing is left of a file that is erased: not of passages that were deleted before it, and not after it was deleted.
func TestFilesErased(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "erased", "mem0")
	for _, first := range []bool{false, true} {
		file := b.ReadFile(t, c, "code.txt", "The gate code is quartz.\n\fThe alarm is behind the door.\n")
		list := b.Call(t, "one", "GET", c+"/notes?kind=passage", "").Want(http.StatusOK)
		ids := []string{file.Text("id"), list.Text("items.0.id"), list.Text("items.1.id")}
		fork := b.Call(t, "one", "POST", c+"/clone", "{}").Want(http.StatusCreated).Text("id")
		b.Call(t, "one", "DELETE", "/v1/collections/"+fork+"/files/"+ids[0]+"?erase=true", "").Refused(http.StatusConflict, fault.Conflict, "")
		b.Call(t, "one", "DELETE", c+"/notes/"+ids[1], "").Want(http.StatusNoContent)
		if first {
			b.Call(t, "one", "DELETE", c+"/files/"+ids[0], "").Want(http.StatusNoContent)
		}
		b.Call(t, "one", "DELETE", c+"/files/"+ids[0]+"?erase=true", "").Want(http.StatusOK)
		for _, id := range ids {
			for _, at := range []string{c, "/v1/collections/" + fork} {
				b.Call(t, "one", "GET", at+"/notes/"+id+"/history", "").Refused(http.StatusNotFound, fault.NotFound, "")
			}
		}
		b.Call(t, "one", "DELETE", c+"/files/"+ids[0]+"?erase=true", "").Refused(http.StatusNotFound, fault.NotFound, "")
	}
}

// A file that ends while its job runs leaves no passages, and one that could not be read is read when it comes again.
func TestFilesInterrupted(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "interrupted", "mem0")
	passages := func() int {
		return b.Call(t, "one", "GET", c+"/notes?kind=passage", "").Want(http.StatusOK).Length("items")
	}
	for _, how := range []string{"", "?erase=true"} {
		made := b.Upload(t, "one", c, "short.txt", "The gate code is quartz.").Want(http.StatusAccepted)
		b.Parsing = func() {
			b.Parsing = nil
			b.Call(t, "one", "DELETE", c+"/files/"+made.Text("file.id")+how, "")
		}
		b.RunJobs(t)
		if n := passages(); n != 0 {
			t.Errorf("%d passages of a deleted file are left", n)
		}
	}

	b.Call(t, "one", "PATCH", c, `{"policy_config":{"secrets":"refuse"}}`).Want(http.StatusOK)
	const said = "My password is hunter2x9"
	if file := b.ReadFile(t, c, "a.txt", said); file.Text("state") != "failed" {
		t.Errorf("a file with a secret: %s", file.Body)
	}
	b.Call(t, "one", "PATCH", c, `{"policy_config":{"secrets":"redact"}}`).Want(http.StatusOK)
	if file := b.ReadFile(t, c, "a.txt", said); file.Text("state") != "ready" || file.At("error") != nil || passages() != 1 {
		t.Errorf("the same file again: %s", file.Body)
	}
}

// A file whose job was canceled, or is of the collection that was forked, is read when it comes again.
func TestFilesWithoutJob(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "scans", "none")
	const text = "The gate code is quartz."
	upload := func(ref string) apptest.Response { return b.Upload(t, "one", ref, "code.txt", text) }
	made := upload(c).Want(http.StatusAccepted)
	// A client whose answer was lost has what it waits for.
	if again := upload(c).Want(http.StatusAccepted); again.Text("job.id") != made.Text("job.id") {
		t.Errorf("a file that waits gets another job: %s", again.Body)
	}
	if waits := b.Call(t, "one", "GET", c+"/files", "").Want(http.StatusOK); waits.Text("items.0.state") != "queued" {
		t.Errorf("a file that waits: %s", waits.Body)
	}
	fork := "/v1/collections/" + b.Call(t, "one", "POST", c+"/clone", `{"name":"fork"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "one", "POST", "/v1/jobs/"+made.Text("job.id")+"/cancel", "").Want(http.StatusAccepted)
	b.RunJobs(t)
	for _, ref := range []string{c, fork} {
		file := b.Call(t, "one", "GET", ref+"/files/"+made.Text("file.id"), "").Want(http.StatusOK)
		listed := b.Call(t, "one", "GET", ref+"/files", "").Want(http.StatusOK)
		if listed.Text("items.0.state") != "failed" || file.Text("state") != "failed" || !strings.Contains(file.Text("error"), "send it again") {
			t.Errorf("in %s: %s", ref, file.Body)
		}
		again := upload(ref).Want(http.StatusAccepted)
		b.RunJobs(t)
		file = b.Call(t, "one", "GET", ref+"/files/"+again.Text("file.id"), "").Want(http.StatusOK)
		if again.Text("file.id") != made.Text("file.id") || file.Text("state") != "ready" || file.Number("chunks") != 1 {
			t.Errorf("in %s: %s, then %s", ref, again.Body, file.Body)
		}
		upload(ref).Want(http.StatusOK)
	}
}

// An application's own ids name the collection of a file, which the upload creates. What an agent has open is no file.
func TestFilesByIDs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nThe gate code is quartz.\r\n--x--\r\n"
	b.Call(t, "one", "POST", "/v1/collections/by/files?user=ida&ttl_seconds=3600", form, "Content-Type", "multipart/form-data; boundary=x", "Slipbox-Create", "memgpt").Want(http.StatusAccepted)
	b.RunJobs(t)
	const c = "/v1/collections/by"
	if list := b.Call(t, "one", "GET", c+"/files?user=ida", "").Want(http.StatusOK); list.Length("items") != 1 || list.Text("items.0.expires_at") == "" {
		t.Errorf("the files are %s", list.Body)
	}
	id := b.Call(t, "one", "GET", c+"?user=ida", "").Want(http.StatusOK).Text("id")
	if got := b.Did(t, "/v1/collections/"+id, "archival_search", map[string]any{"query": "gate code"}); !strings.Contains(got, "quartz") {
		t.Errorf("the agent finds %s", got)
	}
	b.Did(t, "/v1/collections/"+id, "open_files", map[string]any{"names": []string{}})
	if list := b.Call(t, "one", "GET", c+"/files?user=ida", "").Want(http.StatusOK); list.Length("items") != 1 {
		t.Errorf("the files are %s", list.Body)
	}
	b.Upload(t, "two", "/v1/collections/"+id, "b.txt", "x").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Upload(t, "reader", "/v1/collections/"+id, "b.txt", "x").Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Pass(2 * time.Hour)
	if got := b.Call(t, "one", "POST", "/v1/collections/"+id+"/search", `{"query":"gate code"}`).Want(http.StatusOK); strings.Contains(got.Body.String(), "quartz") {
		t.Errorf("an expired file is found: %s", got.Body)
	}
}

// A context cites a file by its passages: its name alone says nothing. A file that could not be read is no hit, but for a search
// for files. A search finds the others by their names.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"none", "amem", "mem0"} {
		b := apptest.New(t)
		c := b.Space(t, "c", policy)
		b.ReadFile(t, c, "lamp.txt", "The warden polishes the brass lamp.")
		b.Upload(t, "one", c, "broken-lamp.pdf", "%PDF-1.4 and no objects").Want(http.StatusAccepted)
		b.RunJobs(t)
		search := func(filter string) (out []string) {
			got := b.Call(t, "one", "POST", c+"/search", `{"query":"broken lamp pdf"`+filter+`}`).Want(http.StatusOK)
			out = append(out, got.Texts("hits.*.note.content")...)
			return out
		}
		if got := search(""); slices.Contains(got, "broken-lamp.pdf") || !slices.Contains(got, "The warden polishes the brass lamp.") || slices.Contains(got, "lamp.txt") != (policy != "mem0") {
			t.Errorf("%s: a search finds %q", policy, got)
		}
		if got := search(`,"filter":{"kind":"file"}`); !slices.Contains(got, "broken-lamp.pdf") {
			t.Errorf("%s: a search for files finds %q", policy, got)
		}
		got := b.Call(t, "one", "POST", c+"/context", `{"query":"broken lamp pdf"}`).Want(http.StatusOK)
		if got.Length("citations") != 1 || got.Text("citations.0.file") != "lamp.txt" {
			t.Errorf("%s: the context is %s", policy, got.Body)
		}
		got = b.Call(t, "one", "POST", c+"/context", `{"query":"lamp","filter":{"kind":"file"}}`).Want(http.StatusOK)
		if got.Length("citations") == 0 {
			t.Errorf("%s: the context of files is %s", policy, got.Body)
		}
	}
}
