package faults_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a gateway or a worker that is killed and restarted.
type process struct {
	scene *scene
	name  string
	args  []string
	url   string
	log   string // path of the file

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{}
	killed bool      // by the test
	ready  time.Time // since the last start
	away   []span    // when it was not expected to answer
}

// span is a time span; without an end it is not over.
type span struct{ from, to time.Time }

func (s span) meets(from, to time.Time) bool {
	return s.from.Before(to) && (s.to.IsZero() || from.Before(s.to))
}

// newProcess starts a gateway or a worker and waits until it answers.
func newProcess(s *scene, name string, args ...string) *process {
	s.t.Helper()
	addr := fmt.Sprint("127.0.0.1:", freePort(s.t))
	p := &process{scene: s, name: name, args: append(args, "--addr", addr), url: "http://" + addr, log: filepath.Join(s.dir, "log", name)}
	s.must(p.start())
	return p
}

// slowStart is the longest time until a new process answers.
const slowStart = 60 * time.Second

// start starts the process and waits until it answers. Like a supervisor it restarts a process that
// exits because the database is down; that is the only valid reason to exit.
func (p *process) start() error {
	deadline := time.Now().Add(slowStart)
	for {
		began := time.Now()
		ended, err := p.launch()
		if err != nil {
			return err
		}
		for waiting := true; waiting; {
			if p.answers() {
				p.mu.Lock()
				p.ready = time.Now()
				if n := len(p.away); n > 0 {
					p.away[n-1].to = p.ready
				}
				p.mu.Unlock()
				return nil
			}
			select {
			case <-ended:
				waiting = false
			case <-time.After(20 * time.Millisecond):
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s does not answer within %s\n%s", p.name, slowStart, p.tail(10))
			}
		}
		if !p.scene.book.outage("postgres", began.Add(-time.Second), time.Now()) {
			return fmt.Errorf("%s ended while it started, and Postgres was there\n%s", p.name, p.tail(10))
		}
		<-time.After(100 * time.Millisecond)
	}
}

func (p *process) launch() (ended chan struct{}, err error) {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(filepath.Join(p.scene.dir, "bin", p.args[0]), p.args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.scene.env, out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	file := filepath.Join(p.scene.dir, "run", p.name+".pid")
	if err := os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return nil, err
	}
	ended = make(chan struct{})
	p.mu.Lock()
	p.cmd, p.ended, p.killed, p.ready = cmd, ended, false, time.Time{}
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		if !p.killed && !p.ready.IsZero() {
			p.scene.book.problemf("%s ended by itself: %v\n%s", p.name, err, p.tail(10))
		}
		p.mu.Unlock()
		close(ended)
	}()
	return ended, nil
}

var health = &http.Client{Timeout: 2 * time.Second}

func (p *process) answers() bool {
	resp, err := health.Get(p.url + "/healthz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// kill kills the process.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.away = append(p.away, span{from: time.Now()})
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	_ = cmd.Process.Kill()
	<-ended
}

// pause suspends the process for a while, like a machine that swaps. It may be killed meanwhile.
func (p *process) pause(d time.Duration) error {
	p.mu.Lock()
	at := p.cmd.Process
	p.mu.Unlock()
	err := at.Signal(syscall.SIGSTOP)
	<-time.After(d)
	if err = errors.Join(err, at.Signal(syscall.SIGCONT)); errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop asks the process to end, and returns its exit code.
func (p *process) stop() (code int, err error) {
	p.mu.Lock()
	p.killed = true
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case <-ended:
		return cmd.ProcessState.ExitCode(), nil
	case <-time.After(40 * time.Second):
		return 0, fmt.Errorf("%s did not stop within 40 s", p.name)
	}
}

// wasAway reports whether the process was dead or starting at some moment between from and to.
func (p *process) wasAway(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.away {
		if s.meets(from, to) {
			return true
		}
	}
	return false
}

// resident returns the memory of the process in KiB, and when it was started. It is 0 on systems
// without /proc.
func (p *process) resident() (kib int, since time.Time) {
	p.mu.Lock()
	pid, since := p.cmd.Process.Pid, p.ready
	p.mu.Unlock()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, since
	}
	_, after, _ := strings.Cut(string(raw), "VmRSS:")
	if _, err := fmt.Sscanf(after, "%d", &kib); err != nil {
		return 0, since
	}
	return kib, since
}

// tail returns the last lines of the log.
func (p *process) tail(n int) string {
	lines := p.lines(func(string) bool { return true })
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// lines returns the lines of the log that wanted selects.
func (p *process) lines(want func(line string) bool) (out []string) {
	f, err := os.Open(p.log)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if want(in.Text()) {
			out = append(out, in.Text())
		}
	}
	return out
}
