package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// endedAt runs a command and ends it by a signal at one of its requests, before the gateway gets it or when the answer is there
// and not yet sent. It returns false when the command had fewer requests, and worked.
func (p *person) endedAt(t *testing.T, request int, answered bool, signal syscall.Signal, env []string, args ...string) bool {
	t.Helper()
	gateway := must.Get(url.Parse(p.url))(t)
	forward := httputil.NewSingleHostReverseProxy(gateway)
	running := make(chan *commandtest.Process, 1)
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if int(asked.Add(1)) != request {
			forward.ServeHTTP(w, r)
			return
		}
		if answered {
			forward.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		run := <-running
		if err := syscall.Kill(run.PID(), signal); err != nil {
			t.Error(err)
		}
		<-run.Done
	}))
	defer s.Close()
	run := commandtest.Start(t, commandtest.Command(t, append(append(slices.Clip(p.env), "SLIPBOX_URL="+s.URL, "SLIPBOX_API_KEY="+p.key), env...), args...))
	running <- run
	<-run.Done
	cut := int(asked.Load()) >= request
	want := map[bool]int{false: 0}[cut]
	switch {
	case cut && signal == syscall.SIGINT:
		want = 130
	case cut:
		want = -1
	}
	if run.ExitCode() != want {
		t.Errorf("request %d, %v: exit %d\n%s", request, signal, run.ExitCode(), run.Stderr)
	}
	return cut
}

// everyEnd runs a command until it has been ended at each of its requests, by Ctrl-C and by a kill in turn. check looks at what is
// there after each; before prepares one, by its number.
func (p *person) everyEnd(t *testing.T, env []string, before func(round int, answered bool) []string, check func(round int)) {
	t.Helper()
	round := 0
	for _, answered := range []bool{false, true} {
		for request := 1; ; request++ {
			round++
			signal := syscall.SIGINT
			if (request%2 == 0) != answered {
				signal = syscall.SIGKILL
			}
			cut := p.endedAt(t, request, answered, signal, env, before(round, answered)...)
			check(round)
			if !cut {
				break
			}
		}
	}
	if round < 4 {
		t.Errorf("only %d ends", round)
	}
}

// Wherever an import is ended, the same command completes it: nothing is lost, and nothing is there twice.
func TestImportEndedAnywhere(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write := func(name, content string) {
			t.Helper()
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		args := func(round int) []string {
			return []string{"import", dir, "-c", "folder-" + strconv.Itoa(round), "--create", "amem", "--no-infer"}
		}
		p.everyEnd(t, nil, func(round int, _ bool) []string {
			write("a.md", "# Boat\nWe took the ferry.\n# Food\nMussels.\n# Bed\nA hostel.\n")
			write("b.txt", "The harbor is closed in winter.")
			return args(round)
		}, func(round int) {
			p.pipe(t, "", args(round)...)
			want := []string{"# Bed\nA hostel.", "# Boat\nWe took the ferry.", "# Food\nMussels.", "The harbor is closed in winter."}
			if got := p.contents(t, "folder-"+strconv.Itoa(round)); !slices.Equal(got, want) {
				t.Errorf("round %d: %q", round, got)
			}
		})
		// And of one that corrects, adds and deletes.
		p.everyEnd(t, nil, func(round int, _ bool) []string {
			round += 100
			write("a.md", "# Boat\nWe took the ferry.\n# Food\nMussels.\n# Bed\nA hostel.\n")
			write("b.txt", "The harbor is closed in winter.")
			p.pipe(t, "", args(round)...)
			write("a.md", "# Boat\nWe took the ferry.\n# Food\nOysters.\n# Way back\nBy train.\n")
			return args(round)
		}, func(round int) {
			round += 100
			p.pipe(t, "", args(round)...)
			want := []string{"# Boat\nWe took the ferry.", "# Food\nOysters.", "# Way back\nBy train.", "The harbor is closed in winter."}
			if got := p.contents(t, "folder-"+strconv.Itoa(round)); !slices.Equal(got, want) {
				t.Errorf("round %d, changed: %q", round, got)
			}
		})
	})
	t.Run("memorybank", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "ada.json")
		must.Do(t, os.WriteFile(file, []byte(`{"name": "Ada", "history": {"2026-03-01": [{"query": "I moved to Lisbon.", "response": "How is it?"}, {"query": "Warm.", "response": "Good."}]}}`), 0o600))
		args := func(round int) []string {
			return []string{"import", file, "-c", "bank-" + strconv.Itoa(round), "--create", "memorybank"}
		}
		p.everyEnd(t, nil, func(round int, _ bool) []string { return args(round) }, func(round int) {
			p.pipe(t, "", args(round)...)
			if again := object(t, p.pipe(t, "", args(round)...)); again["created"] != 0.0 {
				t.Errorf("round %d: written again: %v", round, again)
			}
			var said []string
			for _, m := range p.get(t, "/v1/collections/bank-"+strconv.Itoa(round)+"/messages")["items"].([]any) {
				said = append(said, m.(map[string]any)["content"].(string))
			}
			slices.Sort(said)
			if !slices.Equal(said, []string{"Good.", "How is it?", "I moved to Lisbon.", "Warm."}) {
				t.Errorf("round %d: %q", round, said)
			}
		})
	})
	t.Run("mem0", func(t *testing.T) {
		t.Parallel()
		mem0 := newMem0(t)
		env := []string{"MEM0_API_KEY=" + mem0Key}
		args := []string{"import", "mem0", "--from", mem0.URL, "--entity", "user=nora@example.com"}
		p.everyEnd(t, env, func(_ int, answered bool) []string {
			p.pipe(t, "", "add", "--user", "nora@example.com", "--create", "mem0", "What was there before is gone.")
			p.call(t, http.MethodDelete, "/v1/collections/by?user=nora%40example.com&wait=removed", http.NoBody)
			if answered {
				return append(slices.Clip(args), "--no-check")
			}
			return args
		}, func(round int) {
			if out, problems, code := p.runIn(t, env, "", args...); code != 0 {
				t.Fatalf("round %d: exit %d\n%s%s", round, code, out, problems)
			}
			var there []string
			for _, n := range p.get(t, "/v1/collections/by/notes?user=nora%40example.com&limit=200")["items"].([]any) {
				there = append(there, n.(map[string]any)["content"].(string))
			}
			slices.Sort(there)
			if !slices.Equal(there, []string{"Nora likes tea.", "Nora lives in Oslo.", "Nora lives in Rome."}) {
				t.Errorf("round %d: %q", round, there)
			}
		})
	})
}

// Ctrl-C ends what a person has begun: the gateway imports no more, and the same command continues.
func TestImportInterruptedIsCanceled(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	const lines = 3_000
	var body strings.Builder
	for n := range lines {
		body.WriteString(`{"role":"user","content":"Message ` + strconv.Itoa(n) + ` of a long history."}` + "\n")
	}
	args := []string{"import", write(t, "long.jsonl", body.String()), "-c", "long"}
	p.pipe(t, "", "add", "-c", "long", "--create", "none", "A first note.")
	said := func() int {
		t.Helper()
		return int(p.get(t, "/v1/collections/long")["counts"].(map[string]any)["notes"].(float64))
	}
	// The fifth request asks for the job.
	if !p.endedAt(t, 5, false, syscall.SIGINT, nil, args...) {
		t.Fatal("it was not interrupted")
	}
	if jobs := p.get(t, "/v1/jobs?state=cancelled")["items"].([]any); len(jobs) != 1 || said() >= lines {
		t.Errorf("jobs %v, %d notes", jobs, said())
	}
	p.pipe(t, "", args...)
	if said() != lines+1 {
		t.Errorf("%d notes after the second import", said())
	}
}

// A person who watches a job sees its end, although the gateway is killed and started again meanwhile.
func TestWatchSurvivesARestart(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "watch")
	// The model answers nothing, so the job runs until the gateway ends; the next one has no model.
	hangs := hangingGateway(t)
	p.gateway.Kill()
	p.start(t, "SLIPBOX_LLM=openai", "SLIPBOX_LLM_MODEL=fake", "SLIPBOX_LLM_BASE_URL="+hangs.url)
	job := object(t, p.pipe(t, "", "add", "The gas kiln arrives in September."))["job"].(map[string]any)["id"].(string)
	<-hangs.asked
	var watching []*commandtest.Process
	for _, args := range [][]string{{"watch"}, {"watch", job}} {
		run := commandtest.Start(t, commandtest.Command(t, p.env, args...))
		run.Await(t, "the job was seen", func() bool { return strings.Contains(run.Stdout.String(), job) })
		watching = append(watching, run)
	}
	p.gateway.Kill()
	p.start(t)
	for _, run := range watching {
		<-run.Done
		if run.ExitCode() != 0 || !strings.Contains(run.Stdout.String(), `"state":"done"`) {
			t.Errorf("exit %d\n%s%s", run.ExitCode(), run.Stdout, run.Stderr)
		}
	}
}
