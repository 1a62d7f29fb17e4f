package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// openTerminal returns both ends of a terminal of so many columns.
func openTerminal(t *testing.T, columns uint16) (person, program *os.File) {
	t.Helper()
	person = must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	n := must.Get(unix.IoctlGetInt(fd, unix.TIOCGPTN))(t)
	must.Do(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	must.Do(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}))
	program = must.Get(os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// notShown is in a prompt whose answer the terminal does not show.
const notShown = "not shown"

// awaitNoEcho waits until a terminal shows nothing of what is typed, which begins right after the prompt.
func awaitNoEcho(t *testing.T, person *os.File) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	tooLong := time.After(5 * time.Minute)
	for {
		mode := must.Get(unix.IoctlGetTermios(int(person.Fd()), unix.TCGETS))(t)
		if mode.Lflag&unix.ECHO == 0 {
			return
		}
		select {
		case <-look.C:
		case <-tooLong:
			t.Fatal("the terminal shows what is typed")
		}
	}
}

// on runs a command on a terminal and returns what a person sees. They type once they see the prompt.
func (p *person) on(t *testing.T, columns uint16, prompt, typed string, env []string, args ...string) string {
	t.Helper()
	mine, its := openTerminal(t, columns)
	cmd := commandtest.Command(t, append(slices.Clip(p.env), env...), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = its, its, its
	must.Do(t, cmd.Start())
	if err := its.Close(); err != nil { // so that a read ends when the command does
		t.Fatal(err)
	}
	var seen strings.Builder
	part := make([]byte, 4096)
	for {
		n, err := mine.Read(part)
		seen.Write(part[:n])
		if err != nil {
			break
		}
		if typed != "" && strings.Contains(seen.String(), prompt) {
			if prompt == notShown {
				awaitNoEcho(t, mine)
			}
			must.Get(mine.WriteString(typed))(t)
			typed = ""
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return strings.ReplaceAll(seen.String(), "\r\n", "\n")
}

// On a terminal there is text, as wide as the terminal, with colors unless they are not wanted. A key that is typed is
// not shown, and a dialogue ends with Ctrl-D.
func TestTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "add", "Nora asked the gallery to hold two vases back until \x1b[31mthe gas kiln\x1b[0m is inspected.")
	wide := p.on(t, 200, "", "", nil, "search", "vases", "-k", "1")
	if !strings.Contains(wide, "\x1b[1m 1 \x1b[0m") || strings.Contains(wide, "{") {
		t.Errorf("on a terminal: %q", wide)
	}
	for _, env := range [][]string{{"NO_COLOR=1"}, {"TERM=dumb"}} {
		plain := p.on(t, 40, "", "", env, "search", "vases", "-k", "1")
		if strings.Contains(plain, "\x1b") || !strings.Contains(plain, " 1 Nora asked the gallery to hold") {
			t.Errorf("%v: %q", env, plain)
		}
		for line := range strings.Lines(plain) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 40 {
				t.Errorf("%v: %d columns: %q", env, n, line)
			}
		}
	}
	if seen := p.on(t, 80, notShown, p.key+"\n", []string{"HOME=" + t.TempDir()}, "login", p.url); !strings.Contains(seen, "is kept as profile") || strings.Contains(seen, p.key) {
		t.Errorf("the login: %q", seen)
	}
	if seen := p.on(t, 80, "> ", "When is the kiln inspected?\n\x04", nil, "chat", "--forget"); !strings.Contains(seen, "Friday") {
		t.Errorf("a dialogue: %q", seen)
	}
}

// A history is imported on a terminal: a person reads what was understood before they are asked who of the people is remembered, and
// is asked again for a name that is none of them.
func TestImportAsksWhoIsRemembered(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	seen := p.on(t, 100, "is remembered:", "Somebody\nnora\n", nil, "import", histories+"whatsapp", "-c", "ben", "--create", "memorybank")
	understood, asked := strings.Index(seen, "4 messages, 3 conversations,"), strings.Index(seen, "Who of these is remembered: Nora")
	if understood < 0 || asked < understood || strings.Count(seen, "Who of these") != 2 || !strings.Contains(seen, "The new shelf") {
		t.Errorf("the dialogue: %q", seen)
	}
	roles := map[string]bool{}
	for _, item := range p.get(t, "/v1/collections/ben/messages")["items"].([]any) {
		m := item.(map[string]any)
		roles[fmt.Sprint(m["content"], " ", m["role"])] = true
	}
	if !roles["Late. user"] || !roles["The new shelf assistant"] {
		t.Errorf("who is who: %v", roles)
	}
}

// Ctrl-C at the question for a key ends the command, and the terminal shows again what is typed.
func TestInterruptedLogin(t *testing.T) {
	t.Parallel()
	mine, its := openTerminal(t, 80)
	cmd := commandtest.Command(t, []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME="}, "login", "http://127.0.0.1:9")
	cmd.Stdin = its
	run := commandtest.Start(t, cmd)
	awaitNoEcho(t, mine)
	must.Do(t, unix.Kill(run.PID(), unix.SIGINT))
	<-run.Done
	mode, err := unix.IoctlGetTermios(int(its.Fd()), unix.TCGETS)
	if err != nil || mode.Lflag&unix.ECHO == 0 || run.ExitCode() != 130 || !strings.Contains(run.Stderr.String(), "interrupted") {
		t.Errorf("exit %d, %v, %+v\n%s", run.ExitCode(), err, mode, run.Stderr)
	}
}
