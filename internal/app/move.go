package app

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/build"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// stdio is the file name of stdout or stdin.
const stdio = "-"

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Export writes a consistent snapshot of the whole store to a new file that only its owner can
// read. The name "-" means stdout; a file whose name ends with .gz is compressed. It exports the
// database of MigrateDatabaseURL when that is set, otherwise the data directory.
func Export(ctx context.Context, cfg Settings, log *slog.Logger, file string, streams Streams) error {
	var source interface {
		store.Mover
		Schema(ctx context.Context) (store.Schema, error)
		Close() error
	}
	engine := "sqlite"
	var err error
	if cfg.MigrateDatabaseURL != "" {
		engine = "postgres"
		source, err = openOwnerStore(ctx, cfg, log)
	} else {
		source, err = openToolEmbedded(ctx, cfg, log)
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	schema, err := source.Schema(ctx)
	if err != nil {
		return err
	}
	if schema.Newer() {
		return fault.New(fault.Conflict, "the store has schema version %d and this build knows %d, so the export would miss what the newer build keeps: export with that build", schema.Current, schema.Known)
	}
	return writeNewFile(file, streams.Out, func(w *bufio.Writer) error {
		m, err := store.NewMoveWriter(w, engine, build.Current().Version, time.Now())
		if err != nil {
			return err
		}
		p := &moveProgress{to: streams.Err, verb: "exported"}
		if err := source.Export(ctx, func(r store.Row) error {
			p.countRow(r.Table.Name)
			return m.Write(r)
		}); err != nil {
			return err
		}
		p.endTable()
		return m.Close()
	})
}

// openOwnerStore opens the Postgres store as its owner, who sees every tenant. Statements may take
// long enough to read everything.
func openOwnerStore(ctx context.Context, cfg Settings, log *slog.Logger) (*postgres.Store, error) {
	return postgres.Open(ctx, postgres.Config{
		URL: cfg.MigrateDatabaseURL, AnyRole: true, Connections: 2, LockTimeout: cfg.Database.LockTimeout, StatementTimeout: 24 * time.Hour,
	}, postgres.Deps{Logger: log})
}

// writeNewFile writes a file under a temporary name and renames it when it is complete.
func writeNewFile(file string, stdout io.Writer, fn func(*bufio.Writer) error) (err error) {
	if file == stdio {
		w := bufio.NewWriter(stdout)
		return errors.Join(fn(w), w.Flush())
	}
	failed := func(err error) error {
		if _, ok := errors.AsType[*fault.Error](err); ok || err == nil {
			return err
		}
		return fault.Wrap(err, fault.Unavailable, "cannot write %s", file)
	}
	if _, err := os.Lstat(file); err == nil {
		return fault.New(fault.Exists, "%s exists; an export never overwrites a file", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), ".slipbox-export-") // with mode 0600
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(failed(err), os.Remove(part.Name())) }()
	defer func() { _ = part.Close() }()
	var to io.Writer = part
	var zip *gzip.Writer
	if strings.HasSuffix(file, ".gz") {
		zip = gzip.NewWriter(part)
		to = zip
	}
	w := bufio.NewWriter(to)
	if err := fn(w); err != nil {
		return err
	}
	end := []error{w.Flush()}
	if zip != nil {
		end = append(end, zip.Close())
	}
	if err := errors.Join(append(end, part.Sync())...); err != nil {
		return err
	}
	if err := os.Link(part.Name(), file); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fault.New(fault.Exists, "%s exists; an export never overwrites a file", file)
		}
		return copyFile(file, part.Name()) // not every file system has links
	}
	return syncDir(filepath.Dir(file))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Import reads a file that Export wrote ("-" means stdin) into an empty store: the database of
// MigrateDatabaseURL when that is set, after "gateway migrate up"; otherwise a new or empty data
// directory. An incomplete or damaged file leaves nothing behind. A database that holds exactly this
// file is verified again. The problems returned are those that Verify finds in the imported store; they were in the source too.
func Import(ctx context.Context, cfg Settings, log *slog.Logger, file string, streams Streams) ([]store.Problem, error) {
	in, err := openExport(file, streams.In)
	if err != nil {
		return nil, err
	}
	defer in.close()
	r, err := store.NewMoveReader(in)
	if err != nil {
		return nil, err
	}
	p := &moveProgress{to: streams.Err, verb: "read"}
	next := func() (store.Row, error) {
		row, err := r.Next()
		if err == nil {
			p.countRow(row.Table.Name)
		}
		return row, err
	}
	if cfg.MigrateDatabaseURL == "" {
		return importData(ctx, cfg, log, next, p)
	}
	st, err := openOwnerStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = st.Close() }()
	until := time.Now().Add(ephemeralTTL).UTC().Truncate(time.Microsecond)
	problems, err := importInto(ctx, st, func() (store.Row, error) {
		row, err := next()
		if err == nil {
			expireEphemeral(row, until)
		}
		return row, err
	}, p)
	if !fault.Is(err, fault.Conflict) {
		return problems, err
	}
	// An import of this file that was killed after its transaction needs only to be verified.
	if held, e := store.Holds(ctx, st, next, neverExpire); e != nil || !held {
		return nil, err
	}
	_, _ = fmt.Fprintln(streams.Err, "the database holds all of this file already, from an earlier import; it is verified")
	return st.Verify(ctx)
}

// neverExpire removes the expiry of an ephemeral collection, which depends on when it was imported.
func neverExpire(r store.Row) {
	if r.Table.Name == "collections" && r.Values[r.Table.Index("ephemeral")] == true {
		r.Values[r.Table.Index("expires_at")] = nil
	}
}

// expireEphemeral sets the expiry that an ephemeral collection has on servers.
func expireEphemeral(r store.Row, until time.Time) {
	if r.Table.Name != "collections" || r.Values[r.Table.Index("ephemeral")] != true {
		return
	}
	if i := r.Table.Index("expires_at"); r.Values[i] == nil {
		r.Values[i] = until
	}
}

func importInto(ctx context.Context, st interface {
	store.Mover
	store.Verifier
}, next func() (store.Row, error), p *moveProgress,
) ([]store.Problem, error) {
	if err := st.Import(ctx, next); err != nil {
		return nil, err
	}
	p.endTable()
	return st.Verify(ctx)
}

// importData fills a new data directory.
func importData(ctx context.Context, cfg Settings, log *slog.Logger, next func() (store.Row, error), p *moveProgress) (problems []store.Problem, err error) {
	err = fillData(cfg.Data, func(part string) error {
		st, err := sqlite.Open(ctx, sqlite.Config{Path: part}, sqlite.Deps{Logger: log})
		if err != nil {
			return err
		}
		problems, err = importInto(ctx, st, next, p)
		return errors.Join(err, st.Close())
	})
	return problems, err
}

// removeDatabase removes a database with its journal files.
func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(err, fault.Unavailable, "cannot remove %s, which an interrupted import or restore left", path+suffix)
		}
	}
	return nil
}

// exportFile reads an export, compressed or not.
type exportFile struct {
	io.Reader
	close func()
}

func openExport(file string, stdin io.Reader) (*exportFile, error) {
	e := &exportFile{Reader: stdin, close: func() {}}
	if file != stdio {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.Wrap(err, fault.NotFound, "the file %s cannot be read", file)
		}
		e.Reader, e.close = f, func() { _ = f.Close() }
	}
	b := bufio.NewReaderSize(e.Reader, 1<<16)
	e.Reader = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" { // the reader refuses a file that is too short
		zip, err := gzip.NewReader(b)
		if err != nil {
			e.close()
			return nil, fault.Wrap(err, fault.Malformed, "the file %s cannot be decompressed", file)
		}
		e.Reader = zip
	}
	return e, nil
}

// moveProgress prints the number of rows after each table, and every two seconds within a long one.
type moveProgress struct {
	to        io.Writer
	verb      string
	table     string
	rows      int64
	lastPrint time.Time
}

const progressInterval = 2 * time.Second

func (p *moveProgress) countRow(table string) {
	if table != p.table {
		p.endTable()
		p.table, p.rows, p.lastPrint = table, 0, time.Now()
	}
	p.rows++
	if p.rows%256 == 0 && time.Since(p.lastPrint) >= progressInterval {
		p.print(" so far")
	}
}

// endTable prints the count of the current table.
func (p *moveProgress) endTable() {
	if p.table != "" {
		p.print("")
	}
	p.table = ""
}

func (p *moveProgress) print(more string) {
	p.lastPrint = time.Now()
	_, _ = fmt.Fprintf(p.to, "%s: %s %s%s\n", p.table, wording.Count(p.rows, "row", "rows"), p.verb, more)
}
