package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// Move exports a random history from the first store and imports it into each of the
// others. It checks that all of them export the same bytes. open returns empty stores.
func Move(t *testing.T, seed uint64, open ...func(*testing.T) Harness) {
	t.Helper()
	t.Logf("seed %d", seed)
	h := open[0](t)
	Fill(t, h, seed)
	file := exportFile(t, h)
	for _, table := range store.Tables() {
		if rowCounts(t, file)[table.Name] == 0 {
			t.Errorf("the history has no row in %s, so the test does not cover it", table.Name)
		}
	}
	for i, o := range open[1:] {
		next := o(t)
		if err := importFile(t, next, file); err != nil {
			t.Fatalf("import %d: %v", i, err)
		}
		got := exportFile(t, next)
		sameLines(t, fmt.Sprintf("import %d", i), file, got)
		w := &world{Store: next.Store, t: t, ctx: t.Context()}
		w.verify()
		if err := importFile(t, next, file); !fault.Is(err, fault.Conflict) {
			t.Errorf("a second import: %v, want a conflict", err)
		}
		sameLines(t, "after the second import", file, exportFile(t, next))
		holds(t, next, file)
	}
}

// holds checks that a store is known to have a file's rows, and not those of a file with a row more, less, or another one.
func holds(t *testing.T, h Harness, file []byte) {
	t.Helper()
	for what, change := range map[string]func(rows []store.Row) []store.Row{
		"the file":             func(rows []store.Row) []store.Row { return rows },
		"a file without a row": func(rows []store.Row) []store.Row { return rows[:len(rows)-1] },
		"a file with one more": func(rows []store.Row) []store.Row { return append(rows, rows[len(rows)-1]) },
		"an empty file":        func([]store.Row) []store.Row { return nil },
		"another row": func(rows []store.Row) []store.Row {
			i := slices.IndexFunc(rows, func(r store.Row) bool { return r.Table.Name == "tenants" })
			rows[i].Values[rows[i].Table.Index("name")] = "another"
			return rows
		},
		"other signing keys": func(rows []store.Row) []store.Row {
			return slices.DeleteFunc(rows, func(r store.Row) bool { return r.Table.Name == "signing_keys" })
		},
	} {
		r, err := store.NewMoveReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var rows []store.Row
		for row, err := r.Next(); !errors.Is(err, io.EOF); row, err = r.Next() {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		rows = change(rows)
		next := func() (store.Row, error) {
			if len(rows) == 0 {
				return store.Row{}, io.EOF
			}
			row := rows[0]
			rows = rows[1:]
			return row, nil
		}
		want := what == "the file" || what == "other signing keys"
		if got, err := store.Holds(t.Context(), mover(t, h), next, func(store.Row) {}); got != want || want && err != nil {
			t.Errorf("%s is in the store: %v, %v", what, got, err)
		}
	}
}

// sameLines compares two files without their headers.
func sameLines(t *testing.T, what string, want, got []byte) {
	t.Helper()
	a, b := lines(want)[1:], lines(got)[1:]
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s: line %d is\n%s, want\n%s", what, i+2, b[i], a[i])
		}
	}
	if len(a) != len(b) {
		t.Fatalf("%s: %d lines, want %d", what, len(b), len(a))
	}
}

func lines(file []byte) []string { return slices.Collect(strings.Lines(string(file))) }

func mover(t *testing.T, h Harness) store.Mover {
	t.Helper()
	m, ok := h.Store.(store.Mover)
	if !ok {
		t.Fatalf("%T is not a store.Mover", h.Store)
	}
	return m
}

func exportFile(t *testing.T, h Harness) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := store.NewMoveWriter(&b, "test", "test", h.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(mover(t, h).Export(t.Context(), w.Write), w.Close()); err != nil {
		t.Fatalf("export: %v", err)
	}
	return b.Bytes()
}

func importFile(t *testing.T, h Harness, file []byte) error {
	t.Helper()
	r, err := store.NewMoveReader(bytes.NewReader(file))
	if err != nil {
		return err
	}
	return mover(t, h).Import(t.Context(), r.Next)
}

func rowCounts(t *testing.T, file []byte) map[string]int64 {
	t.Helper()
	all := lines(file)
	var footer struct {
		Rows map[string]int64 `json:"rows"`
	}
	if err := json.Unmarshal([]byte(all[len(all)-1]), &footer); err != nil {
		t.Fatal(err)
	}
	return footer.Rows
}

// badFile is a change of a file after which a store must refuse it.
type badFile struct {
	name    string
	change  func(f *moveFile)
	message string // a part of the error message
}

// moveFile is a parsed file, to be changed.
type moveFile struct {
	t          *testing.T
	body       []string // lines between header and footer
	keepFooter bool     // keep the original footer, which does not match the changed body
	tail       string
}

// row returns the index of the first row of a table.
func (f *moveFile) row(table string) int {
	f.t.Helper()
	for i, l := range f.body {
		if strings.HasPrefix(l, `{"table":"`+table+`"`) {
			return i + 1
		}
	}
	f.t.Fatalf("no table %s", table)
	return 0
}

// set replaces a value of the first row of a table.
func (f *moveFile) set(table, column string, v any) {
	f.t.Helper()
	i := f.row(table)
	var row []any
	d := json.NewDecoder(strings.NewReader(f.body[i]))
	d.UseNumber()
	if err := d.Decode(&row); err != nil {
		f.t.Fatal(err)
	}
	for _, t := range store.Tables() {
		if t.Name == table {
			row[t.Index(column)] = v
		}
	}
	b, err := json.Marshal(row)
	if err != nil {
		f.t.Fatal(err)
	}
	f.body[i] = string(b) + "\n"
}

// bytes returns the whole file, with a footer that matches the body unless keepFooter is set.
func (f *moveFile) bytes(header, footer string) []byte {
	body := strings.Join(f.body, "")
	if !f.keepFooter {
		sum := sha256.New()
		sum.Write(fmt.Appendf(nil, "slipbox-export 1 %d\n%s", store.MoveSchema, body))
		rows, table := map[string]int64{}, ""
		for _, l := range f.body {
			if name, ok := strings.CutPrefix(l, `{"table":"`); ok {
				table, _, _ = strings.Cut(name, `"`)
				rows[table] = 0
				continue
			}
			rows[table]++
		}
		b, err := json.Marshal(map[string]any{"rows": rows, "sha256": hex.EncodeToString(sum.Sum(nil))})
		if err != nil {
			f.t.Fatal(err)
		}
		footer = string(b) + "\n"
	}
	return []byte(header + body + footer + f.tail)
}

// badFiles returns the changes that a store must refuse.
func badFiles() []badFile {
	set := func(table, column string, v any) func(*moveFile) {
		return func(f *moveFile) { f.set(table, column, v) }
	}
	return []badFile{
		{"a changed byte", func(f *moveFile) { f.keepFooter = true; f.set("notes", "content", "forged") }, "damaged"},
		{"a missing row", func(f *moveFile) { f.keepFooter = true; i := f.row("audit"); f.body = slices.Delete(f.body, i, i+1) }, "damaged"},
		{"more after the end", func(f *moveFile) { f.tail = "{}\n" }, "goes on"},
		{"an unknown table", func(f *moveFile) { f.body = append(f.body, `{"table":"secrets","columns":[]}`+"\n") }, "not readable"},
		{"a table out of order", func(f *moveFile) { i := f.row("usage") - 1; f.body[i] = strings.Replace(f.body[i], "usage", "jobs", 1) }, `"usage" is expected`},
		{"other columns", func(f *moveFile) { i := f.row("usage") - 1; f.body[i] = strings.Replace(f.body[i], "heat", "cold", 1) }, "columns"},
		{"a huge line", func(f *moveFile) { f.set("notes", "content", strings.Repeat("x", store.MaxMoveLine)) }, "longer than"},
		{"no JSON", func(f *moveFile) { f.body[f.row("notes")] = "[1,\n" }, "not readable"},
		{"too few values", func(f *moveFile) { f.body[f.row("notes")] = "[1]\n" }, "1 values"},
		{"a duplicate", func(f *moveFile) { i := f.row("notes"); f.body = slices.Insert(f.body, i, f.body[i]) }, "twice"},
		{"a number for a text", set("notes", "content", 5), "content"},
		{"a text for a number", set("notes", "bytes", "5"), "bytes"},
		{"a fraction", set("notes", "bytes", 5.5), "bytes"},
		{"a number beyond 64 bits", set("notes", "bytes", json.Number("9223372036854775808")), "bytes"},
		{"a number for a bool", set("notes", "deleted", 1), "deleted"},
		{"no id", set("notes", "id", "me"), "id"},
		{"no time", set("notes", "updated_at", "yesterday"), "updated_at"},
		{"nothing where something is needed", set("notes", "kind", nil), "kind"},
		{"no object", set("notes", "attributes", []any{}), "attributes"},
		{"no JSON in a JSON text", set("collection_heads", "v_kinds", "{"), "v_kinds"},
		{"no base64", set("vectors", "vec", "?"), "vec"},
		{"half an element", set("vectors", "vec", "AAAA"), "vec"},
		{"an infinite element", set("vectors", "vec", "AHwAfA=="), "vec"},
		{"half a token", set("vectors", "tokens", "AAAA"), "tokens"},
		{"the character U+0000", set("notes", "content", "a\x00b"), "content"},
		{"a tenant that is not there", set("spool", "tenant", "ffffffff-ffff-7fff-8fff-ffffffffffff"), "tenant"},
		{"no tenant", set("agents", "tenant", uuid.Nil), "no tenant"},
		{"a layer that is not there", set("notes", "layer", uuid.Nil), "collection"},
		{"two tenants of one name", func(f *moveFile) {
			f.set("tenants", "name", "limited")
			f.set("tenants", "state", "active")
		}, "tenants"},
	}
}

// MoveRefused checks that an import of an incomplete or invalid file is refused and
// writes nothing. Some of the files have rows with references to another tenant.
func MoveRefused(t *testing.T, open func(*testing.T) Harness, seed uint64, source Harness) {
	t.Helper()
	Fill(t, source, seed)
	file := exportFile(t, source)
	target := open(t)
	empty := exportFile(t, target)
	all := lines(file)
	refused := func(name string, file []byte, message string) {
		t.Helper()
		err := importFile(t, target, file)
		switch {
		case err == nil:
			t.Fatalf("%s: the file was imported", name)
		case fault.CodeOf(err) == fault.Internal || !strings.Contains(err.Error(), message):
			t.Errorf("%s: refused with %v", name, err)
		}
		sameLines(t, name, empty, exportFile(t, target))
	}
	for _, h := range badFiles() {
		f := &moveFile{t: t, body: slices.Clone(all[1 : len(all)-1])}
		h.change(f)
		refused(h.name, f.bytes(all[0], all[len(all)-1]), h.message)
	}
	for _, at := range []int{0, len(all[0]), len(file) / 2, len(file) - len(all[len(all)-1]), len(file) - 10} {
		message := "cut off"
		if at == 0 {
			message = "no file that"
		}
		refused(fmt.Sprintf("cut off after %d bytes of %d", at, len(file)), file[:at], message)
	}
	refused("another tenant's collection", swapTenant(t, file, "notes"), "not one of its tenant")
	f := &moveFile{t: t, body: slices.Clone(all[1 : len(all)-1])}
	i := f.row("agents")
	for strings.HasPrefix(f.body[i+1], "[") {
		i++
	}
	f.set("collections", "agent", f.body[i][41:77]) // an agent of the last tenant in a collection of the first
	refused("another tenant's agent", f.bytes(all[0], ""), "another tenant's")
	refused("a file of something else", []byte("{\"format\":\"other\"}\n"), "no file that")
	schema := fmt.Appendf(nil, `"schema":%d`, store.MoveSchema)
	refused("a newer schema", bytes.Replace(file, schema, []byte(`"schema":99`), 1), "newer build")
	refused("a schema from before the first release", bytes.Replace(file, schema, []byte(`"schema":23`), 1), "older build")
	refused("an older schema", bytes.Replace(file, schema, []byte(`"schema":0`), 1), "older build")

	// A source that fails during the import leaves nothing behind.
	r, err := store.NewMoveReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	n, broken := 0, errors.New("the disk is gone")
	err = mover(t, target).Import(t.Context(), func() (store.Row, error) {
		if n++; n > len(all)/2 {
			return store.Row{}, broken
		}
		return r.Next()
	})
	if !errors.Is(err, broken) {
		t.Errorf("an import whose source fails: %v", err)
	}
	sameLines(t, "a source that fails", empty, exportFile(t, target))
	if err := importFile(t, target, file); err != nil {
		t.Fatalf("the whole file after the refused ones: %v", err)
	}
	sameLines(t, "the whole file", file, exportFile(t, target))
}

// swapTenant changes the tenant of the last row of a table.
func swapTenant(t *testing.T, file []byte, table string) []byte {
	t.Helper()
	all := lines(file)
	f := &moveFile{t: t, body: slices.Clone(all[1 : len(all)-1])}
	i := f.row(table)
	tenants := f.row("tenants")
	var ids []string
	for _, l := range f.body[tenants:] {
		if !strings.HasPrefix(l, "[") {
			break
		}
		ids = append(ids, l[2:38])
	}
	for strings.HasPrefix(f.body[i+1], "[") {
		i++
	}
	for _, id := range slices.Backward(ids) { // a later tenant, so that rows remain in order
		if own := f.body[i][2:38]; id != own {
			f.body[i] = strings.Replace(f.body[i], own, id, 1)
			return f.bytes(all[0], "")
		}
	}
	t.Fatal("there is only one tenant")
	return nil
}

// WritableAfterMove checks that a store with an imported history of Fill can be written.
func WritableAfterMove(t *testing.T, h Harness) {
	t.Helper()
	w := &world{Store: h.Store, t: t, ctx: t.Context(), clock: h.Clock, op: grant.Operator("suite")}
	w.tenant = must(w.TenantByName(w.ctx, w.op, "filled"))(t)
	w.all = grant.Scope(w.tenant.ID, uuid.Nil, "suite", tenant.AllPermissions()...)
	c := must(w.ResolveCollection(w.ctx, w.all, "base"))(t)
	newest := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Limit: 1}))(t)[0].ID
	w.noError(w.Audit(w.ctx, w.all, memory.AuditEntry{Action: "moved"}))
	if got := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Limit: 1}))(t)[0]; got.ID <= newest || got.Action != "moved" {
		t.Errorf("the newest audit row is %+v, the newest imported one has the id %d", got, newest)
	}
	n := w.put(c.ID, memory.Note{Content: "after the move", Vector: []float32{1, 0, 0, 0}})
	if got, ok := w.get(w.view(c.ID), n.ID); !ok || got.Content != n.Content {
		t.Errorf("the new note is %+v", got)
	}
	if w.head(c.ID) != c.Head+1 {
		t.Errorf("the head went from %d to %d", c.Head, w.head(c.ID))
	}
	if jobs, _ := w.claim(c.ID, memory.StageTask, 100); len(jobs) == 0 {
		t.Error("no imported job can be claimed")
	}
	w.verify()
}
