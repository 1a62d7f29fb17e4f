package api_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// upload uploads a file.
func (b *system) upload(t *testing.T, credential, folder, name, content string) response {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.call(t, credential, "POST", folder+"/files", body.String(), "Content-Type", form.FormDataContentType())
}

// read uploads a file and runs its job; it returns the file as it is then.
func (b *system) read(t *testing.T, folder, name, content string) response {
	t.Helper()
	made := b.upload(t, "one", folder, name, content).want(http.StatusAccepted)
	if made.text("file.state") != "queued" {
		t.Errorf("accepted is %s", made.Body)
	}
	b.runJobs(t)
	return b.call(t, "one", "GET", folder+"/files/"+made.text("file.id"), "").want(http.StatusOK)
}

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
	b := newSystem(t)
	made := b.call(t, "one", "POST", "/v1/folders", `{"name":"manuals"}`).want(http.StatusCreated)
	folder := "/v1/folders/manuals"
	if made.text("name") != "manuals" || made.text("embedder") == "" || made.number("files") != 0 || made.length("attached") != 0 {
		t.Errorf("the folder is %s", made.Body)
	}
	b.call(t, "one", "POST", "/v1/folders", `{"name":"manuals"}`).refused(http.StatusConflict, fault.Exists, "")
	b.space(t, "no-folder", "none")
	if got := b.call(t, "reader", "GET", "/v1/folders", "").want(http.StatusOK); got.length("items") != 1 || got.text("items.0.name") != "manuals" {
		t.Errorf("the folders are %s", got.Body)
	}
	b.call(t, "one", "GET", "/v1/folders/no-folder", "").refused(http.StatusNotFound, fault.NotFound, "")

	var long strings.Builder
	for i := range 400 {
		fmt.Fprintf(&long, "Paragraph %d tells about gear number %d of the old mill.\n", i, i*7)
		if i == 200 {
			long.WriteString("The emergency valve is painted green and sits behind the boiler.\n")
		}
	}
	file := b.read(t, folder, "mill.txt", long.String())
	if file.text("state") != "ready" || file.number("chunks") < 10 || file.number("tokens") < 4000 || file.text("media_type") != "text/plain" || file.number("bytes") != float64(long.Len()) {
		t.Errorf("the file is %s", file.Body)
	}
	b.upload(t, "one", folder, "mill.txt", "again").refused(http.StatusConflict, fault.Exists, "")

	c := b.owned(t, "agent", "ada")
	b.call(t, "ada", "POST", c+"/folders/attach", `{"folder":"manuals"}`).want(http.StatusOK)
	use := func(tool string, arguments map[string]any) string {
		t.Helper()
		got := b.call(t, "ada", "POST", c+"/step", encode(t, map[string]any{"tool": tool, "arguments": arguments})).want(http.StatusOK)
		if got.at("ok") != true {
			t.Fatalf("%s: %s", tool, got.Body)
		}
		return got.text("result")
	}
	fails := func(tool string, arguments map[string]any) string {
		t.Helper()
		got := b.call(t, "ada", "POST", c+"/step", encode(t, map[string]any{"tool": tool, "arguments": arguments})).want(http.StatusOK)
		if got.at("ok") != false {
			t.Fatalf("%s: %s", tool, got.Body)
		}
		return got.text("error")
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
		at := b.call(t, "ada", "GET", c+"/context", "").want(http.StatusOK)
		for i := range at.length("parts") {
			if at.text(fmt.Sprintf("parts.%d.part", i)) == "files" {
				return at.number(fmt.Sprintf("parts.%d.tokens", i))
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
		return encode(t, map[string]any{"name": "new-" + strings.Join(folders, "-"), "agent": "ada", "policy": "memgpt", "folders": folders})
	}
	born := "/v1/collections/" + b.call(t, "ada", "POST", "/v1/collections", with("manuals", made.text("id"))).want(http.StatusCreated).text("id")
	if got := b.use(t, born, "grep_files", args{"pattern": "emergency"}); !strings.Contains(got.text("result"), "1 lines match") {
		t.Errorf("a new agent finds %s", got.Body)
	}
	b.call(t, "one", "DELETE", born, "").want(http.StatusNoContent)
	for _, folder := range []string{"none", "no-folder", "agent", uuid.NewString()} {
		b.call(t, "ada", "POST", "/v1/collections", with(folder)).refused(http.StatusNotFound, fault.NotFound, "")
	}
	b.call(t, "two", "POST", "/v1/collections", encode(t, map[string]any{"name": "thief", "folders": []string{made.text("id")}})).refused(http.StatusNotFound, fault.NotFound, "")

	// A fork reads the same files; deleting the folder names who has it.
	fork := b.call(t, "one", "POST", c+"/clone", `{}`).want(http.StatusCreated).text("id")
	got := b.call(t, "one", "DELETE", folder, "")
	got.refused(http.StatusConflict, fault.Conflict, "")
	if l := got.texts("collections"); len(l) != 2 || !slices.Contains(l, fork) {
		t.Errorf("attached to %v", l)
	}
	for _, at := range []string{c, "/v1/collections/" + fork} {
		b.call(t, "one", "POST", at+"/folders/detach", `{"folder":"manuals"}`).want(http.StatusOK)
	}
	b.call(t, "one", "POST", c+"/folders/detach", `{"folder":"manuals"}`).refused(http.StatusNotFound, fault.NotFound, "")
	if got := fails("semantic_search_files", map[string]any{"query": "valve"}); !strings.Contains(got, "no folder") {
		t.Errorf("without a folder: %s", got)
	}
	b.call(t, "one", "DELETE", folder+"/files/"+file.text("id"), "").want(http.StatusNoContent)
	b.call(t, "one", "GET", folder+"/files/"+file.text("id"), "").refused(http.StatusNotFound, fault.NotFound, "")
	if got := b.call(t, "one", "GET", "/v1/collections/manuals", "").want(http.StatusOK); got.number("counts.notes") != 0 {
		t.Errorf("the empty folder is %s", got.Body)
	}
	b.call(t, "one", "DELETE", folder, "").want(http.StatusNoContent)
	b.call(t, "one", "GET", folder, "").refused(http.StatusNotFound, fault.NotFound, "")
}

// C143: what is found in a file with pages is cited with file, page and line, by meaning and by pattern.
func TestCitations(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.call(t, "one", "POST", "/v1/folders", `{"name":"books"}`).want(http.StatusCreated)
	var pages []string
	for i := range 7 {
		text := fmt.Sprintf("Chapter %d\nThe gears of mill %d turn slowly.\n", i+1, i+1)
		if i == 4 {
			text += "The lighthouse keeper hid the brass key under the stairs.\n"
		}
		pages = append(pages, text)
	}
	if file := b.read(t, "/v1/folders/books", "novel.txt", strings.Join(pages, "\f")); file.number("pages") != 7 {
		t.Errorf("the file is %s", file.Body)
	}
	c := b.space(t, "reader-agent", "memgpt")
	b.call(t, "one", "POST", c+"/folders/attach", `{"folder":"books"}`).want(http.StatusOK)
	for tool, arguments := range map[string]args{
		"semantic_search_files": {"query": "Where is the brass key of the lighthouse?", "top_k": 1}, "grep_files": {"pattern": "brass"},
	} {
		got := b.did(t, c, tool, arguments)
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
	if got := b.did(t, c, "open_files", args{"names": []string{"novel.txt"}, "line": 11}); !strings.Contains(got, `page="5"`) || !strings.Contains(got, "11: The lighthouse keeper") {
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
	b := newSystem(t)
	b.call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).want(http.StatusCreated)
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
	if list := b.call(t, "one", "GET", "/v1/folders/f/files", "").want(http.StatusOK); list.length("items") != 0 {
		t.Errorf("there are %s", list.Body)
	}
}

// Formats are read, and what cannot be read says why.
func TestFilesOfAnyFormat(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).want(http.StatusCreated)
	folder := "/v1/folders/f"
	for name, content := range map[string]string{
		"a.md": "# Title\n\nText.", "b.html": "<h1>Title</h1><script>alert(1)</script><p>Text.", "c.csv": "name,city\nNora,Porto\n",
		"d.docx": docx(t, `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Text.</w:t></w:r></w:p></w:body></w:document>`), "e.txt": "Text.",
	} {
		if got := b.read(t, folder, name, content); got.text("state") != "ready" || got.number("chunks") != 1 {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	list := b.call(t, "one", "GET", "/v1/collections/f/notes?kind=passage", "").want(http.StatusOK)
	if strings.Contains(list.Body.String(), "alert") {
		t.Errorf("a script is text: %s", list.Body)
	}
	for name, content := range map[string]string{
		"cut.pdf": "%PDF-1.7\n1 0 obj", "no.docx": "PK\x03\x04 not a zip", "bytes.txt": "\xff\xfe\x00", "blank.md": " \n ",
		"bomb.docx": docx(t, `<w:document xmlns:w="w">`+strings.Repeat("<w:t>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</w:t>", 1_000_000)),
	} {
		made := b.upload(t, "one", folder, name, content).want(http.StatusAccepted)
		b.runJobs(t)
		if got := b.call(t, "one", "GET", folder+"/files/"+made.text("file.id"), "").want(http.StatusOK); got.text("state") != "failed" || got.text("error") == "" {
			t.Errorf("%s: %s", name, got.Body)
		}
		if job := b.call(t, "one", "GET", "/v1/jobs/"+made.text("job.id"), "").want(http.StatusOK); job.text("state") != "failed" || job.text("error") == "" {
			t.Errorf("the job of %s: %s", name, job.Body)
		}
	}
	b.upload(t, "one", folder, "x.exe", "MZ\x00\x01").refused(http.StatusUnsupportedMediaType, fault.Unsupported, "")
	b.upload(t, "one", folder, "empty.txt", "").refused(422, fault.Invalid, "file")
	b.upload(t, "one", folder, strings.Repeat("x", 300)+".txt", "x").refused(422, fault.Invalid, "file")
	b.upload(t, "one", folder, "large.txt", strings.Repeat("x", 50<<20+1)).refused(http.StatusRequestEntityTooLarge, fault.TooLarge, "")
	b.call(t, "one", "POST", folder+"/files", `{}`).want(http.StatusUnsupportedMediaType)
	b.call(t, "one", "POST", folder+"/files", "x", "Content-Type", "multipart/form-data").want(http.StatusBadRequest)
	b.call(t, "one", "POST", folder+"/files", "--x--\r\n", "Content-Type", "multipart/form-data; boundary=x").refused(422, fault.Invalid, "file")

	// Who may do what.
	b.upload(t, "reader", folder, "r.txt", "x").refused(http.StatusForbidden, fault.Forbidden, "")
	b.upload(t, "ada", folder, "r.txt", "x").refused(http.StatusForbidden, fault.Forbidden, "") // it is of all agents
	b.upload(t, "two", folder, "r.txt", "x").refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "two", "GET", folder, "").refused(http.StatusNotFound, fault.NotFound, "")
	c := b.owned(t, "agent", "ada")
	b.call(t, "one", "POST", c+"/folders/attach", encode(t, map[string]any{"folder": uuid.NewString()})).refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "one", "POST", c+"/folders/attach", `{"folder":"agent"}`).refused(http.StatusNotFound, fault.NotFound, "")
}

// Files that are opened at once are all open: no view is lost.
func TestFilesOpenedAtOnce(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).want(http.StatusCreated)
	c := b.space(t, "ada", "memgpt")
	b.call(t, "one", "POST", c+"/folders/attach", `{"folder":"f"}`).want(http.StatusOK)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		b.read(t, "/v1/folders/f", name+".txt", "This is file "+name+".\n")
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { b.did(t, c, "open_files", args{"names": []string{name + ".txt"}}) })
	}
	all.Wait()
	list := b.call(t, "one", "GET", c+"/notes?kind=file", "").want(http.StatusOK)
	if n := list.length("items.0.attributes.views"); list.length("items") != 1 || n != len(names) {
		t.Errorf("%d files are open: %s", n, list.Body)
	}
}

// C262: a file that a folder refuses for its secrets fails and says why, and nothing of it waits; a name with a secret is refused.
func TestFilesWithSecrets_C262(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.call(t, "one", "POST", "/v1/folders", `{"name":"f"}`).want(http.StatusCreated)
	b.call(t, "one", "PATCH", "/v1/collections/f", `{"policy_config":{"secrets":"refuse"}}`).want(http.StatusOK)
	const folder, said = "/v1/folders/f", "My password is hunter2x9"
	made := b.upload(t, "one", folder, "a.txt", said).want(http.StatusAccepted)
	b.runJobs(t)
	if got := b.call(t, "one", "GET", folder+"/files/"+made.text("file.id"), "").want(http.StatusOK); got.text("state") != "failed" || !strings.Contains(got.text("error"), "has a secret (password)") || strings.Contains(got.Body.String(), "hunter2x9") {
		t.Errorf("the file is %s", got.Body)
	}
	if notes := b.call(t, "one", "GET", "/v1/collections/f/notes?kind=passage", "").want(http.StatusOK); notes.length("items") != 0 {
		t.Errorf("it has passages: %s", notes.Body)
	}
	if err := b.Store.Parts(t.Context(), b.Scopes["one"].Scope, uuid.MustParse(made.text("job.id")), memory.SpoolBody, func([]byte) error {
		t.Error("a part of the file waits")
		return nil
	}); err != nil {
		t.Error(err)
	}
	b.upload(t, "one", folder, said+".txt", "Text.").refused(422, fault.Invalid, "file")
}

// F11: files that take long to read use up the seconds of their tenant, and then wait; those of other tenants do not.
func TestFilesWaitForTime(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.Parses = 70 * time.Second // as a damaged PDF does, which is ended after a minute
	for _, tenant := range []string{"one", "two"} {
		b.call(t, tenant, "POST", "/v1/folders", `{"name":"slow"}`).want(http.StatusCreated)
	}
	var files []string
	for i := range 4 {
		made := b.upload(t, "one", "/v1/folders/slow", fmt.Sprintf("f%d.txt", i), fmt.Sprintf("The text of file %d.", i)).want(http.StatusAccepted)
		files = append(files, "/v1/folders/slow/files/"+made.text("file.id"))
		b.runJobs(t)
	}
	states := func() string {
		var out []string
		for _, f := range files {
			out = append(out, b.call(t, "one", "GET", f, "").want(http.StatusOK).text("state"))
		}
		return strings.Join(out, " ")
	}
	if got := states(); got != "ready ready queued queued" {
		t.Errorf("after two files that took 140 of 120 seconds: %s", got)
	}
	waiting := b.call(t, "one", "GET", "/v1/jobs?limit=100", "").want(http.StatusOK)
	waits := 0
	for i := range waiting.length("items") {
		job := fmt.Sprintf("items.%d.", i)
		if waiting.text(job+"kind") == "file" && waiting.text(job+"state") == "queued" {
			waits++
			if waiting.number(job+"attempts") != 0 || waiting.text(job+"next_try_at") < "2026-03-01T09:02:30" || !strings.Contains(waiting.text(job+"error"), "parse_seconds_per_hour") {
				t.Errorf("a job that waits: %s", waiting.Body)
			}
		}
	}
	if waits != 2 {
		t.Errorf("the jobs that wait: %s", waiting.Body)
	}
	other := b.upload(t, "two", "/v1/folders/slow", "f.txt", "Another tenant.").want(http.StatusAccepted)
	b.runJobs(t)
	if got := b.call(t, "two", "GET", "/v1/folders/slow/files/"+other.text("file.id"), ""); got.text("state") != "ready" {
		t.Errorf("the file of another tenant: %s", got.Body)
	}
	b.Pass(time.Hour)
	b.Parses = time.Second
	b.runJobs(t)
	if got := states(); got != "ready ready ready ready" {
		t.Errorf("an hour later: %s", got)
	}
}

// A file of a collection of any policy is found and cited by its name and page, and nothing is derived from it.
func TestFilesOfAnyPolicy(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	const book = "The mill grinds rye.\n\fThe brass key of the lighthouse hangs behind the stairs.\n"
	for _, policy := range b.policyNames(t) {
		c := b.space(t, "files-"+policy, policy)
		before := b.call(t, "one", "GET", c, "").want(http.StatusOK).number("counts.notes")
		file := b.read(t, c, "novel.txt", book)
		if file.text("state") != "ready" || file.number("chunks") != 2 || file.number("pages") != 2 {
			t.Errorf("%s: the file is %s", policy, file.Body)
		}
		if after := b.call(t, "one", "GET", c, "").want(http.StatusOK).number("counts.notes"); after != before+3 {
			t.Errorf("%s: %v notes came, and not the file with its passages", policy, after-before)
		}

		const question = `{"query":"Where is the brass key of the lighthouse?"}`
		found := b.call(t, "one", "POST", c+"/search", question).want(http.StatusOK)
		note := b.call(t, "one", "GET", c+"/notes/"+found.text("hits.0.note.id"), "").want(http.StatusOK)
		if note.text("kind") != "passage" || note.text("attributes.file_name") != "novel.txt" || note.number("attributes.page") != 2 || note.text("provenance.sources.0") != file.text("id") {
			t.Errorf("%s: found %s", policy, note.Body)
		}
		context := b.call(t, "one", "POST", c+"/context", question).want(http.StatusOK)
		if !strings.Contains(context.text("text"), "novel.txt, p. 2: The brass key") || !slices.ContainsFunc(citationsOf(context), func(s string) bool { return s == "novel.txt 2" }) {
			t.Errorf("%s: the context is %s", policy, context.Body)
		}

		again := b.upload(t, "one", c, "novel.txt", book).want(http.StatusOK)
		other := b.upload(t, "one", c, "copy.txt", book).want(http.StatusOK)
		if again.text("file.id") != file.text("id") || other.text("file.id") != file.text("id") || again.at("job") != nil {
			t.Errorf("%s: the same bytes again: %s, %s", policy, again.Body, other.Body)
		}
		b.upload(t, "one", c, "novel.txt", "Other words.").refused(http.StatusConflict, fault.Exists, "")
		if list := b.call(t, "one", "GET", c+"/files", "").want(http.StatusOK); list.length("items") != 1 || list.text("items.0.name") != "novel.txt" {
			t.Errorf("%s: the files are %s", policy, list.Body)
		}
		b.call(t, "one", "DELETE", c+"/files/"+file.text("id"), "").want(http.StatusNoContent)
		b.call(t, "one", "GET", c+"/files/"+file.text("id"), "").refused(http.StatusNotFound, fault.NotFound, "")
		if gone := b.call(t, "one", "POST", c+"/search", question).want(http.StatusOK); strings.Contains(gone.Body.String(), "brass") {
			t.Errorf("%s: a deleted file is found: %s", policy, gone.Body)
		}
	}
}

// citationsOf returns the files and pages that a context cites.
func citationsOf(r response) (out []string) {
	for i := range r.length("citations") {
		at := fmt.Sprintf("citations.%d.", i)
		if name := r.at(at + "file"); name != nil {
			out = append(out, fmt.Sprint(name, " ", r.at(at+"page")))
		}
	}
	return out
}

// Nothing is left of a file that is erased: not of passages that were deleted before it, and not after it was deleted.
func TestFilesErased(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "erased", "mem0")
	for _, first := range []bool{false, true} {
		file := b.read(t, c, "code.txt", "The gate code is quartz.\n\fThe alarm is behind the door.\n")
		list := b.call(t, "one", "GET", c+"/notes?kind=passage", "").want(http.StatusOK)
		ids := []string{file.text("id"), list.text("items.0.id"), list.text("items.1.id")}
		fork := b.call(t, "one", "POST", c+"/clone", "{}").want(http.StatusCreated).text("id")
		b.call(t, "one", "DELETE", "/v1/collections/"+fork+"/files/"+ids[0]+"?erase=true", "").refused(http.StatusConflict, fault.Conflict, "")
		b.call(t, "one", "DELETE", c+"/notes/"+ids[1], "").want(http.StatusNoContent)
		if first {
			b.call(t, "one", "DELETE", c+"/files/"+ids[0], "").want(http.StatusNoContent)
		}
		b.call(t, "one", "DELETE", c+"/files/"+ids[0]+"?erase=true", "").want(http.StatusOK)
		for _, id := range ids {
			for _, at := range []string{c, "/v1/collections/" + fork} {
				b.call(t, "one", "GET", at+"/notes/"+id+"/history", "").refused(http.StatusNotFound, fault.NotFound, "")
			}
		}
		b.call(t, "one", "DELETE", c+"/files/"+ids[0]+"?erase=true", "").refused(http.StatusNotFound, fault.NotFound, "")
	}
}

// A file that ends while its job runs leaves no passages, and one that could not be read is read when it comes again.
func TestFilesInterrupted(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "interrupted", "mem0")
	passages := func() int {
		return b.call(t, "one", "GET", c+"/notes?kind=passage", "").want(http.StatusOK).length("items")
	}
	for _, how := range []string{"", "?erase=true"} {
		made := b.upload(t, "one", c, "short.txt", "The gate code is quartz.").want(http.StatusAccepted)
		b.Parsing = func() {
			b.Parsing = nil
			b.call(t, "one", "DELETE", c+"/files/"+made.text("file.id")+how, "")
		}
		b.runJobs(t)
		if n := passages(); n != 0 {
			t.Errorf("%d passages of a deleted file are left", n)
		}
	}

	b.call(t, "one", "PATCH", c, `{"policy_config":{"secrets":"refuse"}}`).want(http.StatusOK)
	const said = "My password is hunter2x9"
	if file := b.read(t, c, "a.txt", said); file.text("state") != "failed" {
		t.Errorf("a file with a secret: %s", file.Body)
	}
	b.call(t, "one", "PATCH", c, `{"policy_config":{"secrets":"redact"}}`).want(http.StatusOK)
	if file := b.read(t, c, "a.txt", said); file.text("state") != "ready" || file.at("error") != nil || passages() != 1 {
		t.Errorf("the same file again: %s", file.Body)
	}
}

// An application's own ids name the collection of a file, which the upload creates. What an agent has open is no file.
func TestFilesByIDs(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nThe gate code is quartz.\r\n--x--\r\n"
	b.call(t, "one", "POST", "/v1/collections/by/files?user=ida&ttl_seconds=3600", form, "Content-Type", "multipart/form-data; boundary=x", "Slipbox-Create", "memgpt").want(http.StatusAccepted)
	b.runJobs(t)
	const c = "/v1/collections/by"
	if list := b.call(t, "one", "GET", c+"/files?user=ida", "").want(http.StatusOK); list.length("items") != 1 || list.text("items.0.expires_at") == "" {
		t.Errorf("the files are %s", list.Body)
	}
	id := b.call(t, "one", "GET", c+"?user=ida", "").want(http.StatusOK).text("id")
	if got := b.did(t, "/v1/collections/"+id, "archival_search", args{"query": "gate code"}); !strings.Contains(got, "quartz") {
		t.Errorf("the agent finds %s", got)
	}
	b.did(t, "/v1/collections/"+id, "open_files", args{"names": []string{}})
	if list := b.call(t, "one", "GET", c+"/files?user=ida", "").want(http.StatusOK); list.length("items") != 1 {
		t.Errorf("the files are %s", list.Body)
	}
	b.upload(t, "two", "/v1/collections/"+id, "b.txt", "x").refused(http.StatusNotFound, fault.NotFound, "")
	b.upload(t, "reader", "/v1/collections/"+id, "b.txt", "x").refused(http.StatusForbidden, fault.Forbidden, "")
	b.Pass(2 * time.Hour)
	if got := b.call(t, "one", "POST", "/v1/collections/"+id+"/search", `{"query":"gate code"}`).want(http.StatusOK); strings.Contains(got.Body.String(), "quartz") {
		t.Errorf("an expired file is found: %s", got.Body)
	}
}
